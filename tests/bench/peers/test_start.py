"""Starting peers: a process that is ready, and why there is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.peers.start import Resources, python_module, tape_file
from bench.peers.target import COGRID, Peer, PeerCase
from bench.processes.worker import WorkerFailed
from tests.bench.peers.support import BATCH, peer


def test_a_peer_is_ready_after_its_first_answer(tmp_path: Path) -> None:
    planted = peer("peer 1.0", (3, 4), unit="frames/s", end={"rewards": [20]})
    ready = PeerCase(planted, "play", BATCH).start(Resources(tmp_path))
    with ready.worker:
        assert (ready.library, ready.unit, ready.end) == ("peer 1.0", "frames/s", {"rewards": [20]})
        assert [ready.sample() for _ in range(2)] == [
            (3, {"steal": 0.5, "disturbed": 0}),
            (4, {"steal": 0.5, "disturbed": 0}),
        ]
        assert ready.start_seconds > 0


def test_cogrid_plays_and_is_sampled(tmp_path: Path) -> None:
    ready = PeerCase(COGRID, "play", BATCH).start(Resources(tmp_path))
    with ready.worker:
        assert (ready.library, ready.unit) == ("cogrid", "steps/s")
        assert sum(ready.end["rewards"]) > 0
        sample = ready.sample()
        assert sample.value > 0
        assert {"steal", "load", "disturbed"} <= sample.noise.keys()


def test_a_module_that_is_not_there_is_the_reason(tmp_path: Path) -> None:
    chess = Peer("chess", python_module("bench.peers.libraries.chess"))
    with pytest.raises(WorkerFailed, match=r"No module named 'bench\.peers\.libraries\.chess'") as failure:
        PeerCase(chess, "play", BATCH).start(Resources(tmp_path))
    assert failure.value.worker is not None
    assert not failure.value.worker.is_alive


def test_the_environment_reaches_the_process(tmp_path: Path) -> None:
    planted = peer(last="return {'value': float(os.environ['SPEED'])}", values=())
    ready = PeerCase(planted, "play", BATCH, env={"SPEED": "7.5"}).start(Resources(tmp_path))
    with ready.worker:
        assert ready.sample().value == 7.5


def test_a_tape_is_written_as_bytes(tmp_path: Path) -> None:
    actions = np.arange(12).reshape(3, 2, 2)
    assert tape_file(tmp_path, actions[:, ::-1]).read_bytes() == bytes([2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9])
