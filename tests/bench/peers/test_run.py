"""Peers: paired figures and their verdicts, sides as processes, the C program against our game."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import __main__ as command
from bench import paired, peers, results, targets
from bench.rivals import ours
from bench.sides import LIMIT, Sides, Unable, Worker
from bench.targets import TARGETS, Side, Target, alone, exponent
from cogrid.benchmarks import modes
from cogrid.benchmarks.case import Case
from cogrid.cogrid_env import CoGridEnv
from tests.bench.support import result

ROOM = "Overcooked-CrampedRoom-V0"
BATCH = Case(ROOM, "numpy-batch", 16, 300, "cooperative", options=(("observation", "lossless"),))
OURS = Side("ours", "play", BATCH)
THEIRS = Side("peer", "play", BATCH)
TARGET = Target("fast", "a peer", (OURS, THEIRS), enough=4.0, stretch=5.0)

# Figures


def test_the_interval_of_a_median_is_made_of_order_statistics() -> None:
    twenty = random.Random(0).sample(range(1, 21), 20)
    assert paired.interval(twenty) == (10.5, 6, 15)
    assert paired.interval([3, 1, 2, 6, 5, 4]) == (3.5, 1, 6)
    assert paired.interval([2.0]) == (2.0, 2.0, 2.0)


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    draw = random.Random(1)
    found = [paired.interval([draw.expovariate(1) for _ in range(20)]) for _ in range(2000)]
    inside = statistics.fmean(one.low <= math.log(2) <= one.high for one in found)
    assert 0.945 <= inside <= 0.98  # 0.9586 in theory


def takers(log: str, disturbed: Sequence[int] = ()) -> tuple[list[str], list[Any]]:
    """Two sides that write down when they were asked; some samples are disturbed."""
    calls: list[str] = []

    def taker(name: str) -> Any:
        def take() -> dict[str, Any]:
            calls.append(name)
            return {"value": len(calls), "disturbed": int(len(calls) in disturbed)}

        return take

    return calls, [taker(name) for name in log]


def test_sides_take_turns() -> None:
    calls, sides = takers("AB")
    kept = paired.in_turns(sides, 4)
    assert "".join(calls) == "ABBAABBA"
    assert [[sample["value"] for sample in pair] for pair in kept] == [[1, 2], [4, 3], [5, 6], [8, 7]]


def test_a_disturbed_round_is_repeated_but_not_for_ever() -> None:
    calls, sides = takers("AB", disturbed=[3])
    assert [pair[0]["value"] for pair in paired.in_turns(sides, 2)] == [1, 5]
    assert "".join(calls) == "ABBAAB"
    calls, sides = takers("AB", disturbed=range(100))
    assert len(paired.in_turns(sides, 3)) == 3
    assert len(calls) == 8


# Verdicts


@pytest.mark.parametrize(
    ("changes", "value", "words"),
    [
        ({}, 4.2, "met"),
        ({}, 4.0, "met"),
        ({}, 5.1, "stretch met"),
        ({}, 3.1, "missed: 3.1× of 4×"),
        ({"most": True, "enough": 0.5, "stretch": 0.3}, 0.25, "stretch met"),
        ({"most": True, "enough": 0.5, "stretch": 0.3}, 0.4, "met"),
        ({"most": True, "enough": 0.5, "stretch": 0.3}, 0.614, "missed: 0.614× of ≤ 0.5×"),
        ({"enough": None, "stretch": 0.5}, 0.4, "stretch missed: 0.4× of 0.5×"),
        ({"enough": None, "stretch": None, "note": "no target"}, 0.4, "no target"),
        ({"enough": 4 * 2.0**30, "stretch": None, "most": True, "unit": "B"}, 2.0**31, "met"),
        (
            {"enough": 4 * 2.0**30, "stretch": None, "most": True, "unit": "B"},
            4.5 * 2.0**30,
            "missed: 4.5 GiB of ≤ 4 GiB",
        ),
        ({"enough": None, "stretch": math.inf, "most": True, "unit": "B"}, 2.0**40, "stretch met"),
        ({"enough": 300, "stretch": 220, "most": True, "unit": "equations"}, 250, "met"),
    ],
)
def test_verdicts_in_words(changes: dict[str, Any], value: float, words: str) -> None:
    fields = {"enough": 4.0, "stretch": 5.0} | changes
    assert Target("what", "against", (), **fields).verdict(value) == words


def test_goals_in_words() -> None:
    assert TARGET.goal() == "≥ 4×, stretch ≥ 5×"
    assert Target("", "", (), enough=300, most=True, unit="equations").goal() == "≤ 300"
    assert Target("", "", (), stretch=math.inf, most=True, unit="B").goal() == "stretch: that it runs"


def test_growth_is_an_exponent_of_the_cells_seen() -> None:
    sides = tuple(
        Side("ours", "play", Case("Arena-V0", "numpy-batch", 4, options=(("num_agents", n),)))
        for n in (2, 4, 8)
    )
    assert [targets.amount(side.case) for side in sides] == [4 * n * 49 for n in (2, 4, 8)]
    target = Target("growth", "", sides, figure=exponent)
    assert target.figure(target, [100, 50, 25]) == pytest.approx(1)
    assert target.figure(target, [100, 25, 100 / 16]) == pytest.approx(2)


def test_targets_can_be_run() -> None:
    names = [target.name for target in TARGETS]
    assert len(set(names)) == len(names)
    for target in TARGETS:
        for side in target.sides:
            assert side.case.spec
            assert ours.case_of(json.loads(json.dumps(side.case.parameters()))) == side.case
            assert side.who == "C" or (LIMIT.parent / "rivals" / f"{side.who}.py").is_file()
        assert target.sides[0].who == ("context" if target.note == targets.CONTEXT else "ours")
        assert target.enough is not None or target.stretch is not None or target.note


def test_targets_are_chosen_by_a_part_of_their_name() -> None:
    assert {target.what for target in peers.select("C, one core")} == {
        "JAX scan@1024, no observation",
        "JAX scan@1024, lossless",
    }
    assert peers.select(None) == list(TARGETS)
    with pytest.raises(ValueError, match="no target's name contains 'chess'; known are:\n  JAX scan@1024"):
        peers.select("chess")


# Processes

SPEAK = """
import json, sys
print(json.dumps({ready!r}), flush=True)
for line, value in zip(sys.stdin, {values!r}):
    print(json.dumps({{"value": value, "steal": 0.5, "disturbed": 0}}), flush=True)
{last}
"""


def speaker(ready: dict[str, Any], values: Sequence[float] = (1, 2), last: str = "") -> list[str]:
    """A command that speaks the protocol."""
    facts = {"library": "cogrid", "unit": "steps/s", "end": {}} | ready
    return [sys.executable, "-c", SPEAK.format(ready=facts, values=list(values), last=last)]


def test_a_worker_gives_one_sample_for_each_line() -> None:
    worker = Worker(speaker({"library": "peer 1.0"}, (3, 4)))
    assert worker.ready["library"] == "peer 1.0"
    assert [worker.sample()["value"] for _ in range(2)] == [3, 4]
    assert worker.start_seconds > 0
    worker.close()


@pytest.mark.parametrize(
    ("last", "status", "words"),
    [
        ("sys.exit('no more paper')", "failed", "no more paper"),
        ("sys.exit(3)", "failed", "the process ended with exit code 3."),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            "out of memory",
            "was killed, most likely",
        ),
        ("print(json.dumps({'error': 'X: y', 'status': 'mismatch'}), flush=True)", "mismatch", "X: y"),
    ],
)
def test_a_worker_that_dies_says_why(last: str, status: str, words: str) -> None:
    worker = Worker(speaker({}, (), last))
    with pytest.raises(Unable, match=words) as caught:
        worker.sample()
    assert caught.value.status == status
    worker.close()


def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    with pytest.raises(Unable, match="no-such-program cannot be started: No such file or directory"):
        Worker(["no-such-program"])
    sides = Sides(tmp_path)
    with pytest.raises(Unable, match=r"no Python that has cogrid 0\.3\.2 was named"):
        sides.start(Side("older", "numpy", BATCH))
    with pytest.raises(Unable, match=r"ModuleNotFoundError: No module named 'bench\.rivals\.chess'"):
        sides.start(Side("chess", "play", BATCH))
    with pytest.raises(Unable, match="cogrid"):  # the wrong one, or none at all
        Sides(tmp_path, sys.executable).start(Side("older", "numpy", BATCH))


def test_our_own_side_plays_and_is_sampled(tmp_path: Path) -> None:
    worker = Sides(tmp_path).start(OURS)
    assert (worker.ready["library"], worker.ready["unit"]) == ("cogrid", "steps/s")
    assert sum(worker.ready["end"]["rewards"]) > 0
    assert worker.sample()["value"] > 0
    worker.close()


class Fake(Sides):
    """Sides that speak as planted, or cannot; by who they are."""

    planted: dict[str, list[str] | Unable]

    def start(self, side: Side) -> Worker:
        command = self.planted[side.who]
        if isinstance(command, Unable):
            raise command
        return Worker(command)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    sides = Fake(tmp_path)
    sides.planted = {"ours": speaker({}, (10, 24, 50)), "peer": speaker({"library": "peer 1.0"}, (5, 6, 10))}
    monkeypatch.setattr(peers, "Sides", lambda folder, older: sides)
    monkeypatch.setattr(peers, "TARGETS", (TARGET, Target("alone", "", (OURS,), enough=20, figure=alone)))
    return sides


def test_a_ratio_is_taken_in_every_round(fake: Fake) -> None:
    found = peers.measure(TARGET, fake, 3)
    assert found.figures == [2, 4, 5]
    assert found.verdict == "met"
    own, theirs = found.rows
    assert (own["library"], theirs["library"]) == ("cogrid", "peer 1.0")
    assert own["name"] == BATCH.name
    assert theirs["name"] == f"peer 1.0 {BATCH.name}"
    assert theirs["samples"] == [5, 6, 10]
    assert theirs["noise"] == {"steal": 0.5, "disturbed": 0}
    assert own["identity"] != theirs["identity"]


def test_a_peer_that_cannot_be_run_is_a_row_and_ours_is_measured(fake: Fake) -> None:
    fake.planted["peer"] = Unable("it is not installed.")
    found = peers.measure(TARGET, fake, 3)
    assert [row["status"] for row in found.rows] == ["ok", "failed"]
    assert found.verdict == "not measured: it is not installed."
    assert peers.exit_code([found]) == 0
    fake.planted["ours"] = Unable("broken")
    assert peers.exit_code([peers.measure(TARGET, fake, 3)]) == 1


def test_a_peer_that_stops_at_work_is_a_row_and_ours_is_measured(fake: Fake) -> None:
    fake.planted["ours"] = speaker({}, range(1, 9))
    fake.planted["peer"] = speaker({}, (1,), "sys.exit('worn out')")
    own, theirs = peers.measure(TARGET, fake, 3).rows
    assert (own["status"], theirs["status"], theirs["error"]) == ("ok", "failed", "worn out")
    assert len(own["samples"]) == 3


def test_different_ends_are_a_mismatch(fake: Fake) -> None:
    fake.planted["ours"] = speaker({"end": {"rewards": [20, 0], "planes": [1]}})
    fake.planted["peer"] = speaker({"end": {"rewards": [20]}})
    assert peers.measure(TARGET, fake, 2).failure is None  # the lane that both have is the same
    fake.planted["peer"] = speaker({"end": {"rewards": [20, 40]}})
    found = peers.measure(TARGET, fake, 2)
    assert found.verdict == "WRONG RESULTS: at the end of tape 1 the rewards of one are 0, of the other 40."
    assert peers.exit_code([found]) == 22
    assert "1 with WRONG RESULTS" in peers.headline([found])
    longer = dataclasses.replace(THEIRS, case=dataclasses.replace(BATCH, steps=301))
    other_tape = dataclasses.replace(TARGET, sides=(OURS, longer))
    assert peers.measure(other_tape, fake, 2).failure is None


def bench(*arguments: object) -> int:
    return command.main(["peers", *map(str, arguments)])


def test_progress_tells_a_steady_target(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.planted = {"ours": speaker({}, (24,) * 6), "peer": speaker({}, (6,) * 6)}
    assert bench("--rounds", 6, "-o", tmp_path / "p.json") == 0
    assert "[1/2] fast vs a peer: 4 × ± 0.0 %\n" in capsys.readouterr().err


def test_the_command_prints_the_table_and_writes_file_and_plots(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.json"
    assert bench("--rounds", 3, "-o", path, "-t", "mine") == 0
    out, err = capsys.readouterr()
    line = next(line for line in out.splitlines() if line.startswith("fast"))
    cells = ["fast", "a peer", "24 steps/s", "6 steps/s", "4×", "2× … 5×", "≥ 4×, stretch ≥ 5×", "met"]
    assert [cell.strip() for cell in line.split("  ") if cell.strip()] == cells
    headline = "2 of 2 targets met, 0 missed, 0 not measured; all trajectories that can be compared agree."
    assert out.splitlines()[-1] == headline
    assert "[2/2] alone: 24 × ± " in err
    found = results.load(path)
    assert [row["library"] for row in found["rows"]] == ["cogrid", "peer 1.0"]
    first = found["targets"][0]
    assert first["figures"] == [2, 4, 5]
    assert (first["median"], first["low"], first["high"], first["verdict"]) == (4, 2, 5, "met")
    assert (tmp_path / "p" / "libraries.png").stat().st_size > 10_000


def test_a_busy_machine_is_told(fake: Fake) -> None:
    found = peers.measure(TARGET, fake, 3)
    assert "busy" not in peers.table(result(), [found])
    found.rows[1]["noise"]["disturbed"] = 2
    assert "met; on a busy machine" in peers.table(result(), [found])


def test_an_absent_peer_is_in_the_table_and_in_the_file(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.planted["peer"] = Unable("it is not installed.")
    assert bench("--only", "FAST", "--rounds", 2, "-o", tmp_path / "p.json") == 0
    out, err = capsys.readouterr()
    assert "not measured: it is not installed." in out
    assert "0 of 1 targets met, 0 missed, 1 not measured" in out
    assert "[1/1] fast vs a peer: failed: it is not installed." in err
    found = results.load(tmp_path / "p.json")
    assert found["targets"][0]["median"] is None
    assert found["rows"][1]["error"] == "it is not installed."


def test_usage(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--only", "chess") == 2
    assert "no target's name contains 'chess'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        bench("--rounds", 0)
    assert "argument --rounds: '0' is not a whole number of at least 1" in capsys.readouterr().err


def test_files_without_targets_stay_valid() -> None:
    results.validate(result())


# C

compiled_c = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@compiled_c
@pytest.mark.parametrize("workload", ["random", "cooperative"])
def test_the_c_program_plays_our_game(tmp_path: Path, workload: str) -> None:
    case = Case(ROOM, "numpy-batch", 16, 400, workload, options=(("observation", "lossless"),))
    actions = ours.own_tapes(case) if workload == "random" else ours.actions(case)
    end = played(case, actions)
    assert max(end["rewards"]) > 0
    (tmp_path / "tape").write_bytes(actions.tobytes())
    program = [str(Sides(tmp_path).limit()), str(tmp_path / "tape"), "400", "16"]
    seeing, blind = Worker([*program, "observe"]), Worker([*program, "step"])
    assert seeing.ready["end"] == end
    assert {**blind.ready["end"], "planes": end["planes"]} == end
    assert seeing.sample()["value"] > 0
    assert blind.sample()["rewards"] == sum(end["rewards"])
    seeing.close()
    blind.close()


def played(case: Case, actions: Any) -> dict[str, Any]:
    """The end of these actions by NumPy."""
    env = CoGridEnv(case.spec)
    state, _ = env.reset_fn(modes.keys(case))
    total = np.zeros(case.batch)
    for joint in actions:
        state, obs, rewards, _, _ = env.step_fn(state, joint)
        total += rewards[:, 0]
    return ours.witness(state.pos, state.agent_dir, total, obs)


@compiled_c
def test_the_c_program_refuses_a_wrong_tape(tmp_path: Path) -> None:
    program = str(Sides(tmp_path).limit())
    short = tmp_path / "short.tape"
    short.write_bytes(bytes(6))
    for words, code, reason in (
        ([str(short), "4", "1", "step"], 1, "holds no tape of 8 actions"),
        (["nowhere", "3", "1", "step"], 1, "nowhere holds no tape"),
        ([str(short), "3", "0", "step"], 2, "usage"),
        ([], 2, "usage"),
    ):
        run = subprocess.run([program, *words], capture_output=True, text=True, check=False, input="")
        assert run.returncode == code
        assert reason in run.stderr


def test_without_a_compiler_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(Unable, match="there is no C compiler"):
        Sides(tmp_path).start(Side("C", "step", BATCH))
    monkeypatch.setenv("CC", "false")
    with pytest.raises(Unable, match="false fails: no reason given"):
        Sides(tmp_path).start(Side("C", "step", BATCH))
