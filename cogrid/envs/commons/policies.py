"""Scripted players of the commons: greedy or restrained, some of whom clean, and some prone to zap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from cogrid._core.compile.actions import DOWN, LEFT, RIGHT, STRIDES, UP
from cogrid._core.rules import Rules, compile_rules
from cogrid._core.see.report import action_mask
from cogrid.author import Game, checked_integer, checked_number
from cogrid.backend import rng
from cogrid.backend.env_state import EnvState
from cogrid.envs.commons.game import APPLE, CLEAN, DIRT, ZAP, Commons
from cogrid.envs.scripted import Scripted

Mask = np.ndarray[Any, Any]

FAR = 10_000
#: Rows and columns to the cells within distance 2.
AROUND = tuple((r, c) for r in range(-2, 3) for c in range(-2, 3) if 0 < r * r + c * c <= 4)
#: Facings in the order of the actions up, down, left, right.
_FACINGS = (UP, DOWN, LEFT, RIGHT)


class ScriptedPlayers(Scripted):
    """Everybody walks to the nearest apple worth eating; the first `cleaners` clean the river first.

    An apple is worth eating with at least `restraint` others within distance 2: 0 is greedy, 3 lets the patch
    grow back at full speed. A player zaps another one in reach with probability `temper`; `noise` is the
    share of random actions.
    """

    game: ClassVar[type[Game]] = Commons

    def __init__(
        self,
        rules: Rules,
        agents: Iterable[int] | None = None,
        *,
        restraint: int = 2,
        cleaners: int = 2,
        temper: float = 0.02,
        seed: int = 0,
        noise: float = 0.0,
    ) -> None:
        super().__init__(rules, agents, seed=seed, noise=noise)
        self._numpy = compile_rules(rules.spec, "numpy")
        self._restraint = checked_integer("restraint", restraint, 0, len(AROUND))
        self._cleaners = checked_integer("cleaners", cleaners, 0, rules.n_agents)
        self._temper = checked_number("temper", temper, 0.0, 1.0)
        self._draw = np.random.default_rng(rng.seed(seed) % 2**64)
        self._zap = self.names.index(ZAP)
        self._clean = self.names.index(CLEAN) if CLEAN in self.names else None
        self._walks = [self.names.index(name) for name in ("up", "down", "left", "right")]
        things = rules.spec.symbols.things
        self._apple, self._dirt = (np.array([thing == kind for thing in things]) for kind in (APPLE, DIRT))

    def act(self, state: EnvState) -> dict[int, int]:
        """The actions of the chosen agents in a single state."""
        self.check(state)
        rules, state = self._numpy, state.host().evolve(rules=self._numpy)
        board = state.cells.reshape(rules.height, rules.width)
        apples, open_ = self._apple[board], board < rules.n_walkable
        near = rules.backend.around(apples.astype(np.int32), AROUND)
        ripe = apples & (near >= self._restraint)
        to_apples = distances(ripe, open_ & ~(apples & ~ripe))  # unripe apples would be eaten on the way
        dirty = self._dirt[board]
        to_dirt = distances(dirty, open_ & ~apples)
        mask, positions = action_mask(rules, state), state.agent_pos.tolist()
        actions = {}
        for agent in self.agents:
            wanted = [self._walks[k] for k in self._draw.permutation(4)]  # wander if there is nothing to do
            row, column = positions[agent]
            if row < 0:
                actions[agent] = rules.noop
                continue
            cleans = self._clean is not None and agent < self._cleaners and dirty.any()
            far = to_dirt if cleans else to_apples
            if self._draw.random() < self.noise:
                actions[agent] = int(self._draw.integers(rules.n_actions))
            elif mask[agent, self._zap] and self._draw.random() < self._temper:
                actions[agent] = self._zap
            elif cleans and mask[agent, self._clean]:
                actions[agent] = int(self._clean or 0)
            elif far[row, column] < FAR:
                ahead = {
                    walk: far[row + STRIDES[facing][0], column + STRIDES[facing][1]]
                    for walk, facing in zip(self._walks, _FACINGS, strict=True)
                }
                actions[agent] = min(wanted, key=ahead.__getitem__)
            else:
                actions[agent] = self._stroll(wanted, row, column, open_ & ~apples)
        return actions

    def _stroll(self, wanted: list[int], row: int, column: int, free: Mask) -> int:
        """A step to any free cell without an apple in it; the noop where there is none."""
        for walk in wanted:
            down, right = STRIDES[_FACINGS[self._walks.index(walk)]]
            if free[row + down, column + right]:
                return walk
        return self._numpy.noop


def distances(targets: Mask, open_: Mask) -> Mask:
    """(H, W) steps over open cells from each cell to the nearest target; FAR where there is none."""
    far = np.where(targets, 0, FAR)
    while True:
        best = far.copy()
        best[1:-1, 1:-1] = np.minimum.reduce(
            [far[1 + r : far.shape[0] - 1 + r, 1 + c : far.shape[1] - 1 + c] + 1 for r, c in STRIDES]
        )
        best = np.where(open_ & ~targets, np.minimum(far, best), far)
        if (best == far).all():
            return np.minimum(best, FAR)
        far = best
