"""Pools: the boards or states that episodes can start from, and their checks."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cogrid._core.author.layout import Layout
from cogrid._core.rules import Rules
from cogrid._core.state.boards import check_board, encode, fitting
from cogrid._core.state.validity import check
from cogrid._io.messages import brief
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState

#: What a reset's options may hold.
OPTIONS = ("board", "pool")


def checked_board(rules: Rules, key: Array, board: Any) -> Array:
    """The board of a reset, or None; raises an error for one that is invalid or does not fit the keys."""
    if board is None:
        return None
    codes = _codes(rules, "board", board)
    batch = rules.backend.words(key).shape[:-1]
    if codes.shape[:-2] not in ((), batch):
        raise ValueError(
            f"board has shape {codes.shape} and the keys {batch}: give one board, or one for each key."
        )
    check_board(rules, "board", codes)
    return codes


def checked_pool(rules: Rules, pool: Any) -> Any:
    """What episodes draw their start from, or None: boards (k, H, W), or a batch of k states."""
    if pool is None:
        return None
    if isinstance(pool, EnvState):
        return _checked_states(rules, pool)
    codes = _codes(rules, "pool", pool)
    if codes.ndim != 3 or not len(codes):
        raise ValueError(
            f"pool has shape {codes.shape}: give at least one board, (k, {rules.height}, {rules.width})."
        )
    check_board(rules, "pool", codes)
    return codes


def starts(rules: Rules, key: Array, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The checked board or pool of a reset's options.

    PettingZoo and Gymnasium let callers pass any others, which are ignored unless they look misspelt.
    """
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"options must be a dict, not {type(options).__name__}.")
    for name in options or ():
        if name not in OPTIONS and (close := difflib.get_close_matches(str(name).lower(), OPTIONS, 1, 0.7)):
            raise ValueError(f"reset has no option {brief(name)}: did you mean {close[0]!r}?")
    board, pool = (options.get(name) if options else None for name in OPTIONS)
    if board is not None and pool is not None:
        raise ValueError("reset was given a board and a pool: leave one of them out.")
    if board is not None:
        return {"board": checked_board(rules, key, board)}
    return {} if pool is None else {"pool": checked_pool(rules, pool)}


def _codes(rules: Rules, name: str, board: Any) -> Array:
    """Codes unchanged, or the codes of ASCII text."""
    first = board[0] if isinstance(board, Sequence) and len(board) else board
    if isinstance(first, (str, Layout)):
        board = encode(rules.spec, board)
    return fitting(rules, name, board)


def _checked_states(rules: Rules, pool: EnvState) -> EnvState:
    if pool.rules is not rules and pool.rules != rules:
        raise ValueError("pool holds states of another environment: give those of this spec and backend.")
    if pool.clock.ndim != 1 or not len(pool.clock):
        raise ValueError(f"pool holds states of shape {pool.clock.shape}: give a batch (k,) of at least one.")
    check(rules, pool)
    if rules.backend.is_concrete(pool.clock) and (over := np.flatnonzero(np.asarray(pool.done))).size:
        raise ValueError(f"state {over[0]} of the pool is over: give states of running episodes.")
    return pool


def environment(state: EnvState, index: int) -> EnvState:
    """One environment of a batch."""
    return state.evolve(**{name: value[index] for name, value in state.stored().items()})
