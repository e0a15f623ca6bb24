"""Shadow validation: the other backend runs the same steps as the chosen one, and results are compared."""

from __future__ import annotations

import dataclasses
import functools
import logging
import os
import warnings
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np

from cogrid._core.compile.spec import Spec
from cogrid._core.rules import Rules, compile_rules
from cogrid._core.state.autoreset import renew
from cogrid._core.state.difference import Arrays, Difference, Names, differing, first_difference, named
from cogrid._core.step import Functions, functions, step
from cogrid._io.messages import brief, several
from cogrid.backend.array import Array
from cogrid.backend.backends import BACKENDS
from cogrid.backend.env_state import EnvState

VARIABLE = "COGRID_SHADOW"
#: Progress is logged at these counts of comparisons and at every multiple of the last one.
MARKS = (1_000, 10_000, 100_000)

RESET = ("state", "obs")
STEP = ("state", "obs", "rewards", "done", "infos")
CHUNK = ("obs before it", "rewards", "done")
PARTS = ("infos", "final obs")  # parts of a reset or step that already counts as a comparison

log = logging.getLogger(__name__)


def is_asked_for(shadow: bool | None = None) -> bool:
    """The value of the keyword, or by default of the environment variable."""
    if shadow is not None:
        if not isinstance(shadow, bool):
            raise TypeError(f"shadow={brief(shadow)} is neither True nor False.")
        return shadow
    value = os.environ.get(VARIABLE, "")
    if value not in ("", "0", "1"):
        raise ValueError(
            f"{VARIABLE}={value!r} is unknown: set it to 1 for a shadow, or to 0 or nothing for none."
        )
    return value == "1"


@dataclasses.dataclass(frozen=True)
class ShadowMismatch:
    """The first difference between the two backends."""

    steps: int  # started since the shadow was made
    time: int | None  # the step of the episode; None between steps, at a reset or set_state
    environment: int | None  # of a batch
    difference: Difference
    backends: tuple[str, str]

    def __str__(self) -> str:
        """One line, with both values."""
        field, place, ours, theirs = self.difference
        when = f"between steps {self.steps} and {self.steps + 1}"
        if self.time is not None:
            when = f"step {self.steps} ({self.time} of its episode)"
        who = () if self.environment is None else (f"environment {self.environment}",)
        main, shadow = self.backends
        return f"{', '.join([when, *who, *place])}: {field} is {ours} on {main} and {theirs} on {shadow}"


@dataclasses.dataclass(frozen=True)
class ShadowReport:
    """What has been compared so far."""

    backend: str
    shadow: str
    comparisons: int  # of one environment each: a step, a reset or a set_state, with all its results
    mismatches: int  # those in which anything differed
    first: ShadowMismatch | None
    ratio: float | None  # time of the shadow's steps relative to the backend's; None until known

    def __str__(self) -> str:
        """The whole report in one line."""
        counts = f"{self.comparisons:,} comparisons, {self.mismatches:,} mismatches"
        timing = "" if self.ratio is None else f", time {self.backend} : {self.shadow} = 1 : {self.ratio:.3g}"
        first = "" if self.first is None else f"; the first one in {self.first}"
        return f"{self.backend} shadowed by {self.shadow}: {counts}{timing}{first}."


class Shadow:
    """Counts how often the two backends agree: every field of all their results, bit for bit.

    In `watched` functions the shadow has no state of its own. Each call gives it the same state as the
    backend, so that a fault is counted where it happens, and not again in everything that follows from it.

    A mismatch warns once and is counted; training continues with the backend's own values, which are passed
    through unchanged.
    """

    def __init__(self, spec: Spec, backend: str) -> None:
        self.main = compile_rules(spec, backend)
        other = BACKENDS[backend].shadow
        try:
            self.other = compile_rules(spec, other)
        except ValueError as error:  # the spec is fine, so what the other backend needs is missing
            raise ValueError(f"the shadow of {backend} runs on {other}: {error}") from None
        self._comparisons = self._mismatches = self._steps = 0
        self._first: ShadowMismatch | None = None
        self._seconds = np.zeros(2)  # of the backend, of the shadow
        self._warm = False  # the first step compiles, so its time is ignored

    @property
    def report(self) -> ShadowReport:
        """The counts so far."""
        ours, theirs = self._seconds
        return ShadowReport(
            self.main.backend.name,
            self.other.backend.name,
            self._comparisons,
            self._mismatches,
            self._first,
            float(theirs / ours) if ours else None,
        )

    # Functions of the engine, call by call

    def watched(self, pure: Functions, infos: bool = False) -> Functions:
        """The backend's functions, each compared with the shadow's."""
        return Functions(
            self.watch(pure.reset, lambda rules: functions(rules, infos).reset, RESET),
            self.watch(pure.step, lambda rules: functions(rules, infos).step, STEP),
            self.watch(pure.observe, lambda rules: functions(rules, infos).observe, "obs"),
            self.watch(pure.report, lambda rules: functions(rules, infos).report, "infos"),
        )

    def watch(
        self,
        function: Callable[..., Any],
        build: Callable[[Rules], Callable[..., Any]],
        names: Names,
    ) -> Callable[..., Any]:
        """The backend's function, compared with the one that `build` makes from the shadow's rules.

        Arguments are states, keys or arrays; `names` are those of the results.
        """
        beside = self.other.backend.compiled(build(self.other))
        steps = "rewards" in names

        def both(*arguments: Any, **starts: Any) -> Any:  # the board or the pool of a reset
            began = perf_counter()
            result = function(*arguments, **starts)
            ours = named(self.main, names, result)  # on the host, so that the computation has finished
            middle = perf_counter()
            carried_starts = {name: self._on_host(value) for name, value in starts.items()}
            theirs = named(self.other, names, beside(*self._carried(*arguments), **carried_starts))
            if steps:
                self._time(middle - began, perf_counter() - middle)
                self._steps += 1
            state = arguments[0] if isinstance(arguments[0], EnvState) else result[0]
            wrong = self._compare(ours, theirs, np.shape(state.clock), state if steps else None)
            self._count(0 if names in PARTS else wrong.size, wrong)
            return result

        return both

    def _carried(self, first: Any, *others: Any) -> tuple[Any, ...]:
        """Arguments converted for the shadow: a state and arrays, or dicts of them, or a key."""
        if isinstance(first, EnvState):
            return carried(self.other, first), *map(self._on_host, others)
        return (self.other.backend.key(np.asarray(self.main.backend.words(first))),)

    def _on_host(self, value: Any) -> Any:
        """An array, a dict of arrays, or a pool of states, converted for the shadow."""
        if isinstance(value, EnvState):
            return carried(self.other, value)
        if isinstance(value, Mapping):
            return {name: np.asarray(array) for name, array in value.items()}
        return np.asarray(value)

    def _compare(
        self,
        ours: Arrays,
        theirs: Arrays,
        batch: tuple[int, ...],
        before: EnvState | None,
        good: np.ndarray[Any, Any] | None = None,
    ) -> np.ndarray[Any, Any]:
        """(B,) the environments that differ, among the good ones; the first difference is kept as text."""
        wrong = differing(ours, theirs, batch)
        if good is not None:
            wrong &= good
        if wrong.any() and self._first is None:
            number = int(wrong.argmax())
            difference = first_difference(self.main, ours, theirs, batch, number)
            time = None if before is None else int(before.host().time.reshape(-1)[number]) + 1
            names = (self.main.backend.name, self.other.backend.name)
            self._first = ShadowMismatch(self._steps, time, number if batch else None, difference, names)
        return wrong

    # Chunks of compiled steps, afterwards

    def chunk(
        self,
        first: EnvState,
        actions: Array,
        obs: Array,
        rewards: Array,
        done: Array,
        last: EnvState,
        seconds: float | None = None,
        pool: Any = None,
    ) -> None:
        """Replay what the backend recorded of T steps of B environments with automatic reset (`renew`).

        `actions` (T, B, n); `obs` (T, B, n, …) the observations before them; `rewards` (T, B, n) and `done`
        (T, B) the results; `first` and `last`, the states before and after the chunk. A comparison is one
        step of one environment: these three, and in the last step the state too. The states between are not
        known, so an environment is left out for the rest of the chunk once it differs: what follows from a
        fault is neither a comparison nor another mismatch. `seconds` is the time that the backend took for
        the chunk, `pool` what its episodes were drawn from.
        """
        actions, obs, rewards, done = (np.asarray(value) for value in (actions, obs, rewards, done))
        self._check_chunk(first, actions, obs, rewards, done, last)
        elapsed, compiled = 0.0, self.other.backend.compiled
        advance, see = compiled(_advance(self.other)), compiled(functions(self.other).observe)
        state = carried(self.other, first)
        drawn_from = () if pool is None else (self._on_host(pool),)
        seen, good = see(state), np.ones(actions.shape[1], bool)  # (B,) has not differed yet
        for t, joint in enumerate(actions):
            before, began = state, perf_counter()
            state, following, paid, over = advance(before, joint, *drawn_from)
            theirs = named(self.other, CHUNK, (seen, paid, over))
            elapsed += perf_counter() - began
            ours = dict(zip(CHUNK, (obs[t], rewards[t], done[t]), strict=True))
            if t + 1 == len(actions):
                ours = named(self.main, "state", last) | ours
                theirs = named(self.other, "state", state) | theirs
            self._steps += 1
            wrong = self._compare(ours, theirs, good.shape, before, good)
            self._count(int(good.sum()), wrong)
            good &= ~wrong
            seen = following
        if seconds is not None:
            self._time(seconds, elapsed)

    def _check_chunk(
        self, first: EnvState, actions: Any, obs: Any, rewards: Any, done: Any, last: EnvState
    ) -> None:
        for name, state in (("first", first), ("last", last)):
            if getattr(state, "rules", None) != self.main:
                raise ValueError(f"{name} is not a state of the environment that this shadow was made for.")
        shape = (*actions.shape[:1], *np.shape(first.clock), self.main.n_agents)  # (T, B, n)
        if len(shape) != 3:
            raise ValueError("a chunk needs a batch of environments, but its first state is a single one.")
        for name, value in (("actions", actions), ("obs", obs), ("rewards", rewards), ("done", done)):
            if value.shape[:3] != shape[: 2 if name == "done" else 3]:
                raise ValueError(
                    f"{name} has shape {value.shape}, but a chunk of {several(shape[0], 'step')} in "
                    f"{several(shape[1], 'environment')} of {several(shape[2], 'agent')} starts with "
                    f"{shape[: 2 if name == 'done' else 3]}."
                )

    # Counting

    def _time(self, ours: float, theirs: float) -> None:
        if self._warm:
            self._seconds += (ours, theirs)
        self._warm = True

    def _count(self, comparisons: int, wrong: np.ndarray[Any, Any]) -> None:
        before, known = self._comparisons, self._mismatches
        self._comparisons += comparisons
        self._mismatches += int(wrong.sum())
        if marks_in(before, self._comparisons):
            log.info("%s", self.report)
        if self._mismatches and not known:
            warnings.warn(f"the backends differ: {self._first}.", RuntimeWarning, stacklevel=2)


def show_progress() -> None:
    """Log progress to stderr: for commands, since a library is silent."""
    log.addHandler(logging.StreamHandler())
    log.setLevel(logging.INFO)


def marks_in(before: int, now: int) -> bool:
    """Whether a count of comparisons has passed one of the marks."""
    *early, last = MARKS
    return any(before < mark <= now for mark in early) or before // last < now // last


def carried(rules: Rules, state: EnvState) -> EnvState:
    """The state on the backend of other rules of the same spec."""
    widths = {"cells": rules.cell_dtype, "pos": rules.pos_dtype, "pose": rules.agent_dtype}
    widths["places"] = rules.pos_dtype
    if rules.slots is not None:
        widths["slots"] = rules.slot_dtype
    host = {name: np.asarray(value, widths.get(name)) for name, value in state.stored().items()}
    return state.evolve(**{name: rules.xp.asarray(value) for name, value in host.items()}, rules=rules)


@functools.lru_cache(maxsize=256)
def _advance(rules: Rules) -> Callable[..., Any]:
    """A step with automatic reset, as a rollout makes it; pure."""

    def advance(state: EnvState, actions: Array, pool: Any = None) -> tuple[Any, ...]:
        state, seen, rewards, done, _ = step(rules, state, actions)
        state, obs = renew(rules, state, seen, done, pool)
        return state, obs, rewards, done

    return advance
