"""The suites: what is measured, one line for each case."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cogrid
from bench.measure.gpu import running
from bench.measure.gpu.programs import PROGRAMS
from bench.measure.measures import named
from cogrid.benchmarks import chunk_for
from cogrid.benchmarks.case import Case
from cogrid.envs.foraging import specs as foraging
from cogrid.envs.overcooked.specs import CLASSIC
from cogrid.envs.registry import family_of

CRAMPED = "Overcooked-CrampedRoom-V0"
ARENA = "Arena-V0"
GENERATED = "Overcooked-Generated-V0"
#: Several soups, an order queue, random recipes, and random kitchens.
OTHER_KITCHENS = (
    "OvercookedAI-SoupCoordination-V0",
    "Overcooked-CrampedMixedKitchen-V0",
    "OvercookedV2-CrampedRoomV2-V0",
    GENERATED,
)
KITCHENS = tuple(CLASSIC)
BATCHED = (("numpy-batch", 1024), ("jax-vmap", 1024), ("jax-scan", 1024))
ALL_MODES = (("numpy-single", 1), ("jax-single", 1), *BATCHED)
RESETS = (("numpy-single", 1), ("jax-single", 1), ("numpy-batch", 1024), ("jax-vmap", 1024))
SHORT = 64  # steps, too few for any episode of random play to end
FAMILIES = ("Foraging-8x8-2p-3f-V0", "Goals-V0", "SearchRescue-Ruins-V0")  # one of each of the others
SWEEP = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 5_000_000)
TOY = {"num_agents": 20, "map_size": 40, "density": 0.04}
#: About as many cells as the commons, with their agents and window, to show what they cost beyond walking.
BESIDE_COMMONS = {"num_agents": 7, "map_size": 20, "observation": "window", "window": 11}
COMMONS = ("CommonsHarvest-Open-V0", "CleanUp-V0")
WINDOWED = {"num_agents": 16, "map_size": 40, "observation": "window", "window": 11}


Options = Mapping[str, Any]
Suite = Callable[[Options], list[Case]]


def options(**overrides: Any) -> tuple[tuple[str, Any], ...]:
    """Overrides of a spec in the form that a case holds."""
    return tuple(sorted(overrides.items()))


def toy(overrides: Options) -> list[Case]:
    return [Case(ARENA, mode, batch, 8, options=options(**overrides)) for mode, batch in ALL_MODES]


def quick(arena: Options = TOY) -> list[Case]:
    """CrampedRoom in all modes with scripted cooks, a small sweep, resets, the toy arena: two minutes."""
    return [
        *(Case(CRAMPED, mode, batch, workload="cooperative") for mode, batch in ALL_MODES),
        *(Case(CRAMPED, "jax-scan", batch, workload="cooperative") for batch in (100, 10_000)),
        *(Case(CRAMPED, mode, batch, measure="reset") for mode, batch in RESETS),
        *toy(arena),
    ]


def standard(arena: Options = TOY) -> list[Case]:
    """The suite of an A/B: short passes, since the two sides take turns of a few milliseconds."""
    lossless, toy = options(observation="lossless"), options(**arena)
    return [
        Case(CRAMPED, "numpy-single", steps=64, workload="cooperative"),
        Case(CRAMPED, "numpy-batch", 1024, 4, workload="cooperative"),
        Case(CRAMPED, "jax-single", steps=64, workload="cooperative"),
        Case(CRAMPED, "jax-vmap", 1024, 16, workload="cooperative"),
        Case(CRAMPED, "jax-scan", 1024, 32, workload="cooperative"),
        Case(CRAMPED, "jax-scan", 1024, 32, workload="cooperative", options=lossless),
        Case(ARENA, "numpy-single", steps=8, options=toy),
        Case(ARENA, "numpy-batch", 256, 1, options=toy),
        Case(ARENA, "jax-vmap", 1024, 2, options=toy),
        Case(ARENA, "jax-scan", 1024, 2, options=toy),
    ]


#: An environment to profile, and overrides of its spec.
Configuration = tuple[str, Options]
PROFILED: tuple[Configuration, ...] = ((CRAMPED, {}), (ARENA, TOY), (ARENA, WINDOWED))


def profile(configurations: Sequence[Configuration], batches: Sequence[int]) -> list[Case]:
    """The phases of a step and the parts of the flat observation, in all modes that differ in them."""
    modes = (("numpy-single", "numpy-batch"), ("jax-single", "jax-vmap"))
    ways = [way for single, batched in modes for way in ((single, 1), *((batched, n) for n in batches))]
    return [
        Case(id, mode, n, measure=measure, options=options(**overrides))
        for id, overrides in configurations
        for measure in ("profile", *(["features"] if id in KITCHENS else []))
        for mode, n in ways
    ]


def full(arena: Options = TOY) -> list[Case]:
    others, kinds = [id for id in KITCHENS if id != CRAMPED], ("lossless", "window", "none")
    return [
        *quick(arena),
        # The other kitchens, then the other kinds of observation, in all modes.
        *(Case(id, mode, n, workload="cooperative") for id in others for mode, n in ALL_MODES),
        *(Case(CRAMPED, mode, n, options=options(observation=k)) for k in kinds for mode, n in ALL_MODES),
        *(Case(CRAMPED, mode, n, workload="noop") for mode, n in BATCHED),
        *(Case(ARENA, mode, n, 8, options=options(**WINDOWED)) for mode, n in ALL_MODES),
        *(Case(id, mode, n, SHORT) for id in FAMILIES for mode, n in ALL_MODES),
        *(Case(id, mode, n, workload="cooperative") for id in OTHER_KITCHENS for mode, n in BATCHED),
        *commons(),
        # The time before the first step, and the variation of single steps.
        *(
            Case(CRAMPED, mode, measure=what)
            for what in ("latency", "create", "import")
            for mode in ("numpy-single", "jax-single")
        ),
        *(Case(GENERATED, mode, n, measure="reset") for mode, n in BATCHED[:2]),
        *(Case(CRAMPED, mode, n, measure="compile") for mode, n in (("jax-single", 1), ("jax-vmap", 1024))),
        *(Case(CRAMPED, "jax-vmap", 1024, measure="compile", options=options(observation=k)) for k in kinds),
        *profile([(CRAMPED, {})], [1024]),
        *training(),
        # How much a scan gains from longer chunks, and the memory they take where it matters.
        *(Case(CRAMPED, "jax-scan", 10_000, steps) for steps in (1, 4, 16, 64)),
        *(Case(CRAMPED, "jax-scan", 100_000, steps) for steps in (1, 4, 16)),  # 64 is in the sweep
        # The sweep, smallest first, so that running out of memory comes last. One environment for comparison.
        Case(CRAMPED, "numpy-single"),
        *(Case(CRAMPED, "jax-scan", batch, chunk_for(batch)) for batch in SWEEP),
        *(Case(CRAMPED, "numpy-batch", batch, min(chunk_for(batch), 16)) for batch in SWEEP[:-2]),
    ]


def commons() -> list[Case]:
    """Growth, beams, seven players who come and go, and an arena of that size for comparison."""
    beside = Case(ARENA, "jax-scan", 1024, 32, options=options(**BESIDE_COMMONS))
    return [beside, *(Case(id, mode, 1024, 32) for id in COMMONS for mode in ("numpy-batch", "jax-scan"))]


def training(short: bool = False) -> list[Case]:
    """Updates of our learner, with its defaults and with the whole grid; short for an A/B."""
    batch, steps = (16, 16) if short else (64, 128)
    kinds = ((), options(observation="lossless"))
    return [Case(CRAMPED, "jax-scan", batch, steps, measure="train", options=kind) for kind in kinds]


def overridden(cases: Sequence[Case], overrides: Options) -> list[Case]:
    """The cases with some options of their spec changed."""
    return [
        dataclasses.replace(case, options=options(**{**dict(case.options), **overrides})) for case in cases
    ]


def gpu(variant: str, everything: bool = False, device: str = "a100") -> list[Case]:
    """Programs to compile for a GPU: one id per family; or all ids, and a few for H100s and eight GPUs.

    An unrolled rollout takes half a minute to compile, so it is compiled for one id of each family.
    """
    target = f"{variant}-{device}"
    programs = ("step", "scan", "renew", "rollout")
    kinds = {
        "lossless": PROGRAMS if everything else programs,
        "none": ("scan", "rollout", "kernel"),
        "features": ("scan",),
    }
    others = ("step", "scan", "renew") if everything else ("step", "renew")
    cases = [
        *(_compiled(target, CRAMPED, kind, one) for kind, some in kinds.items() for one in some),
        *(_compiled(target, id, None, one) for id in _families(everything) for one in others),
        [Case(ARENA, "jax-scan", 1024, 128, measure=f"{target}-scan", options=options(**WINDOWED))],
    ]
    if everything:
        cases += [
            _compiled(f"{variant}-{device}", id, None, one)
            for device in ("a100", "a100x8", "h100", "h100x8")
            for id in (CRAMPED, *_families(everything=False))
            for one in ("scan", "rollout")[device == "a100" :]
        ]
    return [case for some in cases for case in some]


def on_device(cases: Sequence[Case]) -> list[Case]:
    """The same programs, to run on an actual device."""
    return [
        dataclasses.replace(case, measure=running.name_of(case.measure.rpartition("-")[2])) for case in cases
    ]


def _compiled(target: str, id: str, kind: str | None, program: str) -> list[Case]:
    mode, steps = ("jax-vmap", 1) if program == "step" else ("jax-scan", 128)
    seen = options(observation=kind) if kind else ()
    return [Case(id, mode, n, steps, measure=f"{target}-{program}", options=seen) for n in (1024, 65_536)]


def _families(everything: bool) -> list[str]:
    """All ids, or the first of each family except the kitchens, which have rows of their own."""
    ids = cogrid.registered()
    if everything:
        return ids
    first: dict[str, str] = {}
    for id in ids:
        first.setdefault(family_of(id), id)
    return [id for family, id in first.items() if family != family_of(CRAMPED)]


def matching(layout: str) -> list[str]:
    """The classic kitchens whose ids contain a name, else all such ids, else an id of `lbforaging`."""
    found = [[id for id in ids if layout.lower() in id.lower()] for ids in (KITCHENS, cogrid.registered())]
    return found[0] or found[1] or [layout] * bool(foraging.named(layout))


def with_layouts(cases: list[Case], layouts: Sequence[str]) -> list[Case]:
    """The cases, plus those of CrampedRoom for the requested environments that have none."""
    ids = [
        id
        for layout in layouts
        if not any(layout.lower() in case.id.lower() for case in cases)
        for id in matching(layout)
    ]
    like = [case for case in cases if (case.id, case.workload, case.options) == (CRAMPED, "cooperative", ())]
    return cases + [_played_in(id, case) for id in ids for case in like]


def _played_in(id: str, case: Case) -> Case:
    if id in KITCHENS:
        return dataclasses.replace(case, id=id)
    return dataclasses.replace(case, id=id, workload="random", steps=min(case.steps, SHORT))


def checked(cases: list[Case]) -> list[Case]:
    return list({case: (case.spec, named(case.measure)) for case in cases})


def select(
    cases: list[Case],
    only: str | None = None,
    layouts: list[str] | None = None,
    backend: str | None = None,
    batches: Sequence[int] = (),
    chunks: Sequence[int] = (),
) -> list[Case]:
    """The cases that match all options.

    Given batches replace those of the batched modes, and chunks the steps of a scan; several make a sweep.
    """
    if batches:
        batched = [case for case in cases if not case.mode.endswith("single")]
        cases = list(dict.fromkeys(_with_batch(case, n) for n in batches for case in batched))
    if chunks:
        scans = [case for case in cases if case.mode == "jax-scan"]
        cases = list(dict.fromkeys(dataclasses.replace(case, steps=n) for case in scans for n in chunks))
    return [
        case
        for case in cases
        if (only is None or only.lower() in case.name.lower())
        and (not layouts or any(layout.lower() in case.id.lower() for layout in layouts))
        and (backend is None or case.backend == backend)
    ]


def _with_batch(case: Case, batch: int) -> Case:
    most = chunk_for(batch) if case.mode == "jax-scan" else max(4, 1_600_000 // batch)  # a pass of seconds
    steps = min(case.steps, most)
    return dataclasses.replace(case, batch=batch, steps=steps)
