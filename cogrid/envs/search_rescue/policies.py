"""Scripted rescuers: each goes to the nearest thing that its tool is good for, or fetches a tool."""

from __future__ import annotations

from typing import ClassVar

from cogrid.author import Game, Item, Thing
from cogrid.envs.scripted import WALKS, Scene, Scripted, walk
from cogrid.envs.search_rescue.game import SearchRescue
from cogrid.envs.search_rescue.objects import DOOR, KEY, PICKAXE, RUBBLE, Rescuer, Tool, Victim


class ScriptedRescuers(Scripted):
    """They see the whole site and divide the work; those with nothing to do make way."""

    game: ClassVar[type[Game]] = SearchRescue

    def plan(self, scene: Scene) -> list[str]:
        """Agent by agent, around those who chose earlier."""
        actions, taken, claimed = ["noop"] * len(scene.pos), set(scene.pos), set[int]()
        for agent, here in enumerate(scene.pos):
            target = self._target(scene, agent, claimed)
            if target is None:
                actions[agent], aim = self._idle(scene, agent, taken)
            else:
                claimed.add(target)
                actions[agent], aim = self._approach(scene, agent, target, taken)
            if aim not in taken:
                taken = (taken - {here}) | {aim}
        return actions

    def _target(self, scene: Scene, agent: int, claimed: set[int]) -> int | None:
        """The nearest cell with something to do that nobody else has chosen."""
        held, far = scene.held[agent], scene.distances([scene.pos[agent]])
        found = []
        for cell, thing in enumerate(scene.things):
            ways = (
                [far[near] for near in scene.beside(cell) if near in far]
                if self._wants(scene, held, thing)
                else []
            )
            if ways and cell not in claimed:
                found.append((min(ways), cell))
        return min(found)[1] if found else None

    def _wants(self, scene: Scene, held: Item, thing: Thing) -> bool:
        if isinstance(thing, Tool):
            return scene.game.enter(held, thing) is not None and self._needed(scene, thing.name)
        return thing not in ("floor", "wall") and scene.game.interact(held, thing) is not None

    def _needed(self, scene: Scene, tool: str) -> bool:
        """Whether there is something left to do for a tool that nobody holds."""
        use = {KEY: DOOR, PICKAXE: RUBBLE}.get(tool)
        held = [one.tool for one in scene.held if isinstance(one, Rescuer)]
        left = use in scene.things if use else any(isinstance(thing, Victim) for thing in scene.things)
        return left and tool not in held

    def _approach(self, scene: Scene, agent: int, target: int, taken: set[int]) -> tuple[str, int]:
        here, goals = scene.pos[agent], [target]
        if not scene.open(target):
            if target in scene.beside(here):
                facing = scene.beside(here).index(target)
                return ("interact" if scene.facing[agent] == facing else WALKS[facing]), here
            goals = [cell for cell in scene.beside(target) if scene.open(cell)]
        aim = scene.step_towards(agent, [cell for cell in goals if cell not in taken] or goals, taken)
        if aim is None or aim in taken:
            return self._aside(scene, agent, taken)
        return walk(scene, agent, aim), aim

    def _idle(self, scene: Scene, agent: int, taken: set[int]) -> tuple[str, int]:
        """Put down a tool that is no longer needed, if that frees the hand for one that is; or make way."""
        here, held = scene.pos[agent], scene.held[agent]
        use = {KEY: DOOR, PICKAXE: RUBBLE}.get(held.tool or "") if isinstance(held, Rescuer) else None
        ahead = scene.beside(here)[scene.facing[agent]]
        if (
            use is not None
            and use not in scene.things
            and scene.things[ahead] == "floor"
            and ahead not in taken
        ):
            return "toggle", here
        return self._aside(scene, agent, taken)

    def _aside(self, scene: Scene, agent: int, taken: set[int]) -> tuple[str, int]:
        here = scene.pos[agent]
        around = scene.beside(here)
        order = [(scene.facing[agent] + turn) % 4 for turn in (0, 1, 3, 2)]
        free = [around[k] for k in order if scene.open(around[k]) and around[k] not in taken]
        aim = next((cell for cell in free if not isinstance(scene.things[cell], Tool)), here)
        return walk(scene, agent, aim), aim
