"""Hooks: what a game may define, and errors for misspelt hooks and hooks that need another one."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from types import MappingProxyType

from cogrid._core.author.game import Game

_SLOTS = ("slots", "own_slots")

#: Hooks that are never called unless another one, or one of several, is written too.
_NEEDS: Mapping[str, str | tuple[str, ...]] = MappingProxyType(
    {
        "tick_near": "near",
        "act": "actions",
        "join": "joint",
        "strength": ("joint", "placed"),
        "most_strength": "joint",
        "reply": _SLOTS,
        "tick_slot": _SLOTS,
        "rank": _SLOTS,
        "shows": _SLOTS,
        "paint_slot": _SLOTS,
        "look_slot": "shows",
        "sees": "own_slots",
        "paint": "planes",
        "paint_agent": "planes",
        "countdown": "planes",
        "spawn": "away",
        "paint_away": "away",
    }
)


def written(game: Game) -> tuple[str, ...]:
    """The hooks that a game writes itself: methods and class variables that differ from those of `Game`."""
    return tuple(name for name in _public(Game) if writes(game, name))


def writes(game: Game, hook: str) -> bool:
    """Whether a game writes this hook itself."""
    return getattr(game.__class__, hook) is not getattr(Game, hook)  # the class that it stands for


def check_hooks(game: Game) -> None:
    """Raise an error for a public name that resembles a hook, and for a hook that would never be called."""
    name_, own = type(game).__name__, type(game).__mro__[: type(game).__mro__.index(Game)]
    options = {field.name for field in dataclasses.fields(game)}
    for name in dict.fromkeys(name for one in own for name in _public(one)):
        if name in options or hasattr(Game, name):
            continue
        if meant := difflib.get_close_matches(name, _public(Game), 1, 0.85):
            raise TypeError(
                f"{name_}.{name} is not a hook of a game: call it {meant[0]!r} if you mean that one, "
                f"or {'_' + name!r} if it is a helper."
            )
    mine = written(game)
    for hook, others in _NEEDS.items():
        asking = (others,) if isinstance(others, str) else others
        if hook in mine and not set(asking) & set(mine):
            lacking = " and no ".join(map(repr, asking))
            raise TypeError(
                f"{name_}.{hook} is never called, because {name_} has no {lacking}: write both or neither."
            )


def _public(one: type) -> list[str]:
    return [name for name in vars(one) if not name.startswith("_")]
