"""Scripted cooks: they divide the work of a kitchen, make way for each other and deliver soups."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cogrid._core.compile.actions import UP
from cogrid._core.rules import Rules
from cogrid.author import Thing, checked_integer, checked_number
from cogrid.backend import rng
from cogrid.backend.env_state import EnvState
from cogrid.envs.overcooked.floor_plan import Cuisine, floor_plan
from cogrid.envs.overcooked.planning import Plan, Scene

PATIENCE = 4  # surprises after which a cook is no longer relied on
BACK_OFF = 0.5  # probability of waiting for a cook that is blocked by somebody it cannot see
REST = 32  # steps of idle hands, beyond any cook time, after which somebody else has a turn


class ScriptedCooks:
    """Plays some of a kitchen's cooks, all by default: `env.step(cooks.act(env.env_state))`.

    They expect the others to play as they would. They work and walk around a cook that surprises them, until
    its hands do something again. They forget everything when a new episode starts.

    With `sight`, every cook knows the layout and who is in which room, and otherwise acts only on what it has
    seen itself: up to `sight` cells to each side, as in a window of 2 · sight + 1. It assumes that what is
    out of sight has not changed; a recipe that it has not read may be any, and it presses no button to find
    out.
    """

    def __init__(
        self,
        rules: Rules,
        agents: Iterable[int] | None = None,
        *,
        seed: int = 0,
        noise: float = 0.0,
        sight: int | None = None,
    ) -> None:
        game, n = rules.spec.game, rules.n_agents
        if not isinstance(game, Cuisine):
            raise TypeError(f"scripted cooks play kitchens, not {type(game).__name__}.")
        if rules.action_set == "moves":
            raise ValueError("scripted cooks interact: choose action_set='cardinal' or 'rotation'.")
        self.rules = rules
        self.agents = tuple(range(n) if agents is None else agents)
        for agent in self.agents:
            if agent not in range(n):
                raise ValueError(f"agent {agent!r} is none of this kitchen's: they are 0 to {n - 1}.")
        self.noise = checked_number("noise", noise, 0.0, 1.0)  # share of random actions
        self._draws = {a: np.random.default_rng([rng.seed(seed) % 2**64, a]) for a in self.agents}
        if sight is None:  # all know the same
            mind = _Mind(rules, self.agents)
            self._minds = dict.fromkeys(self.agents, mind)
        else:
            checked_integer("sight", sight, 0, 127)
            self._minds = {a: _Mind(rules, (a,), (a, sight)) for a in self.agents}

    def act(self, state: EnvState) -> dict[int, int]:
        """The action of each played cook in a single state of either backend."""
        if state.rules is not self.rules and state.rules.spec != self.rules.spec:
            raise ValueError("this state belongs to another environment: make the cooks from its rules.")
        if state.pos.ndim != 1:
            raise ValueError(f"cooks act in a single state, and this is a batch of shape {state.time.shape}.")
        plans = {mind: mind.plan(state) for mind in dict.fromkeys(self._minds.values())}
        return {agent: self._noisy(agent, plans[mind].actions[agent]) for agent, mind in self._minds.items()}

    def _noisy(self, agent: int, action: int) -> int:
        draw = self._draws[agent]
        if self.noise and draw.random() < self.noise:
            return int(draw.integers(self.rules.n_actions))
        if self._minds[agent].blocked and draw.random() < BACK_OFF:
            return self.rules.noop
        return action


class _Mind:
    """What one cook, or all of them, know about an episode, and their plans."""

    def __init__(self, rules: Rules, agents: tuple[int, ...], eyes: tuple[int, int] | None = None) -> None:
        self.rules, self.agents, self.eyes = rules, agents, eyes
        game = rules.spec.game
        assert isinstance(game, Cuisine)
        self._game: Cuisine = game
        self._tired = game.longest + REST
        self._last: tuple[int, Plan] | None = None  # the time and the plan
        self._forget()

    def _forget(self) -> None:
        n = self.rules.n_agents
        self._idle, self._doubt = [0] * n, [0] * n  # steps and surprises since the hand last changed
        self._menu = self._game
        self._known: Scene | None = None
        self.blocked = False  # by somebody out of sight who wants the same cell

    def plan(self, state: EnvState) -> Plan:
        """What all cooks should do next, given what is known."""
        time = int(state.time)
        going_on = self._last is not None and self._last[0] + 1 == time
        if not going_on:
            self._forget()
        scene = self._known = self._seen(state)
        if going_on:
            self._watch(scene)
        trusted = [doubt < PATIENCE for doubt in self._doubt]
        plan = Plan(scene, trusted, [idle < 0 for idle in self._idle])
        self._last = time, plan
        return plan

    def _seen(self, state: EnvState) -> Scene:
        """The state in plain values; for what is out of sight, what was seen last."""
        symbols, n = self.rules.spec.symbols, self.rules.n_agents
        things = [symbols.things[number] for number in np.asarray(state.cells).tolist()]
        pos, facing = np.asarray(state.pos).tolist(), np.asarray(state.agent_dir).tolist()
        held = [symbols.items[number] for number in np.asarray(state.held).tolist()]
        visible = self._visible(pos)
        if visible is not None:
            floor = floor_plan(self.rules, state, self._game)
            rooms = [floor.room[cell] for cell in pos]  # all that is known about cooks never seen
            old = self._known or Scene(floor, floor.things, rooms, [UP] * n, [None] * n)
            pairs = enumerate(zip(things, old.things, strict=True))
            things = [now if cell in visible else then for cell, (now, then) in pairs]
            for agent in (a for a in range(n) if pos[a] not in visible):
                facing[agent], held[agent] = old.facing[agent], old.held[agent]
                pos[agent] = self._imagined(old.floor.room, old.pos[agent], visible)
        told = self._told(state, things, visible)
        return Scene(floor_plan(self.rules, state, told), things, pos, facing, held)

    def _visible(self, pos: list[int]) -> frozenset[int] | None:
        """The cells in sight; None for all."""
        if self.eyes is None:
            return None
        (agent, sight), width = self.eyes, self.rules.width
        row, column = divmod(pos[agent], width)
        rows = range(max(0, row - sight), min(self.rules.height, row + sight + 1))
        columns = range(max(0, column - sight), min(width, column + sight + 1))
        return frozenset(r * width + c for r in rows for c in columns)

    def _imagined(self, rooms: list[int], last: int, visible: frozenset[int]) -> int:
        """Where a cook last seen at a cell may be if it is out of sight: as near as possible, in its room."""
        width = self.rules.width
        hidden = [c for c, room in enumerate(rooms) if room == rooms[last] and c not in visible]

        def distance(cell: int) -> int:
            return abs(cell // width - last // width) + abs(cell % width - last % width)

        return min(hidden, key=distance, default=last)

    def _told(self, state: EnvState, things: list[Thing], visible: frozenset[int] | None) -> Cuisine:
        """The game as far as its recipe is known."""
        slots = self.rules.slots
        told = [] if slots is None else [slots.things[k] for k in np.asarray(state.slots).tolist()]
        seen = None if visible is None else [things[cell] for cell in visible]
        self._menu = self._menu.menu(seen, told) or self._menu
        return self._menu

    def _watch(self, scene: Scene) -> None:
        """Compare what everybody did with the plan."""
        assert self._last is not None
        plan = self._last[1]
        for a in range(self.rules.n_agents):
            self._idle[a] += 1
            if scene.held[a] != plan.scene.held[a]:
                self._idle[a], self._doubt[a] = min(self._idle[a], 0), 0
            elif a not in self.agents and plan.surprised_by(a, scene):
                self._doubt[a] += 1
            if self._idle[a] > self._tired + a:  # not all at once
                self._idle[a] = -REST
        if self.eyes is not None:
            me = self.eyes[0]
            pose = plan.scene.pos[me], plan.scene.facing[me]
            walks = plan.floor.actions[plan.actions[me]].walks
            self.blocked = walks and pose == (scene.pos[me], scene.facing[me])
