"""GitHub on this machine: it starts workflows for an event, and runs every `run:` line in a clean clone.

Actions of other repositories are imitated. `uvx` is a stub: it starts the sessions without an environment by
the nox that is here, and leaves the reports of the others.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from tests.ci.expressions import evaluate, filled, text_of
from tests.ci.support import ROOT

# What the started sessions need of the project, and what is read of it here.
COPIED = (
    *("noxfile.py", "pyproject.toml", "ci", ".github", "cogrid/backend/backends.py"),
    *("bench/__init__.py", "bench/show/__init__.py"),
)
COPIED = (*COPIED, "bench/show/github.py")
ILLEGAL = re.compile(r'[":<>|*?\r\n\\/]')  # in the name of an artifact
ME = ("-c", "user.name=me", "-c", "user.email=me@localhost", "-c", "commit.gpgsign=false")
PLAIN_GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
MINE = ("matrix", "base", "summary")
BUILT = ["cogrid_worlds-1.whl", "cogrid_worlds-1.tar.gz"][::-1]
AFTER_BUILD = ("release-install", "release-sdist")

# By a shell, since the path of the interpreter may have spaces.
START = f"""#!/bin/sh
exec '{sys.executable}' -S "$0.py" "$@"
"""
UVX = f"""import json, os, sys
from os.path import isfile

words = sys.argv[1:]
before, after = words[: words.index("nox")], words[words.index("nox") + 1 :]
assert before[:2] == ["--constraints", "ci/constraints/nox.txt"] and isfile(before[1]), before
python = before[before.index("--python") + 1] if "--python" in before else ""
assert after[0] == "-s", after
session, given = after[1], after[after.index("--") + 1 :] if "--" in after else []
with open(os.environ["STUB_CALLS"], "a", encoding="utf-8") as file:
    print(json.dumps({{"session": session, "python": python, "given": given}}), file=file)
if session in {MINE}:
    os.execv({sys.executable!r}, [{sys.executable!r}, "-m", "nox", *after])
outcomes = json.loads(os.environ["STUB_OUTCOMES"])
outcome = outcomes.get(f"{{session}} on {{python}}", outcomes.get(session, "passed"))
if session == "bench" and "--against" in given:
    base = given[given.index("--against") + 1] if given[-1] != "--against" else ""
    import subprocess
    known = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", base + "^{{commit}}"]
    if subprocess.run(known, stdout=subprocess.DEVNULL).returncode:
        sys.exit(2)
if session == "release-build" and outcome == "passed":
    os.makedirs("build/dist")
    for name in {BUILT}:
        open(f"build/dist/{{name}}", "w").close()
if session in {AFTER_BUILD}:
    assert sorted(os.listdir("build/dist")) == {BUILT}
if session == "docs" and outcome == "passed":
    os.makedirs("build/docs/html")
    open("build/docs/html/index.html", "w").close()
if outcome != "nothing":
    message = "Command x failed" if outcome == "failed" else "it was stopped"
    inner = "" if outcome == "passed" else f'<failure message="{{message}}"/>'
    os.makedirs("build/reports", exist_ok=True)
    with open(f"build/reports/{{session}}.session.xml", "w", encoding="utf-8") as file:
        file.write(
            f'<testsuite tests="1" failures="{{int(bool(inner))}}" errors="0" skipped="0" time="60">'
            f'<testcase classname="nox" name="{{session}}">{{inner}}</testcase></testsuite>'
        )
sys.exit(outcome != "passed")
"""


def git(place: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(place), *ME, *arguments],
        env={**os.environ, **PLAIN_GIT},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.strip()


class Repository:
    """Three commits of this checkout's files on main, and a pull request that left main at the second."""

    def __init__(self, place: Path) -> None:
        self.place = place
        for name in COPIED:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (ROOT / name).exists():
                shutil.copy(ROOT / name, place / name)
        git(place, "init", "--quiet", "--initial-branch", "main")
        git(place, "config", "uploadpack.allowAnySHA1InWant", "true")
        git(place, "add", "--all")
        self.main = [self.commit(word) for word in ("one", "two", "three")]
        git(place, "checkout", "--quiet", "-b", "theirs", self.main[1])
        self.theirs = self.commit("theirs")
        git(place, "checkout", "--quiet", "--detach", "main")
        git(place, "merge", "--quiet", "--no-ff", "--message", "merge", self.theirs)
        self.merge = git(place, "rev-parse", "HEAD")
        git(place, "update-ref", "refs/pull/7/merge", self.merge)
        git(place, "branch", "--quiet", "-D", "theirs")  # it is a fork's
        git(place, "checkout", "--quiet", "main")

    def commit(self, word: str) -> str:
        (self.place / f"{word}.txt").write_text(word, encoding="utf-8")
        git(self.place, "add", "--all")
        git(self.place, "commit", "--quiet", "--message", word)
        return git(self.place, "rev-parse", "HEAD")

    def clone(self, sha: str, depth: int) -> Path:
        """A clone that is not to be changed: without a depth it has all branches."""
        place = self.place.parent / f"clone-{sha}-{depth}"
        if not place.exists():
            place.mkdir()
            git(place, "init", "--quiet", "--template=")
            git(place, "remote", "add", "origin", self.place.as_uri())
            what = [f"--depth={depth}"] if depth else ["+refs/heads/*:refs/remotes/origin/*"]
            git(place, "fetch", "--quiet", "--no-tags", "origin", *what, sha)
            git(place, "checkout", "--quiet", "--detach", sha)
        return place

    def workflows(self) -> dict[str, dict[Any, Any]]:
        """File name -> workflow."""
        files = sorted((self.place / ".github/workflows").glob("*.yml"))
        return {file.name: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}


@dataclass(frozen=True)
class Event:
    """What GitHub says of an event."""

    name: str
    ref: str
    sha: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)  # of the repository
    repository: str = "owner/cogrid"

    def starts(self, workflow: dict[Any, Any]) -> bool:
        """Whether a workflow has this trigger; YAML 1.1 reads `on` as True."""
        triggers = workflow[True]
        triggers = dict.fromkeys([triggers] if isinstance(triggers, str) else triggers) | (
            triggers if isinstance(triggers, dict) else {}
        )
        if self.name not in triggers:
            return False
        wanted = (triggers[self.name] or {}) if self.name == "push" else {}
        patterns = [f"refs/heads/{branch}" for branch in wanted.get("branches", ())]
        patterns += [f"refs/tags/{tag}" for tag in wanted.get("tags", ())]
        return not patterns or any(fnmatchcase(self.ref, pattern) for pattern in patterns)

    def context(self) -> dict[str, Any]:
        return {
            "event_name": self.name,
            "ref": self.ref,
            "sha": self.sha,
            "repository": self.repository,
            "base_ref": "main" if self.name == "pull_request" else "",
            "token": "a-token",
            "event": {"repository": {"fork": False}, **self.payload},
        }


@dataclass
class Run:
    """A run of one workflow: what was called, the results of the jobs, artifacts and summaries."""

    repository: Repository
    event: Event
    workflow: dict[Any, Any]
    folder: Path
    outcomes: Mapping[str, str] = field(default_factory=dict)  # of sessions, else they pass
    api: str = "http://127.0.0.1:9"  # nobody answers there
    needs: dict[str, dict[str, Any]] = field(default_factory=dict)
    jobs: list[str] = field(default_factory=list)
    commands: list[tuple[str, int, str]] = field(default_factory=list)
    uploads: list[str] = field(default_factory=list)
    published: list[str] = field(default_factory=list)  # files on PyPI, and "site"

    def __post_init__(self) -> None:
        (self.folder / "bin").mkdir(parents=True)
        (self.folder / "bin/uvx.py").write_text(UVX, encoding="utf-8")
        (self.folder / "bin/uvx").write_text(START, encoding="utf-8")
        (self.folder / "bin/uvx").chmod(0o755)
        for id, job in self.workflow["jobs"].items():
            self.needs[id] = self.run_job(id, job)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """What `uvx` was called with."""
        file = self.folder / "calls"
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    @property
    def summary(self) -> str:
        file = self.folder / "summary.md"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def results(self) -> dict[str, str]:
        return {id: need["result"] for id, need in self.needs.items()}

    def contexts(self, job: dict[str, Any]) -> dict[str, Any]:
        needed = job.get("needs", [])
        needed = [needed] if isinstance(needed, str) else needed
        return {
            "github": self.event.context(),
            "vars": self.event.variables,
            "needs": {id: self.needs[id] for id in needed},
        }

    def run_job(self, id: str, job: dict[str, Any]) -> dict[str, Any]:
        """Run a job once for each row of its matrix."""
        contexts = self.contexts(job)
        good = all(need["result"] == "success" for need in contexts["needs"].values())
        if not holds(job.get("if"), contexts, good):
            return {"result": "skipped", "outputs": {}}
        result, outputs = "success", {}
        for number, row in enumerate(rows(job, contexts)):
            own = {**contexts, "matrix": row, "steps": {}}
            assert filled(job["runs-on"], own)
            name = text_of(filled(job.get("name", id), own))
            assert name not in self.jobs, "two jobs of one name cannot be told apart"
            self.jobs.append(name)
            good = Job(self, name, self.folder / f"{id}-{number}", own).run(job)
            if not good and not filled(job.get("continue-on-error", False), own):
                result = "failure"
            outputs = filled(job.get("outputs", {}), own)
        return {"result": result, "outputs": outputs}


def rows(job: dict[str, Any], contexts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a job's matrix: of `include`, or of one list."""
    matrix = filled(job.get("strategy", {}).get("matrix"), contexts)
    if matrix is None:
        yield {}
    elif "include" in matrix:
        yield from matrix["include"]
    else:
        ((name, values),) = matrix.items()
        yield from ({name: value} for value in values)


def holds(condition: str | None, contexts: Mapping[str, Any], good: bool) -> bool:
    """Whether a job or step runs; without a function of its own a condition also needs success."""
    functions = {
        "always": lambda: True,
        "cancelled": lambda: False,
        "success": lambda: good,
        "failure": lambda: not good,
    }
    if condition is None:
        return good
    value = bool(evaluate(condition, contexts, functions))
    return value if re.search(r"\b(always|cancelled|success|failure)\(", condition) else value and good


@dataclass
class Job:
    """One job on its machine."""

    run_of: Run
    name: str
    folder: Path
    contexts: dict[str, Any]

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    granted: dict[str, str] = field(default_factory=dict)

    def run(self, job: dict[str, Any]) -> bool:
        self.granted = job["permissions"]
        self.workspace.mkdir(parents=True)
        return self.run_steps(job["steps"], self.contexts, filled(job.get("env", {}), self.contexts))

    def run_steps(self, steps: list[dict[str, Any]], contexts: dict[str, Any], env: dict[str, Any]) -> bool:
        good = True
        for step in steps:
            if not holds(step.get("if"), contexts, good):
                continue
            given = {**env, **filled(step.get("env", {}), contexts)}
            outputs = self.run_step(step, contexts, given)
            good = good and outputs is not None
            if "id" in step:
                contexts["steps"][step["id"]] = {"outputs": outputs or {}}
        return good

    def run_step(self, step: dict[str, Any], contexts: dict[str, Any], env: dict[str, Any]) -> Any:
        """Run a step; its outputs, or None if it failed."""
        inputs = filled(step.get("with", {}), contexts)
        if "run" in step:
            assert "${{" not in step["run"], step["run"]
            return self.run_command(step["run"], env)
        action = step["uses"].partition("@")[0]
        if action.startswith("$/"):
            return self.run_action(action.removeprefix("$/"), inputs, env)
        {
            "actions/checkout": self.checkout,
            "astral-sh/setup-uv": self.setup_uv,
            "actions/upload-artifact": self.upload,
            "actions/download-artifact": self.download,
            "actions/upload-pages-artifact": self.upload_site,
            "actions/deploy-pages": self.deploy_site,
            "pypa/gh-action-pypi-publish": self.publish,
        }[action](**{name.replace("-", "_"): value for name, value in inputs.items()})
        return {}

    def run_action(self, path: str, inputs: dict[str, Any], env: dict[str, Any]) -> Any:
        """Run a composite action of the commit that runs."""
        text = git(self.run_of.repository.place, "show", f"{self.run_of.event.sha}:{path}/action.yml")
        action = yaml.safe_load(text)
        assert set(inputs) <= set(action["inputs"]), inputs
        values = {name: one.get("default", "") for name, one in action["inputs"].items()} | inputs
        values = {name: text_of(value) for name, value in values.items()}
        assert all(values[name] for name, one in action["inputs"].items() if one.get("required"))
        contexts = {"github": self.contexts["github"], "inputs": values, "steps": {}}
        good = self.run_steps(action["runs"]["steps"], contexts, env)
        outputs = {name: one["value"] for name, one in action.get("outputs", {}).items()}
        return filled(outputs, contexts) if good else None

    def run_command(self, command: str, env: dict[str, Any]) -> dict[str, str] | None:
        """Run a line by bash with nothing but GitHub's variables; its outputs, or None if it failed."""
        github, output = self.contexts["github"], self.folder / "output"
        output.write_text("", encoding="utf-8")
        given = {
            "PATH": os.pathsep.join([str(self.run_of.folder / "bin"), os.environ["PATH"]]),
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.run_of.api,
            "GITHUB_EVENT_NAME": github["event_name"],
            "GITHUB_OUTPUT": str(output),
            "GITHUB_REF": github["ref"],
            "GITHUB_REPOSITORY": github["repository"],
            "GITHUB_SHA": github["sha"],
            "GITHUB_STEP_SUMMARY": str(self.run_of.folder / "summary.md"),
            "STUB_CALLS": str(self.run_of.folder / "calls"),
            "STUB_OUTCOMES": json.dumps(dict(self.run_of.outcomes)),
            **PLAIN_GIT,
            **{name: text_of(value) for name, value in env.items()},
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
            cwd=self.workspace,
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        self.run_of.commands.append((self.name, done.returncode, done.stdout))
        if done.returncode:
            return None
        lines = output.read_text(encoding="utf-8").splitlines()
        return {name: value for name, _, value in (line.partition("=") for line in lines)}

    # Actions of other repositories.

    def checkout(self, persist_credentials: bool, fetch_depth: int = 1) -> None:
        """The event's commit, with as much history as asked for."""
        clone = self.run_of.repository.clone(self.run_of.event.sha, fetch_depth)
        shutil.copytree(clone, self.workspace, dirs_exist_ok=True)

    def setup_uv(self, enable_cache: bool, version_file: str | None = None) -> None:
        """Read the version as the action does."""
        if version_file is not None:
            text = (self.workspace / version_file).read_text(encoding="utf-8")
            assert re.findall(r"(?m)^uv==\d+\.\d+\.\d+$", text)

    def upload(self, name: str, path: str, if_no_files_found: str, overwrite: bool = False) -> None:
        """Keep files below what their paths have in common."""
        assert not ILLEGAL.search(name), name
        assert if_no_files_found in ("ignore", "error")
        self.run_of.uploads.append(name)
        places = [self.workspace / line for line in path.splitlines()]
        top = places[0] if len(places) == 1 else self.workspace
        files = [file for place in places for file in place.rglob("*") if file.is_file()]
        assert files or if_no_files_found == "ignore", f"{name} is empty"
        for file in files:
            target = self.run_of.folder / "artifacts" / name / file.relative_to(top)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)

    def download(self, path: str, name: str = "") -> None:
        """One artifact, or without a name each into a folder of its own."""
        artifacts = self.run_of.folder / "artifacts" / name
        assert artifacts.exists() or not name, f"there is no artifact {name}"
        if artifacts.exists():
            shutil.copytree(artifacts, self.workspace / path, dirs_exist_ok=True)

    def upload_site(self, path: str) -> None:
        self.upload("github-pages", path, "error")

    def deploy_site(self) -> None:
        assert self.granted == {"id-token": "write", "pages": "write"}
        assert (self.run_of.folder / "artifacts/github-pages/index.html").is_file()
        self.run_of.published.append("site")

    def publish(self, attestations: bool) -> None:
        """By a token of this job alone; the files are those in `dist`, the action's default."""
        assert self.granted == {"id-token": "write"}
        assert attestations
        self.run_of.published += sorted(file.name for file in (self.workspace / "dist").iterdir())
