"""Replace: a valid state with some of its readable attributes changed."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from cogrid._core.phases.leaving import parking
from cogrid._core.phases.rewards import exact_weight
from cogrid._core.rules import Rules
from cogrid._core.state.validity import check, check_own, check_range
from cogrid._io.messages import brief
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState, clock_of

#: Attributes that are stored as they are read.
_STORED = ("agent_dir", "cells", "done", "ended", "held", "layout", "pos", "slots", "time")
#: Attributes that are stored in another form, and where.
_HOMES = MappingProxyType(
    {"agent_pos": "pos", "agent_inv": "held", "shaping_weight": "weight", "rng_key": "words"}
)
#: Attributes that are views of the cells.
_MAPS = ("object_type_map", "object_state_map", "wall_map")


def replace(rules: Rules, state: EnvState, **changes: Any) -> EnvState:
    """The state with attributes changed; concrete values are checked.

    Works on batches, and inside `jit` for all attributes but the maps and the family's own views.
    """
    check_own(rules, state)
    family = rules.game.state_type.writers
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
        value = _array(rules, name, value, "iufV")  # V: bfloat16
        check_range(rules, name, value)
        return _fitted(rules, name, exact_weight(rules.xp.asarray(value, np.float32)), batch)
    old = getattr(state, _HOMES.get(name, name))
    if old is None:
        raise ValueError(f"states of this spec have no {name!r} to replace.")
    array = _array(rules, name, value, "b" if old.dtype == bool else "iu")
    if name == "agent_pos":
        if array.ndim < 2 and rules.n_agents > 1 and not rules.leaves:  # it would put all into one cell
            raise ValueError(f"{name} has the wrong shape {array.shape}: this state takes {(*old.shape, 2)}.")
        array = _positions(rules, _fitted(rules, name, array, (*old.shape, 2)))
    elif name == "agent_inv":
        array = _items(rules, _fitted(rules, name, array, (*old.shape, 1))[..., 0])
    check_range(rules, name, array)
    return _fitted(rules, name, rules.xp.asarray(array).astype(old.dtype), old.shape)


def _view(rules: Rules, state: EnvState, name: str, value: Any) -> np.ndarray[Any, Any]:
    """A view's new value on the host, in the shape of the view."""
    shape = np.shape(getattr(state, name))
    return np.array(_fitted(rules, name, _array(rules, name, value, "iub"), shape))


def _array(rules: Rules, name: str, value: Any, kinds: str) -> Array:
    """The value as an array: a NumPy array if it is concrete, else still traced."""
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
                f"agent_inv has type id {wrong.flat[0]}, which is not an item: "
                f"use −1 for nothing, {', '.join(items)}."
            )
        return numbers.take(ids + 1)
    return rules.lookup(numbers, (ids + 1).astype(np.int32))


def _cells(rules: Rules, state: EnvState, views: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Symbols from maps of types and lying items; a thing whose type and item stay keeps its state."""
    cells = np.asarray(state.cells)
    maps = {name: view.reshape(cells.shape) for name, view in views.items() if name in _MAPS}
    old_types, old_lying = rules.types[cells], rules.lying[cells]
    types, lying = maps.get("object_type_map", old_types), maps.get("object_state_map", old_lying)
    if "wall_map" in maps:
        walls = maps["wall_map"].astype(bool)
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
