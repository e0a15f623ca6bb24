"""Write a GitHub job summary: tables of jobs, of nox sessions, of test reports and of JSON rows."""

from __future__ import annotations

import argparse
import json
import os
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from bench.show.github import publish, summary_file, table

FAILURES = 50  # failures of one report that are named
SESSION = ".session"  # ends the name of the report that noxfile.py leaves of a session
NO_REPORT = "left no report: it was stopped, or never began"


class Report(NamedTuple):
    """A junit file; `place` is the artifact that it came in, empty if it is not in a folder."""

    file: Path
    place: str

    @property
    def is_session(self) -> bool:
        return self.file.stem.endswith(SESSION)

    @property
    def title(self) -> str:
        """The artifact's name, which is that of the job; with the session's if that says more."""
        name = self.file.stem.removesuffix(SESSION)
        if self.place.startswith(name) and self.is_session:
            return self.place
        return f"{self.place}: {name}" if self.place else name

    def suites(self) -> list[ET.Element]:
        return list(ET.parse(self.file).getroot().iter("testsuite"))


def reports(paths: Iterable[Path]) -> list[Report]:
    """The junit files named, and those in the directories named."""
    found = []
    for path in paths:
        for file in sorted(path.rglob("*.xml")) if path.is_dir() else [path]:
            inside = file.relative_to(path).parts if path.is_dir() else ()
            found.append(Report(file, inside[0] if len(inside) > 1 else ""))
    return found


def expected(needs: dict[str, Any]) -> dict[str, bool]:
    """The jobs of the matrix that a needed job made, and whether each may fail."""
    texts = (need.get("outputs", {}).get("matrix") for need in needs.values())
    jobs = [job for text in texts if text for job in json.loads(text).get("include", ())]
    return {f"{job['session']} on {job['on']}": job.get("experimental", False) for job in jobs}


def sessions(found: Iterable[Report], jobs: dict[str, bool]) -> list[dict[str, Any]]:
    """A row for each nox session, the failures first; a job of the matrix without a report is one too."""
    rows: dict[str, dict[str, Any]] = {name: {"result": NO_REPORT} for name in jobs}
    for report in found:
        try:
            (suite,) = report.suites()
            (case,) = suite
        except (ET.ParseError, OSError, ValueError):
            rows[report.title] = {"result": "its report is unreadable"}
            continue
        outcome = next(iter(case), None)
        result = "passed" if outcome is None else f"{outcome.tag}: {outcome.get('message')}"
        rows[report.title] = {"result": result, "minutes": round(float(suite.get("time", 0)) / 60, 1)}
    order = sorted(rows, key=lambda name: is_good(rows[name]))
    return [{"session": f"{name} (may fail)" if jobs.get(name) else name, **rows[name]} for name in order]


def is_good(row: dict[str, Any]) -> bool:
    return bool(row["result"].startswith(("passed", "skipped")))


def junit(found: Iterable[Report]) -> str:
    """A row for each report, then the failures by name."""
    rows: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    for report in found:
        try:
            suites = report.suites()
        except (ET.ParseError, OSError) as error:
            rows.append({"report": report.title, "failed": f"unreadable: {error}"})
            continue
        count = {
            name: sum(int(suite.get(name, 0)) for suite in suites)
            for name in ("tests", "failures", "errors", "skipped")
        }
        failed, skipped = count["failures"] + count["errors"], count["skipped"]
        rows.append(
            {
                "report": report.title,
                "passed": count["tests"] - failed - skipped,
                "failed": failed,
                "skipped": skipped,
                "seconds": round(sum(float(suite.get("time", 0)) for suite in suites)),
            }
        )
        failures += [{"report": report.title, **failure} for failure in named_failures(suites)[:FAILURES]]
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
    parser.add_argument(
        "--needs",
        type=json.loads,
        default=os.environ.get("NEEDS", "{}"),
        help="GitHub's needs object, as JSON; default $NEEDS",
    )
    parser.add_argument("--title", default="Results", help="heading of the summary")
    parser.add_argument(
        "--output", type=Path, default=summary_file(), help="append here; default $GITHUB_STEP_SUMMARY"
    )
    arguments = parser.parse_args()
    results = {job: need["result"] for job, need in arguments.needs.items()}
    found = reports(arguments.reports)
    rows = sessions((one for one in found if one.is_session), expected(arguments.needs))
    parts = []
    if results:
        parts.append(table([{"job": job, "result": result} for job, result in results.items()]))
    if rows:
        parts.append(table(rows))
    parts += [table(json.loads(path.read_text(encoding="utf-8"))) for path in arguments.json]
    parts.append(junit(one for one in found if not one.is_session))
    publish(arguments.title, parts, arguments.output)
    for row in rows:
        if not is_good(row):
            print(f"{row['session']}: {row['result']}", file=sys.stderr)
    missed = [f"{job}: {result}" for job, result in results.items() if result != "success"]
    if missed:
        print(f"not every job succeeded ({', '.join(missed)})", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
