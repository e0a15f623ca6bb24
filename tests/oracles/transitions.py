"""Transitions of a game: taken, compared field by field, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import pytest

from tests.oracles.canonical import Implementation, JointAction, Kitchen, KitchenState, Outcome, differences
from tests.oracles.events import happened
from tests.oracles.states import Case

Transition = tuple[KitchenState, JointAction, Outcome]


def transitions(
    starts: Sequence[KitchenState],
    actions: Sequence[Sequence[JointAction]],
    outcomes: Sequence[Sequence[Outcome]],
) -> Iterator[Transition]:
    befores = starts
    for joints, afters in zip(actions, outcomes, strict=True):
        yield from zip(befores, joints, afters, strict=True)
        befores = [outcome.state for outcome in afters]


def columns(cases: Sequence[Case]) -> tuple[list[KitchenState], list[JointAction]]:
    return [state for state, _ in cases], [joint for _, joint in cases]


def stepped(game: Implementation, cases: Sequence[Case]) -> list[Transition]:
    states, joints = columns(cases)
    return list(zip(states, joints, game.step(states, joints), strict=True))


def assert_same(who: str, expected: Sequence[Transition], got: Sequence[Outcome]) -> None:
    """Fail with the number of differences in each field, and the first of each."""
    counts, first = Counter[str](), {}
    for i, ((before, joint, want), have) in enumerate(zip(expected, got, strict=True)):
        for found in differences(want, have):
            field = found.partition(":")[0]
            counts[field] += 1
            first.setdefault(field, f"transition {i}: {before}, actions {joint}:\n{found}")
    if counts:
        pytest.fail("\n".join((f"{who} differs: {dict(counts)}", *first.values())), pytrace=False)


def count(kitchen: Kitchen, steps: Iterable[Transition]) -> Counter[str]:
    told = ((before, joint, outcome.state) for before, joint, outcome in steps)
    return Counter(name for step in told for name in happened(kitchen, *step))


def assert_often(counts: Counter[str], wanted: dict[str, int]) -> None:
    rare = {name: counts[name] for name, least in wanted.items() if counts[name] < least}
    assert not rare, f"too rare to mean anything: {rare} of {dict(counts)}, wanted {wanted}"
