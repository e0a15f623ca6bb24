"""Boards as data: turns codes of the legend's letters into cells, starts and places."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.author.layout import DIGITS, FLOOR, WALL, Layout
from cogrid._core.compile.spec import Spec, layouts_of
from cogrid._core.rules import Rules
from cogrid._io.messages import brief
from cogrid.backend.array import Array, Backend, as_array, get_backend, lift


class Letters(NamedTuple):
    """Tables over the codes: the letters of the legend in its order, then the digits of the starts."""

    letters: tuple[str, ...]
    known: np.ndarray[Any, Any]  # bool: allowed on boards of this spec
    opens: np.ndarray[
        Any, Any
    ]  # bool: an agent may stand there at some time, so not allowed on the outer edge
    symbol: np.ndarray[Any, Any]  # what the cell holds; floor under a digit
    kind: np.ndarray[Any, Any]  # number of the counted kind, −1 none
    floor: np.int32
    wall: np.int32
    start: np.int32  # the first digit; those that follow are the next agents'


class Board(NamedTuple):
    """What reset makes of a board."""

    cells: Array  # (*B, cells) symbols
    pos: Array  # (*B, n)
    places: Array  # (*B, k + 1)
    flaws: dict[str, Array]  # flaw -> (*B, cells) bool where it is; "room" is (*B, 1)


@functools.lru_cache(maxsize=256)
def letters_of(rules: Rules) -> Letters:
    """The tables of a spec."""
    spec, number = rules.spec, rules.spec.symbols.number
    game, legend = rules.game, spec.game.legend
    letters = (*legend, *DIGITS)
    under = [letter if letter in legend else FLOOR for letter in letters]
    symbol = [number.get(legend[letter], 0) for letter in under]
    kinds = list(rules.places.counts)
    return Letters(
        letters,
        np.array([letter in spec.letters for letter in under]),
        np.array([any(map(game.walkable, rules.reachable(one))) for one in symbol]),
        np.array(symbol, rules.cell_dtype),
        np.array([kinds.index(k) if (k := game.kind(legend[c])) in kinds else -1 for c in under], np.int32),
        *(np.int32(letters.index(letter)) for letter in (FLOOR, WALL, DIGITS[0])),
    )


def read(rules: Rules, codes: Array, backend: Backend | None = None) -> Board:
    """Cells, starts and places of a board (*B, H, W); invalid cells become walls, and are reported.

    Agents start at the digits in their order, then at the first free floor cells; where a board has too few,
    inner cells are opened for them.
    """
    backend = backend or rules.backend
    table, xp, lookup = letters_of(rules), backend.xp, backend.lookup
    codes = xp.asarray(codes).reshape(*codes.shape[:-2], rules.n_cells)
    listed = (codes >= 0) & (codes < len(table.letters))
    codes = xp.where(listed, codes.astype(np.int32), table.wall)
    edge, every = lift(_edge(rules), codes.ndim), lift(np.arange(rules.n_cells, dtype=np.int32), codes.ndim)
    flaws = {"letter": ~(listed & lookup(table.known, codes))}
    flaws["edge"] = edge & lookup(table.opens, codes) & ~flaws["letter"]
    codes = xp.where(flaws["letter"] | flaws["edge"], table.wall, codes)
    digit = codes - table.start  # below 0 for letters
    flaws["twice"] = _over(digit, np.ones(len(DIGITS), np.int32))[0]
    codes = xp.where(flaws["twice"], table.wall, codes)
    # The order of preference (digits, floor, inside, edge), as a number that also contains the cell.
    choice = xp.where(codes == table.floor, np.int32(9), xp.where(edge, np.int32(11), np.int32(10)))
    choice = xp.where(codes >= table.start, codes - table.start, choice) * np.int32(rules.n_cells) + every
    best = xp.sort(choice, axis=-1)[..., : rules.n_agents]
    pos = best % np.int32(rules.n_cells)  # (*B, n)
    flaws["room"] = best[..., -1:] >= np.int32(10 * rules.n_cells)
    opened = (every[..., None, :] == pos[..., None]).any(axis=-2)  # (*B, cells) floor already, but for "room"
    codes = xp.where(opened, table.floor, codes)
    most = np.array(list(rules.places.counts.values()), np.int32)
    flaws["count"], places = _over(lookup(table.kind, codes), most)
    codes = xp.where(flaws["count"], table.wall, codes)
    repaired = functools.reduce(lambda one, other: one | other, (f.any(axis=-1) for f in flaws.values()))
    places = xp.concatenate((places, repaired[..., None].astype(np.int32)), axis=-1)
    return Board(
        lookup(table.symbol, codes), pos.astype(rules.pos_dtype), places.astype(rules.pos_dtype), flaws
    )


def _over(groups: Array, most: np.ndarray[Any, Any]) -> tuple[Array, Array]:
    """For groups (*B, cells), −1 none: the cells beyond the limit of their group, and the first of each.

    (*B, cells) bool, and (*B, sum of the limits) cells in reading order, −1 where a group has fewer.
    """
    among = groups[..., None, :] == lift(np.arange(len(most), dtype=np.int32)[:, None], groups.ndim + 1)
    ranks = among.cumsum(axis=-1, dtype=np.int32)  # (*B, groups, cells) from 1 on
    over = (among & (ranks > lift(most[:, None], ranks.ndim))).any(axis=-2)
    group = np.repeat(np.arange(len(most)), most)  # (k,)
    rank = np.concatenate([np.arange(1, count + 1, dtype=np.int32) for count in (0, *most.tolist())])
    kth = among[..., group, :] & (ranks[..., group, :] == lift(rank[:, None], ranks.ndim))  # (*B, k, cells)
    cells = lift(np.arange(1, groups.shape[-1] + 1, dtype=np.int32), ranks.ndim)
    numbers = kth.astype(np.int32) * cells
    return over, numbers.sum(axis=-1, dtype=np.int32) - np.int32(1)


@functools.lru_cache(maxsize=256)
def _edge(rules: Rules) -> np.ndarray[Any, Any]:
    """(cells,) bool"""
    edge = np.ones((rules.height, rules.width), bool)
    edge[1:-1, 1:-1] = False
    return edge.reshape(-1)


def encode(spec: Spec, wanted: str | Layout | list[str | Layout]) -> np.ndarray[Any, Any]:
    """(H, W) codes of a board, or (k, H, W) of several: ASCII text or names, padded with walls."""
    game, several = spec.symbols.game, not isinstance(wanted, (str, Layout))
    letters = (*game.legend, *DIGITS)
    walkable = {letter for letter, thing in game.legend.items() if game.walkable(thing)}
    boards = []
    for layout in layouts_of(game, wanted):
        layout.check(game.legend, walkable)
        if layout.height > spec.height or layout.width > spec.width:
            raise ValueError(
                f"board {layout.name!r} has {layout.height} × {layout.width} cells, but the layouts of this "
                f"spec leave room for {spec.height} × {spec.width}: make it with a larger layout."
            )
        rows = layout.padded(spec.height, spec.width, digits=True)
        boards.append([[letters.index(letter) for letter in row] for row in rows])
    codes = np.array(boards, np.int8 if len(letters) <= 2**7 else np.int16)
    return codes if several else codes[0]


def fitting(rules: Rules, name: str, codes: Array) -> Array:
    """The codes as an array (*B, H, W); raises an error for a wrong type or shape."""
    if not rules.open:
        instead = ", or give a pool of states" if name == "pool" else ""
        raise ValueError(
            f"{name} was given, but the boards of this spec are fixed: make it with any_board=True{instead}."
        )
    codes = as_array(name, codes)
    if codes.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, codes of letters, not {codes.dtype}.")
    if codes.shape[-2:] != (rules.height, rules.width):
        raise ValueError(
            f"{name} has shape {codes.shape}, but a board of this spec has {rules.height} × {rules.width} "
            "cells: encode_board pads smaller ones with walls."
        )
    return codes


def check_board(rules: Rules, name: str, codes: Array) -> None:
    """Raise a ValueError that names the first invalid cell, if the codes are concrete."""
    if not rules.backend.is_concrete(codes):
        return
    codes, table = np.asarray(codes), letters_of(rules)
    flaws = read(rules, codes, get_backend("numpy")).flaws
    for flaw, mask in flaws.items():
        if not mask.any():
            continue
        *batch, cell = (int(k) for k in np.argwhere(mask)[0])
        row, column = divmod(cell, rules.width)
        code = int(codes[(*batch, row, column)])
        letter = table.letters[code] if 0 <= code < len(table.letters) else None
        which = f"{name} {brief(tuple(batch) if len(batch) > 1 else batch[0])}" if batch else name
        where = f"{which} has {letter!r} at row {row}, column {column}"
        kind = rules.game.kind(rules.game.legend.get(str(letter), "floor"))
        known = " ".join(sorted(letter for letter in rules.spec.letters if letter != FLOOR))
        raise ValueError(
            {
                "letter": f"{which} has code {code} ({letter!r}) at row {row}, column {column}, which no "
                f"layout of this spec has: they have {known}, digits for starts and blank for floor.",
                "edge": f"{where}, on the outer edge: close the border with something that no agent can "
                "ever stand on.",
                "twice": f"{where}, a start that occurs twice: give every agent its own start.",
                "room": f"{which} has too few spawn cells for {rules.n_agents} agents: leave more floor.",
                "count": f"{where}, but at most {rules.places.counts.get(kind, 0)} of {kind!r} fit, as "
                "many as the layouts of this spec have: make the environment with a layout that has more.",
            }[flaw]
        )


@functools.lru_cache(maxsize=256)
def _tenants(rules: Rules) -> tuple[np.ndarray[Any, Any], ...]:
    """(things,) what can open; (kinds, things) what counted things can become, and what only they can."""
    symbols, game = rules.spec.symbols, rules.game
    opens = rules.symbols(lambda thing: any(map(game.walkable, symbols.reachable(thing))), bool)
    can = np.zeros((len(rules.places.counts), rules.n_things), bool)
    only = can.copy()
    becomes = {begun: set(rules.reachable(symbols.number[begun])) for begun in symbols.begins}
    becomes.setdefault(game.legend[FLOOR], set()).update(symbols.placed_things)
    for row, kind in enumerate(rules.places.counts):
        for own in (True, False):
            begins = [thing for thing in becomes if (game.kind(thing) == kind) is own]
            reached = [symbols.number[thing] for begun in begins for thing in becomes[begun]]
            if own:
                can[row, reached] = only[row, reached] = True
            else:
                only[row, reached] = False
    return opens, can, only


def check_things(rules: Rules, cells: np.ndarray[Any, Any], places: np.ndarray[Any, Any]) -> None:
    """Raise a ValueError if states (B, …) have an edge that can open, or misplaced counted things."""
    opens, can, only = _tenants(rules)
    wrong = {"can open the outer edge": opens[cells] & _edge(rules)}
    if ((places < -1) | (places >= rules.n_cells)).any() or (places[:, -1] >> 1).any():
        raise ValueError(
            f"a place is not one of the {rules.n_cells} cells of the board: reset to a board instead."
        )
    for row, kind in enumerate(rules.places.counts):
        known = (places[:, rules.places.of(kind), None] == np.arange(rules.n_cells)).any(
            axis=-2
        )  # (B, cells)
        wrong[f"does not match the state's places of {kind!r}"] = np.where(
            known, ~can[row][cells], only[row][cells]
        )
    for what, mask in wrong.items():
        for batch, cell in np.argwhere(mask)[:1]:
            row, column = divmod(int(cell), rules.width)
            thing = rules.spec.symbols.things[cells[batch, cell]]
            raise ValueError(
                f"{thing!r} at row {row}, column {column} {what}: reset to a board that has it there."
            )


def rooms(rules: Rules, cells: Array, pos: Array) -> Array:
    """(*B, n, cells) bool: the floor cells that each agent can walk to from its start."""
    xp, number = rules.xp, rules.spec.symbols.number
    floor = cells == np.asarray(number[rules.game.legend[FLOOR]], rules.cell_dtype)
    none = np.int32(rules.n_cells)
    names = xp.where(floor, lift(np.arange(rules.n_cells, dtype=np.int32), cells.ndim), none)

    def spread(names: Array) -> Array:
        """Every floor cell takes the smallest name among its neighbours."""
        board = names.reshape(*names.shape[:-1], rules.height, rules.width)
        margin = [(0, 0)] * (board.ndim - 2) + [(1, 1)] * 2
        wide = xp.pad(board, margin, constant_values=none)
        least = board
        for rows, columns in ((0, 1), (2, 1), (1, 0), (1, 2)):
            beside = wide[..., rows : rows + rules.height, columns : columns + rules.width]
            least = xp.minimum(least, beside)
        return xp.where(floor, least.reshape(names.shape), none)

    names = rules.backend.settle(spread, names, rules.n_cells)
    own = rules.at(names, pos)  # (*B, n)
    return floor[..., None, :] & (names[..., None, :] == own[..., None])
