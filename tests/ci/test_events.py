"""What GitHub does with our workflows: every event is played on this machine, command by command."""

from __future__ import annotations

import functools
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.ci.expressions import evaluate, filled
from tests.ci.github import BUILT, Event, Repository, Run, git
from tests.ci.support import ROOT, nox

pytestmark = pytest.mark.xdist_group("events")  # the repository is made once

NO_COMMIT, GONE = "0" * 40, "1" * 40
MAIN = "refs/heads/main"
QUEUE = "refs/heads/gh-readonly-queue/main/pr-7"
GPU = {"GPU_REPOSITORY": "owner/cogrid"}
# The workflows that an event starts.
STARTED = {
    "push": {"ci.yml"},
    "first push": {"ci.yml"},
    "force-push": {"ci.yml"},
    "pull request from a fork": {"ci.yml"},
    "merge queue": {"ci.yml"},
    "tag": {"release.yml"},
    "tag of something else": set(),
    "schedule": {"nightly.yml", "gpu.yml"},
    "workflow_dispatch": {"ci.yml", "nightly.yml", "gpu.yml", "release.yml"},
}
CASES = [
    pytest.param(event, name, id=f"{event}-{name}") for event in STARTED for name in sorted(STARTED[event])
]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository(tmp_path_factory.mktemp("events") / "origin")


@pytest.fixture(scope="module")
def events(repository: Repository) -> dict[str, Event]:
    _, two, three = repository.main
    queue = {"merge_group": {"base_sha": three}}
    return {
        "push": Event("push", MAIN, three, {"before": two}, GPU),
        "first push": Event("push", MAIN, three, {"before": NO_COMMIT}, GPU),
        "force-push": Event("push", MAIN, three, {"before": GONE}, GPU),
        "pull request from a fork": Event("pull_request", "refs/pull/7/merge", repository.merge),
        "merge queue": Event("merge_group", QUEUE, repository.merge, queue, GPU),
        "tag": Event("push", "refs/tags/v1", three, {"before": NO_COMMIT}, GPU),
        "tag of something else": Event("push", "refs/tags/paper", three, {"before": NO_COMMIT}, GPU),
        "schedule": Event("schedule", MAIN, three, {}, GPU),
        "workflow_dispatch": Event("workflow_dispatch", MAIN, three, {}, GPU),
    }


@pytest.fixture
def github() -> Iterator[tuple[str, list[dict[str, Any]], list[str]]]:
    """GitHub's API: its address, the runs that it tells of, and what it was asked."""
    runs: list[dict[str, Any]] = []
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.headers['Authorization']} {self.path}")
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"workflow_runs": runs}).encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", runs, asked
    server.shutdown()
    server.server_close()


@functools.cache
def sessions() -> frozenset[str]:
    """Every name of a session, and those that stand for all of its rows."""
    listed = re.findall(r"(?m)^[*-] (\S+)", nox("--list").stdout)
    return frozenset({*listed, *(name.partition("(")[0] for name in listed)})


def run_of(commit: str, event: str = "push") -> dict[str, Any]:
    return {"head_sha": commit, "event": event}


def against(run: Run) -> list[str]:
    """The commit that the benchmark compared with; none if it did not run."""
    bench = [call["given"] for call in run.calls if call["session"] == "bench"]
    return [commit for option, commit in bench if option == "--against"]


def words_of(run: Run) -> str:
    """Everything that commands printed."""
    return "\n".join(text for _, _, text in run.commands)


@pytest.mark.parametrize("name", STARTED)
def test_an_event_starts_its_workflows(name: str, repository: Repository, events: dict[str, Event]) -> None:
    workflows = repository.workflows()
    assert {file for file in workflows if events[name].starts(workflows[file])} == STARTED[name]


@pytest.mark.parametrize(("name", "file"), CASES)
def test_every_command_of_an_event_passes(
    name: str, file: str, repository: Repository, events: dict[str, Event], tmp_path: Path
) -> None:
    """In a clean clone as deep as the workflow asks for, with GitHub's variables, and without a network."""
    run = Run(repository, events[name], repository.workflows()[file], tmp_path)
    assert [(job, code, text) for job, code, text in run.commands if code] == []
    by_tag = {"publish", "deploy"} if name != "tag" else set()
    assert {id for id, result in run.results().items() if result != "success"} <= by_tag, run.results()
    assert {call["session"] for call in run.calls} <= sessions()
    assert len(set(run.uploads)) == len(run.uploads), "GitHub takes a name once"
    listed = json.loads(run.needs["list"]["outputs"]["matrix"])["include"] if "list" in run.needs else []
    for job in listed:
        title = f"{job['session']} on {job['python']}"
        assert title in run.jobs
        assert title in run.uploads
        assert f"| {title}" in run.summary
    assert "left no report" not in run.summary
    assert "failed" not in run.summary.replace("| report | passed | failed |", "")
    assert "## " in run.summary


def test_a_pull_request_of_a_fork_reaches_no_gpu(
    repository: Repository, events: dict[str, Event], tmp_path: Path
) -> None:
    workflow = repository.workflows()["gpu.yml"]
    assert not events["pull request from a fork"].starts(workflow)
    fork = Event("schedule", MAIN, repository.main[2], {"repository": {"fork": True}}, GPU)
    elsewhere = Event("schedule", MAIN, repository.main[2], {}, {}, "stranger/cogrid")
    for number, event in enumerate((fork, elsewhere)):
        assert Run(repository, event, workflow, tmp_path / str(number)).results() == {"gpu": "skipped"}


# What the benchmark compares with.


@pytest.mark.parametrize(
    ("name", "number", "words"),
    [
        ("push", 1, "that was there before the event"),
        ("first push", 1, "Nothing was pushed to this branch before."),
        ("force-push", 1, f"The commit before the event, {GONE}, is gone"),
        ("pull request from a fork", 2, "A pull request is compared with what it is merged into."),
        ("merge queue", 2, "A group of the merge queue is compared with what it is merged into."),
        ("workflow_dispatch", 1, "the commit before it"),
    ],
)
def test_without_an_answer_the_base_is_what_the_event_says_or_the_parent(
    name: str, number: int, words: str, repository: Repository, events: dict[str, Event], tmp_path: Path
) -> None:
    run = Run(repository, events[name], only_bench(repository), tmp_path)
    assert run.results() == {"bench": "success"}, words_of(run)
    assert against(run) == [repository.main[number]]
    assert words in words_of(run)
    silent = "GitHub did not say which commits are green" in words_of(run)
    assert silent == (name not in ("pull request from a fork", "merge queue"))


def only_bench(repository: Repository) -> dict[Any, Any]:
    """The workflow of changes with its benchmark alone."""
    workflow = repository.workflows()["ci.yml"]
    return {**workflow, "jobs": {"bench": {**workflow["jobs"]["bench"], "needs": []}}}


@pytest.mark.parametrize("name", ["push", "first push", "force-push", "workflow_dispatch"])
def test_what_was_never_timed_is_timed_with_the_next(
    name: str, repository: Repository, events: dict[str, Event], tmp_path: Path, github: Any
) -> None:
    """The second commit is not green: it was red, or still runs."""
    address, runs, asked = github
    one, two, three = repository.main
    # Of a fork's branch main, of this commit itself, of a commit that a rewritten branch has lost.
    runs += [run_of(two, "pull_request"), run_of(three), run_of(GONE), run_of(one)]
    run = Run(repository, events[name], only_bench(repository), tmp_path, api=address)
    assert against(run) == [one]
    assert "the last commit of main whose check is green" in words_of(run)
    (question,) = asked
    assert question.startswith(
        "Bearer a-token /repos/owner/cogrid/actions/workflows/ci.yml/runs?branch=main&"
    )
    assert "status=success" in question


def test_if_nothing_is_green_the_event_says_it(
    repository: Repository, events: dict[str, Event], tmp_path: Path, github: Any
) -> None:
    address, _, _ = github
    run = Run(repository, events["push"], only_bench(repository), tmp_path, api=address)
    assert against(run) == [repository.main[1]]
    assert "No commit of main before this one is green." in words_of(run)


def test_the_first_commit_is_compared_with_itself(
    repository: Repository, events: dict[str, Event], tmp_path: Path
) -> None:
    first = Event("push", MAIN, repository.main[0], {"before": NO_COMMIT})
    run = Run(repository, first, only_bench(repository), tmp_path)
    assert against(run) == [repository.main[0]]
    assert "This is the first commit" in words_of(run)


# What went wrong is named.


def test_the_summary_names_the_sessions_that_failed(
    repository: Repository, events: dict[str, Event], tmp_path: Path
) -> None:
    outcomes = {"docs": "failed", "tests(jax-cpu) on 3.12": "stopped", "oracles": "nothing"}
    run = Run(
        repository, events["push"], repository.workflows()["ci.yml"], tmp_path, {**outcomes, "lint": "failed"}
    )
    expected = {"list": "success", "sessions": "failure", "bench": "skipped", "check": "failure"}
    assert run.results() == expected
    told = run.commands[-1][2]
    named = {
        "docs on 3.11: failure: Command x failed",
        "lint on 3.11: failure: Command x failed",
        "tests(jax-cpu) on 3.12: failure: it was stopped",
        "oracles on 3.11: left no report: it was stopped, or never began",
    }
    assert {line for line in told.splitlines() if " on 3" in line and ": " in line} == named
    assert "sessions: failure, bench: skipped" in told
    rows = [line for line in run.summary.splitlines() if " on 3." in line]
    assert all("failure: " in row or "left no report" in row for row in rows[:4]), "failures come first"
    assert all("passed" in row for row in rows[4:])
    assert set(run.uploads) >= {"docs on 3.11", "tests(jax-cpu) on 3.12"}, (
        "a failed session leaves its report"
    )


def test_a_python_that_was_never_green_cannot_turn_the_night_red(
    repository: Repository, events: dict[str, Event], tmp_path: Path
) -> None:
    workflow = repository.workflows()["nightly.yml"]
    outcomes = {"tests(numpy) on 3.14": "failed", "tests-minimums on 3.14.0": "stopped"}
    run = Run(repository, events["schedule"], workflow, tmp_path / "one", outcomes)
    assert set(run.results().values()) == {"success"}
    assert "| tests(numpy) on 3.14 (may fail) | failure: Command x failed |" in run.summary.replace(
        "&#40;", "("
    )
    assert "not every job succeeded" not in words_of(run)


def test_a_variant_that_fails_does_not_stop_the_other(
    repository: Repository, events: dict[str, Event], tmp_path: Path
) -> None:
    outcomes = {"tests-gpu(cuda12)": "failed"}
    run = Run(repository, events["schedule"], repository.workflows()["gpu.yml"], tmp_path / "both", outcomes)
    assert run.results() == {"gpu": "failure"}
    called = [call["session"] for call in run.calls if call["session"] != "summary"]
    assert called == ["tests-gpu(cuda12)", "tests-gpu(cuda13)", "bench-gpu(cuda13)"]
    assert run.uploads == ["gpu cuda12", "gpu cuda13"]
    assert {call["python"] for call in run.calls} == {"3.11"}
    old = Event("schedule", MAIN, repository.main[2], {}, {**GPU, "GPU_VARIANTS": '["cuda12"]'})
    assert Run(repository, old, repository.workflows()["gpu.yml"], tmp_path / "one").jobs == ["cuda12"]


# Releases.


def release(repository: Repository, event: Event, folder: Path, **outcomes: str) -> Run:
    return Run(repository, event, repository.workflows()["release.yml"], folder, outcomes)


def test_a_tag_publishes_what_was_built_once_and_the_site(
    repository: Repository, events: dict[str, Event], tmp_path: Path
) -> None:
    run = release(repository, events["tag"], tmp_path)
    assert set(run.results().values()) == {"success"}, words_of(run)
    assert run.published == [*BUILT, "site"]
    called = [call["session"] for call in run.calls]
    assert called.count("release-build") == 1
    assert called.count("release-install") == 3
    assert "release-sdist" in called


def test_started_by_hand_a_release_publishes_nothing(
    repository: Repository, events: dict[str, Event], tmp_path: Path
) -> None:
    run = release(repository, events["workflow_dispatch"], tmp_path)
    skipped = {id for id, result in run.results().items() if result != "success"}
    assert skipped == {"publish", "deploy"}
    assert run.published == []


@pytest.mark.parametrize("session", ["release-build", "release-install", "release-sdist", "docs"])
def test_nothing_is_published_if_a_session_fails(
    session: str, repository: Repository, events: dict[str, Event], tmp_path: Path
) -> None:
    run = release(repository, events["tag"], tmp_path, **{session: "failed"})
    assert run.published == []
    assert run.results()["check"] == "failure"
    assert session in run.summary


# Which runs wait for others.


def group(event: Event, workflow: dict[Any, Any]) -> tuple[str, bool]:
    """A run's concurrency group, and whether it ends the one that runs."""
    found = filled(workflow["concurrency"], {"github": event.context()})
    return found["group"], found["cancel-in-progress"]


def test_every_commit_of_main_has_a_run(repository: Repository, events: dict[str, Event]) -> None:
    workflow = repository.workflows()["ci.yml"]
    one, two = (Event("push", MAIN, commit) for commit in repository.main[:2])
    assert group(one, workflow)[0] != group(two, workflow)[0]
    assert not group(one, workflow)[1]
    older, newer = (Event("pull_request", "refs/pull/7/merge", commit) for commit in repository.main[:2])
    assert group(older, workflow) == group(newer, workflow)
    assert group(newer, workflow)[1]
    assert not group(events["merge queue"], workflow)[1]


# The imitation itself.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("github.event_name == 'push' && 'a' || 'b'", "a"),
        ("github.event_name != 'push' && 'a' || 'b'", "b"),
        ("!github.event.repository.fork", True),
        ("github.event.before || github.event.none.such || 'x'", "x"),
        ("fromJSON(vars.V || '[\"it''s\"]')", ["it's"]),
        ("format('{0}/{1}', 'a', github.number)", "a/3"),
        ("(true || false) && false", False),
    ],
)
def test_expressions(text: str, value: object) -> None:
    contexts = {"github": {"event_name": "push", "event": {}, "number": 3}, "vars": {}}
    assert evaluate(f"${{{{ {text} }}}}", contexts) == value


def test_a_clone_is_as_deep_as_the_workflow_asks(repository: Repository) -> None:
    for depth, number in ((1, "1"), (2, "2"), (0, "3")):
        clone = repository.clone(repository.main[2], depth)
        assert git(clone, "rev-list", "--count", "HEAD") == number


def test_lines_end_the_same_everywhere() -> None:
    """A checkout on Windows has other hashes of sources, golden files and shell scripts else."""
    for name in ("noxfile.py", "ci/runner_hook.sh", "tests/golden/README", "bench/baselines/x.json"):
        assert git(ROOT, "check-attr", "eol", "--", name).endswith("eol: lf")
