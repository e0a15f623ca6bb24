"""Scripts: policies written by hand, and how they find their way over a board."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cogrid._core.compile.actions import STRIDES
from cogrid._core.rules import Rules
from cogrid.author import Game, Item, Thing, checked_number
from cogrid.backend import rng
from cogrid.backend.env_state import EnvState

WALKS = ("right", "down", "left", "up")  # by facing


@dataclass
class Scene:
    """A single state as the game's plain values."""

    game: Game
    width: int
    things: list[Thing]  # by cell
    pos: list[int]  # by agent
    facing: list[int]
    held: list[Item]
    ended: list[bool]

    def beside(self, cell: int) -> list[int]:
        """The four neighbours of a cell, by facing."""
        return [cell + row * self.width + column for row, column in STRIDES]

    def open(self, cell: int) -> bool:
        """Whether an agent can stand there."""
        return self.game.walkable(self.things[cell])

    def distances(self, goals: Iterable[int], blocked: Collection[int] = ()) -> dict[int, int]:
        """Steps to the closest goal from every cell that can reach one."""
        found = dict.fromkeys((goal for goal in goals if self.open(goal) and goal not in blocked), 0)
        todo = deque(found)
        while todo:
            cell = todo.popleft()
            for near in self.beside(cell):
                if near not in found and near not in blocked and self.open(near):
                    found[near] = found[cell] + 1
                    todo.append(near)
        return found

    def step_towards(self, agent: int, goals: Collection[int], blocked: Collection[int]) -> int | None:
        """The next cell of a shortest path around blocked cells, or else through them; None without a path.

        For an agent that has arrived, it is the cell where it stands.
        """
        here = self.pos[agent]
        for others in (blocked, ()):
            far = self.distances(goals, [cell for cell in others if cell != here])
            if here in far:
                near = [cell for cell in self.beside(here) if far.get(cell, far[here]) < far[here]]
                return near[0] if near else here
        return None


class Scripted:
    """Plays some of the agents, all by default: `env.step(script.act(env.env_state))`."""

    game: ClassVar[type[Game]]  # the game of this script

    def __init__(
        self, rules: Rules, agents: Iterable[int] | None = None, *, seed: int = 0, noise: float = 0.0
    ) -> None:
        n = rules.n_agents
        if not isinstance(rules.spec.game, self.game):
            name = type(rules.spec.game).__name__
            raise TypeError(f"{type(self).__name__} plays {self.game.__name__}, not {name}.")
        self.rules, self.names = rules, [action.name for action in rules.spec.actions]
        if "up" not in self.names:
            raise ValueError(f"{type(self).__name__} walks in four directions: choose another action_set.")
        self.agents = tuple(range(n) if agents is None else agents)
        for agent in self.agents:
            if agent not in range(n):
                raise ValueError(f"agent {agent!r} is not in this game: its agents are 0 to {n - 1}.")
        self.noise = checked_number("noise", noise, 0.0, 1.0)  # share of random actions
        self._draws = {a: np.random.default_rng([rng.seed(seed) % 2**64, a]) for a in self.agents}

    def act(self, state: EnvState) -> dict[int, int]:
        """The action of each played agent in a single state of either backend."""
        self.check(state)
        symbols, n = self.rules.spec.symbols, self.rules.n_agents
        scene = Scene(
            self.rules.game,
            self.rules.width,
            [symbols.things[number] for number in np.asarray(state.cells).tolist()],
            np.asarray(state.pos).tolist(),
            np.asarray(state.agent_dir).tolist(),
            [symbols.items[number] for number in np.asarray(state.held).tolist()],
            [False] * n if state.ended is None else np.asarray(state.ended).tolist(),
        )
        plan = self.plan(scene)
        return {agent: self._noisy(agent, plan[agent]) for agent in self.agents}

    def check(self, state: EnvState) -> None:
        """Raise a ValueError unless this is a single state of the script's own environment."""
        if state.rules is not self.rules and state.rules.spec != self.rules.spec:
            raise ValueError("this state belongs to another environment: make the script from its rules.")
        if state.pos.ndim != 1:
            raise ValueError(f"scripts act in a single state, not in a batch of shape {state.time.shape}.")

    def plan(self, scene: Scene) -> list[str]:
        """The names of all agents' actions."""
        raise NotImplementedError

    def _noisy(self, agent: int, name: str) -> int:
        draw = self._draws[agent]
        if self.noise and draw.random() < self.noise:
            return int(draw.integers(self.rules.n_actions))
        return self.names.index(name)


def walk(scene: Scene, agent: int, cell: int | None) -> str:
    """The action that walks to an adjacent cell; the noop for the agent's own cell."""
    around = scene.beside(scene.pos[agent])
    return WALKS[around.index(cell)] if cell in around else "noop"
