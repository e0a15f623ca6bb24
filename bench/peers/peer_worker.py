"""A peer's process: prepares its case at the first request and takes a sample at every later one.

Imports only the standard library: it also runs with cogrid 0.3.2, which has the same import name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from bench.processes.protocol import serve

Job = dict[str, Any]
PeerAnswer = dict[str, Any]


class Prepared(NamedTuple):
    """A peer that can be sampled; `end` is how its tape ended, for those that play by cogrid's rules."""

    library: str
    unit: str
    sample: Callable[[], PeerAnswer]  # its "value", and what disturbed it
    end: Mapping[str, Any] = MappingProxyType({})


def speed(clock: Any, work: Any, steps: int) -> Callable[[], PeerAnswer]:
    """Steps per second of a warmed-up pass; every sample starts with an untimed call."""
    clock.take(work, 1)

    def sample() -> PeerAnswer:
        taken = clock.take(work, 1, clock.LENGTH, clock.Length(0.0, 1))
        return {"value": steps / taken.seconds[0], **taken.noise()}

    return sample


def serve_peer(prepare: Callable[[Job], Prepared]) -> None:
    """PeerAnswer the job with the library, the unit and the end; then every request with a sample."""
    samplers: list[Callable[[], PeerAnswer]] = []

    def handle(job: Job | None) -> PeerAnswer:
        if job is None:
            return samplers[-1]()
        prepared = prepare(job)
        samplers.append(prepared.sample)
        return {"library": prepared.library, "unit": prepared.unit, "end": dict(prepared.end)}

    serve(handle)


def prepare(job: Job) -> Prepared:
    """Prepare with the module that the job names; a missing library becomes the reason in its row."""
    from bench.records import Parameters

    prepared: Prepared = import_module(job["module"]).prepare(job["way"], Parameters(**job["case"]).case)
    return prepared


if __name__ == "__main__":
    serve_peer(prepare)
