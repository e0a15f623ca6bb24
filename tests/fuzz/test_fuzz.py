"""The fuzzers in short: some hundreds of inputs, and planted faults that they must count."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cogrid.author import checked_integer
from cogrid.envs.registry import family_of
from tests.fuzz import __main__ as command
from tests.fuzz import calls, faults, files, tasks
from tests.fuzz.games import EVERY, SHORT
from tests.fuzz.judge import Tally, Wrong, agreed
from tests.fuzz.target import Attempt, Games, Source, Target, run
from tests.support import EVERY_ID
from tests.worlds.counting import Counts, every_pair
from tests.worlds.generator import HOOKS

#: Checkpoints of rollouts need Orbax, which the tests have only in `nox -s distributed` and `nox -s fuzz`.
TARGETS = [target for target in (*files.TARGETS, *calls.TARGETS) if target.is_possible]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_nothing_but_right_results_and_sentences(target: Target, tmp_path: Path) -> None:
    tally = run(target, max(5, target.share // 4), 7, tmp_path, games=SHORT)
    assert tally.faults == 0, "\n".join(tally.examples)
    assert tally.inputs == tally.accepted + tally.refused
    assert tally.inputs >= max(5, target.share // 4) // 2  # Hypothesis may run out of new ones
    assert tally.refused > 0 or target.share < 25


def test_every_family_is_met() -> None:
    fuzzed = {family_of(game.id) for game in EVERY}
    unmet = set(map(family_of, EVERY_ID)) - fuzzed
    assert not unmet, f"{unmet}: add a game of each to FAMILIES in tests/fuzz/games.py"
    assert [game.id for game in SHORT] == [game.id for game in EVERY]


def test_the_inputs_of_a_seed_are_always_the_same(tmp_path: Path) -> None:
    def given(seed: int) -> list[Any]:
        source, _ = files.policies(tmp_path, SHORT)
        inputs = source(Random(seed))
        return [next(inputs) for _ in range(20)]

    assert given(1) == given(1) != given(2)


# Planted faults


def planted(attempt: Attempt) -> Target:
    """A target whose inputs are 0, 1, 2, …"""

    def source(random: Random) -> Iterator[int]:
        yield from range(1000)

    def prepare(folder: Path, games: Games) -> tuple[Source, Attempt]:
        return source, attempt

    return Target("planted", 1, prepare)


def counted(attempt: Attempt, tmp_path: Path, seconds: float = 20.0) -> Tally:
    return run(planted(attempt), 8, 0, tmp_path, seconds)


def test_a_parser_that_raises_is_counted(tmp_path: Path) -> None:
    def attempt(given: int) -> None:
        if given % 4 == 1:
            raise KeyError("pos")
        if given % 4 == 2:
            int("x" * given)  # a ValueError of Python's
        if given % 4 == 3:
            checked_integer("number", -given, 0, 9)  # a sentence of ours

    tally = counted(attempt, tmp_path)
    assert (tally.accepted, tally.refused, tally.tracebacks, tally.faults) == (2, 2, 4, 4)
    assert "input 2: raised KeyError" in tally.examples[0]
    assert command.is_bad(tally)


def test_a_message_of_several_lines_is_counted(tmp_path: Path) -> None:
    tally = counted(lambda given: checked_integer("two\nlines", given, 4, 9), tmp_path)  # type: ignore[arg-type]
    assert (tally.accepted, tally.refused, tally.tracebacks) == (4, 0, 4)


def test_a_parser_that_hangs_is_counted(tmp_path: Path) -> None:
    def attempt(given: int) -> None:
        try:
            while given == 3:
                time.sleep(0.01)
        except Exception:  # a hang is no exception that a parser can swallow
            pass

    tally = counted(attempt, tmp_path, seconds=0.3)
    assert (tally.accepted, tally.hangs, tally.faults) == (7, 1, 1)


def test_a_parser_that_accepts_what_is_wrong_is_counted(tmp_path: Path) -> None:
    def attempt(given: int) -> None:
        if given == 5:
            raise Wrong("it was accepted")

    tally = counted(attempt, tmp_path)
    assert (tally.accepted, tally.wrong, tally.faults) == (7, 1, 1)


def test_backends_that_disagree_are_counted(tmp_path: Path) -> None:
    def attempt(given: int) -> None:
        agreed(lambda: checked_integer("a", given, 0, 3), lambda: checked_integer("a", given, 0, 5))

    tally = counted(attempt, tmp_path)
    assert (tally.accepted, tally.wrong, tally.refused) == (4, 2, 2)


def test_a_snapshot_that_is_quietly_wrong_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of the clock is taken out: both backends then play a step too long, and say so."""
    from cogrid._core.state import snapshot

    monkeypatch.setattr(snapshot, "check", lambda rules, state: None)
    target = next(target for target in TARGETS if target.name == "snapshots")
    assert run(target, 150, 7, tmp_path, games=SHORT).faults > 0


# Workers


def worker(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_worker_that_dies_or_falls_silent_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    line = '{"done": false, "target": "layouts", "inputs": 4, "accepted": 4}'
    dies = f"import os; print({line!r}, flush=True); os.abort()"
    found = tasks.watched("layouts", 9, 0, 1.0, worker(dies))
    assert isinstance(found, Tally)
    assert (found.inputs, found.tracebacks) == (5, 1)
    monkeypatch.setattr(tasks, "START", 5.0)
    silent = f"import time; print({line!r}, flush=True); time.sleep(600)"
    found = tasks.watched("layouts", 9, 0, 0.5, worker(silent))
    assert isinstance(found, Tally)
    assert (found.inputs, found.hangs) == (5, 1)


def test_the_command_prints_a_table_and_ends_by_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "policies", "--inputs", "40", "--seed", "3"]) == 0
    out, error = capsys.readouterr()
    assert out.splitlines()[0].split("  ")[0] == "target"
    assert "policies (.npz)" in out
    assert "seed 3" in out
    assert "40 inputs, 0 faults" in error
    assert command.main(["--only", "no such thing"]) == 2
    found = [Tally("a", inputs=3, accepted=2, hangs=1, examples=["input 2: no answer"])]
    assert "input 2: no answer" in command.report(found)
    assert not command.is_bad(faults.Faults("b", 2, 2))
    assert command.is_bad(faults.Faults("b", 2, 1))
    blunt = Tally("c", inputs=200, refused=200)
    assert command.is_bad(blunt)
    assert "c: no input was accepted" in command.report([blunt])


# Random worlds


def test_mismatches_refusals_and_rare_pairs_of_hooks_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "worlds on numpy", "--worlds", "24", "--seed", "2"]) == 0
    out, error = capsys.readouterr()
    assert re.search(r"numpy +24 +0 +1,536 ", out)
    assert "part 6 of 6: 4 worlds, 256 steps, 0 mismatches" in error
    assert all(re.search(rf"^{hook} +\d", out, re.MULTILINE) for hook in HOOKS)
    wrong = Counts("numpy", worlds=3, mismatches=1, examples=["world 1 on numpy, up: engine but interpreter"])
    (both,) = command.merged([Counts("numpy", worlds=2), wrong])
    assert both.worlds == 5
    assert command.is_bad(both)
    assert "world 1 on numpy" in command.report([both])
    assert command.is_bad(Counts("numpy", worlds=2, refused=1))
    often = dict.fromkeys(every_pair(), 20)
    many = Counts("jax", worlds=300, met=dict.fromkeys(HOOKS, 1), pairs=often)  # type: ignore[arg-type]
    assert not command.is_bad(many)
    many.pairs["aim, meet"] = 19
    assert command.is_bad(many)
    many.pairs["aim, meet"], many.met["join"] = 20, 0
    assert command.is_bad(many)
    many.met["join"] = 1
    for number in range(1_000):
        many.throw("act: value 1 of 2", 0.5, number % 10 < 7)
    assert command.is_bad(many)
    assert "jax: act: value 1 of 2 in 700 of 1,000 draws, 500.0 expected" in command.report([many])


def test_a_worker_of_worlds_that_dies_is_counted() -> None:
    dies = "import os; os.abort()"
    found = tasks.watched("random worlds on numpy, part 1 of 6", 0, 0, 1.0, worker(dies))
    assert isinstance(found, Counts)
    assert found.mismatches == 1


# Faults


def test_a_kill_that_loses_something_is_counted(tmp_path: Path) -> None:
    write = "import sys, time; time.sleep(0.3); open(sys.argv[1], 'a').write('x'); time.sleep(0.3)"

    def killed(folder: Path) -> list[str]:
        return [sys.executable, "-c", write, str(folder / "end")]  # appends, so that a second run differs

    def result(folder: Path) -> dict[str, Any]:
        return {"end": (folder / "end").read_text(encoding="utf-8")}

    work = faults.Killed("planted", 8, killed, killed, result, lambda folder: None)
    found = faults.kill(work, 0, tmp_path, lambda found: None)
    assert found.tried >= 8
    assert found.survived < found.tried
    assert "the result is another" in found.examples[0]


@pytest.mark.parametrize("privileged", [True, False])
def test_a_writer_that_destroys_the_old_file_is_counted(
    privileged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not privileged:
        monkeypatch.setattr(faults, "_can_mount", lambda folder: False)
    code = "import sys; open(sys.argv[1], 'wb').write(bytes(10**6))"
    bad = faults.Disk("planted", "a", lambda path: [sys.executable, "-c", code, str(path)])
    good = next(disk for disk in faults.DISKS if disk.name == "replay")
    monkeypatch.setattr(faults, "DISKS", (bad, good))
    found = faults.fill(0, tmp_path, lambda found: None)
    assert (found.tried, found.survived) == (2, 1), found.examples
    assert found.examples[0].startswith("planted")
