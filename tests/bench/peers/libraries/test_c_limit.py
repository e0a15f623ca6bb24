"""The C program: the exact game, the protocol, and what it says of a wrong tape or a missing compiler."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.peers.cases import actions, end_of, own_tapes
from bench.peers.libraries import c_limit
from bench.peers.libraries.c_limit import C
from bench.peers.start import Process, ReadyPeer, Resources, tape_file
from bench.peers.target import PeerCase
from bench.processes.worker import Worker, WorkerFailed
from cogrid.benchmarks import modes
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.workloads import checksum
from cogrid.cogrid_env import CoGridEnv
from tests.bench.peers.support import BATCH, ROOM

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def played(case: Case, joint_actions: Any) -> dict[str, Any]:
    """The end of these actions by NumPy."""
    env = CoGridEnv(case.spec)
    state, _ = env.reset_fn(modes.keys(case))
    total = np.zeros(case.batch)
    for joint in joint_actions:
        state, obs, rewards, _, _ = env.step_fn(state, joint)
        total += rewards[:, 0]
    return end_of(state.pos, state.agent_dir, total, obs)


@needs_cc
@pytest.mark.parametrize("workload", ["random", "cooperative"])
def test_the_c_program_plays_the_game(tmp_path: Path, workload: str) -> None:
    case = Case(ROOM, "numpy-batch", 16, 400, workload, options=(("observation", "lossless"),))
    chosen = own_tapes(case) if workload == "random" else actions(case)
    end = played(case, chosen)
    assert max(end["rewards"]) > 0
    program = [str(c_limit.program(tmp_path)), str(tape_file(tmp_path, chosen)), "400", "16"]
    seeing, blind = (ReadyPeer(Process([*program, way], {}), {}) for way in ("observe", "step"))
    with seeing.worker, blind.worker:
        assert seeing.end == end
        assert checksum(seeing.end) == checksum(end)  # 20 and 20.0 are equal, and their checksums are not
        assert {**blind.end, "planes": end["planes"]} == end
        assert seeing.sample().value > 0
        assert blind.worker.ask()["rewards"] == sum(end["rewards"])
    for threads in ("2", "3"):
        divided = ReadyPeer(Process([*program, "observe", threads], {}), {})
        with divided.worker:
            assert divided.end == end
            assert divided.worker.ask()["rewards"] == sum(end["rewards"])


@needs_cc
def test_the_c_program_answers_every_line_by_one(tmp_path: Path) -> None:
    process = c_limit.process("step", BATCH, Resources(tmp_path))
    with Worker(process.command, cwd=process.cwd) as worker:
        first = worker.ask(process.job)
        later = [worker.ask() for _ in range(3)]
    assert (first["library"], first["unit"], len(first["end"]["positions"])) == ("C", "steps/s", BATCH.batch)
    assert [sorted(answer) for answer in later] == [["rewards", "value"]] * 3
    run = subprocess.run(
        process.command, input="{}\nnull\n", capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert len(run.stdout.splitlines()) == 2
    assert (
        subprocess.run(
            process.command, input="", capture_output=True, text=True, check=True, encoding="utf-8"
        ).stdout
        == ""
    )


@needs_cc
def test_the_c_program_refuses_a_wrong_tape(tmp_path: Path) -> None:
    program = str(c_limit.program(tmp_path))
    short = tmp_path / "short.tape"
    short.write_bytes(bytes(6))
    for words, code, reason in (
        ([str(short), "4", "1", "step"], 1, "holds no tape of 8 actions"),
        (["nowhere", "3", "1", "step"], 1, "nowhere holds no tape"),
        ([str(short), "3", "0", "step"], 2, "usage"),
        ([str(short), "3", "1", "step", "0"], 2, "usage"),
        ([str(short), "3", "1", "step", "65"], 2, "usage"),
        ([], 2, "usage"),
    ):
        run = subprocess.run(
            [program, *words], capture_output=True, text=True, check=False, input="", encoding="utf-8"
        )
        assert run.returncode == code
        assert reason in run.stderr
        with pytest.raises(WorkerFailed, match=reason):
            ReadyPeer(Process([program, *words], {}), {})


def test_without_a_compiler_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(WorkerFailed, match="there is no C compiler"):
        PeerCase(C, "step", BATCH).start(Resources(tmp_path))
    monkeypatch.setenv("CC", "false")
    with pytest.raises(WorkerFailed, match="false fails: no reason given"):
        PeerCase(C, "step", BATCH).start(Resources(tmp_path))
