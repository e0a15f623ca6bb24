"""Replace: a valid state with some of its readable attributes changed."""

from __future__ import annotations

import dataclasses
import functools
from types import MappingProxyType
from typing import Any

import numpy as np

from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.core.rewards import exact_weight
from cogrid.core.rules import Rules

#: Attributes that are stored as they are read.
_STORED = ("agent_dir", "time", "done", "ended", "layout", "cells", "held", "pos")
_MAPS = ("object_type_map", "object_state_map", "wall_map")
#: Attributes that are stored in another form.
_HOME = MappingProxyType({"agent_pos": "pos", "agent_inv": "held"})
_OTHERS = ("agent_pos", "agent_inv", "shaping_weight", "rng_key")


def replace(rules: Rules, state: EnvState, **changes: Any) -> EnvState:
    """The state with attributes changed; checked wherever the values are there to be looked at.

    Works on batches, and inside `jit` for all but the maps and the family's own views.
    """
    family = rules.spec.game.state_type.writers
    known = (*_STORED, *_MAPS, *_OTHERS, *family)
    for name in changes:
        if name not in known:
            raise TypeError(
                f"a state has no attribute {name!r} to replace: valid ones are {', '.join(sorted(known))}."
            )
    stored = {
        name: _stored(rules, state, name, changes[name]) for name in changes if name not in (*_MAPS, *family)
    }
    new = dataclasses.replace(state, **{_HOME.get(name, name): value for name, value in stored.items()})
    if any(name in changes for name in _MAPS):
        new = dataclasses.replace(
            new, cells=_cells(rules, new, {k: changes[k] for k in _MAPS if k in changes})
        )
    views = {name: np.asarray(changes[name]) for name in changes if name in family}
    if views:
        new = dataclasses.replace(new, cells=rules.xp.asarray(new.write(views), rules.cell_dtype))
    if all(rules.backend.is_concrete(value) for value in (new.pos, new.agent_dir, new.cells)):
        check(rules, new)
    return new


def _stored(rules: Rules, state: EnvState, name: str, value: Any) -> Array:
    """The stored form of one attribute, in the type and shape of the old one."""
    xp = rules.xp
    if name == "rng_key":
        return rules.backend.key(rules.backend.words(value))
    if name == "shaping_weight":
        if not rules.spec.shaping:
            raise ValueError(
                "this environment has no shaping to weigh: make it with shaping=1.0, then set the weight."
            )
        return xp.broadcast_to(exact_weight(xp.asarray(value, np.float32)), state.time.shape)
    old = getattr(state, _HOME.get(name, name))
    if old is None:
        raise ValueError(f"states of this spec have no {name!r} to replace.")
    value = xp.asarray(value)
    if name == "agent_pos":
        value = value[..., 0].astype(rules.pos_dtype) * rules.width + value[..., 1].astype(rules.pos_dtype)
    elif name == "agent_inv":
        value = _items(rules, value.reshape(*value.shape[: old.ndim]))
    try:
        return xp.broadcast_to(value.astype(old.dtype), old.shape)
    except ValueError:
        raise ValueError(f"{name} has the wrong shape {value.shape}: this state takes {old.shape}.") from None


def _items(rules: Rules, ids: Array) -> Array:
    """Type ids in hands -> item numbers."""
    numbers = np.full(len(rules.type_ids) + 1, -1, rules.agent_dtype)  # by type id + 1
    numbers[rules.item_types + 1] = np.arange(rules.n_items)
    if rules.backend.is_concrete(ids):
        seen = np.asarray(ids)
        bad = seen[(seen < -1) | (seen >= len(rules.type_ids)) | (numbers.take(seen + 1, mode="clip") < 0)]
        if bad.size:
            raise ValueError(
                f"agent_inv holds type id {bad.flat[0]}, which is no item of this spec ({rules.type_ids})."
            )
    return rules.lookup(numbers, (ids + 1).astype(rules.agent_dtype))


def _cells(rules: Rules, state: EnvState, maps: dict[str, Any]) -> Array:
    """Symbols from maps of types and lying items; a thing whose type and item stay keeps its state."""
    given = {name: np.asarray(value).reshape(*np.shape(value)[:-2], -1) for name, value in maps.items()}
    cells = np.asarray(state.cells)
    old_types, old_lying = rules.types[cells], rules.lying[cells]
    types = np.broadcast_to(given.get("object_type_map", old_types), cells.shape)
    lying = np.broadcast_to(given.get("object_state_map", old_lying), cells.shape)
    if "wall_map" in given:
        walls = np.broadcast_to(given["wall_map"], cells.shape).astype(bool)
        types = np.where(walls & (cells < rules.n_walkable), rules.type_ids.get("wall", -1), types)
        types = np.where(~walls & (cells >= rules.n_walkable), 0, types)
    first: dict[tuple[int, int], int] = {}
    for symbol, pair in enumerate(zip(rules.types.tolist(), rules.lying.tolist(), strict=True)):
        first.setdefault(pair, symbol)
    pairs = np.stack((types, lying), axis=-1).reshape(-1, 2)
    new = np.array([first.get((int(t), int(i)), -1) for t, i in pairs]).reshape(cells.shape)
    new = np.where((types == old_types) & (lying == old_lying), cells, new)
    if (new < 0).any():
        where = np.argwhere(new < 0)[0]
        row, column = divmod(int(where[-1]), rules.width)
        pair = (int(types[tuple(where)]), int(lying[tuple(where)]))
        raise ValueError(
            f"nothing of this spec has type and item {pair}, asked for at row {row}, column {column}."
        )
    return rules.xp.asarray(new, rules.cell_dtype)


@functools.lru_cache(maxsize=256)
def _possible(rules: Rules) -> np.ndarray[Any, Any]:
    """(layouts, cells, things) what each cell can ever hold."""
    symbols, scattered = rules.spec.symbols, rules.spec.game.scattered()
    reach = np.zeros((rules.n_things, rules.n_things), bool)
    for s, thing in enumerate(symbols.things):
        reach[s, [symbols.number[t] for t in symbols.reachable(thing)]] = True
    if scattered:
        reach[: rules.n_walkable, symbols.number[scattered[0]]] = True
    possible: np.ndarray[Any, Any] = reach[rules.boards]
    return possible


def check(rules: Rules, state: EnvState) -> None:
    """Every thing where it can be, every agent on a cell of its own."""
    cells, pos, facing = (
        np.asarray(x).reshape(-1, np.shape(x)[-1]) for x in (state.cells, state.pos, state.agent_dir)
    )
    layout = np.zeros(len(cells), int) if state.layout is None else np.asarray(state.layout).reshape(-1)
    impossible = ~_possible(rules)[layout[:, None], np.arange(rules.n_cells), cells]
    if impossible.any():
        batch, cell = np.argwhere(impossible)[0]
        thing, began = (
            rules.spec.symbols.things[b[cell]] for b in (cells[batch], rules.boards[layout[batch]])
        )
        row, column = divmod(int(cell), rules.width)
        raise ValueError(f"row {row}, column {column} begins as {began!r} and can never become {thing!r}.")
    if ((facing < 0) | (facing > 3)).any():
        raise ValueError(
            f"agent_dir {facing[(facing < 0) | (facing > 3)][0]} is out of range: it must be from 0 to 3."
        )
    inside = (pos >= 0) & (pos < rules.n_cells)
    stands = inside & (np.take_along_axis(cells, np.where(inside, pos, 0), -1) < rules.n_walkable)
    if not stands.all():
        batch, agent = np.argwhere(~stands)[0]
        row, column = divmod(int(pos[batch, agent]), rules.width)
        raise ValueError(f"agent {agent} cannot stand at row {row}, column {column}.")
    ordered = np.sort(pos, axis=-1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise ValueError("two agents stand in one cell: give every agent a cell of its own.")
