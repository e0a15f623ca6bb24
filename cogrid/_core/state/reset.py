"""Reset: makes the first state of an episode from a key, and optionally a board or a pool to draw from."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from cogrid._core.author.layout import FLOOR
from cogrid._core.compile.actions import STRIDES, UP
from cogrid._core.compile.odds import odds, realised
from cogrid._core.compile.placing import placing_cells
from cogrid._core.phases.leaving import Leaving, stood
from cogrid._core.phases.rewards import exact_weight
from cogrid._core.rules import Rules
from cogrid._core.state.boards import read, rooms
from cogrid._core.state.placing import place_things
from cogrid._core.state.sketch import Sketch
from cogrid._io.messages import brief
from cogrid.backend import rng
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState


def reset(rules: Rules, key: Array, board: Array = None, pool: Any = None) -> EnvState:
    """The first state for a key, or for a batch of keys; the state's own key is for the next episode.

    `board` is (*B, H, W) or (H, W) codes of letters. From a `pool`, boards (k, H, W) or a batch of k states,
    every key draws one.
    """
    xp, spec = rules.xp, rules.spec
    words = rules.backend.words(key)  # (*B, 2)
    batch = words.shape[:-1]
    layout: Array = None
    drawn: Array = None
    index = xp.zeros(batch, np.int32)
    facing = xp.full((*batch, rules.n_agents), UP, rules.agent_dtype)
    if is_random(rules) or pool is not None:
        # (*B, 4 or 5, 2) next, layout, starts, scatter, things and hands
        children = rng.split_words(xp, words, 5 if rules.start.draws.numbers.size else 4)
        words = children[..., 0, :]
        if (count := _choices(rules, pool)) > 1:
            index = (rng.bits(children[..., 1, :], 1)[..., 0] % np.uint32(count)).astype(np.int32)
            layout = None if rules.open else index
    if isinstance(pool, EnvState):
        return _begun_as(rules, pool, index, words)
    if pool is not None:
        board = rules.lookup(xp.asarray(pool), index)
    elif board is None and rules.generates:
        board = _generated(rules, children[..., 1, :])
    cells, pos, places = _fixed(rules, index) if board is None else _read(rules, board, batch)
    if spec.random_start:
        free = rooms(rules, cells, pos) if rules.open else rules.lookup(_rooms(rules), index)
        pos, facing = _random_starts(rules, children[..., 2, :], free)
    letters, scattered = cells, None  # what the letters stand for
    if rules.answers.scattered is not None:
        cells, scattered = _scatter(rules, children[..., 3, :], cells, pos)
    if rules.start.draws.numbers.size:
        drawn = rng.draws(children[..., 4, :], xp.zeros(batch, np.uint32), rules.start.draws.numbers)
    if rules.start.cells.size:
        cells = _begun(rules, drawn, scattered, cells, pos)
    pose = facing * rules.n_items
    if rules.start.handed:
        pose = pose + _first_hands(rules, drawn, batch)
    if rules.answers.placed:
        free = ~stood(np.arange(rules.n_cells, dtype=rules.pos_dtype), pos)
        floor = np.asarray(spec.symbols.number[spec.game.legend[FLOOR]], rules.cell_dtype)
        free = free & (letters == floor if rules.open else rules.lookup(placing_cells(spec), index))
        cells = place_things(rules, drawn, cells, free, pose)
    if (leaving := rules.phase(Leaving)) is not None:
        pos = leaving.parked(rules, pose, pos)
    return spec.game.state_type(
        cells=cells,
        pos=pos,
        pose=pose,
        clock=xp.zeros(batch, np.int32),
        words=words,
        weight=xp.full(batch, exact_weight(spec.shaping), np.float32) if spec.shaping else None,
        layout=layout,
        ended=xp.zeros((*batch, rules.n_agents), bool) if rules.ends else None,
        slots=_first_slots(rules, drawn, cells) if rules.slots is not None else None,
        places=places,
        rules=rules,
    )


def is_random(rules: Rules) -> bool:
    """Whether reset draws anything; if not, every episode starts alike and the key is passed on unchanged."""
    spec = rules.spec
    drawn = rules.chance or rules.start.draws.numbers.size > 0 or rules.answers.scattered is not None
    return drawn or rules.generates is not None or spec.random_start or len(rules.boards) > 1


def boards_of(rules: Rules, key: Array) -> Array:
    """(*B, H, W) codes of the boards that a game generates from keys."""
    return _generated(rules, rng.split_words(rules.xp, rules.backend.words(key), 2)[..., 1, :])


def _generated(rules: Rules, words: Array) -> Array:
    assert rules.generates is not None
    board = rules.generates.draw(Sketch(rules, words))
    shape, is_array = (*words.shape[:-1], rules.height, rules.width), hasattr(board, "dtype")
    if not is_array or board.dtype.kind not in "iu" or board.size != math.prod(shape):
        what = f"an array of {board.dtype} and shape {board.shape}" if is_array else brief(board)
        raise TypeError(
            f"Generated.draw of {type(rules.game).__name__} returned {what}: return an array of codes, whole "
            f"numbers, of shape {shape}."
        )
    return board.reshape(shape)


def _choices(rules: Rules, pool: Any) -> int:
    """The number of boards or states to draw from."""
    if pool is None:
        return len(rules.boards)
    return len(pool.clock if isinstance(pool, EnvState) else pool)


def _begun_as(rules: Rules, pool: EnvState, index: Array, words: Array) -> EnvState:
    """One state of the pool, with a key of its own and the initial shaping weight."""
    state = pool.evolve(**{name: rules.lookup(value, index) for name, value in pool.stored().items()})
    weight = exact_weight(rules.spec.shaping)
    fresh = rules.xp.full(index.shape, weight, np.float32) if rules.spec.shaping else None
    return state.evolve(words=words, weight=fresh, rules=rules)


def _fixed(rules: Rules, index: Array) -> tuple[Array, Array, Array]:
    """Cells, starts and places of a layout; states of fixed boards need no places."""
    tables = (rules.boards, rules.starts, *((_places(rules),) if rules.open else ()))
    return (*(rules.lookup(table, index) for table in tables), None)[:3]


def _read(rules: Rules, board: Array, batch: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Cells, starts and places of a board that was given or drawn, for all of the batch."""
    cells, pos, places, _ = read(rules, board)
    return tuple(rules.xp.broadcast_to(part, (*batch, part.shape[-1])) for part in (cells, pos, places))


@functools.lru_cache(maxsize=256)
def _places(rules: Rules) -> np.ndarray[Any, Any]:
    """(layouts, k + 1) the places of the layouts; none was repaired."""
    cells = [rules.cells_of(kind) for kind in rules.places.counts]
    return np.concatenate((*cells, np.zeros((len(rules.boards), 1), int)), axis=-1).astype(rules.pos_dtype)


def _random_starts(rules: Rules, words: Array, free: Array) -> tuple[Array, Array]:
    """Each agent in order takes the free cell of its room with the smallest draw, the first of equal ones."""
    xp, n, cells = rules.xp, rules.n_agents, rules.n_cells
    draws = rng.bits(words, cells + n)  # (*B, cells + n)
    facing = (draws[..., cells:] % np.uint32(4)).astype(rules.agent_dtype)
    order = draws[..., :cells] >> np.uint32(1)  # leaves room for a number above every draw
    every = np.arange(cells, dtype=np.int32)
    taken: list[Array] = []
    for i in range(n):
        cell = xp.where(free[..., i, :], order, np.uint32(2**32 - 1)).argmin(axis=-1).astype(np.int32)
        order = xp.where(lift(every, order.ndim) == cell[..., None], np.uint32(2**31), order)
        taken.append(cell)
    return xp.stack(taken, axis=-1).astype(rules.pos_dtype), facing


@functools.lru_cache(maxsize=256)
def _rooms(rules: Rules) -> np.ndarray[Any, Any]:
    """(layouts, n, cells) the floor cells that each agent can walk to from its start."""
    rooms = np.zeros((len(rules.boards), rules.n_agents, rules.n_cells), bool)
    for layout, board in enumerate(rules.boards):
        floor = board == rules.spec.symbols.number[rules.game.legend[FLOOR]]
        for agent, start in enumerate(rules.starts[layout].tolist()):
            shared = np.flatnonzero(rooms[layout, :agent, start])  # an earlier agent of the same room
            rooms[layout, agent] = rooms[layout, shared[0]] if len(shared) else _room(rules, floor, start)
    return rooms


def _room(rules: Rules, floor: np.ndarray[Any, Any], start: int) -> np.ndarray[Any, Any]:
    """(cells,) the floor cells that can be reached."""
    room, todo = np.zeros(rules.n_cells, bool), [start]
    while todo:
        cell = todo.pop()
        if floor[cell] and not room[cell]:
            room[cell] = True
            todo += [cell + r * rules.width + c for r, c in STRIDES]
    return room


def _scatter(rules: Rules, words: Array, cells: Array, pos: Array) -> tuple[Array, Array]:
    """Every floor cell that no agent stands on becomes the scattered thing with the given probability.

    Returns the cells, and which of them were hit, (*B, cells) bool.
    """
    scattered = rules.answers.scattered
    assert scattered is not None
    symbols, legend = rules.spec.symbols.number, rules.game.legend
    draws = rng.bits(words, rules.n_cells) >> np.uint32(8)  # 24 bits
    hit = draws < np.uint32(round(scattered.density * 2**24))
    every = np.arange(rules.n_cells, dtype=rules.pos_dtype)
    hit = hit & (cells == symbols[legend[FLOOR]]) & ~stood(every, pos)
    return rules.xp.where(hit, np.asarray(symbols[scattered.thing], rules.cell_dtype), cells), hit


def _begun(rules: Rules, drawn: Array, scattered: Array | None, cells: Array, pos: Array) -> Array:
    """Every letter's thing becomes what `start` makes of it, except where an agent stands."""
    begins, where = rules.spec.symbols.starts, rules.start.cells
    after = begins.table(rules.spec.symbols.number.__getitem__, rules.cell_dtype)
    seen = rules.pick(cells, where)  # (*B, k)
    case = rules.xp.asarray(seen, rules.backend.index_dtype(len(begins.values)))
    begun = rules.lookup(after, realised(rules.lookup, begins, case, rules.start.draws.of("start", drawn)))
    kept = stood(where.astype(rules.pos_dtype), pos)
    if scattered is not None:  # it stays
        kept = kept | rules.pick(scattered, where)
    return rules.backend.place(cells, where, rules.xp.where(kept, seen, begun))


def _first_hands(rules: Rules, drawn: Array, batch: tuple[int, ...]) -> Array:
    """(*B, n) the item that every agent starts with."""
    hands, xp = rules.start.hands, rules.xp
    items = hands.table(rules.spec.symbols.item_number.__getitem__, rules.agent_dtype)
    agents = np.arange(rules.n_agents, dtype=rules.backend.index_dtype(len(items)))
    case = xp.broadcast_to(xp.asarray(agents), (*batch, rules.n_agents))
    if hands.n_branches > 1:
        case = realised(rules.lookup, hands, case, rules.start.draws.of("hand", drawn))
    return rules.lookup(items, case)


def _first_slots(rules: Rules, drawn: Array, cells: Array) -> Array:
    """(*B, slots) what every slot is when the episode starts."""
    assert rules.slots is not None
    starts = odds(rules.slots.starts)
    numbers = starts.table(rules.slots.number.__getitem__, rules.slot_dtype)
    draws = rules.start.draws.of("slot", drawn)  # (*B, slots)
    slots = np.arange(len(rules.slots.names), dtype=rules.backend.index_dtype(len(numbers)))
    case = rules.xp.broadcast_to(rules.xp.asarray(slots), draws.shape)
    firsts = rules.lookup(numbers, realised(rules.lookup, starts, case, draws))
    for k, slot in rules.slots.counted:
        counts = rules.symbols(slot.count, np.int32)
        total = rules.lookup(counts, cells).sum(axis=-1, keepdims=True, dtype=np.int32)  # (*B, 1)
        number = [rules.slots.number[thing] for thing in range(slot.most + 1)]
        begun = rules.lookup(np.array(number, rules.slot_dtype), rules.xp.clip(total, 0, slot.most))
        firsts = rules.xp.where(lift(np.arange(len(slots)) == k, firsts.ndim), begun, firsts)
    return firsts
