"""A target: where its inputs come from, and how one of them is tried."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.strategies import SearchStrategy

import cogrid
from tests.episodes import record
from tests.fuzz.games import EVERY, Played
from tests.fuzz.judge import SECONDS, Tally, Wrong, judge

#: Plain generators where throughput matters, Hypothesis for what people pass as arguments.
Source = Callable[[Random], Iterator[Any]] | SearchStrategy[Any]
Attempt = Callable[[Any], None]
Games = Sequence[Played]


class Target(NamedTuple):
    """Something that takes inputs from outside."""

    name: str
    share: int  # of 1,000 inputs, about so many are of this target
    prepare: Callable[[Path, Games], tuple[Source, Attempt]]  # takes a folder of its own, and what to play
    needs: tuple[str, ...] = ()  # modules without which there is nothing to try

    @property
    def is_possible(self) -> bool:
        """Whether all that it needs is installed."""
        return all(importlib.util.find_spec(name) for name in self.needs)


def run(
    target: Target,
    inputs: int,
    seed: int,
    folder: Path,
    seconds: float = SECONDS,
    progress: Callable[[Tally], None] = lambda tally: None,
    games: Games = EVERY,
) -> Tally:
    """Try so many inputs, always the same ones for a seed."""
    tally = Tally(target.name)
    source, attempt = target.prepare(folder, games)

    def one(given: Any) -> None:
        if tally.inputs < inputs:  # Hypothesis may try some more
            judge(tally, attempt, given, seconds)
            progress(tally)

    if isinstance(source, SearchStrategy):
        _by_hypothesis(source, one, inputs, seed)
    else:
        given = source(Random(f"{seed} {target.name}"))
        for _ in range(inputs):
            one(next(given))
    return tally


def _by_hypothesis(source: SearchStrategy[Any], one: Attempt, inputs: int, seed: int) -> None:
    settings = hypothesis.settings(
        max_examples=inputs,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )

    def test(given: Any) -> None:
        one(given)

    hypothesis.seed(seed)(settings(hypothesis.given(source)(test)))()


def played(envs: Sequence[cogrid.CoGridEnv], random: Random, steps: int) -> None:
    """Play the same actions in environments that have the same state; `Wrong` at the first difference."""
    first = envs[0]
    for step in range(steps):
        if not first.agents:
            break
        joint = {agent: random.randrange(first.rules.n_actions) for agent in first.agents}
        results = [record(*env.step(joint)[:4]) for env in envs]
        states = [env.get_state() for env in envs]
        if any(one != results[0] for one in results) or any(one != states[0] for one in states):
            raise Wrong(f"{' and '.join(env.backend for env in envs)} differ after step {step + 1}")
