"""Show the jobs that GitHub runs: the sessions that nox lists, on the Pythons of pyproject.toml."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nox

ROOT = Path(__file__).parents[1]
PYPROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
COGRID = PYPROJECT["tool"]["cogrid"]
# The tags whose sessions run. Those tagged `pythons` run on every Python, those tagged `lowest-pythons` on
# the lowest release of each, those with both tags on both, those tagged `newest-python` on the newest that is
# required, the others on the oldest. Those tagged `free-threaded` and `systems` also run at night on Pythons
# without a global lock and on other systems. That and those tagged `may-fail` are reported, but not required.
CHANGE, NIGHT = ("ci",), ("ci", "nightly")
EVENTS = {
    "pull_request": CHANGE,
    "merge_group": CHANGE,
    "push": CHANGE,
    "workflow_dispatch": CHANGE,
    "nightly": NIGHT,
}
TITLES = {CHANGE: "every change", NIGHT: "every night"}
LEGEND = (
    "x must pass, (x) may fail: an experimental Python, another system, or versions before their release. "
    ".github/workflows adds benchmarks."
)
LINUX = "ubuntu-24.04"

Job = dict[str, Any]


def listed(*tags: str) -> list[dict[str, Any]]:
    """The sessions with any of the tags, from `nox --list --json`."""
    command = (sys.executable, "-m", "nox", "--noxfile", str(ROOT / "noxfile.py"))
    asked = subprocess.run(
        [*command, "--list", "--json", "--tags", *tags],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    sessions: list[dict[str, Any]] = json.loads(asked.stdout)
    return sessions


def pythons() -> list[str]:
    """The Python versions of the classifiers, oldest first."""
    versions = nox.project.python_versions(PYPROJECT)
    return sorted(versions, key=lambda version: [int(part) for part in version.split(".")])


def is_experimental(python: str) -> bool:
    """Whether this Python, or the one that it is a release of, may still fail."""
    return any(
        python == version or python.startswith(f"{version}.") for version in COGRID["experimental-pythons"]
    )


def may_fail(session: dict[str, Any], python: str) -> bool:
    """Whether a job is reported, but not required."""
    return "may-fail" in session["tags"] or is_experimental(python)


def pythons_of(session: dict[str, Any]) -> list[str]:
    """The Python versions that a session runs on."""
    newest = pythons() if "pythons" in session["tags"] else []
    lowest = COGRID["lowest-pythons"] if "lowest-pythons" in session["tags"] else []
    if "newest-python" in session["tags"]:
        newest = [version for version in pythons() if not is_experimental(version)][-1:]
    return [*newest, *lowest] or pythons()[:1]


def job_of(
    session: dict[str, Any], python: str, experimental: bool, on: str = "", runner: str = LINUX
) -> Job:
    """A job as the workflows read it; `on` is what its name says of where it runs."""
    on = on or python
    named = {"session": session["session"], "on": on}
    return {**named, "python": python, "runner": runner, "experimental": experimental}


def besides(session: dict[str, Any]) -> list[Job]:
    """The jobs of a session at night on other Pythons and systems; they may fail."""
    free = COGRID["free-threaded-pythons"] if "free-threaded" in session["tags"] else []
    systems = COGRID["systems"].items() if "systems" in session["tags"] else ()
    return [
        *(job_of(session, version, True) for version in free),
        *(job_of(session, pythons()[0], True, name, runner) for name, runner in systems),
    ]


def jobs(tags: tuple[str, ...]) -> list[Job]:
    """One for each session with any of the tags and each Python; what is experimental only at night."""
    found, at_night = [], tags == NIGHT
    for session in listed(*tags):
        versions = [one for one in pythons_of(session) if at_night or not is_experimental(one)]
        found += [job_of(session, version, may_fail(session, version)) for version in versions]
        found += besides(session) if at_night else []
    return found


def once(values: list[str]) -> list[str]:
    """The values without repetitions, in order of appearance."""
    return list(dict.fromkeys(values))


def block(title: str, found: list[Job], sessions: list[str]) -> list[str]:
    """The columns of a title: a Python each; lines of one length."""
    marks = {(job["session"], job["on"]): "(x)" if job["experimental"] else "x" for job in found}
    versions = once([job["on"] for job in found])
    rows = [versions, *([marks.get((session, version), "") for version in versions] for session in sessions)]
    lines = [title, *("  ".join(cell.ljust(6) for cell in row) for row in rows)]
    return [line.ljust(max(map(len, lines))) for line in lines]


def table(events: list[str]) -> str:
    """A row for each session, columns for each group of events and each Python."""
    groups = {TITLES[tags]: jobs(tags) for tags in dict.fromkeys(EVENTS[event] for event in events)}
    sessions = once([job["session"] for found in groups.values() for job in found])
    names = ["", "session", *sessions]
    blocks = [block(title, found, sessions) for title, found in groups.items()]
    names = [name.ljust(max(map(len, names))) for name in names]
    return "\n".join(" | ".join(line).rstrip() for line in zip(names, *blocks, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--event", choices=EVENTS, help="what GitHub runs for; default all")
    parser.add_argument("--json", action="store_true", help="the jobs of one event, as GitHub reads them")
    parser.add_argument(
        "--output",
        type=Path,
        default=os.environ.get("GITHUB_OUTPUT"),
        help="also append matrix=… to this file; default $GITHUB_OUTPUT",
    )
    arguments = parser.parse_args()
    if arguments.event is None and (arguments.json or arguments.output):
        parser.error("JSON is for one event: name it by --event.")
    if arguments.json or arguments.output:
        text = json.dumps({"include": jobs(EVENTS[arguments.event])})
    if arguments.json:
        print(text)
    else:
        print(table([arguments.event] if arguments.event else list(EVENTS)))
        print(f"\n{LEGEND}")
    if arguments.output:
        with arguments.output.open("a", encoding="utf-8") as file:
            file.write(f"matrix={text}\n")


if __name__ == "__main__":
    main()
