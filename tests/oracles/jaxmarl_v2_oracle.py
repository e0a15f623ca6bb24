"""JaxMARL's OvercookedV2 beside ours: states translated by tables, both stepped in batches, and compared."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxmarl.environments.overcooked_v2.common import Agent, Position
from jaxmarl.environments.overcooked_v2.overcooked import OvercookedV2, State

import cogrid
from cogrid.backend import rng
from tests.oracles.v2_encoding import ACTIONS, FACINGS, Encoding
from tests.oracles.v2_options import Rules


def their_name(name: str) -> str:
    """CrampedRoomV2 -> cramped_room_v2."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


class Pair(Encoding):
    """A layout under one set of options, in both implementations."""

    def __init__(self, layout: str, rules: Rules) -> None:
        self.layout, self.rules = layout, rules
        options = {"observation": "lossless"} | rules.ours
        super().__init__(cogrid.make(f"OvercookedV2-{layout}-V0", shaping=1.0, infos=True, **options))
        self.game = OvercookedV2(their_name(layout), **rules.theirs)
        self.keys = self._keys()
        self._theirs = _compiled(self._step_theirs)

    def _keys(self) -> dict[int, np.ndarray]:
        """For every recipe, the words of a key with which their step draws it."""
        found: dict[int, np.ndarray] = {}
        wanted = {int(recipe) for recipe in self.recipes if recipe}
        seeds = jnp.arange(64 * len(wanted))
        drawn = jax.vmap(lambda seed: self.game._sample_recipe(jax.random.split(jax.random.key(seed))[1]))(
            seeds
        )
        for seed, recipe in zip(seeds.tolist(), np.asarray(drawn).tolist(), strict=True):
            found.setdefault(recipe, np.asarray(jax.random.key_data(jax.random.key(seed))))
        assert set(found) == wanted, "both draw from the same recipes"
        return found

    def to_theirs(self, state: Any) -> State:
        """Their states, in a batch."""
        found = self.translated(state)
        one = {
            name: jnp.asarray(value, bool if value.dtype == bool else jnp.int32)
            for name, value in found.items()
        }
        agents = Agent(pos=Position(x=one["x"], y=one["y"]), dir=one["facing"], inventory=one["held"])
        return State(
            agents=agents,
            grid=one["grid"],
            recipe=one["recipe"],
            new_correct_delivery=one["delivered"],
            step=one["time"],
            done=jnp.zeros_like(one["time"], bool),
            ingredient_permutations=jnp.asarray(self.sights(state)) if self.permuted else None,
        )

    def from_theirs(self, theirs: State) -> Any:
        """Our states of a batch of theirs."""
        numbers = {tuple(thing): k for k, thing in enumerate(self.things.tolist())}
        grid = np.asarray(theirs.grid)
        cells = [
            [numbers[tuple(cell)] for cell in board] for board in grid.reshape(len(grid), -1, 3).tolist()
        ]
        recipe = np.stack(
            [np.flatnonzero((self.recipes == r) & ~self.served)[0] for r in np.asarray(theirs.recipe)]
        )
        agents = theirs.agents
        slots = np.asarray(self.fresh(len(grid)).slots).copy()
        slots[:, 0] = recipe
        if self.permuted:
            known = self.orders[:, None, None] == np.asarray(theirs.ingredient_permutations)
            slots[:, 1:] = np.where(self.is_order[:, None, None], known.all(axis=-1), False).argmax(axis=0)
        return self.env.replace(
            self.fresh(len(grid)),
            cells=cells,
            agent_pos=np.stack((np.asarray(agents.pos.y), np.asarray(agents.pos.x)), axis=-1),
            agent_dir=np.argsort(FACINGS)[np.asarray(agents.dir)],
            held=np.argmax(np.asarray(agents.inventory)[..., None] == self.items, axis=-1),
            slots=slots,
        )

    def reset(self, count: int, seed: int) -> tuple[Any, Any]:
        """So many of our states after a reset, and their observations."""
        state, obs = self.env.reset_fn(np.asarray(rng.split(rng.key(seed), count)))
        return state, obs

    def fresh(self, count: int, seed: int = 0) -> Any:
        """So many of our states after a reset."""
        return self.reset(count, seed)[0]

    def step(
        self, state: Any, theirs: State, actions: np.ndarray
    ) -> tuple[Any, State, list[str], dict[str, Any]]:
        """Both go on by one step: their states, what differs between them, and our infos."""
        after, obs, plain, rewards, done, infos = self.step_ours(state, actions)
        recipe = self.recipes[np.asarray(after.slots)[:, 0]].tolist()
        words = np.stack([self.keys[number] for number in recipe])
        seen, reached, score, shaped, over = self._theirs(words, theirs, ACTIONS[actions])
        found = self.differences(after, reached)
        self.given = seen, score, shaped  # by them, for those who record it
        expected = {"planes": seen, "score": score, "shaped": shaped, "done": over}
        got = {"planes": obs, "score": plain, "shaped": rewards - plain, "done": done}
        for name, want in expected.items():
            found += _difference(name, np.asarray(want), np.asarray(got[name]))
        return after, reached, found, infos

    def differences(self, ours: Any, theirs: State) -> list[str]:
        """What differs between two batches of states."""
        agents, got = theirs.agents, self.translated(ours)
        expected = {"x": agents.pos.x, "y": agents.pos.y, "facing": agents.dir, "held": agents.inventory}
        expected |= {"grid": theirs.grid, "recipe": theirs.recipe, "time": theirs.step}
        if self.env.spec.game.indicate_successful_delivery:
            expected["delivered"] = theirs.new_correct_delivery
        pairs = ((name, np.asarray(want), got[name]) for name, want in expected.items())
        return [line for pair in pairs for line in _difference(*pair)]

    def _step_theirs(self, words: Any, state: State, actions: Any) -> Any:
        # step_env, never step: that one resets at the end of an episode.
        key = jax.random.wrap_key_data(words)
        named = {f"agent_{i}": actions[i] for i in range(self.n)}
        obs, after, rewards, dones, infos = self.game.step_env(key, state, named)
        return (
            _stacked(obs),
            after,
            _stacked(rewards),
            _stacked(infos["shaped_reward"]),
            dones["__all__"],
        )


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """For a batch; compiled in a hurry, since that takes longer than all the steps."""
    options = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
    return jax.jit(jax.vmap(function), compiler_options=options)


def _stacked(by_agent: dict[str, Any]) -> Any:
    return jnp.stack([by_agent[f"agent_{i}"] for i in range(len(by_agent))])


def _difference(name: str, want: np.ndarray, got: np.ndarray) -> list[str]:
    if want.shape != got.shape:
        return [f"{name}: expected the shape {want.shape}, got {got.shape}"]
    where = np.argwhere(want.astype(np.float64) != got.astype(np.float64))
    if not len(where):
        return []
    first = tuple(where[0])
    return [f"{name} differs {len(where)} times, first at {first}: expected {want[first]}, got {got[first]}"]
