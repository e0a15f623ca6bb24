"""Placing: things that reset puts on the floor, one after the other, where there is room."""

from __future__ import annotations

import numpy as np

from cogrid._core.author.cells import Placed, offsets_within
from cogrid._core.author.layout import FLOOR
from cogrid._core.compile.odds import odds, one_of, realised
from cogrid._core.compile.placing import inside
from cogrid._core.rules import Rules
from cogrid.backend.array import Array, lift


def place_things(rules: Rules, drawn: Array, cells: Array, free: Array, pose: Array) -> Array:
    """Place things on cells that are still `free` (*B, cells): a scaled draw is the rank of a free cell."""
    xp, game, symbols = rules.xp, rules.game, rules.spec.symbols
    free = free & (cells == symbols.number[game.legend[FLOOR]])  # excludes scattered things
    draws, number, taken = rules.start.draws.of("placed", drawn), 0, xp.zeros_like(free)
    for placed, (least, cases) in zip(rules.answers.placed, symbols.placed, strict=True):
        things, allowed = odds(cases), inside(rules.height, rules.width, placed.margin)
        after = things.table(symbols.number.__getitem__, rules.cell_dtype)
        weakest = _weakest(rules, placed, pose)
        near = offsets_within(placed.apart - 1, "diamond")
        for _ in range(placed.count):
            which, what = draws[..., number : number + 1], draws[..., number + 1 : number + 2]
            room = free & ~taken & lift(allowed, free.ndim)
            if near:
                board = taken.reshape(*taken.shape[:-1], rules.height, rules.width).astype(np.int8)
                room = room & (rules.backend.around(board, near).reshape(free.shape) == 0)
            ranks = room.cumsum(axis=-1, dtype=np.uint32)  # from 1 on
            hit = room & (ranks == one_of(which, ranks[..., -1:]) + np.uint32(1))
            case = realised(rules.lookup, things, weakest - np.int32(least), what)
            cells, taken, number = xp.where(hit, rules.lookup(after, case), cells), taken | hit, number + 2
    return cells


def _weakest(rules: Rules, placed: Placed, pose: Array) -> Array:
    """(*B, 1) the sum of the weakest agents' strengths."""
    if not placed.weakest:
        return rules.xp.zeros((*pose.shape[:-1], 1), np.int32)
    strength = rules.lookup(rules.items(placed.strength_of, np.int32)[rules.held], pose)  # (*B, n)
    ordered = rules.xp.sort(strength, axis=-1)[..., : placed.weakest]
    return ordered.sum(axis=-1, keepdims=True, dtype=np.int32)
