"""Answers: a game and its parts as the rules are compiled from them; each function remembers its answers."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from cogrid._core.author.acting import Act, Aim, Joint
from cogrid._core.author.agents import Away, Hands, Moving
from cogrid._core.author.cells import Near, OneCell, Placed, Scattered
from cogrid._core.author.game import Game
from cogrid._core.author.kinds import check_together, own_actions, parts_of
from cogrid._core.author.look import Looks
from cogrid._core.author.planes import Planes
from cogrid._core.author.rewards import Ends
from cogrid._core.author.values import Item, Thing
from cogrid._core.compile.actions import FURTHER, INTERACT, TOGGLE
from cogrid._io.messages import brief

T = TypeVar("T")


class Answers:
    """Everything that is asked of an author's game."""

    def __init__(self, game: Game) -> None:
        self.game, self.parts = game, parts_of(game)
        self.planes = _checked(game, "planes", Planes)
        self.looks = _checked(game, "looks", Looks)
        check_together(game, self.parts, self.planes, self.looks)
        self.actions = own_actions(self.parts)
        self.acts: dict[str, Act | Joint] = {part.name: part for part in self.parts.every(Act)}
        self.joint, self.near = self.parts.one(Joint), self.parts.one(Near)
        if self.joint is not None:
            self.acts[self.joint.name] = self.joint
        self.moving = self.parts.one(Moving) or Moving()
        self.hands, self.leaving = self.parts.one(Hands) or Hands(), self.parts.one(Away)
        self.ends, self.scattered = self.parts.one(Ends) or Ends(), self.parts.one(Scattered)
        self.placed, self.one_cell = self.parts.every(Placed), self.parts.every(OneCell)

    @functools.cached_property
    def meets(self) -> bool:
        """Whether any action works on agents."""
        return any(act.agent is not None for act in self.acts.values())

    def acting(self, intent: int) -> Act | Joint | None:
        """What an action of this intent does, beside `Game.interact`."""
        name = {INTERACT: "interact", TOGGLE: "toggle"}.get(intent)
        if name is None:
            name = self.actions[intent - FURTHER] if intent >= FURTHER else ""
        return self.acts.get(name)

    def aim(self, action: str) -> Aim:
        """Where an action looks for its target."""
        act = self.acts.get(action)
        return Aim() if act is None else act.aim

    def away(self, held: Item) -> bool:
        """Whether an agent with this hand is off the board."""
        return self.leaving is not None and bool(self.leaving.when(held))

    def back(self, thing: Thing) -> bool:
        """Whether an agent can come back to a cell with this thing."""
        spawn = None if self.leaving is None else self.leaving.back
        return bool((self.game.walkable if spawn is None else spawn)(thing))

    def can_act(self, held: Item) -> bool:
        """Whether an agent with this hand can act, if it is on the board."""
        return self.hands.can_act is None or bool(self.hands.can_act(held))

    def can_move(self, held: Item) -> bool:
        """Whether an agent with this hand can turn and walk, if it is on the board."""
        return self.moving.when is None or bool(self.moving.when(held))


def _checked(game: Game, hook: str, kind: type[T]) -> T:
    answer: Any = getattr(game, hook)()
    if not isinstance(answer, kind):
        name = kind.__name__
        raise TypeError(f"{type(game).__name__}.{hook} returned {brief(answer)}: return {name}(…).")
    return answer
