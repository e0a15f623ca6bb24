"""The GitHub matrix equals what nox lists, for each event."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.ci.support import ROOT, nox, script

TAGS = {"pull_request": ["ci"], "push": ["ci"], "nightly": ["ci", "nightly"]}
# Sessions that are not in the matrix: those of the GPU; the benchmarks and the validation, two of which have
# a job of their own behind it; training, which a person starts; and the workflows' own tools.
NOT_HOSTED = {
    *("tests-gpu", "bench-gpu", "bench", "bench-counters", "bench-peers", "validate", "train"),
    *("matrix", "summary"),
}


def listed(*tags: str) -> list[dict[str, Any]]:
    sessions: list[dict[str, Any]] = json.loads(nox("--list", "--json", "-t", *tags).stdout)
    return sessions


def printed(event: str) -> list[tuple[str, str]]:
    rows = json.loads(script("matrix.py", "--event", event).stdout)["include"]
    return [(row["session"], row["python"]) for row in rows]


def pythons() -> list[str]:
    """Read from the classifiers by hand."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [line.split(" :: ")[-1] for line in project["classifiers"] if "Python :: 3." in line]
    return sorted(versions, key=lambda version: int(version.split(".")[1]))


def lowest() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return list(project["tool"]["cogrid"]["lowest-pythons"])


def test_the_lowest_pythons_are_releases_of_each() -> None:
    assert [version.rpartition(".")[0] for version in lowest()] == pythons()


@pytest.mark.parametrize("event", TAGS)
def test_matrix_equals_what_nox_lists(event: str) -> None:
    versions = {"pythons": pythons(), "lowest-pythons": lowest()}
    expected = [
        (session["session"], version)
        for session in listed(*TAGS[event])
        for version in [v for tag in versions if tag in session["tags"] for v in versions[tag]]
        or pythons()[:1]
    ]
    assert printed(event) == expected
    assert {session for session, _ in expected} == {row["session"] for row in listed(*TAGS[event])}


def test_minimums_run_on_every_python_and_on_the_lowest_release_of_each() -> None:
    found = [version for name, version in printed("nightly") if name == "tests-minimums"]
    assert found == [*pythons(), *lowest()]


@pytest.mark.parametrize("tag", ["ci", "nightly", "pythons", "lowest-pythons", "gpu"])
def test_every_tag_selects_something(tag: str) -> None:
    assert listed(tag)


def test_changes_are_tested_on_every_python_and_backend() -> None:
    for event in ("pull_request", "push"):
        rows = printed(event)
        assert {row for row in rows if row[0].startswith("tests")} == {
            (f"tests({backend})", version) for backend in ("numpy", "jax-cpu") for version in pythons()
        }
        assert {"lint", "workflows", "oracles", "examples(numpy)", "examples(jax-cpu)"} < {s for s, _ in rows}


def test_nightly_runs_every_session_that_needs_no_gpu() -> None:
    everything = {
        line.split()[1].split("(")[0] for line in nox("--list").stdout.splitlines() if " -> " in line
    }
    assert {session.split("(")[0] for session, _ in printed("nightly")} == everything - NOT_HOSTED


def test_matrix_is_appended_to_the_output_file(tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.write_text("before=1\n", encoding="utf-8")
    done = nox("-s", "matrix", "--", "--event", "push", "--output", str(output))
    assert done.returncode == 0, done.stderr
    before, line = output.read_text(encoding="utf-8").splitlines()
    assert before == "before=1"
    name, _, value = line.partition("=")
    assert name == "matrix"
    assert [(row["session"], row["python"]) for row in json.loads(value)["include"]] == printed("push")


def test_plain_matrix_is_that_of_a_pull_request() -> None:
    done = nox("-s", "matrix")
    assert done.returncode == 0, done.stderr
    assert done.stdout == script("matrix.py", "--event", "pull_request").stdout


def test_an_unknown_event_is_an_error() -> None:
    assert script("matrix.py", "--event", "issue_comment").returncode == 2
