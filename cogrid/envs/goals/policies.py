"""A script for goals: everybody walks to the nearest goal that is for them."""

from __future__ import annotations

from typing import ClassVar

from cogrid.author import Game
from cogrid.envs.goals.game import SHARED, Goal, Goals
from cogrid.envs.scripted import Scene, Scripted, walk


class ScriptedWalkers(Scripted):
    """Own goals first; no two walk to the same shared goal. They step aside when they are in the way."""

    game: ClassVar[type[Game]] = Goals

    def plan(self, scene: Scene) -> list[str]:
        """Agent by agent, around those who chose earlier."""
        actions, taken = ["noop"] * len(scene.pos), set(scene.pos)
        shared = {cell for cell, thing in enumerate(scene.things) if thing == Goal(SHARED)}
        for agent, cell in enumerate(scene.pos):
            own = {k for k, thing in enumerate(scene.things) if thing == Goal(str(scene.held[agent]))}
            near = scene.distances([cell])
            goals = own or set(sorted(shared, key=lambda goal: near.get(goal, len(scene.things)))[:1])
            shared -= goals
            aim = scene.step_towards(agent, goals, taken) if goals else None
            if aim is None:
                aim = next(
                    (free for free in scene.beside(cell) if scene.open(free) and free not in taken), cell
                )
            if aim not in taken:
                actions[agent] = walk(scene, agent, aim)
                taken = (taken - {cell}) | {aim}
        return actions
