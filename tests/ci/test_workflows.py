"""The workflows keep to the rules of this project, and each rule catches a planted violation."""

from __future__ import annotations

import copy
import functools
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.ci.support import ROOT, nox, start

TRUSTED = {"schedule", "workflow_dispatch"}  # events that only a person with write access can cause
HOSTED = re.compile(r"(ubuntu|windows|macos)-[\w.-]+")
PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*")

Workflow = dict[Any, Any]
Workflows = dict[str, Workflow]
Rule = Callable[[Workflows], list[str]]


def workflows() -> Workflows:
    """File name -> parsed workflow; its text is kept under "text", for the comments."""
    found = {}
    for path in sorted((ROOT / ".github/workflows").iterdir()):
        text = path.read_text(encoding="utf-8")
        found[path.name] = {**yaml.safe_load(text), "text": text}
    return found


def triggers(workflow: Workflow) -> set[str]:
    """The events that start a workflow; YAML 1.1 reads `on` as True."""
    events = workflow[True]
    return {events} if isinstance(events, str) else set(events)


def jobs(found: Workflows) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every job, named by its file and id."""
    for name, workflow in found.items():
        for id, job in workflow["jobs"].items():
            yield f"{name}: {id}", job


def steps(found: Workflows) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every step, named by its job; one that uses our action has the command that the action runs."""
    for name, job in jobs(found):
        for step in job.get("steps", ()):
            yield name, step | ({"run": command_of(step)} if "run" not in step and is_ours(step) else {})


ACTION = ".github/actions/nox"
MINE = {"matrix", "base", "summary"}  # they only read and write what is there


def is_ours(step: dict[str, Any]) -> bool:
    return str(step.get("uses")) == f"$/{ACTION}"


@functools.cache
def action() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / ACTION / "action.yml").read_text(encoding="utf-8"))
    return loaded


def command_of(step: dict[str, Any]) -> str:
    """The command of our action, with the inputs of a step in place of the variables."""
    (command,) = (one["run"] for one in action()["runs"]["steps"] if "run" in one)
    given = {name: one.get("default", "") for name, one in action()["inputs"].items()} | step["with"]
    for name, value in given.items():
        text = str(value) if name == "arguments" else shlex.quote(str(value))
        command = command.replace(f'"${name.upper()}"', text).replace(f"${name.upper()}", text)
    return str(command)


# What nox knows.


@functools.cache
def sessions() -> frozenset[str]:
    """Every name that `nox -s` takes: `tests(numpy)`, and `tests` for all of its rows."""
    listed = re.findall(r"^[*-] (\S+)", nox("--list").stdout, re.MULTILINE)
    return frozenset({*listed, *(name.partition("(")[0] for name in listed)})


@functools.cache
def selects(tag: str) -> bool:
    return " -> " in re.sub(r"(?m)^- .*", "", nox("--list", "--tags", tag).stdout)


def nox_words(run: str) -> list[str] | None:
    """The arguments of a step that is one nox command, before the double dash; else None."""
    words = shlex.split(run)
    if words[:1] != ["uvx"] or "nox" not in words[:6] or re.search(r"[;&|<>`\n]|\$\(", run.strip()):
        return None
    words = words[words.index("nox") + 1 :]
    return words[: words.index("--")] if "--" in words else words


def named(step: dict[str, Any], *options: str) -> list[str]:
    """The words that follow one of the options in a step's nox command, up to the next option."""
    found, option = [], ""
    for word in nox_words(step.get("run", "")) or ():
        if word.startswith("-"):
            option = word
        elif option in options:
            found.append(word)
    return found


# The rules: each returns what breaks it.


def every_run_is_one_nox_command(found: Workflows) -> list[str]:
    return [f"{name}: {s['run']}" for name, s in steps(found) if "run" in s and nox_words(s["run"]) is None]


def nox_names_exist(found: Workflows) -> list[str]:
    """A name comes from the text, or from the matrix that nox itself listed."""
    return [
        f"{name}: no session {word}"
        for name, step in steps(found)
        for word in named(step, "-s", "--session", "--sessions", "-e")
        if word.replace("(${{ matrix.variant }})", "") not in sessions() | {"${{ matrix.session }}"}
    ]


def nox_is_pinned(found: Workflows) -> list[str]:
    """By the constraints, which pin all that it needs too."""
    return [
        f"{name}: {step['run']}"
        for name, step in steps(found)
        if nox_words(step.get("run", "")) is not None
        and shlex.split(step["run"])[1:3] != ["--constraints", "ci/constraints/nox.txt"]
    ]


def tags_select_something(found: Workflows) -> list[str]:
    return [
        f"{name}: no session is tagged {tag}"
        for name, step in steps(found)
        for tag in named(step, "-t", "--tags")
        if not selects(tag)
    ]


def reached_by(found: Workflows, name: str) -> set[str]:
    """The events that start a workflow, by itself or through the workflows that call it."""
    events = triggers(found[name]) - {"workflow_call"}
    for caller, workflow in found.items():
        called = {
            job.get("uses", "").removeprefix("./.github/workflows/") for job in workflow["jobs"].values()
        }
        if name in called and caller != name:
            events |= reached_by(found, caller)
    return events


def self_hosted_jobs_are_out_of_reach(found: Workflows) -> list[str]:
    """Whatever is not plainly one of GitHub's machines counts as our own."""
    return [
        f"{name}: {id} can be reached by {event}"
        for name, workflow in found.items()
        for id, job in workflow["jobs"].items()
        if "uses" not in job and not HOSTED.fullmatch(str(job["runs-on"]))
        for event in sorted(reached_by(found, name) - TRUSTED)
    ]


def actions_are_pinned(found: Workflows) -> list[str]:
    return [
        f"{name}: {line.strip()}"
        for name, workflow in found.items()
        for line in workflow["text"].splitlines()
        if "uses:" in line and "uses: $/" not in line and not PINNED.search(line)
    ]


def jobs_have_timeouts(found: Workflows) -> list[str]:
    return [name for name, job in jobs(found) if "uses" not in job and not job.get("timeout-minutes")]


def steps_end_before_their_job(found: Workflows) -> list[str]:
    """Or a job that takes too long has no time to leave its report; an action has no limits inside."""
    broken = []
    for name, job in jobs(found):
        limits = [step.get("timeout-minutes", 999) for step in job.get("steps", ()) if is_ours(step)]
        if limits and sum(limits) + 2 > job.get("timeout-minutes", 0):
            broken.append(f"{name}: {limits}")
    return broken


def reports_are_always_kept(found: Workflows) -> list[str]:
    """Also after a limit was reached, when cancelled() is true."""
    broken = []
    for name, job in jobs(found):
        own = [step for step in job.get("steps", ()) if is_ours(step) and step["with"]["session"] not in MINE]
        kept = [step for step in job.get("steps", ()) if "upload-artifact@" in step.get("uses", "")]
        good = [
            step
            for step in kept
            if step.get("if") == "${{ always() }}" and "build/reports" in step["with"]["path"].split()
        ]
        if own and len(good) != 1:
            broken.append(name)
    return broken


def permissions_are_granted_by_job(found: Workflows) -> list[str]:
    """To read: nothing that runs a change can write. Publishing may: it runs nothing of the repository."""
    allowed = ({"contents": "read"}, {"contents": "read", "actions": "read"})
    broken = [name for name, workflow in found.items() if workflow.get("permissions") != {}]
    for name, job in jobs(found):
        grants = job.get("permissions")
        used = {step.get("uses", "its own command").partition("@")[0] for step in job.get("steps", ())}
        publishes = grants in PUBLISHING and used <= FOREIGN and "environment" in job and job.get("needs")
        if grants not in allowed and not publishes:
            broken.append(name)
    return broken


# What a job may write that publishes, and the actions that it may use.
PUBLISHING = ({"id-token": "write"}, {"id-token": "write", "pages": "write"})
FOREIGN = {"actions/download-artifact", "actions/deploy-pages", "pypa/gh-action-pypi-publish"}


def publishing_waits_for_the_check(found: Workflows) -> list[str]:
    """And for a tag, which only a person with write access can push."""
    broken = []
    for name, workflow in found.items():
        for id, job in workflow["jobs"].items():
            if job.get("permissions") in PUBLISHING:
                first = job["needs"] == "check" and job.get("if") == "${{ github.event_name == 'push' }}"
                after = workflow["jobs"].get(job["needs"], {}).get("permissions") in PUBLISHING
                tagged = {*(workflow[True]["push"] or {})} == {"tags"}
                if not ((first or after) and tagged):
                    broken.append(f"{name}: {id}")
    return broken


def credentials_are_not_kept(found: Workflows) -> list[str]:
    checkouts = ((name, step) for name, step in steps(found) if "actions/checkout@" in step.get("uses", ""))
    return [name for name, step in checkouts if step.get("with", {}).get("persist-credentials") is not False]


def matrices_run_to_the_end(found: Workflows) -> list[str]:
    strategies = ((name, job["strategy"]) for name, job in jobs(found) if "strategy" in job)
    return [name for name, strategy in strategies if strategy.get("fail-fast") is not False]


def values_come_through_env(found: Workflows) -> list[str]:
    """An expression inside a command would be code that its value's author writes."""
    own = ((name, step) for name, job in jobs(found) for step in job.get("steps", ()))
    return [f"{name}: {step['run']}" for name, step in own if "${{" in step.get("run", "")]


def final_check_waits_for_every_job(found: Workflows) -> list[str]:
    broken = []
    for name, workflow in found.items():
        check = workflow["jobs"].get("check")
        others = {id for id, job in workflow["jobs"].items() if job.get("permissions") not in PUBLISHING}
        if check and {*check["needs"]} != others - {"check"}:
            broken.append(f"{name}: check does not need every job")
        if check and check.get("if") != "${{ always() }}":
            broken.append(f"{name}: check can be skipped, which GitHub takes for a success")
    return broken


# Planted violations: each changes a copy of the workflows.


def plant(path: tuple[Any, ...], value: Any) -> Callable[[Workflows], None]:
    """Write a value at a path of the parsed workflows; None removes."""

    def change(found: Workflows) -> None:
        place: Any = found
        for key in path[:-1]:
            place = place[key]
        if value is None:
            del place[path[-1]]
        else:
            place[path[-1]] = value

    return change


def plant_text(old: str, new: str) -> Callable[[Workflows], None]:
    """Change the text of ci.yml."""

    def change(found: Workflows) -> None:
        assert old in found["ci.yml"]["text"]
        found["ci.yml"]["text"] = found["ci.yml"]["text"].replace(old, new, 1)

    return change


def plant_caller(found: Workflows) -> None:
    """A workflow for pull requests that calls the one with the GPU."""
    found["gpu.yml"][True]["workflow_call"] = None
    job = {"uses": "./.github/workflows/gpu.yml", "permissions": {"contents": "read"}}
    found["caller.yml"] = {True: "pull_request", "permissions": {}, "jobs": {"call": job}, "text": ""}


CI = ("ci.yml", "jobs")
PUBLISH = ("release.yml", "jobs", "publish")
GPU_STEPS = ("gpu.yml", "jobs", "gpu", "steps")
CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"

PLANTED: list[tuple[Rule, str, Callable[[Workflows], None]]] = [
    (every_run_is_one_nox_command, "pip", plant((*GPU_STEPS, 2, "run"), "pip install nox")),
    (
        every_run_is_one_nox_command,
        "two commands",
        plant((*GPU_STEPS, 2, "run"), "uvx nox -s lint && rm -r x"),
    ),
    (every_run_is_one_nox_command, "semicolon", plant((*GPU_STEPS, 2, "run"), "uvx nox -s lint; rm -r x")),
    (every_run_is_one_nox_command, "two lines", plant((*GPU_STEPS, 2, "run"), "uvx nox -s lint\nmake\n")),
    (nox_is_pinned, "plain", plant((*GPU_STEPS, 2, "run"), "uvx nox -s tests-gpu")),
    (
        nox_is_pinned,
        "other file",
        plant((*GPU_STEPS, 2, "run"), "uvx --constraints other.txt nox -s tests-gpu"),
    ),
    (nox_names_exist, "unknown", plant((*GPU_STEPS, 2, "run"), "uvx nox -s test-gpu")),
    (nox_names_exist, "unknown second", plant((*GPU_STEPS, 2, "run"), "uvx nox -s lint test")),
    (nox_names_exist, "unknown row", plant((*GPU_STEPS, 2, "run"), 'uvx nox -s "tests-gpu(cuda11)"')),
    (nox_names_exist, "unknown source", plant((*CI, "sessions", "steps", 1, "with", "session"), "${{ x }}")),
    (nox_names_exist, "unknown in action", plant((*GPU_STEPS, 1, "with", "session"), "test-gpu")),
    (tags_select_something, "empty tag", plant((*GPU_STEPS, 2, "run"), "uvx nox -t gpus")),
    (self_hosted_jobs_are_out_of_reach, "pull_request", plant(("gpu.yml", True, "pull_request"), {})),
    (
        self_hosted_jobs_are_out_of_reach,
        "target",
        plant(("gpu.yml", True), ["schedule", "pull_request_target"]),
    ),
    (self_hosted_jobs_are_out_of_reach, "comment", plant(("gpu.yml", True), "issue_comment")),
    (self_hosted_jobs_are_out_of_reach, "in ci", plant((*CI, "list", "runs-on"), ["self-hosted", "gpu"])),
    (self_hosted_jobs_are_out_of_reach, "group", plant((*CI, "list", "runs-on"), {"group": "gpu"})),
    (self_hosted_jobs_are_out_of_reach, "expression", plant((*CI, "list", "runs-on"), "${{ vars.RUNNER }}")),
    (self_hosted_jobs_are_out_of_reach, "called", plant_caller),
    (actions_are_pinned, "tag", plant_text(CHECKOUT, "actions/checkout@v7 # v7.0.1")),
    (actions_are_pinned, "branch", plant_text(CHECKOUT, "actions/checkout@main")),
    (actions_are_pinned, "short hash", plant_text(CHECKOUT, "actions/checkout@3d3c42e # v7.0.1")),
    (actions_are_pinned, "no version", plant_text(CHECKOUT, CHECKOUT.partition(" #")[0])),
    (actions_are_pinned, "image", plant_text(CHECKOUT, "docker://alpine:3")),
    (jobs_have_timeouts, "removed", plant((*CI, "list", "timeout-minutes"), None)),
    (steps_end_before_their_job, "step without", plant((*CI, "list", "steps", 1, "timeout-minutes"), None)),
    (steps_end_before_their_job, "too long", plant((*CI, "sessions", "steps", 1, "timeout-minutes"), 54)),
    (steps_end_before_their_job, "in sum", plant((*CI, "bench", "timeout-minutes"), 50)),
    (
        reports_are_always_kept,
        "not cancelled",
        plant((*CI, "sessions", "steps", 2, "if"), "${{ !cancelled() }}"),
    ),
    (
        reports_are_always_kept,
        "other path",
        plant((*CI, "bench", "steps", 4, "with", "path"), "bench/results"),
    ),
    (reports_are_always_kept, "removed", plant(("nightly.yml", "jobs", "validate", "steps", 2), {})),
    (permissions_are_granted_by_job, "top removed", plant(("ci.yml", "permissions"), None)),
    (permissions_are_granted_by_job, "top wide", plant(("ci.yml", "permissions"), "write-all")),
    (permissions_are_granted_by_job, "job", plant((*CI, "list", "permissions"), {"contents": "write"})),
    (permissions_are_granted_by_job, "token", plant((*CI, "list", "permissions"), {"id-token": "write"})),
    (permissions_are_granted_by_job, "more", plant((*PUBLISH, "permissions", "contents"), "write")),
    (permissions_are_granted_by_job, "code", plant((*PUBLISH, "steps", 0), {"run": "uvx nox -s lint"})),
    (permissions_are_granted_by_job, "open", plant((*PUBLISH, "environment"), None)),
    (publishing_waits_for_the_check, "not", plant((*PUBLISH, "needs"), "build")),
    (publishing_waits_for_the_check, "by hand", plant((*PUBLISH, "if"), None)),
    (publishing_waits_for_the_check, "branch", plant(("release.yml", True, "push", "branches"), ["main"])),
    (publishing_waits_for_the_check, "site", plant(("release.yml", "jobs", "deploy", "needs"), "site")),
    (credentials_are_not_kept, "removed", plant((*GPU_STEPS, 0, "with"), {})),
    (matrices_run_to_the_end, "true", plant((*CI, "sessions", "strategy", "fail-fast"), True)),
    (values_come_through_env, "title", plant((*GPU_STEPS, 2, "run"), "uvx nox -s ${{ github.head_ref }}")),
    (final_check_waits_for_every_job, "one left", plant((*CI, "check", "needs"), ["list"])),
    (final_check_waits_for_every_job, "no always", plant((*CI, "check", "if"), None)),
]
RULES = list(dict.fromkeys(rule for rule, _, _ in PLANTED))


CI_FILE, ACTION_FILE = ".github/workflows/ci.yml", f"{ACTION}/action.yml"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_workflows_keep_the_rule(rule: Rule) -> None:
    assert not rule(workflows())


@pytest.mark.parametrize(
    ("rule", "change"), [pytest.param(r, change, id=f"{r.__name__}-{what}") for r, what, change in PLANTED]
)
def test_rule_catches_a_planted_violation(rule: Rule, change: Callable[[Workflows], None]) -> None:
    found = copy.deepcopy(workflows())
    change(found)
    assert rule(found)


@pytest.mark.parametrize(
    ("command", "file", "old", "new"),
    [
        ("zizmor --offline --no-progress", CI_FILE, CHECKOUT, "actions/checkout@v7"),
        ("zizmor --offline --no-progress", ACTION_FILE, '"$SESSION"', "${{ inputs.session }}"),
        ("check-jsonschema --builtin-schema vendor.github-workflows", CI_FILE, "runs-on:", "runs-off:"),
        (
            "check-jsonschema --builtin-schema custom.github-workflows-require-timeout",
            CI_FILE,
            "    timeout-minutes: 55",
            "",
        ),
        ("check-jsonschema --builtin-schema vendor.github-actions", ACTION_FILE, "      shell: bash\n", ""),
    ],
)
def test_tool_catches_a_planted_violation(
    command: str, file: str, old: str, new: str, tmp_path: Path
) -> None:
    copied, text = tmp_path / Path(file).name, (ROOT / file).read_text(encoding="utf-8")
    codes = []
    for content in (text, text.replace(old, new, 1)):
        copied.write_text(content, encoding="utf-8")
        codes.append(start(*command.split(), str(copied)).returncode)
    assert codes[0] == 0
    assert codes[1] != 0


def test_workflows_are_those_that_are_meant() -> None:
    found = workflows()
    assert {name: triggers(workflow) for name, workflow in found.items()} == {
        "ci.yml": {"pull_request", "merge_group", "push", "workflow_dispatch"},
        "gpu.yml": TRUSTED,
        "nightly.yml": TRUSTED,
        "release.yml": {"push", "workflow_dispatch"},
    }
    assert found["gpu.yml"]["jobs"]["gpu"]["runs-on"] == ["self-hosted", "linux", "x64", "gpu"]
    assert found["gpu.yml"]["concurrency"]["cancel-in-progress"] is False
    assert "environment" in found["gpu.yml"]["jobs"]["gpu"]
    assert "check" in found["ci.yml"]["jobs"]


def test_benchmarks_run_on_the_python_of_the_committed_counters() -> None:
    """With any other, NumPy's counters would not be compared."""
    (counters,) = (ROOT / "bench" / "baselines").glob("counters-numpy-*.json")
    python = counters.stem.rpartition("-")[2]
    for name in ("ci.yml", "nightly.yml"):
        lines = [step["run"] for job, step in steps(workflows()) if job == f"{name}: bench" and "run" in step]
        lines = [line for line in lines if " nox -s bench" in line]
        assert lines
        for line in lines:
            assert f" --python {python} " in line


def test_every_session_names_its_python() -> None:
    for name, step in steps(workflows()):
        if "run" in step:
            assert re.search(r" --python ('\$\{\{ matrix\.python \}\}'|3\.\d+) nox ", step["run"]), name


def test_the_action_is_pinned_and_runs_one_command() -> None:
    text = (ROOT / ACTION / "action.yml").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if "uses:" in line and not PINNED.search(line)] == []
    commands = [step["run"] for step in action()["runs"]["steps"] if "run" in step]
    assert len(commands) == 1
    assert "${{" not in commands[0]
    assert {path.name for path in (ROOT / ".github/actions").iterdir()} == {"nox"}


def test_long_sessions_have_the_time_that_they_take() -> None:
    """Measured: 16 to 20 minutes of tests on an idle machine, 34 of a soak."""
    found = workflows()
    assert found["ci.yml"]["jobs"]["sessions"]["steps"][1]["timeout-minutes"] >= 45
    assert found["nightly.yml"]["jobs"]["validate"]["steps"][1]["timeout-minutes"] >= 90
    assert found["gpu.yml"]["jobs"]["gpu"]["strategy"]["max-parallel"] == 1


def test_a_tag_that_selects_sessions_is_known() -> None:
    assert selects("ci")
    assert selects("gpu")


# Pins


def pinned(name: str) -> dict[str, Requirement]:
    """The requirements of a file of ci/constraints, each of which has hashes."""
    text = (ROOT / f"ci/constraints/{name}.txt").read_text(encoding="utf-8").replace("\\\n", "")
    assert "://" not in text, "the address of an index, which is not everybody's"
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            words, *hashes = line.split(" --hash=")
            assert hashes, line
            assert all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", one) for one in hashes), line
            assert re.fullmatch(r"[\w.-]+==[\w.+-]+( ; .*)?", words.strip()), line
            requirement = Requirement(words.strip())
            if requirement.marker is None or requirement.marker.evaluate(LINUX):
                found[canonicalize_name(requirement.name)] = requirement
    return found


LINUX = {"python_version": "3.11", "python_full_version": "3.11.9", "sys_platform": "linux"}
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def group(name: str) -> list[str]:
    parts = (
        [part] if isinstance(part, str) else group(part["include-group"])
        for part in PYPROJECT["dependency-groups"][name]
    )
    return [requirement for part in parts for requirement in part]


@pytest.mark.parametrize("variant", ["cuda12", "cuda13"])
def test_all_that_the_gpu_job_installs_is_pinned_by_hash(variant: str) -> None:
    project = PYPROJECT["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"][variant], *group("tests")]
    pins = pinned(variant)
    for text in [*wanted, *PYPROJECT["build-system"]["requires"]]:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate(LINUX):
            (pin,) = pins[canonicalize_name(requirement.name)].specifier
            assert requirement.specifier.contains(pin.version), text
    assert f"jax-{variant}-plugin" in pins
    assert len([name for name in pins if re.fullmatch(r"jax-cuda\d+-plugin", name)]) == 1


def test_published_figures_are_of_pinned_versions_which_are_those_of_the_counters() -> None:
    project, pins = PYPROJECT["project"], pinned("published")
    wanted = [*project["dependencies"], *group("tests"), *group("oracles")]
    wanted += [*project["optional-dependencies"]["jax"], *project["optional-dependencies"]["train"]]
    for text in wanted:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        if name != project["name"] and (requirement.marker is None or requirement.marker.evaluate(LINUX)):
            (pin,) = pins[name].specifier
            assert requirement.specifier.contains(pin.version), text
    counted = (ROOT / "ci/constraints/bench.txt").read_text(encoding="utf-8").splitlines()
    for line in (line for line in counted if "==" in line):
        assert str(pins[line.partition("==")[0]].specifier) == f"=={line.partition('==')[2]}"


def test_the_session_installs_what_its_tests_need() -> None:
    """tests/ci/conftest.py leaves out tests where these are missing."""
    assert {Requirement(text).name for text in group("workflows")} >= {"nox", "pyyaml", "hatchling"}


def test_nox_is_pinned_by_hash_and_new_enough() -> None:
    (wanted,) = PYPROJECT["dependency-groups"]["nox"]
    (pin,) = pinned("nox")["nox"].specifier
    assert pin.operator == "=="
    assert Requirement(wanted).specifier.contains(pin.version)
    assert f"nox=={pin.version}" in (ROOT / "ci/constraints/nox.in").read_text(encoding="utf-8")


def test_pins_are_kept_current() -> None:
    updates = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text(encoding="utf-8"))["updates"]
    places = {
        (one["package-ecosystem"], place)
        for one in updates
        for place in one.get("directories", [one.get("directory")])
    }
    actions = {("github-actions", "/"), ("github-actions", f"/{ACTION}")}
    assert places == actions | {("pip", "/"), ("pip", "/ci/constraints")}


def test_an_update_of_the_counted_versions_says_that_it_is_red_until_recounted() -> None:
    """The name of a group is in the title of its pull request and in the message of its commit."""
    updates = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text(encoding="utf-8"))["updates"]
    (groups,) = (one["groups"] for one in updates if one["package-ecosystem"] == "pip")
    lines = (ROOT / "ci/constraints/bench.txt").read_text(encoding="utf-8").splitlines()
    counted = {line.partition("==")[0] for line in lines if "==" in line}
    assert set(groups["red-until-recounted"]["patterns"]) == counted
    assert set(groups["pins"]["exclude-patterns"]) == counted


def test_uv_is_pinned_in_one_place() -> None:
    lines = (ROOT / "ci/constraints/uv.txt").read_text(encoding="utf-8").splitlines()
    assert [re.fullmatch(r"#.*|uv==\d+\.\d+\.\d+", line) for line in lines].count(None) == 0
    (setup,) = (step for step in action()["runs"]["steps"] if "setup-uv@" in step.get("uses", ""))
    assert setup["with"]["version-file"] == "ci/constraints/uv.txt"
    for file in sorted((ROOT / ".github/workflows").iterdir()):
        assert "setup-uv" not in file.read_text(encoding="utf-8"), file.name
