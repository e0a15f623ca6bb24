"""The engine against the interpreter in hundreds of random worlds, and planted faults that it must find."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from cogrid._core import step
from cogrid._core.phases import movement
from cogrid._core.rules import Rules
from tests.support import HAS_JAX
from tests.worlds.comparing import compare
from tests.worlds.counting import Counts, every_pair
from tests.worlds.generator import HOOKS, generate

NUMPY, JAX, PARTS = 200, 20, 4


def part(number: int, worlds: int) -> range:
    return range(number, worlds, PARTS)


@pytest.mark.parametrize("number", range(PARTS))
def test_numpy_does_what_the_interpreter_does(number: int) -> None:
    agrees(compare(part(number, NUMPY), "numpy"), NUMPY // PARTS)


@pytest.mark.skipif(not HAS_JAX, reason="JAX is not installed")
@pytest.mark.parametrize("number", range(PARTS))
def test_jax_does_what_the_interpreter_does(number: int) -> None:
    agrees(compare(part(number, JAX), "jax"), JAX // PARTS)


def agrees(counts: Counts, worlds: int) -> None:
    assert (counts.worlds, counts.refused, counts.mismatches) == (worlds, 0, 0), "\n".join(counts.examples)


def test_every_pair_of_hooks_occurs() -> None:
    met = dict.fromkeys(every_pair(), 0)
    for seed in range(1_000):
        hooks = generate(seed).hooks
        for pair in met:
            one, other = pair.split(", ")
            met[pair] += one in hooks and other in hooks
    assert min(met.values()) >= 20, min(met, key=met.__getitem__)


def test_every_hook_is_met() -> None:
    counts = compare(range(150), "numpy")
    assert {hook for hook in HOOKS if not counts.met[hook]} == set()
    assert counts.resets > 0


def test_a_seed_makes_the_same_world() -> None:
    def rules(seed: int) -> str:
        world = generate(seed)
        tables = f"{world.spec.layout} {world.spec.symbols.lines} {sorted(world.hooks)}"
        return re.sub("0x[0-9a-f]+", "", tables)

    assert rules(5) == rules(5) != rules(6)


# Planted faults


def found() -> str:
    counts = compare(range(60), "numpy")
    assert counts.mismatches > 0
    return counts.examples[0]


@pytest.mark.parametrize("table", ["swap", "final", "turn", "moves_first", "swaps"])
def test_a_wrong_table_is_found(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Rules.__init__

    def wrong(rules: Rules, *given: Any) -> None:
        right(rules, *given)
        value = getattr(rules, table)
        setattr(rules, table, not value if isinstance(value, bool) else np.zeros_like(value))

    monkeypatch.setattr(Rules, "__init__", wrong)
    text = found()
    assert text.startswith("world ")
    assert all(part in text for part in ("engine but interpreter", "before:", "1: ", "hooks:"))


@pytest.mark.parametrize("phase", ["tick", "leave", "swap", "end"])
def test_a_wrong_rule_is_found(phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    match phase:
        case "tick" | "leave":
            monkeypatch.setattr(step, phase, lambda rules, state, events: state)
        case "swap":
            monkeypatch.setattr(movement, "_meet", movement._contend)
        case "end":  # all that happens after it
            monkeypatch.setattr(step, "awake", lambda rules, state, actions: actions)
    found()
