"""Movement: every agent turns; contested cells and swaps leave all involved in place."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from cogrid._core.author.values import Item
from cogrid._core.compile.answers import Answers
from cogrid._core.phases.phase import Events, Phase, Table
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class Movement(Phase):
    """Turn, then walk to the cell ahead unless a thing blocks it or another agent stays or competes there."""

    stride: Table  # (choices,) the change of the position
    turn: Table  # (choices,) the change of the pose
    first_solid: Table  # () the first symbol that is not walkable
    swaps: bool  # two neighbours can change places
    name: ClassVar[str] = "move"

    @classmethod
    def compile(cls, rules: Rules) -> Self:
        """Tables over actions and poses; a hand that cannot move neither turns nor walks."""
        facing, actions = rules.facing.astype(np.int64), rules.table_actions
        can_move = rules.items(lambda item: _moves(rules.answers, item), bool)[rules.held]
        after = np.array([[action.facing_after(d) for d in facing] for action in actions])  # (actions, poses)
        after = np.where(can_move, after, facing)
        walks = np.array([action.walks for action in actions])[:, None] & can_move
        stride = np.where(walks, rules.ahead[after], 0).astype(rules.pos_dtype).reshape(-1)
        turn = ((after - facing) * rules.n_items).astype(rules.agent_dtype).reshape(-1)
        return cls(stride, turn, np.array(rules.n_walkable, rules.cell_dtype), rules.answers.moving.swaps)

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        xp, pos = rules.xp, state.pos
        stride = rules.lookup(self.stride, events.choice)  # (*B, n)
        ahead = pos + stride
        inside = rules.on_board(ahead) if rules.leaves else ahead
        want = wanted = xp.where(rules.at(state.cells, inside) < self.first_solid, ahead, pos)
        if rules.n_agents > 1:
            stop = functools.partial(rules.backend.give_way, _contend if self.swaps else _meet, pos)
            want = rules.backend.settle(stop, want, rules.n_agents - 1)
        state = state.evolve(pos=want, pose=state.pose + rules.lookup(self.turn, events.choice))
        return state, events.evolve(stride=stride, moved=want != pos, wanted=wanted)

    def useful(self, rules: Rules, state: EnvState, choice: Array) -> Array:
        """Whether it turns the agent, or walks to a cell that is open."""
        stride = rules.lookup(self.stride, choice)  # (*B, n, actions)
        ahead = (state.pos[..., None] + stride).reshape(*state.pos.shape[:-1], -1)
        open_ = rules.at(state.cells, rules.on_board(ahead)).reshape(stride.shape) < rules.n_walkable
        return (rules.lookup(self.turn, choice) != 0) | ((stride != 0) & open_)


def _moves(answers: Answers, held: Item) -> bool:
    """Whether an agent with this hand can turn and walk at all."""
    return answers.can_move(held) and not answers.away(held)


def _contend(mine: list[Array], theirs: list[Array]) -> Array:
    """Whether two agents want the same cell; neighbours may swap places."""
    return mine[1] == theirs[1]


def _meet(mine: list[Array], theirs: list[Array]) -> Array:
    """Whether two agents want the same cell, or each other's; an agent that stays put wants its own.

    Every pass that changes something stops an agent for good, and the first pass stops two or involves one
    that stands still, so n − 1 passes are enough.
    """
    (pos, want), (their_pos, their_want) = mine, theirs
    return (want == their_want) | ((want == their_pos) & (pos == their_want))
