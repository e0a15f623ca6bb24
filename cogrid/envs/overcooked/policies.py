"""Scripted cooks: they share out what a kitchen needs, make way for each other and deliver soups."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cogrid.backend import rng
from cogrid.backend.env_state import EnvState
from cogrid.core.game import checked_number
from cogrid.core.rules import Rules
from cogrid.envs.overcooked.floor_plan import floor_plan
from cogrid.envs.overcooked.game import Kitchen
from cogrid.envs.overcooked.planning import Plan, Scene

PATIENCE = 4  # surprises until a cook is no longer counted on
REST = 32  # steps without a use for the hands, beyond any cook time, after which somebody else has a turn


class ScriptedCooks:
    """Plays some of a kitchen's cooks, all by default: `env.step(cooks.act(env.env_state))`.

    They count on the others to play as they would. Who surprises them is worked and walked around until its
    hands do something again. All that they remember of an episode is forgotten when another one begins.
    """

    def __init__(
        self, rules: Rules, agents: Iterable[int] | None = None, *, seed: int = 0, noise: float = 0.0
    ) -> None:
        game, n = rules.spec.game, rules.n_agents
        if not isinstance(game, Kitchen):
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
        self._tired = game.longest + REST
        self._last: tuple[int, Plan] | None = None  # when, and what was planned
        self._idle, self._doubt = [0] * n, [0] * n  # steps and surprises since the hand last changed

    def act(self, state: EnvState) -> dict[int, int]:
        """The action of each played cook in a single state of either backend."""
        if state.rules is not self.rules and state.rules.spec != self.rules.spec:
            raise ValueError("this state belongs to another environment: make the cooks from its rules.")
        if state.pos.ndim != 1:
            raise ValueError(f"cooks act in a single state, and this is a batch of shape {state.time.shape}.")
        symbols, time = self.rules.spec.symbols, int(state.time)
        scene = Scene(
            floor_plan(self.rules, state),
            [symbols.things[number] for number in np.asarray(state.cells).tolist()],
            np.asarray(state.pos).tolist(),
            np.asarray(state.agent_dir).tolist(),
            [symbols.items[number] for number in np.asarray(state.held).tolist()],
        )
        self._watch(time, scene)
        trusted = [doubt < PATIENCE for doubt in self._doubt]
        plan = Plan(scene, trusted, [idle < 0 for idle in self._idle])
        self._last = time, plan
        return {agent: self._noisy(agent, plan.actions[agent]) for agent in self.agents}

    def _watch(self, time: int, scene: Scene) -> None:
        """Compare what everybody did with what was planned."""
        n = self.rules.n_agents
        if self._last is None or self._last[0] + 1 != time:
            self._idle, self._doubt = [0] * n, [0] * n
            return
        plan = self._last[1]
        for a in range(n):
            self._idle[a] += 1
            if scene.held[a] != plan.scene.held[a]:
                self._idle[a], self._doubt[a] = min(self._idle[a], 0), 0
            elif a not in self.agents and plan.surprised_by(a, scene):
                self._doubt[a] += 1
            if self._idle[a] > self._tired + a:  # not all at once
                self._idle[a] = -REST

    def _noisy(self, agent: int, action: int) -> int:
        draw = self._draws[agent]
        if self.noise and draw.random() < self.noise:
            return int(draw.integers(self.rules.n_actions))
        return action
