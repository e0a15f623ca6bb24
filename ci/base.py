"""Choose the commit that the benchmark of a change is compared with, and say why."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
BRANCH, WORKFLOW = "main", "ci.yml"
PARENT = "HEAD^1"  # of a merge: what it was merged into
NO_COMMIT = "0" * 40  # what GitHub calls the commit before a branch's first
SECONDS = 30  # for GitHub's answer


class NoAnswer(Exception):
    """GitHub did not say which commits are green; the message gives the cause."""


class Choice(NamedTuple):
    """A commit, and the sentences that say why it was chosen."""

    commit: str
    why: Sequence[str]


def git(*arguments: str) -> list[str]:
    """The lines that git prints; none if it fails."""
    command = ("git", "-C", str(ROOT), *arguments)
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    return [] if done.returncode else done.stdout.splitlines()


def commit_of(revision: str) -> str | None:
    """The commit that a revision names; None if this clone does not have it."""
    found = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return found[0] if found else None


def green() -> set[str]:
    """The commits of main whose runs were green, by GitHub's API; raises NoAnswer."""
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    if not (repository := os.environ.get("GITHUB_REPOSITORY")):
        raise NoAnswer("$GITHUB_REPOSITORY is not set")
    address = f"{api}/repos/{repository}/actions/workflows/{WORKFLOW}/runs"
    request = urllib.request.Request(f"{address}?branch={BRANCH}&status=success&per_page=100")
    if token := os.environ.get("GH_TOKEN"):
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            runs = json.load(answer)["workflow_runs"]
        # A pull request can come from a branch of this name too, of a fork.
        ours = (run for run in runs if run["event"] in ("push", "workflow_dispatch"))
        return {run["head_sha"] for run in ours}
    except (OSError, HTTPException, ValueError, LookupError, TypeError) as error:
        raise NoAnswer(str(error) or type(error).__name__) from None


def last_green() -> str | None:
    """The newest green commit before this one; None if there is none."""
    commits = green()
    return next((commit for commit in git("rev-list", "--topo-order", PARENT) if commit in commits), None)


def parent(*why: str) -> Choice:
    """The commit before this one; the first commit is compared with itself."""
    if commit := commit_of(PARENT):
        return Choice(commit, [*why, f"This is compared with the commit before it, {PARENT}."])
    return Choice(
        commit_of("HEAD") or "HEAD", [*why, "This is the first commit: it is compared with itself."]
    )


def before(commit: str, *why: str) -> Choice:
    """What GitHub says was there before the event, if that exists and the clone has it."""
    if not commit:
        return parent(*why)
    if commit == NO_COMMIT:
        return parent(*why, "Nothing was pushed to this branch before.")
    if found := commit_of(commit):
        return Choice(found, [*why, "This is compared with the commit that was there before the event."])
    return parent(*why, f"The commit before the event, {commit}, is gone: the branch was rewritten.")


def chosen(event: str, commit: str) -> Choice:
    """The commit for an event; what was never timed is timed with the next green one."""
    if event == "pull_request":
        return parent("A pull request is compared with what it is merged into.")
    if event == "merge_group":
        return before(commit, "A group of the merge queue is compared with what it is merged into.")
    try:
        found = last_green()
    except NoAnswer as cause:
        return before(commit, f"GitHub did not say which commits are green ({cause}).")
    if found is None:
        return before(commit, f"No commit of {BRANCH} before this one is green.")
    return Choice(found, [f"This is compared with the last commit of {BRANCH} whose check is green."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    variable = os.environ.get
    parser.add_argument(
        "--event", default=variable("GITHUB_EVENT_NAME", "push"), help="default $GITHUB_EVENT_NAME, or push"
    )
    parser.add_argument(
        "--before",
        default=variable("BEFORE", ""),
        metavar="COMMIT",
        help="what was there before the event; default $BEFORE",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=variable("GITHUB_OUTPUT"),
        help="append base=… to this file; default $GITHUB_OUTPUT",
    )
    arguments = parser.parse_args()
    choice = chosen(arguments.event, arguments.before)
    for sentence in choice.why:
        print(sentence)
    print(" ".join(git("log", "-1", "--format=%H %s", choice.commit)))
    if arguments.output is not None:
        with arguments.output.open("a", encoding="utf-8") as file:
            file.write(f"base={choice.commit}\n")


if __name__ == "__main__":
    main()
