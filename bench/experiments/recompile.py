"""Counters, which have no noise: compiled again and again they must not change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import cogrid
from bench.compare.counters import changes
from bench.measure.counters import counters
from bench.show.progress import Progress
from bench.suites import CRAMPED
from cogrid.core.spec import OBSERVATIONS

BATCH = 64


class Recompiled(NamedTuple):
    """How often the step was compiled, in how many of them a counter changed, and in how many it grew."""

    compilations: int
    changed: int
    alarms: int

    @property
    def text(self) -> str:
        return (
            f"{self.compilations} compilations of the step with {len(OBSERVATIONS)} kinds of observation: "
            f"the counters changed in {self.changed}, {self.alarms} alarms."
        )


def recompile(times: int, progress: Progress) -> Recompiled:
    """Compile the vmapped step of every kind of observation anew, in turns."""
    import jax

    envs = [cogrid.make(CRAMPED, "jax", observation=kind) for kind in OBSERVATIONS]
    keys = jax.random.split(jax.random.key(0), BATCH)
    states = [jax.vmap(env.jax_reset)(keys)[0] for env in envs]
    actions = np.zeros((BATCH, envs[0].spec.num_agents), np.int8)
    seen: dict[str, dict[str, int]] = {}
    alarms = changed = 0
    for number in range(times):
        which = number % len(OBSERVATIONS)
        kind = OBSERVATIONS[which]
        progress.start(f"compiling with observation={kind}", number, times)
        jax.clear_caches()
        found = counters(jax.vmap(envs[which].jax_step), states[which], actions)
        differing = changes(seen.setdefault(kind, found), found)
        changed += bool(differing)
        alarms += any(change.grew for change in differing)
    return Recompiled(times, changed, alarms)
