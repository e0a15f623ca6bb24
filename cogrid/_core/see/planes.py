"""Planes: the grid observation, as rows of one table in which agents are symbols too."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cogrid._core.author.planes import Paint, Planes, View
from cogrid._core.author.slots import Slot
from cogrid._core.author.values import Item, Thing
from cogrid._core.compile.actions import UP
from cogrid._core.see.cropping import cells_ahead, cells_around, cropped, peopled
from cogrid._core.see.onehot import planes_of
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules

#: Up to this many combinations of the slots' things get rows of their own in the table.
MAX_SHOWN = 2**10
EVERYBODY = slice(None)
#: Rows of at most this many planes are read byte by byte: words take more memory and are not faster.
FEW_PLANES = 8


def compile_planes(rules: Rules) -> tuple[tuple[int, ...], Callable[..., Array]]:
    """The shape for one agent, and the function.

    Rows of the table: things, other agents, the agent itself, nothing, things that show slots; then all again
    for the countdown.
    """
    planes, xp = _planes(rules), rules.xp
    countdown = planes.countdown
    if rules.spec.observation == "window" and planes.view is not None:
        return _turning(rules, planes.view)
    table = paint_table(rules, 0)
    size = len(table)
    if countdown is not None:
        table = np.concatenate((table, _urgent(rules, table)))
    table, way = _ways(rules, table)
    dtype = rules.backend.index_dtype(len(table), negatives=False)
    crop = cells_around(rules) if rules.spec.observation == "window" else None
    outside = np.full(max(1, rules.n_spots - rules.n_cells), _void(rules), dtype)
    others, poses = np.array(rules.n_things, dtype), np.array(rules.n_poses, dtype)
    own_cell = np.array([rules.spec.window**2 // 2])
    things, added = _things(rules, dtype), _added(rules, size)

    read = rules.lookup if table.shape[1] <= FEW_PLANES else rules.backend.lookup_bytes

    def see(state: EnvState, who: slice = EVERYBODY) -> Array:
        agent = xp.asarray(state.pose, dtype) + others  # (*B, n)
        board = peopled(rules, things(state), state.pos, agent, outside)
        itself = agent + poses  # (*B, n) as each sees itself
        if countdown is not None:
            left = rules.spec.max_steps - state.time
            late = (left < countdown[1]).astype(dtype)[..., None] * dtype.type(size)
            board, itself = board + late, itself + late
        if crop is None:
            index = rules.backend.own_boards(board, itself, state.pos, rules.n_cells)  # (*B, n, cells)
            seen = board[..., None, : rules.n_cells]
        else:
            seen = cropped(rules, board, crop, state.pos, outside)  # (*B, n, window)
            # Written, not selected by `where`: a CPU would look the cells up again for each word.
            index = rules.backend.place(seen, own_cell, itself[..., None])  # (*B, n, window)
        index = index if way is None else index + way(state).astype(dtype)[..., None]
        rows = read(table, index[..., who, :])
        if added is not None:
            rows = rows + added(state, seen if crop is None else seen[..., who, :])
        rows = rows if away is None else _with_away(rules, rows, away(state)[..., who, :, :])
        return rows.reshape(*state.pos[..., who].shape, *shape)

    away = _away(rules)
    sides = (rules.height, rules.width) if crop is None else (rules.spec.window,) * 2
    shape = (*sides, len(planes.names))
    return shape, see


def paint_table(rules: Rules, turn: int) -> np.ndarray[Any, Any]:
    """(rows, planes) what is painted; agents as seen by an agent that has made this many quarter turns."""
    planes, symbols = _planes(rules), rules.spec.symbols
    painted = [planes.thing(thing) if planes.thing else {} for thing in symbols.things]
    for own in (False, True):
        for facing in range(4):
            relative = (facing - turn) % 4
            painted += symbols.of_hands(functools.partial(planes.agent or _nothing, own, relative))
    painted.append({})
    table = np.array([[cell.get(plane, 0) for plane in planes.names] for cell in painted], np.uint8)
    if not _are_few(rules):
        return table
    masks, shown = _masks(rules), _sums(rules)  # (things, planes), (combinations, planes)
    which = np.flatnonzero(masks.any(axis=1))
    return np.concatenate((table, (table[which] + masks[which] * shown[:, None]).reshape(-1, table.shape[1])))


def _nothing(own: bool, facing: int, held: Item) -> Paint:
    return {}


def _planes(rules: Rules) -> Planes:
    return planes_of(rules.answers, rules.spec.symbols)


def _sights(rules: Rules) -> np.ndarray[Any, Any] | None:
    """(slots' things, planes) the plane seen instead of each; None if all agents see the same."""
    planes, own = _planes(rules), {f"{name} 0" for name in _own_slots(rules)}
    sees, names = planes.sees, planes.names
    if sees is None or rules.slots is None:
        return None
    seeing = {thing for name, thing in rules.slots.can_be if name in own}
    places = [sees(thing) if thing in seeing else {} for thing in rules.slots.things]
    for thing, sight in zip(rules.slots.things, places, strict=True):
        if unknown := {*sight, *sight.values()} - {*names}:
            raise ValueError(
                f"{sees.__qualname__} names {min(unknown)!r} for {thing!r}: "
                f"the planes are {', '.join(map(repr, names))}."
            )
    sights = np.array([[names.index(sight.get(p, p)) for p in names] for sight in places])
    return sights if (sights != np.arange(len(names))).any() else None


def _own_slots(rules: Rules) -> tuple[str, ...]:
    return tuple(slot.name for slot in rules.answers.parts.every(Slot) if slot.own)


def _ways(
    rules: Rules, table: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], Callable[[EnvState], Array] | None]:
    """The table once for each way of seeing, and the offset of each agent's own part, (*B, n) int32."""
    sights = _sights(rules)
    if sights is None or rules.slots is None:
        return table, None
    ways, of_thing = np.unique(sights, axis=0, return_inverse=True)
    names, planes = _own_slots(rules), [np.arange(table.shape[1])]
    for _ in names:  # each slot maps the planes that the slots before it leave
        planes = [before[way] for before in planes for way in ways]
    rules.check_table("the planes with a sight for each agent", len(planes) * table.size)
    sizes = [len(table) * len(ways) ** k for k in reversed(range(len(names)))]
    begins = [(of_thing.reshape(-1) * size).astype(np.int32) for size in sizes]  # (slots' things,) each
    firsts = [rules.slots.names.index(f"{name} 0") for name in names]

    def way(state: EnvState) -> Array:
        own = (state.slots[..., first : first + rules.n_agents] for first in firsts)
        return functools.reduce(operator.add, map(rules.lookup, begins, own))

    return np.concatenate([table[:, columns] for columns in planes]), way


def _void(rules: Rules) -> int:
    """The row of nothing at all."""
    return rules.n_things + 2 * rules.n_poses


def _urgent(rules: Rules, table: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The table as it is near the end."""
    planes, urgent = _planes(rules), table.copy()
    assert planes.countdown is not None
    urgent[:, planes.names.index(planes.countdown[0])] = 1
    return urgent


def _turning(rules: Rules, view: View) -> tuple[tuple[int, ...], Callable[..., Array]]:
    """A window that turns: the table has a part per facing, in which other agents' facings are relative."""
    planes, xp = _planes(rules), rules.xp
    countdown = planes.countdown
    quarters = [paint_table(rules, facing - UP) for facing in range(4)]
    size = len(quarters[0])
    parts = [quarters] if countdown is None else [quarters, [_urgent(rules, part) for part in quarters]]
    table = np.concatenate([part for tables in parts for part in tables])  # by countdown, facing and symbol
    table, way = _ways(rules, table)
    dtype = rules.backend.index_dtype(len(table), negatives=False)
    crop, void = cells_ahead(rules, view), _void(rules)
    outside = np.full(max(1, rules.n_spots - rules.n_cells), void, dtype)
    rows, columns = view.shape
    own_cell = np.array([view.ahead * columns + view.side])
    start = (rules.facing.astype(np.int64) * rules.n_spots).astype(np.int32)  # (poses,)
    things, added, away = _things(rules, dtype), _added(rules, size), _away(rules)

    read = rules.lookup if table.shape[1] <= FEW_PLANES else rules.backend.lookup_bytes

    def see(state: EnvState, who: slice = EVERYBODY) -> Array:
        agent = xp.asarray(state.pose, dtype) + rules.n_things  # (*B, n)
        board = peopled(rules, things(state), state.pos, agent, outside)
        place = rules.lookup(start, state.pose) + state.pos.astype(np.int32)
        seen = cropped(rules, board, crop, place, outside)  # (*B, n, rows · columns)
        first = rules.lookup(rules.facing, state.pose).astype(dtype) * dtype.type(size)  # (*B, n)
        if countdown is not None:
            late = rules.spec.max_steps - state.time < countdown[1]
            first = first + late.astype(dtype)[..., None] * dtype.type(4 * size)
        if way is not None:
            first = first + way(state).astype(dtype)
        itself = agent + dtype.type(rules.n_poses) + first
        index = rules.backend.place(seen + first[..., None], own_cell, itself[..., None])  # as above
        rows = read(table, index[..., who, :])
        if added is not None:
            rows = rows + added(state, seen[..., who, :])
        rows = rows if away is None else _with_away(rules, rows, away(state)[..., who, :, :])
        return rows.reshape(*state.pos[..., who].shape, *shape)

    shape = (rows, columns, len(planes.names))
    return shape, see


def _masks(rules: Rules) -> np.ndarray[Any, Any]:
    """(things, planes) 1 for the planes in which slots are painted on a thing."""
    planes = _planes(rules)

    def shown(thing: Thing) -> list[bool]:
        where = False if planes.shows is None else planes.shows(thing)
        return [where if isinstance(where, bool) else plane in where for plane in planes.names]

    return np.asarray(rules.symbols(shown, np.uint8))


def _sums(rules: Rules) -> np.ndarray[Any, Any]:
    """(combinations, planes) what the slots paint together, for all they can be; the last varies fastest."""
    total = np.zeros((1, len(_planes(rules).names)), np.uint8)
    for each in _painted(rules)[_painters(rules)]:
        total = (total[:, None] + each).reshape(-1, total.shape[1])
    return total


@functools.lru_cache(maxsize=256)
def _painted(rules: Rules) -> np.ndarray[Any, Any]:
    """(slots, things, planes) what a slot paints."""
    assert rules.slots is not None
    planes, slots = _planes(rules), rules.slots

    def paint(name: str, thing: Thing) -> Mapping[str, int]:
        return planes.slot(name, thing) if planes.slot and (name, thing) in slots.can_be else {}

    painted = [[paint(name, thing) for thing in slots.things] for name in slots.names]
    return np.array([[[one.get(p, 0) for p in planes.names] for one in slot] for slot in painted], np.uint8)


def _painters(rules: Rules) -> np.ndarray[Any, Any]:
    """The slots that paint anything."""
    return np.flatnonzero(_painted(rules).any(axis=(1, 2)))


def _are_few(rules: Rules) -> bool:
    """Whether the slots have few enough combinations for rows of their own in the table."""
    return rules.slots is not None and len(rules.slots.things) ** len(_painters(rules)) <= MAX_SHOWN


def _things(rules: Rules, dtype: np.dtype[Any]) -> Callable[[EnvState], Array]:
    """(*B, cells) the rows of the things: their symbols, or rows that also depend on the slots they show."""
    xp = rules.xp
    which = np.flatnonzero(_masks(rules).any(axis=1)) if _are_few(rules) else ()
    if rules.slots is None or not len(which):
        return lambda state: xp.asarray(state.cells, dtype)
    n_things = len(rules.slots.things)
    first, factor = np.arange(rules.n_things), np.zeros(rules.n_things, dtype)
    first[which], factor[which] = _void(rules) + 1 + np.arange(len(which)), len(which)
    first, painters = first.astype(dtype), _painters(rules)
    if not painters.size:
        return lambda state: xp.asarray(state.cells, dtype)

    def things(state: EnvState) -> Array:
        combination = state.slots[..., painters[0], None].astype(dtype)
        for k in painters[1:]:
            combination = combination * dtype.type(n_things) + state.slots[..., k, None].astype(dtype)
        return rules.lookup(first, state.cells) + rules.lookup(factor, state.cells) * combination

    return things


def _added(rules: Rules, size: int) -> Callable[[EnvState, Array], Array] | None:
    """What slots with many combinations add to the planes of cells that show them and have no agent."""
    if rules.slots is None or _are_few(rules):
        return None
    if _sights(rules) is not None:
        raise ValueError(
            f"{type(rules.game).__name__} paints slots in more than {MAX_SHOWN:,} ways, which does not "
            "work together with Planes.sees: paint fewer slots."
        )
    table, masks = _painted(rules), _masks(rules)
    n_things, n_planes = len(rules.slots.things), table.shape[-1]
    shows = np.zeros((2 * size, n_planes), np.uint8)  # once more for the countdown
    shows[: rules.n_things] = shows[size : size + rules.n_things] = masks
    first = np.arange(len(rules.slots.names), dtype=np.int32) * n_things
    flat = table.reshape(-1, n_planes)

    def added(state: EnvState, seen: Array) -> Array:
        each = rules.lookup(flat, state.slots.astype(np.int32) + lift(first, state.slots.ndim))
        total = each.sum(axis=-2, dtype=np.uint8)[..., None, None, :]  # (*B, 1, 1, planes)
        return total * rules.lookup(shows, seen)  # (*B, n or 1, cells, planes)

    return added


def _away(rules: Rules) -> Callable[[EnvState], Array] | None:
    """What agents off the board add to each agent's planes, (*B, n, 1, planes); None for nothing."""
    planes, of_hands = _planes(rules), rules.spec.symbols.of_hands
    if (paint := planes.away) is None or not rules.leaves:
        return None
    painted = [*of_hands(lambda item: paint(False, item)), *of_hands(lambda item: paint(True, item))]
    table = np.array([[one.get(plane, 0) for plane in planes.names] for one in painted], np.uint8)
    if not table.any():
        return None
    theirs, mine = np.split(table, 2)
    # One row for agents on the board, then one per item for others and for the agent itself.
    table = np.concatenate((np.zeros_like(table[:1]), theirs, mine))
    numbers = (1 + rules.held).astype(np.int32)  # (poses,)
    itself = np.eye(rules.n_agents, dtype=np.int32) * rules.n_items

    def added(state: EnvState) -> Array:
        out = state.away[..., None, :].astype(np.int32)  # (*B, 1, n)
        pairs = (rules.lookup(numbers, state.pose)[..., None, :] + lift(itself, out.ndim)) * out
        return rules.lookup(table, pairs).sum(axis=-2, dtype=np.uint8)[..., None, :]

    return added


def _with_away(rules: Rules, planes: Array, gone: Array) -> Array:
    """Adds the agents off the board, if any: under a condition, or a CPU would fuse it into a slow gather."""

    def with_away(planes: Array, gone: Array) -> Array:
        return rules.backend.when(gone.any(), lambda: planes + gone, lambda: planes, cheap=True)

    return rules.backend.at_once(with_away, planes, gone)
