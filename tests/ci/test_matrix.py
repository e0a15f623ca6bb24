"""The GitHub matrix equals what nox lists, for each event."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.ci.support import ROOT, nox, script

CHANGES = ("pull_request", "merge_group", "push", "workflow_dispatch")
TAGS = {**{event: ["ci"] for event in CHANGES}, "nightly": ["ci", "nightly"]}
EXPERIMENTAL = ("3.14", "3.14.0")
# Sessions that are not in the matrix: those of the GPU and of releases, which have workflows; the benchmarks
# and the validation, two of which have a job of their own behind it; training, which a person starts; and the
# workflows' own tools.
NOT_HOSTED = {
    *("tests-gpu", "bench-gpu", "bench", "bench-counters", "bench-peers", "validate", "train"),
    *("bench-history", "matrix", "base", "summary", "quick", "release", "release-install", "release-sdist"),
}


def listed(*tags: str) -> list[dict[str, Any]]:
    sessions: list[dict[str, Any]] = json.loads(nox("--list", "--json", "-t", *tags).stdout)
    return sessions


def printed(event: str) -> list[tuple[str, str]]:
    """The sessions on Linux, and their Pythons with a global lock."""
    return [(row["session"], row["python"]) for row in jobs(event) if not is_besides(row)]


def is_besides(row: dict[str, Any]) -> bool:
    return row["runner"] != "ubuntu-24.04" or row["python"].endswith("t")


def jobs(event: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(script("matrix.py", "--event", event, "--json").stdout)[
        "include"
    ]
    return found


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
    required = [version for version in pythons() if version not in EXPERIMENTAL]
    versions = {"pythons": pythons(), "lowest-pythons": lowest(), "newest-python": required[-1:]}
    expected = [
        (session["session"], version)
        for session in listed(*TAGS[event])
        for version in [v for tag in versions if tag in session["tags"] for v in versions[tag]]
        or pythons()[:1]
        if event == "nightly" or version not in EXPERIMENTAL
    ]
    assert printed(event) == expected
    assert {session for session, _ in expected} == {row["session"] for row in listed(*TAGS[event])}


def test_minimums_run_on_every_python_and_on_the_lowest_release_of_each() -> None:
    found = [version for name, version in printed("nightly") if name == "tests-minimums"]
    assert found == [*pythons(), *lowest()]


@pytest.mark.parametrize(
    "tag",
    ["ci", "nightly", "pythons", "lowest-pythons", "newest-python", "may-fail", "gpu"]
    + ["free-threaded", "systems"],
)
def test_every_tag_selects_something(tag: str) -> None:
    assert listed(tag)


def test_other_systems_and_pythons_without_a_lock_run_at_night_and_may_fail() -> None:
    rows = [row for row in jobs("nightly") if is_besides(row)]
    assert all(row["experimental"] for row in rows)
    assert {(row["session"], row["on"], row["python"], row["runner"]) for row in rows} == {
        *(("tests(numpy)", version, version, "ubuntu-24.04") for version in ("3.13t", "3.14t")),
        *((f"tests({name})", "macOS", "3.11", "macos-15") for name in ("numpy", "jax-cpu")),
        *((f"tests({name})", "Windows", "3.11", "windows-2025") for name in ("numpy", "jax-cpu")),
    }
    for event in CHANGES:
        assert not any(is_besides(row) for row in jobs(event))


def test_changes_are_tested_on_every_python_and_backend() -> None:
    for event in CHANGES:
        rows = printed(event)
        assert {row for row in rows if row[0].startswith("tests")} == {
            (f"tests({backend})", version)
            for backend in ("numpy", "jax-cpu", "native")
            for version in pythons()
            if version not in EXPERIMENTAL
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


def test_a_python_that_was_never_green_runs_at_night_and_may_fail() -> None:
    """Until it was: then it leaves `experimental-pythons` in pyproject.toml."""
    for event in TAGS:
        required = [
            job for job in jobs(event) if job["session"] != "tests-prereleases" and not is_besides(job)
        ]
        experimental = {job["python"]: job["experimental"] for job in required}
        expected = EXPERIMENTAL if event == "nightly" else ()
        assert {version for version, may_fail in experimental.items() if may_fail} == set(expected)


def test_versions_before_their_release_are_reported_and_not_required() -> None:
    (job,) = [job for job in jobs("nightly") if job["session"] == "tests-prereleases"]
    assert (job["python"], job["experimental"]) == ("3.13", True)


def test_plain_matrix_is_a_table_for_people() -> None:
    done = nox("-s", "matrix")
    assert done.returncode == 0, done.stderr
    titles, pythons, *lines = done.stdout.splitlines()
    assert titles.split("|")[1:] == [" every change           ", " every night"]
    assert [part.split() for part in pythons.split("|")][:2] == [["session"], ["3.11", "3.12", "3.13"]]
    rows = {line.split()[0]: [part.split() for part in line.split("|")[1:]] for line in lines if "|" in line}
    assert rows["lint"] == [["x"], ["x"]]
    assert rows["tests(numpy)"] == [["x"] * 3, ["x"] * 3 + ["(x)"] * 5]
    assert rows["tests-minimums"] == [[], ["x", "x", "x", "(x)"] * 2]
    assert {*rows} - {"session"} == {session for session, _ in printed("nightly")}


def test_the_table_of_one_event_and_json_on_demand() -> None:
    table = script("matrix.py", "--event", "push").stdout
    assert "every change" in table
    assert "every night" not in table
    assert "JSON is for one event: name it by --event." in script("matrix.py", "--json").stderr


def test_an_unknown_event_is_an_error() -> None:
    assert script("matrix.py", "--event", "issue_comment").returncode == 2
