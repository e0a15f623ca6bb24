"""Scripted foragers: all of them go to the food that they can load together soonest."""

from __future__ import annotations

from typing import ClassVar

from cogrid.author import Game
from cogrid.envs.foraging.game import Foraging
from cogrid.envs.foraging.objects import level_of
from cogrid.envs.foraging.rewards import LOAD
from cogrid.envs.scripted import Scene, Scripted, walk

FAR = 10_000


class ScriptedForagers(Scripted):
    """They see the whole field. The first at the food tries to load it alone, unless failing is penalised."""

    game: ClassVar[type[Game]] = Foraging

    def plan(self, scene: Scene) -> list[str]:
        """Everybody walks to the chosen food, around those who chose earlier, and loads it."""
        food = self._chosen(scene)
        actions, taken = ["noop"] * len(scene.pos), set(scene.pos)
        if food is None:
            return actions
        around, level = scene.beside(food), level_of(scene.things[food])
        beside = [agent for agent, cell in enumerate(scene.pos) if cell in around]
        enough = sum(level_of(scene.held[agent]) for agent in beside) >= level
        hurry = not (isinstance(scene.game, Foraging) and scene.game.penalty)
        for agent, cell in enumerate(scene.pos):
            if agent in beside:
                actions[agent] = LOAD if enough or hurry else "noop"
                continue
            free = [place for place in around if place not in taken]
            aim = scene.step_towards(agent, free, taken)
            if aim is not None and aim not in taken:
                actions[agent] = walk(scene, agent, aim)
                taken = (taken - {cell}) | {aim}
        return actions

    def _chosen(self, scene: Scene) -> int | None:
        """The food that enough of the nearest foragers can reach soonest."""
        best: tuple[int, int] | None = None
        for food in (cell for cell, thing in enumerate(scene.things) if level_of(thing)):
            far = scene.distances(scene.beside(food))
            ways = sorted((far.get(cell, FAR), agent) for agent, cell in enumerate(scene.pos))
            total, needed = 0, FAR
            for way, agent in ways[:4]:
                total += level_of(scene.held[agent])
                if total >= level_of(scene.things[food]):
                    needed = way
                    break
            if best is None or (needed, food) < best:
                best = needed, food
        return None if best is None or best[0] >= FAR else best[1]
