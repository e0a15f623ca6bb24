"""The page for people who come from other benchmark tools: all that it says of ours exists, and runs."""

from __future__ import annotations

import inspect
import itertools
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import cogrid
from bench import ROOT
from bench.commands.parser import parse
from bench.exit_codes import Code
from bench.measure.measures import MEASURES
from bench.show.figures.files import FIGURES
from bench.storage import results, schema
from cogrid._core import profiling
from cogrid._env import shadow
from cogrid.benchmarks.case import MODES
from cogrid.benchmarks.workloads import WORKLOADS
from tests.bench.commands.support import bench
from tests.bench.show.figures.support import everything
from tests.bench.support import result
from tests.support import HAS_JAX

TEXT = (ROOT / "docs" / "other-benchmarks.md").read_text(encoding="utf-8")
NOXFILE = (ROOT / "noxfile.py").read_text(encoding="utf-8")
TRAINING = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "cogrid/_apps/train").glob("*.py"))
SPEEDS = (ROOT / "cogrid" / "_apps" / "train" / "speeds.py").read_text(encoding="utf-8")
#: What the reader replaces.
VALUES = {
    "FILE": "r.json",
    "DIR": "folder",
    "N": "8",
    "REV": "main",
    "NAME": "Arena",
    "NAME=VALUE": "NPROC=2",
}
VARIABLES = (profiling.VARIABLE, shadow.VARIABLE)
#: The command that takes the options behind `--`, by session.
SESSIONS = {"bench": "run", "bench-peers": "peers", "validate": "validate"}
NAMES = {*MODES, *WORKLOADS, *MEASURES, *profiling.COMMON, "leave", "done"}

LINES = [line.strip("| ").split(" | ") for line in TEXT.splitlines() if line.startswith("| ")]
QUOTED = [token for *_, ours in LINES for token in re.findall(r"`([^`]+)`", ours)]
QUOTED += re.findall(r"`([^`]+)`", TEXT.split("\n## ")[0])
IS_COMMAND = re.compile(r"(?:COGRID_\w+=1 )?(?:python|nox|pip) ")
COMMANDS = {part for token in QUOTED for part in token.split(" && ") if IS_COMMAND.match(token)}
COMMANDS |= {
    line for block in re.findall(r"^```sh\n(.*?)^```", TEXT, re.M | re.S) for line in block.splitlines()
}
WORDS = {token for token in QUOTED if not IS_COMMAND.match(token)}


def words_of(command: str) -> list[str]:
    return [VALUES.get(word, word) for word in shlex.split(command)]


def is_understood(*words: str) -> bool:
    try:
        parse([*words])
    except SystemExit:
        return False
    return True


@cache
def help_of(*program: str) -> str:
    command = [sys.executable, *program, "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


def is_command(command: str) -> bool:
    """Whether the program, the session and all options exist and take these values."""
    words = words_of(command)
    if words[0].startswith("COGRID_") and words.pop(0).removesuffix("=1") not in VARIABLES:
        return False
    if words[:3] == ["python", "-m", "bench"]:
        return len(words) == 3 or is_understood(*words[3:])
    if words[:2] == ["nox", "-s"]:
        name, more = words[2], words[3:]
        known = f'@nox.session(name="{name}"' in NOXFILE or f"@nox.session\n@reported\ndef {name}(" in NOXFILE
        return known and (not more or (more[0] == "--" and is_understood(SESSIONS[name], *more[1:])))
    if "install" in words:
        return is_in_pyproject(words)
    program = list(itertools.takewhile(lambda word: not word.startswith("--"), words[1:]))
    options = {word for word in words[len(program) + 1 :] if word.startswith("--")}
    # The tests have not all that training needs, so its page is not asked.
    page = TRAINING if program == ["-m", "cogrid", "train"] else help_of(*program)
    return options <= set(re.findall(r"--[a-z-]+", page))


def is_in_pyproject(words: list[str]) -> bool:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return all(
        f"\n{re.sub(r'[^a-z]', '', word)} = [" in text for word in words if word in ("nox", "bench", ".[all]")
    )


def is_option(words: str) -> bool:
    """Whether `run` takes it, or `export`; a flag alone may stand for one with a value."""
    found = words_of(words)
    if len(found) == 1:
        return found[0] in re.findall(r"--?[a-z-]+", help_of("-m", "bench", "run"))
    commands = (["run", "--layout", "Arena"], ["export", "r.json", "--to", "csv"])
    return any(is_understood(*command, *found) for command in commands)


#: Keys of mappings, which the schema leaves open.
OPEN: dict[str, dict[str, Any]] = {"peak_rss_bytes": {}, "device_peak_bytes": {}}


def is_key(key: str) -> bool:
    """Whether a key, such as rows[].case.mode, is in the schema of result files."""
    whole = schema.schema()
    at: dict[str, Any] | None = whole
    for part in key.replace("[]", ".[]").split("."):
        at = referred(whole, at or {})
        at = at.get("items") if part == "[]" else at.get("properties", OPEN).get(part)
    return at is not None


def referred(whole: dict[str, Any], at: dict[str, Any]) -> dict[str, Any]:
    """What a part of the schema refers to, also if it may be null."""
    names = [one["$ref"].rpartition("/")[2] for one in (at, *at.get("anyOf", ())) if "$ref" in one]
    return whole["$defs"][names[0]] if names else at  # type: ignore[no-any-return]


def is_argument(call: str) -> bool:
    """Whether a function has the argument: cogrid.rollout(chunk=…)."""
    name, argument = re.fullmatch(r"cogrid\.(\w+)\((?:id, )?(\w+)=.*\)", call).groups()  # type: ignore[union-attr]
    return argument in inspect.signature(getattr(cogrid, name)).parameters


def is_result_file(name: str) -> bool:
    made = name.replace("YYYYMMDD_HHMMSS", "20261116_044000").replace("[TAG_]", "x_")
    return made == f"bench/results/{results.file_name(result(tag='x'))}"


#: The kinds of words in the page, and whether one of that kind exists; the first that fits decides.
KINDS: dict[str, Callable[[str], bool]] = {
    r"-.*": is_option,
    r"\d+": lambda code: int(code) in list(Code),
    r"\w+\.png": lambda name: name.removesuffix(".png") in FIGURES,
    r"[A-Z_]+=1": lambda word: word.removesuffix("=1") in VARIABLES,
    r".*\.json": is_result_file,
    r"bench/results/\w+/": lambda name: f'"{Path(name).name}"' in sources(),
    r"\w+\.csv|\w+_per_second": lambda name: f'"{name}"' in SPEEDS or f",{name}," in SPEEDS,
    r".*/.*": lambda path: (ROOT / path).exists(),
    r"cogrid\..*": is_argument,
    r"env\.\w+": lambda name: hasattr(cogrid.CoGridEnv, name.removeprefix("env.")),
    r".*": lambda word: word in NAMES or is_key(word),
}


def sources() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in (ROOT / "bench").rglob("*.py"))


def exists(word: str) -> bool:
    return next(check for kind, check in KINDS.items() if re.fullmatch(kind, word))(word)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_commands_exist(command: str) -> None:
    if "examples/" in command and not HAS_JAX:
        pytest.skip("the example needs JAX")
    assert is_command(command)


@pytest.mark.parametrize("word", sorted(WORDS))
def test_flags_keys_codes_and_plots_exist(word: str) -> None:
    assert exists(word)


@pytest.mark.parametrize(
    "word",
    [
        "--bach 3",
        "--chunk x",
        "rows[].statistics.middle",
        "rows.case",
        "heap.png",
        "24",
        "bench/no.py",
        "phase",
    ]
    + ["cogrid.rollout(chunks=…)", "env.timing", "COGRID_PROFILE=1", "results.json", "bench/results/no/"],
)
def test_a_word_that_is_not_ours_is_found(word: str) -> None:
    assert not exists(word)


@pytest.mark.parametrize(
    "command",
    ["python -m bench runs", "nox -s benches", "nox -s bench -- --fulll", "COGRID_X=1 python -m bench run"]
    + ["python -m cogrid.benchmarks.benchmark_suite --repeats 3"],
)
def test_a_command_that_is_not_ours_is_found(command: str) -> None:
    assert not is_command(command)


def test_every_plot_and_exit_code_is_there() -> None:
    assert {word.removesuffix(".png") for word in WORDS if word.endswith(".png")} == {*FIGURES}
    of_the_shell = {Code.INTERRUPTED, Code.CLOSED}
    assert {int(word) for word in WORDS if word.isdigit()} == {*Code} - of_the_shell


def test_the_defaults_of_the_toy_arena_are_theirs() -> None:
    """Their command line, whose numbers are our defaults."""
    (shown,) = (words_of(command) for command in COMMANDS if "--density" in command)
    assert parse(shown[3:])[1] == parse(["run", "--layout", "Arena"])[1]


@pytest.mark.parametrize(
    "command",
    sorted(
        command for command in COMMANDS if re.search(r"bench (compare|export|plot|report|diff)\b", command)
    ),
)
def test_the_commands_that_read_results_run(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = results.RESULTS
    path, page = folder / "benchmark_1.json", folder / "page.html"
    results.write(path, result(everything()))
    words = [{"DIR": str(folder), "N": "1000"}.get(word, word) for word in shlex.split(command)[3:]]
    words = [str(path) if word == "FILE" or word.startswith("bench/results") else word for word in words]
    if "--html" in words:
        words[words.index("--html") + 1] = str(page)
    if words[0] in ("compare", "report") and str(folder) not in words:
        words.insert(1, str(folder))
    if words[0] == "plot":
        words += ["--folder", str(folder)]
    assert bench(*words) == 0
    assert capsys.readouterr().out.strip()


def test_a_measured_row_has_the_keys_of_the_page() -> None:
    """The cheapest case, not planted."""
    path = results.RESULTS / "r.json"
    assert bench("run", "--only", "CrampedRoom numpy-single cooperative", "--rounds", "5", "-o", path) == 0
    (row,) = results.load(path).rows
    keys = {word for word in WORDS if word.startswith("rows[].")}
    assert len(keys) >= 7
    for key in keys:
        value: Any = row
        for part in key.split(".")[1:]:
            value = value[part] if isinstance(value, dict) else getattr(value, part)


def test_a_person_finds_the_page() -> None:
    for page in ("docs/index.md", "docs/moving-over.md", "bench/README.md"):
        assert "other-benchmarks.md" in (ROOT / page).read_text(encoding="utf-8")
