"""The engine against the interpreter in hundreds of random worlds, and planted faults that it must find."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cogrid._core import step
from cogrid._core.phases import movement
from cogrid._core.phases.clock import Clock
from cogrid._core.phases.interaction import Interaction
from cogrid._core.phases.leaving import Leaving
from cogrid._core.phases.movement import Movement
from cogrid._core.phases.phase import Phase
from cogrid._core.phases.ticks import Ticking
from cogrid._core.rules import Rules
from cogrid.backend import rng
from tests.support import HAS_JAX, plant
from tests.worlds.comparing import compare
from tests.worlds.counting import UNLIKELY, Counts, every_pair, tail
from tests.worlds.generator import HOOKS, generate

NUMPY, JAX, PARTS = 200, 20, 4


def test_numpy_does_what_the_interpreter_does() -> None:
    counts = compare(range(NUMPY), "numpy")
    agrees(counts, NUMPY)
    assert {hook for hook in HOOKS if not counts.met[hook]} == set(), "which make no difference"
    assert counts.resets > 0


@pytest.mark.skipif(not HAS_JAX, reason="JAX is not installed")
@pytest.mark.parametrize("number", range(PARTS))
def test_jax_does_what_the_interpreter_does(number: int) -> None:
    agrees(compare(range(number, JAX, PARTS), "jax"), JAX // PARTS)


def agrees(counts: Counts, worlds: int) -> None:
    assert (counts.worlds, counts.refused, counts.mismatches) == (worlds, 0, 0), "\n".join(counts.examples)
    assert counts.unlikely() == []


@pytest.mark.parametrize("first", [0, 10**6, 5 * 10**6])
def test_every_pair_of_hooks_occurs(first: int) -> None:
    met = dict.fromkeys(every_pair(), 0)
    for seed in range(first, first + 300):
        hooks = generate(seed).hooks
        for pair in met:
            one, other = pair.split(", ")
            met[pair] += one in hooks and other in hooks
    assert min(met.values()) >= 20, min(met, key=met.__getitem__)


def test_a_seed_makes_the_same_world() -> None:
    def rules(seed: int) -> str:
        world = generate(seed)
        tables = f"{world.spec.layout} {world.spec.symbols.lines} {sorted(world.hooks)}"
        return re.sub("0x[0-9a-f]+", "", tables)

    assert rules(5) == rules(5) != rules(6)


# Planted faults


def found() -> str:
    """The first of what differs in the first worlds in which anything does."""
    worlds = (compare(range(first, first + 6), "numpy") for first in range(0, 60, 6))
    return next(counts.examples[0] for counts in worlds if counts.mismatches > 0)


@pytest.mark.parametrize(
    ("kind", "table"),
    [(Interaction, "swap"), (Clock, "final"), (Movement, "turn"), (Movement, "swaps")],
)
def test_a_wrong_table_is_found(kind: type[Phase], table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(rules: Rules) -> None:
        if table == "swap":
            rules.rows = dataclasses.replace(rules.rows, swap=np.zeros_like(rules.rows.swap))
        elif rules.phase(kind) is not None:
            plant(monkeypatch, rules, kind, **{table: _nothing})

    _compile(wrong, monkeypatch)
    text = found()
    assert text.startswith("world ")
    assert all(part in text for part in ("engine but interpreter", "before:", "1: ", "hooks:"))


def _nothing(table: Any) -> Any:
    return not table if isinstance(table, bool) else None if table is None else np.zeros_like(table)


def _compile(change: Callable[[Rules], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Change all rules that are compiled from now on."""
    right = Rules.__init__

    def wrong(rules: Rules, *given: Any) -> None:
        right(rules, *given)
        change(rules)

    monkeypatch.setattr(Rules, "__init__", wrong)


@pytest.mark.parametrize("rule", ["order", "tick", "leave", "swap", "end"])
def test_a_wrong_rule_is_found(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def plays(rules: Rules, *phases: Phase) -> None:
        rules.phases, rules.parts = phases, rules.parts._replace(phases=phases)

    def without(rules: Rules, kind: type[Phase]) -> None:
        plays(rules, *(phase for phase in rules.phases if not isinstance(phase, kind)))

    def in_other_order(rules: Rules) -> None:
        first, second, *others = rules.phases
        if {type(first), type(second)} == {Movement, Interaction}:
            plays(rules, second, first, *others)

    match rule:
        case "order":
            _compile(in_other_order, monkeypatch)
        case "tick":
            _compile(lambda rules: without(rules, Ticking), monkeypatch)
        case "leave":
            monkeypatch.setattr(Leaving, "__call__", lambda phase, rules, state, events: (state, events))
        case "swap":
            monkeypatch.setattr(movement, "_meet", movement._contend)
        case "end":  # all that happens after it
            monkeypatch.setattr(step, "awake", lambda rules, state, actions: actions)
    found()


# Chance


def test_a_tail_bounds_what_is_rarer() -> None:
    exact = 2 * sum(math.comb(100, k) for k in range(76, 101)) / 2**100
    assert exact < tail(76, 100, 50.0) < 10 * exact
    assert tail(24, 100, 50.0) == pytest.approx(tail(76, 100, 50.0))
    assert tail(5, 10**6, 0.02) < UNLIKELY < tail(3, 10**6, 0.02)
    assert tail(0, 10, 0.0) == tail(10, 10, 10.0) == 2
    assert tail(1, 10, 0.0) == tail(9, 10, 10.0) == 0


def test_an_unfair_generator_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = rng.draws
    monkeypatch.setattr(rng, "draws", lambda *given: right(*given) // np.uint32(4) * np.uint32(3))
    counts = compare(range(60), "numpy")
    assert counts.mismatches == 0
    assert any(text.startswith("tick: value 1 of 3 in ") for text in counts.unlikely())


@pytest.mark.parametrize("by", ["agents and cells", "steps"])
def test_draws_that_are_shared_are_found(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = rng.draws

    def shared(words: Any, time: Any, numbers: Any) -> Any:
        return (
            right(words, time * np.uint32(0), numbers)
            if by == "steps"
            else right(words, time, numbers // 2 * 2)
        )

    monkeypatch.setattr(rng, "draws", shared)
    counts = compare(range(30), "numpy")
    assert counts.mismatches == 0
    assert any(text.startswith("any number: drawn before") for text in counts.unlikely())
