"""The environment under test behind the canonical state: translated both ways, stepped in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import cogrid
from cogrid.backend import rng
from tests.oracles.canonical import HORIZON, POT_SIZE, Cell, JointAction, Kitchen, KitchenState, Outcome, Pot

Arrays = dict[str, np.ndarray]
READ = (
    "agent_pos",
    "agent_dir",
    "agent_inv",
    "object_state_map",
    "pot_contents",
    "pot_timer",
    "time",
    "done",
)


class Engine:
    """One kitchen under one cook rule on one backend."""

    def __init__(self, kitchen: Kitchen, cook_start: str, backend: str) -> None:
        options = {} if kitchen.classic else _own_kitchen(kitchen)
        options |= {"cook_start": cook_start, "observation": "lossless", "shaping": 1.0}
        self.kitchen = kitchen
        self.env = cogrid.make(kitchen.env_id, backend=backend, **options)
        self.ids: dict[str, int] = dict(self.env.type_ids)
        self.names = {number: name for name, number in self.ids.items()}
        self._step_and_read = _compiled(self._step_and_read_plainly, backend)
        self._read = _compiled(_read_plainly, backend)

    def reset(self, count: int) -> tuple[list[KitchenState], np.ndarray]:
        """Canonical start states and their observations (B, n, H, W, 26)."""
        state, obs = self._fresh(count)
        return self.from_arrays(_to_numpy(self._read(state))), np.asarray(obs)

    def step(self, states: Sequence[KitchenState], actions: Sequence[JointAction]) -> list[Outcome]:
        """One step from each of the injected states."""
        return self.run(states, [actions])[0]

    def run(
        self, states: Sequence[KitchenState], actions: Sequence[Sequence[JointAction]]
    ) -> list[list[Outcome]]:
        """Inject the states once, then let the engine go on alone; outcomes by step, then by state.

        The batch is stepped twice side by side, with the shaping's weight at 1 and at 0.
        """
        weight = np.repeat(np.float32([1, 0]), len(states))  # (2B,)
        state = self.env.replace(self.inject([*states, *states]), shaping_weight=weight)
        outcomes = []
        for joint in actions:
            state, arrays, obs, rewards = self._step_and_read(state, np.asarray([*joint, *joint], np.int32))
            outcomes.append(self._outcomes(_to_numpy(arrays), np.asarray(obs), np.asarray(rewards)))
        return outcomes

    def inject(self, states: Sequence[KitchenState]) -> Any:
        """A batched engine state that equals the canonical states."""
        fresh, _ = self._fresh(len(states))
        return self.env.replace(fresh, **self.to_arrays(states))

    def to_arrays(self, states: Sequence[KitchenState]) -> Arrays:
        """The fields that `env.replace` takes, with a leading batch axis."""
        held = [[[-1 if item is None else self.ids[item]] for item in state.held] for state in states]
        contents, timers = self._pot_arrays(states)
        return {
            "agent_pos": np.asarray([state.positions for state in states], np.int32),  # (B, n, 2)
            "agent_dir": np.asarray([state.facings for state in states], np.int32),  # (B, n)
            "agent_inv": np.asarray(held, np.int32),  # (B, n, 1)
            "object_state_map": self._lying_array(states),
            "pot_contents": contents,
            "pot_timer": timers,
            "time": np.asarray([state.time for state in states], np.int32),  # (B,)
        }

    def from_arrays(self, arrays: Arrays) -> list[KitchenState]:
        """Canonical states of a batch of what was read."""
        columns = zip(
            arrays["agent_pos"].tolist(),
            arrays["agent_dir"].tolist(),
            arrays["agent_inv"].tolist(),
            self._counters(arrays["object_state_map"]),
            arrays["pot_contents"].tolist(),
            arrays["pot_timer"].tolist(),
            arrays["time"].tolist(),
            strict=True,
        )
        return [
            KitchenState(
                positions=tuple((row, col) for row, col in positions),
                facings=tuple(facings),
                held=tuple(None if item < 0 else self.names[item] for (item,) in held),
                counters=tuple(lying),
                pots=self._pots(contents, timers),
                time=time,
            )
            for positions, facings, held, lying, contents, timers, time in columns
        ]

    def _lying_array(self, states: Sequence[KitchenState]) -> np.ndarray:
        """(B, H, W) type ids of what lies on counters."""
        lying = np.zeros((len(states), *self.kitchen.shape), np.int32)
        for b, state in enumerate(states):
            for cell, item in state.counters:
                lying[(b, *cell)] = self.ids[item]
        return lying

    def _pot_arrays(self, states: Sequence[KitchenState]) -> tuple[np.ndarray, np.ndarray]:
        """(B, pots, 3) contents and (B, pots) timers."""
        contents = np.full((len(states), len(self.kitchen.pot_cells), POT_SIZE), -1, np.int32)
        timers = np.full(contents.shape[:2], -1, np.int32)
        for b, state in enumerate(states):
            for p, (_, (ingredients, timer)) in enumerate(state.pots):
                contents[b, p, : len(ingredients)] = [self.ids[name] for name in ingredients]
                timers[b, p] = timer
        return contents, timers

    def _counters(self, lying: np.ndarray) -> list[list[tuple[Cell, str]]]:
        found: list[list[tuple[Cell, str]]] = [[] for _ in lying]
        for b, row, col in np.argwhere(lying != 0).tolist():  # sorted by row and column
            found[b].append(((row, col), self.names[int(lying[b, row, col])]))
        return found

    def _pots(self, contents: list[list[int]], timers: list[int]) -> tuple[tuple[Cell, Pot], ...]:
        names = (tuple(sorted(self.names[item] for item in items if item >= 0)) for items in contents)
        return tuple(zip(self.kitchen.pot_cells, zip(names, timers, strict=True), strict=True))

    def _fresh(self, count: int) -> tuple[Any, Any]:
        state, obs = self.env.reset_fn(rng.split(rng.key(0), count))
        cells = np.asarray(state.pot_positions)
        assert (cells == np.asarray(self.kitchen.pot_cells)).all(), f"{self.kitchen.name} has pots at {cells}"
        return state, obs

    def _step_and_read_plainly(self, state: Any, joint: Any) -> tuple[Any, Any, Any, Any]:
        state, obs, rewards, _, _ = self.env.step_fn(state, joint)
        return state, _read_plainly(state), obs, rewards

    def _outcomes(self, arrays: Arrays, obs: np.ndarray, rewards: np.ndarray) -> list[Outcome]:
        """Split the weighted and the unweighted half, which may differ in nothing but the rewards."""
        half = len(rewards) // 2
        for name, values in arrays.items():
            assert np.array_equal(values[:half], values[half:]), f"the shaping's weight changed {name}"
        assert np.array_equal(arrays["done"], arrays["time"] >= HORIZON)
        states = self.from_arrays({name: values[:half] for name, values in arrays.items()})
        sparse, shaped = rewards[half:], rewards[:half] - rewards[half:]
        rows = zip(states, sparse.tolist(), shaped.tolist(), obs[:half], strict=True)
        return [Outcome(state, tuple(points), tuple(extra), planes) for state, points, extra, planes in rows]


def _own_kitchen(kitchen: Kitchen) -> dict[str, Any]:
    """Overrides that make a registered kitchen into this one."""
    return {
        "layout": kitchen.text,
        "orders": tuple(recipe.ingredients for recipe in kitchen.recipes),
        "bonus_orders": tuple(recipe.ingredients for recipe in kitchen.recipes if recipe.bonus),
        "recipes": tuple((recipe.ingredients, recipe.value, recipe.time) for recipe in kitchen.recipes),
    }


def _read_plainly(state: Any) -> dict[str, Any]:
    return {name: getattr(state, name) for name in READ}


def _to_numpy(arrays: dict[str, Any]) -> Arrays:
    return {name: np.asarray(values) for name, values in arrays.items()}


def _compiled(function: Any, backend: str) -> Any:
    if backend != "jax":
        return function
    import jax

    return jax.jit(function)
