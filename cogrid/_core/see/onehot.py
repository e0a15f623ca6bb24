"""One-hot planes for games that define none of their own: kinds, states, agents, facings and hands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cogrid._core.author.actions import FACINGS
from cogrid._core.author.answers import Item, Thing
from cogrid._core.author.game import Game
from cogrid._core.compile.symbols import Symbols


def painter(game: Game, symbols: Symbols) -> Any:
    """The game itself if it names planes, else a wrapper of the game that adds one-hot planes."""
    return game if game.planes else OneHot(game, symbols)


class OneHot:
    """A plane for every kind but the floor, every item, and agents; otherwise the game itself.

    A kind of several things, such as a pot in its states, has one more plane: the state's number, from 1.
    """

    def __init__(self, game: Game, symbols: Symbols) -> None:
        self._game = game
        by_kind: dict[str, list[Thing]] = {}
        for thing in symbols.things:
            by_kind.setdefault(game.kind(thing), []).append(thing)
        self._states = {
            thing: (kind, min(number, 255) if len(things) > 1 else 0)
            for kind, things in by_kind.items()
            for number, thing in enumerate(things, 1)
        }
        kinds = [kind for kind in by_kind if kind != "floor"]
        states = [f"{kind} state" for kind, things in by_kind.items() if len(things) > 1]
        items = [game.item_name(item) for item in symbols.items[1:]]
        facings = [f"facing {name}" for name in FACINGS]
        agents = ["self", "other", *facings, *(f"holds {name}" for name in items)]
        self.planes = tuple(dict.fromkeys([*kinds, *states, *(f"{name} lies" for name in items), *agents]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def paint(self, thing: Thing) -> Mapping[str, int]:
        """The kind, its state, and what lies there."""
        kind, state = self._states[thing]
        lying = self._game.lying(thing)
        painted = {kind: 1, f"{kind} state": state}
        return painted if lying is None else painted | {f"{self._game.item_name(lying)} lies": 1}

    def paint_agent(self, own: bool, facing: int, held: Item) -> Mapping[str, int]:
        """The agent, its facing and its item."""
        painted = {"self" if own else "other": 1, f"facing {FACINGS[facing]}": 1}
        return painted if held is None else painted | {f"holds {self._game.item_name(held)}": 1}
