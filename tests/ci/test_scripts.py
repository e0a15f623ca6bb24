"""Each script of ci/ explains itself; lowest versions, job summaries, the runner's hook and the audit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.ci.support import ROOT, nox, script, start, stubs

# The summary imports from the checkout and is run as a module; the README's page is a hook of the build.
NO_SCRIPTS = ("summary.py", "readme.py")
SCRIPTS = sorted(path.name for path in (ROOT / "ci").glob("*.py") if path.name not in NO_SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_explains_itself(name: str) -> None:
    done = script(name, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: {name}")


def test_summary_explains_itself() -> None:
    done = summarise("--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: python -m ci.summary")


def test_summary_needs_no_package() -> None:
    """GitHub's last job has nox and nothing of ours installed."""
    done = start(
        sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = [{str(ROOT)!r}]; import ci.summary"
    )
    assert done.returncode == 0, done.stderr


# Lowest versions.


def minimums(*arguments: str) -> dict[str, str]:
    done = script("minimums.py", *arguments)
    assert done.returncode == 0, done.stderr
    return dict(line.split("==") for line in done.stdout.splitlines())


def test_lowest_versions_are_those_of_pyproject() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = minimums("--extra", "jax", "--python", "3.11")
    assert set(found) == {"numpy", "gymnasium", "pettingzoo", "jax", "jaxlib"}
    for name, version in found.items():
        assert f'"{name}>={version},' in text


def test_highest_bound_that_applies_wins() -> None:
    assert minimums("--python", "3.12")["numpy"] == "2.0"
    assert minimums("--python", "3.13")["numpy"] == "2.1"


def test_lowest_versions_go_to_a_file(tmp_path: Path) -> None:
    output = tmp_path / "deep" / "minimums.txt"
    assert script("minimums.py", "--output", str(output)).returncode == 0
    assert "numpy==2." in output.read_text(encoding="utf-8")


def test_an_unknown_extra_is_an_error() -> None:
    assert "unknown extra 'tpu'" in script("minimums.py", "--extra", "tpu").stderr


# Summaries.

REPORT = """<?xml version="1.0"?>
<testsuites><testsuite tests="5" failures="1" errors="1" skipped="1" time="2.6">
<testcase classname="tests.a" name="good"/>
<testcase classname="tests.a" name="left"><skipped message="x"/></testcase>
<testcase classname="tests.a" name="bad[1|2]"><failure message="&lt;b&gt; @someone&#10;next">
trace</failure></testcase>
<testcase classname="tests.b" name="worse"><error message="boom"/></testcase>
<testcase classname="tests.b" name="fine"/>
</testsuite></testsuites>"""


def summarise(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return start(sys.executable, "-m", "ci.summary", *arguments, **environment)


def test_summary_counts_and_names_failures(tmp_path: Path) -> None:
    (tmp_path / "on 3.11").mkdir()
    (tmp_path / "on 3.11" / "tests(numpy).xml").write_text(REPORT, encoding="utf-8")
    done = summarise("--title", "Night", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "## Night",
        "",
        "| report | passed | failed | skipped | seconds |",
        "| --- | --- | --- | --- | --- |",
        "| on 3.11: tests(numpy) | 2 | 2 | 1 | 3 |",
        "",
        "| report | failed test | message |",
        "| --- | --- | --- |",
        "| on 3.11: tests(numpy) | tests.a::bad&#91;1&#124;2&#93; | &#60;b&#62; &#64;someone next |",
        "| on 3.11: tests(numpy) | tests.b::worse | boom |",
    ]


def test_summary_shows_json_rows(tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps([{"id": "A", "steps": 3}, {"id": "B", "note": "x"}]), encoding="utf-8")
    assert summarise("--json", str(rows)).stdout.splitlines()[2:] == [
        "| id | steps | note |",
        "| --- | --- | --- |",
        "| A | 3 |  |",
        "| B |  | x |",
    ]


def test_summary_survives_broken_and_missing_reports(tmp_path: Path) -> None:
    (tmp_path / "cut.xml").write_text(REPORT[:200], encoding="utf-8")
    done = summarise(str(tmp_path), str(tmp_path / "none"))
    assert done.returncode == 0
    assert done.stdout.count("unreadable") == 2


def test_summary_fits_a_mebibyte(tmp_path: Path) -> None:
    rows, output = tmp_path / "rows.json", tmp_path / "summary.md"
    rows.write_text(json.dumps([{"number": i, "text": "é" * 200} for i in range(4000)]), encoding="utf-8")
    assert summarise("--json", str(rows), GITHUB_STEP_SUMMARY=str(output)).returncode == 0
    data = output.read_bytes()
    assert 1024 * 1024 - 1000 < len(data) <= 1024 * 1024
    assert data.decode().rstrip().endswith("… cut here: GitHub shows 1 MiB.")
    assert data.decode().splitlines()[-3].endswith("é |"), "whole lines only"


@pytest.mark.parametrize(
    ("result", "code"), [("success", 0), ("failure", 1), ("cancelled", 1), ("skipped", 1)]
)
def test_summary_is_green_only_if_every_job_is(result: str, code: int) -> None:
    needs = json.dumps(
        {"list": {"result": "success", "outputs": {"matrix": "{}"}}, "sessions": {"result": result}}
    )
    done = nox("-s", "summary", "--", "--needs", needs)
    assert done.returncode == code
    assert f"| sessions | {result} |" in done.stdout
    assert (f"not every job succeeded (sessions: {result})" in done.stdout) == bool(code)


# The runner's hook.

OURS = "owner/cogrid"
GOOD = {
    "GITHUB_EVENT_NAME": "workflow_dispatch",
    "GITHUB_REPOSITORY": OURS,
    "GITHUB_REF": "refs/heads/main",
    "GITHUB_WORKFLOW_REF": f"{OURS}/.github/workflows/gpu.yml@refs/heads/main",
}


def hook(
    folder: Path, repository: str | None = f"{OURS}\n", **event: str
) -> subprocess.CompletedProcess[str]:
    """The hook as it is installed: a copy with the repository's name beside it."""
    shutil.copy(ROOT / "ci/runner_hook.sh", folder)
    if repository is not None:
        (folder / "repository").write_text(repository, encoding="utf-8")
    return start("bash", str(folder / "runner_hook.sh"), **event)


@pytest.mark.parametrize(
    ("event", "code"),
    [
        *((event, 0) for event in ("schedule", "workflow_dispatch")),
        *(
            (event, 1)
            for event in ("pull_request", "pull_request_target", "push", "issue_comment", "workflow_run")
        ),
        *((event, 1) for event in ("", "schedule2", "Schedule", "repository_dispatch", "merge_group")),
    ],
)
def test_hook_refuses_untrusted_events(event: str, code: int, tmp_path: Path) -> None:
    done = hook(tmp_path, **{**GOOD, "GITHUB_EVENT_NAME": event})
    assert done.returncode == code
    assert done.stderr == (
        f"This runner refuses the event '{event}': it runs on schedule and workflow_dispatch only.\n"
        if code
        else ""
    )


OTHER = "refs/heads/other"
# What a dispatch of a branch that nobody has read, of a fork or of another workflow says.
FOREIGN: list[tuple[str, dict[str, str]]] = [
    ("ref", {"GITHUB_REF": OTHER, "GITHUB_WORKFLOW_REF": f"{OURS}/.github/workflows/gpu.yml@{OTHER}"}),
    ("ref", {"GITHUB_REF": OTHER}),
    ("ref", {"GITHUB_REF": "refs/tags/main"}),
    ("ref", {"GITHUB_REF": "refs/pull/1/merge"}),
    ("ref", {"GITHUB_REF": "refs/heads/main2"}),
    ("ref", {"GITHUB_REF": ""}),
    ("repository", {"GITHUB_REPOSITORY": "stranger/cogrid"}),
    ("repository", {"GITHUB_REPOSITORY": f"{OURS}2"}),
    ("repository", {"GITHUB_REPOSITORY": "*"}),
    ("repository", {"GITHUB_REPOSITORY": ""}),
    ("workflow", {"GITHUB_WORKFLOW_REF": f"{OURS}/.github/workflows/gpu.yml@{OTHER}"}),
    ("workflow", {"GITHUB_WORKFLOW_REF": f"{OURS}/.github/workflows/mine.yml@refs/heads/main"}),
    ("workflow", {"GITHUB_WORKFLOW_REF": "stranger/x/.github/workflows/gpu.yml@refs/heads/main"}),
    ("workflow", {"GITHUB_WORKFLOW_REF": ""}),
]


@pytest.mark.parametrize("event", ["schedule", "workflow_dispatch"])
@pytest.mark.parametrize(("what", "changes"), FOREIGN)
def test_hook_refuses_what_nobody_has_read(
    event: str, what: str, changes: dict[str, str], tmp_path: Path
) -> None:
    done = hook(tmp_path, **{**GOOD, "GITHUB_EVENT_NAME": event, **changes})
    assert (done.returncode, done.stdout) == (1, "")
    value = changes.get(f"GITHUB_{'WORKFLOW_REF' if what == 'workflow' else what.upper()}", "")
    assert done.stderr.startswith(f"This runner refuses the {what} '{value}': it runs jobs of '")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("repository", [None, "", "cogrid", "*/*", f"{OURS}\nstranger/cogrid"])
def test_hook_refuses_everything_until_it_knows_its_repository(
    repository: str | None, tmp_path: Path
) -> None:
    done = hook(tmp_path, repository, **GOOD)
    assert done.returncode == 1
    assert done.stderr.startswith("This runner refuses every job: ")


def test_hook_refuses_without_an_event_and_explains_itself(tmp_path: Path) -> None:
    assert hook(tmp_path).returncode == 1
    assert start("bash", "ci/runner_hook.sh", "--help").returncode == 0
    assert os.access(ROOT / "ci/runner_hook.sh", os.X_OK)


# The audit.

REPORTED = {
    "dependencies": [
        {"name": "numpy", "version": "2.0", "vulns": []},
        {"name": "cogrid-worlds", "skip_reason": "distribution marked as editable"},
    ]
}
BAD = {"name": "pillow", "version": "11.0", "vulns": [{"id": "CVE-1", "fix_versions": ["11.1"]}]}
UNKNOWN = {"name": "jax", "skip_reason": "Dependency not found on PyPI and could not be audited: jax (0.10)"}


def audited(folder: Path, words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """The audit with a tool that says these words."""
    path = stubs(folder / "bin", {"pip-audit": code})
    (folder / "words").write_text(words, encoding="utf-8")
    tool = folder / "bin" / "pip-audit"
    tool.write_text(
        f"#!/bin/sh\ncat '{folder}/words'\necho 'no route to host' >&2\nexit {code}\n", encoding="utf-8"
    )
    return script("audit.py", "--output", str(folder / "sbom.json"), PATH=path)


@pytest.mark.parametrize(
    ("more", "code", "told"),
    [
        ([], 0, "2 packages, 0 known vulnerabilities.\n"),
        ([BAD], 1, "pillow 11.0: CVE-1, fixed in 11.1\n3 packages, 1 known vulnerabilities.\n"),
        ([UNKNOWN], 75, "2 packages, 0 known vulnerabilities.\n"),
        ([BAD, UNKNOWN], 1, "pillow 11.0: CVE-1, fixed in 11.1\n3 packages, 1 known vulnerabilities.\n"),
    ],
)
def test_audit_tells_what_is_known(more: list[Any], code: int, told: str, tmp_path: Path) -> None:
    report = {"dependencies": [*REPORTED["dependencies"], *more]}
    done = audited(tmp_path, json.dumps(report), int(bool(code)))
    assert (done.returncode, done.stdout) == (code, told)
    assert ("does not know 1 of " in done.stderr) == (UNKNOWN in more)


@pytest.mark.parametrize("words", ["", "<html>", "[]", "{}"])
def test_audit_without_the_service_says_so(words: str, tmp_path: Path) -> None:
    done = audited(tmp_path, words, 1)
    assert (done.returncode, done.stdout) == (75, "")
    assert done.stderr == (
        "The advisory service cannot be reached, so nothing is known about vulnerabilities "
        "(no route to host): try again with a network.\n"
    )


def test_audit_by_the_real_tool_without_a_network(tmp_path: Path) -> None:
    nowhere = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "ALL_PROXY"), "http://127.0.0.1:9")
    here = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = script(
        "audit.py", "--output", str(tmp_path / "sbom.json"), PATH=here, NO_PROXY="", no_proxy="", **nowhere
    )
    assert (done.returncode, done.stdout) == (75, ""), done.stderr
    assert done.stderr.startswith("The advisory service cannot be reached")
    assert done.stderr.count("\n") == 1
    sbom = json.loads((tmp_path / "sbom.json").read_text(encoding="utf-8"))
    found = {part["name"]: part for part in sbom["components"]}
    assert (sbom["bomFormat"], found["numpy"]["version"]) == ("CycloneDX", metadata.version("numpy"))
    assert found["pip-audit"]["purl"] == f"pkg:pypi/pip-audit@{metadata.version('pip-audit')}"
