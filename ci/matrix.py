"""Print the GitHub matrix of an event: the sessions that nox lists, on the Pythons of pyproject.toml."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nox

ROOT = Path(__file__).parents[1]
PYPROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
# The tags whose sessions run. Those tagged `pythons` run on every Python, those tagged `lowest-pythons` on
# the lowest release of each, those with both tags on both, the others on the oldest.
EVENTS = {"pull_request": ("ci",), "push": ("ci",), "nightly": ("ci", "nightly")}


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


def pythons_of(session: dict[str, Any]) -> list[str]:
    """The Python versions that a session runs on."""
    newest = pythons() if "pythons" in session["tags"] else []
    lowest = PYPROJECT["tool"]["cogrid"]["lowest-pythons"] if "lowest-pythons" in session["tags"] else []
    return [*newest, *lowest] or pythons()[:1]


def matrix(sessions: list[dict[str, Any]]) -> dict[str, list[dict[str, str]]]:
    """One job for each session and each Python that it runs on."""
    return {
        "include": [
            {"session": session["session"], "python": version}
            for session in sessions
            for version in pythons_of(session)
        ]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--event", choices=EVENTS, default="pull_request", help="what GitHub runs for; default %(default)s"
    )
    parser.add_argument("--output", type=Path, help="append matrix=… to this file ($GITHUB_OUTPUT)")
    arguments = parser.parse_args()
    text = json.dumps(matrix(listed(*EVENTS[arguments.event])))
    if arguments.output is None:
        print(text)
    else:
        with arguments.output.open("a", encoding="utf-8") as file:
            file.write(f"matrix={text}\n")


if __name__ == "__main__":
    main()
