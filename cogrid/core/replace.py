"""Replace: a valid state with some of its readable attributes changed."""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import Any

import numpy as np

from cogrid.backend.array import Array, brief, lift
from cogrid.backend.env_state import EnvState, clock_of
from cogrid.core.boards import check_things
from cogrid.core.layout import FLOOR
from cogrid.core.leaving import parking
from cogrid.core.rewards import exact_weight
from cogrid.core.rules import Rules
from cogrid.core.spec import MAX_WEIGHT
from cogrid.core.termination import conditions

#: Attributes that are given as they are read.
_STORED = ("agent_dir", "cells", "done", "ended", "held", "layout", "pos", "slots", "time")
#: Attributes that are stored in another form, and where.
_HOMES = MappingProxyType(
    {"agent_pos": "pos", "agent_inv": "held", "shaping_weight": "weight", "rng_key": "words"}
)
#: Attributes that are views of the cells.
_MAPS = ("object_type_map", "object_state_map", "wall_map")


def replace(rules: Rules, state: EnvState, **changes: Any) -> EnvState:
    """The state with attributes changed; checked wherever the values are there to be looked at.

    Works on batches, and inside `jit` for all but the maps and the family's own views.
    """
    family = rules.spec.game.state_type.writers
    known = sorted((*_STORED, *_HOMES, *_MAPS, *family))
    for name in changes:
        if name not in known:
            raise TypeError(
                f"a state has no attribute {name!r} to replace: valid ones are {', '.join(known)}."
            )
    plain = [name for name in changes if name not in (*_MAPS, *family)]
    stored = {_HOMES.get(name, name): _stored(rules, state, name, changes[name]) for name in plain}
    if "time" in stored or "done" in stored:
        stored["clock"] = clock_of(stored.pop("time", state.time), stored.pop("done", state.done))
    if "agent_dir" in stored or "held" in stored:
        facing, held = stored.pop("agent_dir", state.agent_dir), stored.pop("held", state.held)
        stored["pose"] = facing * rules.n_items + held
    new = state.evolve(**stored)
    views = {name: _view(rules, state, name, changes[name]) for name in changes if name not in plain}
    if any(name in _MAPS for name in views):
        new = new.evolve(cells=rules.xp.asarray(_cells(rules, new, views), rules.cell_dtype))
    if any(name in family for name in views):
        new = new.evolve(cells=rules.xp.asarray(new.write(views), rules.cell_dtype))
    check(rules, new)
    return new


def _stored(rules: Rules, state: EnvState, name: str, value: Any) -> Array:
    """The stored form of one attribute, in the type and shape of the old one."""
    batch = state.clock.shape
    if name == "rng_key":
        return _fitted(rules, name, rules.backend.words(value), (*batch, 2))
    if name == "shaping_weight":
        if not rules.spec.shaping:
            raise ValueError(
                "this environment has no shaping: make it with shaping=1.0, then set the weight."
            )
        check_range(rules, name, value)
        return _fitted(rules, name, exact_weight(rules.xp.asarray(value, np.float32)), batch)
    old = getattr(state, _HOMES.get(name, name))
    if old is None:
        raise ValueError(f"states of this spec have no {name!r} to replace.")
    array = _array(rules, name, value, "b" if old.dtype == bool else "iu")
    if name == "agent_pos":
        array = _positions(rules, _fitted(rules, name, array, (*old.shape, 2)))
    elif name == "agent_inv":
        array = _items(rules, _fitted(rules, name, array, (*old.shape, 1))[..., 0])
    check_range(rules, name, array)
    return _fitted(rules, name, rules.xp.asarray(array).astype(old.dtype), old.shape)


def _view(rules: Rules, state: EnvState, name: str, value: Any) -> np.ndarray[Any, Any]:
    """A view's new value on the host, in the shape in which it is read."""
    shape = np.shape(getattr(state, name))
    return np.array(_fitted(rules, name, _array(rules, name, value, "iub"), shape))


def _array(rules: Rules, name: str, value: Any, kinds: str) -> Array:
    """The value as an array: NumPy's if it is there to be looked at, else still traced."""
    if rules.backend.is_concrete(value):
        try:
            value = np.asarray(value)
        except TypeError:  # a list of traced numbers
            value = rules.xp.asarray(value)
        except ValueError:
            raise ValueError(f"{name} is ragged: {brief(value)}.") from None
    if value.dtype.kind not in kinds:
        expected = {"b": "truth values", "iufV": "numbers"}.get(kinds, "integers")
        raise TypeError(f"{name} must be {expected}, not {value.dtype}.")
    return value


def _fitted(rules: Rules, name: str, value: Array, shape: tuple[int, ...]) -> Array:
    try:
        fits = np.broadcast_shapes(value.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{name} has the wrong shape {value.shape}: this state takes {shape}.")
    return (np if isinstance(value, np.ndarray) else rules.xp).broadcast_to(value, shape)


def check_range(rules: Rules, name: str, value: Array) -> None:
    """Raise a ValueError if a number that can be looked at is out of its range."""
    if name == "shaping_weight" and rules.backend.is_concrete(value):
        seen = _array(rules, name, value, "iufV")  # V: bfloat16
        wrong = seen[~(np.abs(seen) <= MAX_WEIGHT)]  # NaN too
        if wrong.size:
            raise ValueError(f"{name} {wrong.flat[0]} is out of range: it must be within ±{MAX_WEIGHT:g}.")
    highest = {
        "agent_dir": 3,
        "cells": rules.n_things - 1,
        "held": rules.n_items - 1,
        "layout": len(rules.boards) - 1,
        "slots": len(rules.slots.things) - 1 if rules.slots is not None else None,
        "time": rules.spec.max_steps,
    }.get(name)
    if highest is None or not rules.backend.is_concrete(value):
        return
    seen = np.asarray(value)
    wrong = seen[(seen < 0) | (seen > highest)]
    if wrong.size:
        raise ValueError(f"{name} {wrong.flat[0]} is out of range: it must be from 0 to {highest}.")


def _positions(rules: Rules, array: Array) -> Array:
    """Rows and columns, (*B, n, 2), -> cells; −1 and −1 is off the board, where agents can be."""
    away = (array == -1).all(axis=-1) if rules.leaves else None
    if isinstance(array, np.ndarray):
        outside = ((array < 0) | (array >= (rules.height, rules.width))).any(axis=-1)
        outside = outside if away is None else outside & ~away
        if outside.any():
            where = tuple(np.argwhere(outside)[0])
            row, column = array[where]
            raise ValueError(f"agent {where[-1]} cannot stand at row {row}, column {column}.")
    cells = array.astype(rules.pos_dtype)
    cells = cells[..., 0] * rules.width + cells[..., 1]
    return cells if away is None else rules.xp.where(away, lift(parking(rules), cells.ndim), cells)


def _items(rules: Rules, ids: Array) -> Array:
    """Type ids in hands -> item numbers."""
    numbers = np.full(len(rules.type_ids) + 1, -1, rules.agent_dtype)  # by type id + 1
    numbers[rules.item_types + 1] = np.arange(rules.n_items)
    if isinstance(ids, np.ndarray):
        wrong = ids[(ids < -1) | (ids >= len(rules.type_ids)) | (numbers.take(ids + 1, mode="clip") < 0)]
        if wrong.size:
            items = [f"{id} {name}" for name, id in rules.type_ids.items() if id in rules.item_types]
            raise ValueError(
                f"agent_inv holds type id {wrong.flat[0]}, which is no item: "
                f"they are −1 for nothing, {', '.join(items)}."
            )
        return numbers.take(ids + 1)
    return rules.lookup(numbers, (ids + 1).astype(np.int32))


def _cells(rules: Rules, state: EnvState, views: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Symbols from maps of types and lying items; a thing whose type and item stay keeps its state."""
    cells = np.asarray(state.cells)
    given = {name: view.reshape(cells.shape) for name, view in views.items() if name in _MAPS}
    old_types, old_lying = rules.types[cells], rules.lying[cells]
    types, lying = given.get("object_type_map", old_types), given.get("object_state_map", old_lying)
    if "wall_map" in given:
        walls = given["wall_map"].astype(bool)
        types = np.where(walls & (cells < rules.n_walkable), rules.type_ids.get("wall", -1), types)
        types = np.where(~walls & (cells >= rules.n_walkable), 0, types)
    first: dict[tuple[int, int], int] = {}
    for symbol, pair in enumerate(zip(rules.types.tolist(), rules.lying.tolist(), strict=True)):
        first.setdefault(pair, symbol)
    pairs = zip(types.ravel().tolist(), lying.ravel().tolist(), strict=True)
    new = np.array([first.get(pair, -1) for pair in pairs]).reshape(cells.shape)
    new = np.where((types == old_types) & (lying == old_lying), cells, new)
    if (new < 0).any():
        where = tuple(np.argwhere(new < 0)[0])
        row, column = divmod(int(where[-1]), rules.width)
        raise ValueError(
            f"nothing of this spec has type {types[where]} and item {lying[where]}, "
            f"asked for at row {row}, column {column}."
        )
    return new


@functools.lru_cache(maxsize=256)
def _possible(rules: Rules) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(layouts, cells) the row of each cell, in (rows, things) what such cells can ever hold."""
    symbols, floor = rules.spec.symbols, rules.spec.game.legend[FLOOR]
    begins, which = np.unique(rules.boards, return_inverse=True)
    reach = np.zeros((len(begins), rules.n_things), bool)
    for row, began in enumerate(begins):
        placed = symbols.placed_things if symbols.things[began] == floor else frozenset()
        reach[row, [symbols.number[thing] for thing in rules.reachable(began) | placed]] = True
    return which.reshape(rules.boards.shape), reach


def check(rules: Rules, state: EnvState) -> None:
    """Raise a ValueError if this is no state of an episode; looks at what is there to be looked at."""
    concrete = rules.backend.is_concrete
    if all(map(concrete, (state.cells, state.pos, state.layout, state.places))):
        _check_places(rules, state)
    if concrete(state.weight):
        _check_weight(rules, state)
    if concrete(state.clock) and concrete(state.ended):
        _check_clock(rules, state)
        if rules.conditions and concrete(state.cells) and concrete(state.pose):
            _check_ends(rules, state)


def _check_weight(rules: Rules, state: EnvState) -> None:
    """A weight whose product with the points is exact, and so the same on both backends."""
    if state.weight is None:
        return
    weight = np.asarray(state.weight)
    check_range(rules, "shaping_weight", weight)
    if (inexact := weight[weight != exact_weight(weight)]).size:
        raise ValueError(
            f"shaping_weight {inexact.flat[0]!s} has more than 16 significant bits: set it by "
            f"env.replace, which rounds it to {exact_weight(inexact).flat[0]!s}."
        )


def _check_clock(rules: Rules, state: EnvState) -> None:
    """An episode whose time is up, or whose agents have all ended, is over."""
    clock, limit = np.asarray(state.clock), rules.spec.max_steps
    check_range(rules, "time", clock ^ (clock >> 31))
    if (clock == limit).any():
        raise ValueError(f"time {limit} is the end of the episode, but done is False: set done=True too.")
    if state.ended is not None and (np.asarray(state.ended).all(axis=-1) & (clock >= 0)).any():
        raise ValueError("all agents have ended, but done is False: set done=True too.")


def _check_ends(rules: Rules, state: EnvState) -> None:
    """Who meets a condition to end has ended; not at time 0, since no step has looked at it yet."""
    going = (np.asarray(state.clock)[..., None] > 0) & ~np.asarray(state.ended)
    for condition in conditions(rules):
        if (late := going & np.asarray(condition(state))).any():
            raise ValueError(
                f"agent {np.argwhere(late)[0][-1]} has reached its end, but ended is False: "
                "set ended=True for it too, and done=True if all have ended."
            )


def _check_things(rules: Rules, state: EnvState, cells: np.ndarray[Any, Any]) -> None:
    """Every thing where its layout can have it."""
    layout = np.zeros(len(cells), int) if state.layout is None else np.asarray(state.layout).reshape(-1)
    which, reach = _possible(rules)
    impossible = ~reach[which[layout], cells]
    if impossible.any():
        batch, cell = np.argwhere(impossible)[0]
        things, began = rules.spec.symbols.things, rules.boards[layout[batch], cell]
        row, column = divmod(int(cell), rules.width)
        raise ValueError(
            f"row {row}, column {column} begins as {things[began]!r} "
            f"and can never become {things[cells[batch, cell]]!r}."
        )


def _check_places(rules: Rules, state: EnvState) -> None:
    """Every thing where it can be, every agent on a cell of its own."""
    cells, pos = (np.asarray(x).reshape(-1, np.shape(x)[-1]) for x in (state.cells, state.pos))
    if rules.open:
        check_things(rules, cells, np.asarray(state.places).reshape(len(cells), -1))
    else:
        _check_things(rules, state, cells)
    inside = (pos >= 0) & (pos < rules.n_cells)
    stands = inside & (np.take_along_axis(cells, np.where(inside, pos, 0), -1) < rules.n_walkable)
    if rules.leaves:
        stands |= pos == parking(rules)
    if not stands.all():
        batch, agent = np.argwhere(~stands)[0]
        row, column = divmod(int(pos[batch, agent]), rules.width)
        raise ValueError(f"agent {agent} cannot stand at row {row}, column {column}.")
    ordered = np.sort(pos, axis=-1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise ValueError("two agents stand in one cell: give every agent a cell of its own.")
