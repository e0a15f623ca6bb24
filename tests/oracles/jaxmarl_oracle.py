"""JaxMARL's Overcooked behind the canonical state, stepped in batches."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax.core.frozen_dict import FrozenDict
from jaxmarl.environments.overcooked.common import OBJECT_INDEX_TO_VEC, OBJECT_TO_INDEX
from jaxmarl.environments.overcooked.overcooked import Overcooked, State

from tests.oracles.canonical import (
    COOK_TIME,
    DOWN,
    HORIZON,
    INTERACT,
    LEFT,
    NOOP,
    POT_SIZE,
    RIGHT,
    TOGGLE,
    UP,
    JointAction,
    Kitchen,
    KitchenState,
    Outcome,
    Pot,
    soup_name,
)

PADDING = 4  # cells of wall on each side of their map
POT_EMPTY = 23  # a pot's status: 23 empty, 22 and 21 partly full, 19 ... 1 cooking, 0 ready
ONION_SOUP = soup_name(["onion"] * POT_SIZE)
THEIR_ITEM = {
    None: OBJECT_TO_INDEX["empty"],
    "onion": OBJECT_TO_INDEX["onion"],
    "dish": OBJECT_TO_INDEX["plate"],  # their plate is our dish, their dish is our soup
    ONION_SOUP: OBJECT_TO_INDEX["dish"],
}
OUR_ITEM = {number: item for item, number in THEIR_ITEM.items()}
THEIR_THING = {"X": "wall", " ": "empty", "P": "pot", "O": "onion_pile", "D": "plate_pile", "S": "goal"}
THEIR_FACING = np.array([2, 1, 3, 0])  # theirs: north, south, east, west; by ours
THEIR_VECTORS = np.array([(0, -1), (0, 1), (1, 0), (-1, 0)], np.int8)  # (x, y) by their facing
THEIR_ACTION = np.zeros(7, np.int32)
THEIR_ACTION[[UP, DOWN, RIGHT, LEFT, NOOP, TOGGLE, INTERACT]] = [0, 1, 2, 3, 4, 4, 5]
OUR_FACING = np.argsort(THEIR_FACING)


class JaxmarlOracle:
    """One classic kitchen under the auto rule, which is the only one they have."""

    def __init__(self, kitchen: Kitchen) -> None:
        assert not kitchen.has_tomatoes
        self.kitchen = kitchen
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # they suggest their second version
            self.game = Overcooked(layout=_layout(kitchen), max_steps=HORIZON)
        self._step = jax.jit(jax.vmap(self._step_one))

    def step(self, states: Sequence[KitchenState], actions: Sequence[JointAction]) -> list[Outcome]:
        joint = THEIR_ACTION[np.asarray(actions)]  # (B, 2)
        # Our tests run JAX strictly; their code was written for its looser defaults.
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            after, planes, score, shaped = self._step(self.to_theirs(states), joint)
        scores, shaped = np.asarray(score).tolist(), np.asarray(shaped).tolist()  # (B,), (B, 2)
        rows = zip(self.from_theirs(after), scores, shaped, np.asarray(planes), strict=True)
        return [Outcome(state, (points,) * 2, tuple(extra), seen) for state, points, extra, seen in rows]

    def _step_one(self, state: State, joint: jax.Array) -> tuple[State, jax.Array, jax.Array, jax.Array]:
        # step_env, never step: that one resets at the end of an episode. The key is not used.
        by_name = {"agent_0": joint[0], "agent_1": joint[1]}
        obs, after, rewards, _, infos = self.game.step_env(jax.random.key(0), state, by_name)
        planes = jnp.stack([obs["agent_0"], obs["agent_1"]])
        shaped = jnp.stack([infos["shaped_reward"]["agent_0"], infos["shaped_reward"]["agent_1"]])
        return after, planes, rewards["agent_0"], shaped

    def to_theirs(self, states: Sequence[KitchenState]) -> State:
        """A batched state; the facing is held in three places (two fields and the map)."""
        batch = len(states)
        facings = THEIR_FACING[np.array([state.facings for state in states])]  # (B, 2)
        held = [[THEIR_ITEM[item] for item in state.held] for state in states]
        fixed = {
            "goal_pos": _xy(self.kitchen.cells("S")),
            "pot_pos": _xy(self.kitchen.pot_cells),
            "wall_map": np.array(_base_map(self.kitchen)[..., 0] != OBJECT_TO_INDEX["empty"]),
        }
        return State(
            agent_pos=np.array([_xy(state.positions) for state in states]),  # (B, 2, 2) x, y
            agent_dir=THEIR_VECTORS[facings],
            agent_dir_idx=facings.astype(np.int32),
            agent_inv=np.array(held, np.int32),  # (B, 2)
            maze_map=self._maps(states, facings),
            step=np.array([state.time for state in states], np.int32),
            done=np.zeros(batch, bool),
            **{name: np.broadcast_to(value, (batch, *value.shape)) for name, value in fixed.items()},
        )

    def _maps(self, states: Sequence[KitchenState], facings: np.ndarray) -> np.ndarray:
        """Their map (B, H + 8, W + 8, 3): thing, colour, and the facing or a pot's status."""
        vectors = np.asarray(OBJECT_INDEX_TO_VEC)
        inner = np.repeat(_base_map(self.kitchen)[None], len(states), axis=0)
        for b, state in enumerate(states):
            for cell, item in state.counters:
                inner[(b, *cell)] = vectors[THEIR_ITEM[item]]
            for cell, pot in state.pots:
                inner[(b, *cell, 2)] = _to_status(pot)
            for agent, cell in enumerate(state.positions):
                inner[(b, *cell)] = (OBJECT_TO_INDEX["agent"], 2 * agent, facings[b, agent])
        height, width = self.kitchen.shape
        maps = np.empty((len(states), height + 2 * PADDING, width + 2 * PADDING, 3), np.uint8)
        maps[:] = vectors[OBJECT_TO_INDEX["wall"]]
        maps[:, PADDING:-PADDING, PADDING:-PADDING] = inner
        return maps

    def from_theirs(self, theirs: Any) -> list[KitchenState]:
        maps = np.asarray(theirs.maze_map)[:, PADDING:-PADDING, PADDING:-PADDING].tolist()
        facings = OUR_FACING[np.asarray(theirs.agent_dir_idx)]
        assert (np.asarray(theirs.agent_dir) == THEIR_VECTORS[THEIR_FACING[facings]]).all()
        positions = np.asarray(theirs.agent_pos)[..., ::-1].tolist()  # (B, 2, 2) row, column
        held = np.asarray(theirs.agent_inv).tolist()
        rows = zip(positions, facings.tolist(), held, maps, np.asarray(theirs.step).tolist(), strict=True)
        return [self._from_row(*row) for row in rows]

    def _from_row(self, positions: Any, facings: Any, held: Any, cells: Any, time: int) -> KitchenState:
        lying = {(r, c): OUR_ITEM.get(cells[r][c][0]) for r, c in sorted(self.kitchen.cells("X"))}
        pots = {(r, c): _from_status(cells[r][c][2]) for r, c in self.kitchen.pot_cells}
        for (row, col), facing in zip(positions, facings, strict=True):
            assert (cells[row][col][0], OUR_FACING[cells[row][col][2]]) == (OBJECT_TO_INDEX["agent"], facing)
        return KitchenState(
            positions=tuple((row, col) for row, col in positions),
            facings=tuple(facings),
            held=tuple(OUR_ITEM[item] for item in held),
            counters=tuple((cell, item) for cell, item in lying.items() if item is not None),
            pots=tuple(pots.items()),
            time=time,
        )


def _layout(kitchen: Kitchen) -> FrozenDict:
    """Their layout from our text, so that starts and agent numbers are ours."""
    height, width = kitchen.shape
    letters = {"wall": "XPODS", "goal": "S", "plate_pile": "D", "onion_pile": "O", "pot": "P"}
    cells = {f"{name}_idx": kitchen.cells(kinds) for name, kinds in letters.items()}
    flat = {name: jnp.array([r * width + c for r, c in where]) for name, where in cells.items()}
    starts = jnp.array([r * width + c for r, c in kitchen.starts])
    return FrozenDict({"height": height, "width": width, "agent_idx": starts, **flat})


def _base_map(kitchen: Kitchen) -> np.ndarray:
    """Their vectors of the empty kitchen, (H, W, 3); a pot's status is set later."""
    things = [OBJECT_TO_INDEX[THEIR_THING[letter]] for letter in kitchen.letters.values()]
    return np.asarray(OBJECT_INDEX_TO_VEC)[things].reshape(*kitchen.shape, 3)


def _xy(cells: Sequence[tuple[int, int]]) -> np.ndarray:
    return np.array([(col, row) for row, col in cells], np.uint32)


def _to_status(pot: Pot) -> int:
    ingredients, timer = pot
    assert timer < COOK_TIME
    assert (timer < 0) == (len(ingredients) < POT_SIZE)
    return POT_EMPTY - len(ingredients) if timer < 0 else timer


def _from_status(status: int) -> Pot:
    onions = min(POT_EMPTY - status, POT_SIZE)
    return ("onion",) * onions, -1 if onions < POT_SIZE else status
