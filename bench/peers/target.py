"""A target: what is compared with what, and its limits."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.start import Launcher, ReadyPeer, Resources, python_module
from bench.records import Parameters
from bench.units import with_unit
from cogrid.benchmarks.case import Case

GIB = 2.0**30
LIBRARIES = Path(__file__).parent / "libraries"

Figure = Callable[["PeerTarget", Sequence[float]], float]


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str  # until it has reported its version
    launch: Launcher
    code: tuple[
        Path, ...
    ] = ()  # in addition to the shared code: a change makes its rows a different measurement


def python_peer(name: str, module: str) -> Peer:
    """A library that a module of `bench.peers.libraries` prepares in this Python."""
    return Peer(name, python_module(module), (LIBRARIES / f"{module.rpartition('.')[2]}.py",))


COGRID = python_peer("cogrid", "bench.peers.libraries.this_cogrid")


@dataclasses.dataclass(frozen=True)
class PeerCase:
    """A case, the peer that does its work, and the way in which it does it."""

    peer: Peer
    way: str
    case: Case
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)  # of its process
    facts: Mapping[str, Any] = dataclasses.field(
        default_factory=dict
    )  # in which the row differs from the case
    label: str = ""  # after the library's name
    agents: int | None = None  # if the game is not the case's

    def start(self, resources: Resources) -> ReadyPeer:
        return ReadyPeer(self.peer.launch(self.way, self.case, resources), self.env)

    @property
    def tape(self) -> tuple[Any, ...]:
        """A key that is equal for cases with the same actions, which must have the same end."""
        case = self.case
        return case.id, case.options, case.workload, case.steps, case.seed

    @property
    def parameters(self) -> Parameters:
        return Parameters(**{**self.case.parameters(), **self.facts})

    def name(self, library: str) -> str:
        way = [self.way] if self.parameters != Parameters.of(self.case) else []
        game = dataclasses.replace(self.case, id=self.parameters.id)
        if game.id != self.case.id:  # another game has none of our options, and its library name says enough
            measure = self.parameters.measure
            way, game = [], dataclasses.replace(game, options=(), workload="random", measure=measure)
        return " ".join([*([library] if library != "cogrid" else []), *way, game.name])


def ratio(target: PeerTarget, values: Sequence[float]) -> float:
    return values[0] / values[1]


def alone(target: PeerTarget, values: Sequence[float]) -> float:
    return values[0]


def exponent(target: PeerTarget, values: Sequence[float]) -> float:
    """The exponent of the step time of the whole batch as a power of the cells observed."""
    times = [one.case.batch / value for one, value in zip(target.cases, values, strict=True)]
    return float(np.polyfit(np.log([cells_seen(one.case) for one in target.cases]), np.log(times), 1)[0])


def cells_seen(case: Case) -> int:
    """The cells observed in a step of the batch: batch × agents × the cells that each observes."""
    spec = case.spec
    cells = spec.window**2 if spec.observation == "window" else spec.height * spec.width
    return case.batch * spec.num_agents * cells


@dataclasses.dataclass(frozen=True)
class PeerTarget:
    what: str
    against: str
    cases: tuple[PeerCase, ...]  # cogrid's first
    enough: float | None = None
    stretch: float | None = None
    at_most: bool = False  # the limits are upper ones
    figure: Figure = ratio
    unit: str = "×"
    rounds: int | None = None  # at most
    note: str = ""

    @property
    def name(self) -> str:
        """What `--only` searches."""
        return f"{self.what} vs {self.against}" if self.against else self.what

    @property
    def has_limit(self) -> bool:
        return self.enough is not None or self.stretch is not None

    def reaches(self, value: float, limit: float | None) -> bool:
        return limit is not None and (value <= limit if self.at_most else value >= limit)

    def shown(self, value: float) -> str:
        return with_unit(value, self.unit)

    def goal(self) -> str:
        sign = "≤" if self.at_most else "≥"
        limits = [f"{sign} {self.shown(self.enough)}"] if self.enough is not None else []
        if self.stretch is not None:
            runs = math.isinf(self.stretch)
            limits.append("stretch: that it runs" if runs else f"stretch {sign} {self.shown(self.stretch)}")
        return ", ".join(limits)

    def verdict(self, value: float) -> str:
        if self.reaches(value, self.stretch):
            return "stretch met"
        if self.enough is not None:
            return "met" if self.reaches(value, self.enough) else f"missed: {self._of(value, self.enough)}"
        if self.stretch is not None:
            return f"stretch missed: {self._of(value, self.stretch)}"
        return self.note or "no target"

    def _of(self, value: float, limit: float) -> str:
        return f"{self.shown(value)} of {'≤ ' if self.at_most else ''}{self.shown(limit)}"
