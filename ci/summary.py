"""Write a GitHub job summary: tables of test reports, of JSON rows and of the results of earlier jobs."""

from __future__ import annotations

import argparse
import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.show.github import publish, summary_file, table

FAILURES = 50  # failures of one report that are named


def reports(paths: Iterable[Path]) -> list[Path]:
    """The junit files named, and those in the directories named."""
    return [file for path in paths for file in (sorted(path.rglob("*.xml")) if path.is_dir() else [path])]


def junit(paths: Iterable[Path]) -> str:
    """A row for each report, then the failures by name."""
    rows: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    for path in paths:
        title = f"{path.parent.name}: {path.stem}"
        try:
            suites = list(ET.parse(path).getroot().iter("testsuite"))
        except (ET.ParseError, OSError) as error:
            rows.append({"report": title, "failed": f"unreadable: {error}"})
            continue
        count = {
            name: sum(int(suite.get(name, 0)) for suite in suites)
            for name in ("tests", "failures", "errors", "skipped")
        }
        failed, skipped = count["failures"] + count["errors"], count["skipped"]
        rows.append(
            {
                "report": title,
                "passed": count["tests"] - failed - skipped,
                "failed": failed,
                "skipped": skipped,
                "seconds": round(sum(float(suite.get("time", 0)) for suite in suites)),
            }
        )
        failures += [{"report": title, **failure} for failure in named_failures(suites)[:FAILURES]]
    return "\n".join(table(part) for part in (rows, failures) if part)


def named_failures(suites: list[ET.Element]) -> list[dict[str, str]]:
    """Every test case that failed, with its message."""
    return [
        {"failed test": f"{case.get('classname')}::{case.get('name')}", "message": outcome.get("message", "")}
        for suite in suites
        for case in suite.iter("testcase")
        for outcome in case
        if outcome.tag in ("failure", "error")
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ci.summary",
        description=__doc__,
        epilog="Exits with 1 unless all jobs of --needs succeeded: a skipped job is not a success.",
    )
    parser.add_argument("reports", nargs="*", type=Path, help="junit files, or directories that hold them")
    parser.add_argument(
        "--json", action="append", type=Path, default=[], help="a file with a list of objects"
    )
    parser.add_argument("--needs", type=json.loads, default={}, help="GitHub's needs object, as JSON")
    parser.add_argument("--title", default="Results", help="heading of the summary")
    parser.add_argument(
        "--output", type=Path, default=summary_file(), help="append here; default $GITHUB_STEP_SUMMARY"
    )
    arguments = parser.parse_args()
    results = {job: need["result"] for job, need in arguments.needs.items()}
    parts = []
    if results:
        parts.append(table([{"job": job, "result": result} for job, result in results.items()]))
    parts += [table(json.loads(path.read_text(encoding="utf-8"))) for path in arguments.json]
    parts.append(junit(reports(arguments.reports)))
    publish(arguments.title, parts, arguments.output)
    missed = [f"{job}: {result}" for job, result in results.items() if result != "success"]
    if missed:
        print(f"not every job succeeded ({', '.join(missed)})", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
