"""A peer's process: the job is answered by what was prepared, every later line by a sample."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from bench.measure import clock
from bench.peers.peer_worker import speed
from bench.processes.worker import Worker, WorkerFailed

PROGRAM = """
from bench.peers.peer_worker import Prepared, serve_peer

def prepare(job):
    print("a library talks")
    values = iter(job["values"])
    return Prepared("peer 1.0", "steps/s", lambda: {"value": next(values)}, {"rewards": [job["reward"]]})

serve_peer(prepare)
"""
COMMAND = (sys.executable, "-c", PROGRAM)


def test_the_first_answer_is_the_end_and_the_later_ones_are_samples() -> None:
    with Worker(COMMAND) as worker:
        first = worker.ask({"values": [3, 4], "reward": 20})
        assert first == {"library": "peer 1.0", "unit": "steps/s", "end": {"rewards": [20]}}
        assert [worker.ask(), worker.ask()] == [{"value": 3}, {"value": 4}]


def test_what_cannot_be_prepared_or_sampled_is_the_reason() -> None:
    with Worker(COMMAND) as worker, pytest.raises(WorkerFailed, match="KeyError: 'values'"):
        worker.ask({})
    with Worker(COMMAND) as worker:
        worker.ask({"values": [], "reward": 0})
        with pytest.raises(WorkerFailed, match="StopIteration"):
            worker.ask()


def test_a_speed_is_steps_by_the_seconds_of_a_warm_pass() -> None:
    taken: list[tuple[object, ...]] = []

    def take(*arguments: object) -> SimpleNamespace:
        taken.append(arguments)
        return SimpleNamespace(seconds=[0.5], noise=lambda: {"steal": 0.1})

    fake = SimpleNamespace(take=take, LENGTH=clock.LENGTH, Length=clock.Length)
    sample = speed(fake, "work", 100)
    assert taken == [("work", 1)]
    assert sample() == {"value": 200, "steal": 0.1}
    assert taken[1:] == [("work", 1, clock.LENGTH, clock.Length(0.0, 1))]
