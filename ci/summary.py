"""Write a GitHub job summary: tables of test reports, of JSON rows and of the results of earlier jobs."""

from __future__ import annotations

import argparse
import json
import os
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LIMIT = 1024 * 1024  # bytes that GitHub shows of one step's summary
CUT = "\n… cut here: GitHub shows 1 MiB.\n"
# Characters that Markdown or HTML would read as markup, and the "@" that would call a person.
PLAIN = str.maketrans({mark: f"&#{ord(mark)};" for mark in "&<>\\`*_~[]|@#!"})
FAILURES = 50  # failures of one report that are named


def cell(value: object) -> str:
    """A value as the text of a table cell; reports come from foreign code, so nothing in it is markup."""
    return " ".join(str(value).split())[:300].translate(PLAIN)


def table(rows: list[dict[str, Any]]) -> str:
    """A Markdown table with a column for each key, in order of appearance."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [[cell(name) for name in names], ["---"] * len(names)]
    lines += [[cell(row.get(name, "")) for name in names] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


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


def fitted(text: str, limit: int = LIMIT) -> str:
    """The text, cut after a whole line where it is longer than GitHub shows."""
    data = text.encode()
    if len(data) <= limit:
        return text
    kept = data[: limit - len(CUT.encode())]
    return kept[: kept.rfind(b"\n") + 1].decode() + CUT


def publish(title: str, parts: Iterable[str], output: Path | None) -> None:
    """Append the parts under a heading to a file, or print them."""
    text = fitted("\n".join(part for part in (f"## {cell(title)}\n", *parts) if part))
    if output is None:
        print(text, end="")
    else:
        with output.open("a", encoding="utf-8") as file:
            file.write(text)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="Exits 1 unless all jobs of --needs succeeded: a skipped job is no success.",
    )
    parser.add_argument("reports", nargs="*", type=Path, help="junit files, or directories that hold them")
    parser.add_argument(
        "--json", action="append", type=Path, default=[], help="a file with a list of objects"
    )
    parser.add_argument("--needs", type=json.loads, default={}, help="GitHub's needs object, as JSON")
    parser.add_argument("--title", default="Results", help="heading of the summary")
    output = os.environ.get("GITHUB_STEP_SUMMARY")
    parser.add_argument(
        "--output", type=Path, default=output, help="append here; default $GITHUB_STEP_SUMMARY"
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
