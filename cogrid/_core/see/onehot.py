"""One-hot planes for games that define none of their own: kinds, states, agents, facings and hands."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from cogrid._core.author.planes import Planes
from cogrid._core.author.values import Item, Thing
from cogrid._core.compile.actions import FACINGS
from cogrid._core.compile.answers import Answers
from cogrid._core.compile.symbols import Symbols


def planes_of(answers: Answers, symbols: Symbols) -> Planes:
    """The planes that the game names, or one-hot planes."""
    return answers.planes if answers.planes.names else _one_hot(answers, symbols)


def _one_hot(answers: Answers, symbols: Symbols) -> Planes:
    """A plane for every kind but the floor, every item, and agents.

    A kind of several things, such as a pot in its states, has one more plane: the state's number, from 1.
    """
    game = answers.game
    by_kind: dict[str, list[Thing]] = {}
    for thing in symbols.things:
        by_kind.setdefault(game.kind(thing), []).append(thing)
    states = {
        thing: (kind, min(number, 255) if len(things) > 1 else 0)
        for kind, things in by_kind.items()
        for number, thing in enumerate(things, 1)
    }
    kinds = [kind for kind in by_kind if kind != "floor"]
    several = [f"{kind} state" for kind, things in by_kind.items() if len(things) > 1]
    items = [game.item_name(item) for item in symbols.items[1:]]
    facings = [f"facing {name}" for name in FACINGS]
    agents = ["self", "other", *facings, *(f"holds {name}" for name in items)]

    def paint(thing: Thing) -> Mapping[str, int]:
        """The kind, its state, and what lies there."""
        (kind, state), lying = states[thing], game.lying(thing)
        painted = {kind: 1, f"{kind} state": state}
        return painted if lying is None else painted | {f"{game.item_name(lying)} lies": 1}

    def paint_agent(own: bool, facing: int, held: Item) -> Mapping[str, int]:
        """The agent, its facing and its item."""
        painted = {"self" if own else "other": 1, f"facing {FACINGS[facing]}": 1}
        return painted if held is None else painted | {f"holds {game.item_name(held)}": 1}

    names = tuple(dict.fromkeys([*kinds, *several, *(f"{name} lies" for name in items), *agents]))
    return dataclasses.replace(answers.planes, names=names, thing=paint, agent=paint_agent)
