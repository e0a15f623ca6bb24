"""The targets: what is compared with what, and how much is enough, as data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bench.cases import CRAMPED, KITCHENS, options
from bench.units import engineering
from cogrid.benchmarks.case import Case

COUNTER = "Overcooked-CounterCircuit-V0"
EPISODE = 400
GIB = 2.0**30
COUNTED = 5  # rounds for what is the same each time; fewer are called too few

Figure = Callable[["Target", Sequence[float]], float]


@dataclasses.dataclass(frozen=True)
class Side:
    """Someone who does the work of a case: a module of `bench.rivals`, or "C"; and the way it does it."""

    who: str
    how: str
    case: Case
    env: tuple[tuple[str, str], ...] = ()  # of its process
    facts: tuple[tuple[str, Any], ...] = ()  # of the row, where they differ from the case's
    label: str = ""  # behind the library's name

    @property
    def tape(self) -> tuple[Any, ...]:
        """What sides have in common that play the same: the same end is expected of them."""
        case = self.case
        return case.id, case.options, case.workload, case.steps, case.seed

    @property
    def parameters(self) -> dict[str, Any]:
        """The case as the row tells it."""
        return {**self.case.parameters(), **dict(self.facts)}


def ratio(target: Target, values: Sequence[float]) -> float:
    """Ours by theirs."""
    return values[0] / values[1]


def alone(target: Target, values: Sequence[float]) -> float:
    """The number itself."""
    return values[0]


def exponent(target: Target, values: Sequence[float]) -> float:
    """Of the time of a step of the whole batch, as a power of the agents × observed cells × batch."""
    times = [side.case.batch / value for side, value in zip(target.sides, values, strict=True)]
    return float(np.polyfit(np.log([amount(side.case) for side in target.sides]), np.log(times), 1)[0])


def amount(case: Case) -> int:
    """Cells that are seen in a step of the batch."""
    spec = case.spec
    seen = spec.window**2 if spec.observation == "window" else spec.height * spec.width
    return case.batch * spec.num_agents * seen


@dataclasses.dataclass(frozen=True)
class Target:
    """One line of the table; the first side is ours."""

    what: str
    against: str
    sides: tuple[Side, ...]
    enough: float | None = None
    stretch: float | None = None
    most: bool = False  # the limits are upper ones
    figure: Figure = ratio
    unit: str = "×"
    rounds: int | None = None  # at most
    note: str = ""

    @property
    def name(self) -> str:
        """What `--only` looks into."""
        return f"{self.what} vs {self.against}" if self.against else self.what

    def reaches(self, value: float, limit: float | None) -> bool:
        """Whether a limit is kept."""
        return limit is not None and (value <= limit if self.most else value >= limit)

    def words(self, value: float) -> str:
        """A figure with its unit: 4.13×, 3.1 GiB, 0.98."""
        if self.unit == "B":
            return f"{value / GIB:.3g} GiB"
        if self.unit.endswith("/s"):
            return engineering(value, self.unit)
        return f"{value:.3g}{self.unit if self.unit == '×' else ''}"

    def goal(self) -> str:
        """The limits in words."""
        sign = "≤" if self.most else "≥"
        found = [f"{sign} {self.words(self.enough)}"] if self.enough is not None else []
        if self.stretch is not None:
            runs = math.isinf(self.stretch)
            found.append("stretch: that it runs" if runs else f"stretch {sign} {self.words(self.stretch)}")
        return ", ".join(found)

    def verdict(self, value: float) -> str:
        """How the median stands to the limits."""
        if self.reaches(value, self.stretch):
            return "stretch met"
        if self.enough is None:
            return self.note if self.stretch is None else f"stretch missed: {self._of(value, self.stretch)}"
        return "met" if self.reaches(value, self.enough) else f"missed: {self._of(value, self.enough)}"

    def _of(self, value: float, limit: float) -> str:
        return f"{self.words(value)} of {'≤ ' if self.most else ''}{self.words(limit)}"


def scan(id: str = CRAMPED, batch: int = 1024, steps: int = 256, **overrides: Any) -> Case:
    """A scan over the tape on which cooks deliver."""
    return Case(id, "jax-scan", batch, steps, "cooperative", options=options(**overrides))


def own_tapes(**overrides: Any) -> Case:
    """A scan for which every environment has random actions of its own."""
    return Case(CRAMPED, "jax-scan", 1024, options=options(**overrides))


def single(mode: str, steps: int = 256, **overrides: Any) -> Case:
    """One environment, the same tape."""
    return Case(CRAMPED, mode, 1, steps, "cooperative", options=options(**overrides))


def arena(agents: int, size: int, observation: str) -> Side:
    """A batch of arenas."""
    overrides = options(num_agents=agents, map_size=size, observation=observation)
    return Side("ours", "play", Case("Arena-V0", "jax-scan", 256, 16, options=overrides))


def duel(who: str, how: str, case: Case, our_way: str = "play", **facts: Any) -> tuple[Side, Side]:
    """Ours and theirs at the same case."""
    shown = tuple(facts.items())
    return Side("ours", our_way, case, facts=shown), Side(who, how, case, facts=shown)


def slower(sides: tuple[Side, Side], steps: int) -> tuple[Side, Side]:
    """A peer that takes long plays the beginning of the tape only."""
    ours, theirs = sides
    return ours, dataclasses.replace(theirs, case=dataclasses.replace(theirs.case, steps=steps))


LOSSLESS: Mapping[str, Any] = {"observation": "lossless"}
OWN_TAPES: Mapping[str, Any] = {"workload": "random, own tapes"}
RESETS = scan(steps=EPISODE, max_steps=EPISODE, **LOSSLESS)
VMAPPED = Case(CRAMPED, "jax-vmap", 1024, 256, "cooperative")
NUMPY_BATCH = Case(CRAMPED, "numpy-batch", 1024, 64, "cooperative", options=options(**LOSSLESS))
BATCHES = ((1, 256), (10, 256), (100, 256), (1_000, 256), (10_000, 64), (100_000, 8), (1_000_000, 2))
MIXED = Case(
    CRAMPED, "jax-scan", 1024, options=options(layout=tuple(id.split("-")[1] for id in KITCHENS), **LOSSLESS)
)
LARGEST = Case("Overcooked-AsymmetricAdvantages-V0", "jax-scan", 1024, options=options(**LOSSLESS))
OTHER_RULES = "other rules, so trajectories are not compared"
CONTEXT = "different work"
CARTPOLE: tuple[tuple[str, Any], ...] = (("id", "CartPole-v1"), ("options", {}), ("workload", "random"))
LINEAR: Mapping[str, Any] = {"enough": 1.0, "most": True, "figure": exponent, "unit": "", "rounds": 10}
CONTEXT_ROW: Mapping[str, Any] = {"figure": alone, "unit": "steps/s", "note": CONTEXT}

TARGETS: tuple[Target, ...] = (
    Target(
        "JAX scan@1024, lossless, CrampedRoom",
        "JaxMARL V1 step_env, actions given",
        duel("jaxmarl", "play", scan(**LOSSLESS)),
        enough=4.0,
        stretch=4.5,
    ),
    Target(
        "JAX scan@1024, lossless, CounterCircuit",
        "JaxMARL V1 step_env, actions given",
        duel("jaxmarl", "play", scan(COUNTER, **LOSSLESS)),
        enough=2.5,
    ),
    Target(
        "JAX scan@1024, lossless, automatic reset, actions drawn",
        "JaxMARL V1 step",
        duel("jaxmarl", "drawn", RESETS, "drawn", workload="drawn, resets"),
        enough=6.0,
        stretch=8.0,
        rounds=12,
    ),
    Target(
        "JAX scan@1024, lossless, resets at all times, actions drawn",
        "JaxMARL V1 step",
        duel("jaxmarl", "staggered", RESETS, "staggered", workload="drawn, staggered resets"),
        rounds=8,
        note="no target",
    ),
    Target(
        "JAX scan@1024, no observation",
        "C, one core",
        duel("C", "step", own_tapes(observation="none"), "own tapes", **OWN_TAPES),
        enough=0.35,
        stretch=0.6,
    ),
    Target(
        "JAX scan@1024, lossless",
        "C, one core, with observation",
        duel("C", "observe", own_tapes(**LOSSLESS), "own tapes", **OWN_TAPES),
        stretch=0.5,
    ),
    Target(
        "JAX vmap@1024, default observation, Python loop",
        "cogrid 0.3.2",
        slower(duel("older", "vmap", VMAPPED), 64),
        enough=10.0,
        stretch=20.0,
        note=OTHER_RULES,
    ),
    Target(
        "JAX one environment, jit",
        "cogrid 0.3.2",
        duel("older", "jax", single("jax-single")),
        enough=10.0,
        stretch=15.0,
        note=OTHER_RULES,
    ),
    Target(
        "NumPy one environment through env.step, default observation",
        "cogrid 0.3.2 NumPy",
        slower(duel("older", "numpy", single("numpy-single")), 64),
        enough=25.0,
        stretch=50.0,
        note=OTHER_RULES,
    ),
    Target(
        "1,000 pictures of CrampedRoom in tiles of 32 pixels, their drawing included",
        "cogrid 0.3.2",
        duel("older", "frames", single("numpy-single", 1000, max_steps=1000), "frames", measure="frames"),
        enough=10.0,
        rounds=6,
        note=OTHER_RULES,
    ),
    Target(
        "NumPy one environment, lossless",
        "overcooked_ai lineage, step + encoding",
        duel("lineage", "play", single("numpy-single", **LOSSLESS)),
        enough=2.5,
        stretch=4.0,
    ),
    Target(
        "NumPy@1024 in one call, lossless",
        "JaxMARL V1 JAX scan of step_env",
        (
            Side("ours", "play", NUMPY_BATCH),
            Side("jaxmarl", "play", NUMPY_BATCH, label=", JAX scan"),
        ),
        enough=1.0,
        stretch=2.0,
    ),
    Target(
        "trace + compile of the vmapped lossless step",
        "JaxMARL V1 step_env",
        duel("jaxmarl", "compile", scan(**LOSSLESS), "compile", measure="compile", mode="jax-vmap"),
        enough=0.5,
        stretch=0.3,
        most=True,
        rounds=10,
    ),
    Target(
        "trace + compile of the vmapped step, default observation",
        "cogrid 0.3.2",
        duel("older", "compile", scan(steps=1), "compile", measure="compile", mode="jax-vmap"),
        most=True,
        rounds=6,
        note="no target",
    ),
    Target(
        "bytes accessed of the vmapped lossless step",
        "JaxMARL V1 step_env",
        duel("jaxmarl", "bytes", scan(**LOSSLESS), "bytes", measure="bytes accessed", mode="jax-vmap"),
        most=True,
        rounds=COUNTED,
        note="no target",
    ),
    Target(
        "fusions of the vmapped lossless step",
        "JaxMARL V1 step_env",
        duel("jaxmarl", "fusions", scan(**LOSSLESS), "fusions", measure="fusions", mode="jax-vmap"),
        most=True,
        rounds=COUNTED,
        note="no target",
    ),
    Target(
        "equations of the vmapped step, features",
        "",
        (Side("ours", "equations", VMAPPED, facts=(("measure", "equations"),)),),
        enough=300,
        stretch=220,
        most=True,
        figure=alone,
        unit="equations",
        rounds=COUNTED,
    ),
    Target(
        "state bytes per environment, CrampedRoom",
        "JaxMARL V1",
        duel("jaxmarl", "state bytes", scan(steps=1), "state bytes", measure="state bytes"),
        enough=0.15,
        stretch=0.1,
        most=True,
        rounds=COUNTED,
    ),
    Target(
        "one million environments, peak memory",
        "this machine",
        (Side("ours", "memory", Case(CRAMPED, "jax-scan", 1_000_000, 4), facts=(("measure", "memory"),)),),
        enough=4 * GIB,
        most=True,
        figure=alone,
        unit="B",
        rounds=COUNTED,
    ),
    Target(
        "five million environments, peak memory",
        "this machine",
        (Side("ours", "memory", Case(CRAMPED, "jax-scan", 5_000_000, 2), facts=(("measure", "memory"),)),),
        stretch=math.inf,
        most=True,
        figure=alone,
        unit="B",
        rounds=COUNTED,
    ),
    Target(
        "cost growth, 2 → 16 agents",
        "linear in agents × observed cells",
        tuple(arena(agents, 40, "window") for agents in (2, 4, 8, 16)),
        **LINEAR,
    ),
    Target(
        "cost growth, map 10² → 40²",
        "linear in agents × observed cells",
        tuple(arena(4, size, "lossless") for size in (10, 20, 40)),
        **LINEAR,
    ),
    Target(
        "cost growth, batch 1 → 1,000,000",
        "linear in the batch",
        tuple(Side("ours", "play", scan(batch=batch, steps=steps)) for batch, steps in BATCHES),
        **LINEAR,
    ),
    Target(
        "JAX scan@1024, features",
        "lossless",
        (Side("ours", "play", scan()), Side("ours", "play", scan(**LOSSLESS))),
        note="no target",
    ),
    Target(
        "JAX scan@1024, window of 5 × 5",
        "lossless",
        (Side("ours", "play", scan(observation="window", window=5)), Side("ours", "play", scan(**LOSSLESS))),
        note="no target",
    ),
    Target(
        "five layouts mixed in a batch, lossless",
        "the largest of them alone",
        (Side("ours", "play", MIXED), Side("ours", "play", LARGEST)),
        note="no target",
    ),
    Target(
        "JAX one environment, jit",
        "an empty function with the same arrays",
        (
            Side("ours", "play", single("jax-single")),
            Side("ours", "empty", single("jax-single"), facts=(("mode", "jax-single, empty"),)),
        ),
        note="no target",
    ),
    Target(
        "two CPU devices, JAX scan@1024, lossless",
        "one device",
        (
            Side(
                "ours",
                "sharded",
                scan(**LOSSLESS),
                env=(("JAX_NUM_CPU_DEVICES", "2"),),
                facts=(("mode", "jax-scan on 2 devices"),),
            ),
            Side("ours", "play", scan(**LOSSLESS)),
        ),
        note="no target",
    ),
    Target(
        "Gymnasium CartPole, one environment",
        "",
        (Side("context", "gymnasium", single("numpy-single"), facts=CARTPOLE),),
        **CONTEXT_ROW,
    ),
    Target(
        "gymnax CartPole, scan@1024, automatic reset, actions drawn",
        "",
        (Side("context", "gymnax", scan(), facts=CARTPOLE),),
        **CONTEXT_ROW,
    ),
)
