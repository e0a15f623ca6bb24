"""Validity: whether a state given by `replace`, a snapshot or a pool can occur in an episode."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from cogrid._core.compile.placing import placing_cells
from cogrid._core.compile.spec import MAX_WEIGHT
from cogrid._core.phases.leaving import parking
from cogrid._core.phases.rewards import exact_weight
from cogrid._core.rules import Rules
from cogrid._core.state.boards import check_things
from cogrid._io.messages import brief
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState


def check_own(rules: Rules, state: EnvState) -> None:
    """Raise an error unless this is a state of an environment with these rules."""
    if not isinstance(state, EnvState):
        raise TypeError(f"{brief(state)} is not a state: env.env_state is the current one.")
    if state.rules != rules:
        raise ValueError("this state belongs to another environment: use the one that made it.")


def check(rules: Rules, state: EnvState) -> None:
    """Raise a ValueError if this state cannot occur in an episode; traced values are not checked."""
    concrete = rules.backend.is_concrete
    if all(map(concrete, (state.cells, state.pos, state.layout, state.places))):
        _check_places(rules, state)
    if concrete(state.weight):
        _check_weight(rules, state)
    if state.slots is not None and concrete(state.slots):
        _check_slots(rules, state)
    if concrete(state.clock) and concrete(state.ended):
        _check_clock(rules, state)
        if rules.clock.conditions and concrete(state.cells) and concrete(state.pose):
            _check_ends(rules, state)


def check_range(rules: Rules, name: str, value: Array) -> None:
    """Raise a ValueError if a concrete number is out of range."""
    if not rules.backend.is_concrete(value):
        return
    seen = np.asarray(value)
    if name == "shaping_weight":
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
    if highest is not None and (wrong := seen[(seen < 0) | (seen > highest)]).size:
        raise ValueError(f"{name} {wrong.flat[0]} is out of range: it must be from 0 to {highest}.")


def _check_weight(rules: Rules, state: EnvState) -> None:
    """Check that the weight's product with points is exact, and so the same on both backends."""
    if state.weight is None:
        return
    weight = np.asarray(state.weight)
    check_range(rules, "shaping_weight", weight)
    if (inexact := weight[weight != exact_weight(weight)]).size:
        raise ValueError(
            f"shaping_weight {inexact.flat[0]!s} has more than 16 significant bits: set it with "
            f"env.replace, which rounds it to {exact_weight(inexact).flat[0]!s}."
        )


def _check_clock(rules: Rules, state: EnvState) -> None:
    """Check that an episode is over if its time is up or all its agents have ended."""
    clock, limit = np.asarray(state.clock), rules.spec.max_steps
    check_range(rules, "time", clock ^ (clock >> 31))
    if (clock == limit).any():
        raise ValueError(f"time {limit} is the end of the episode, but done is False: set done=True too.")
    if state.ended is not None and (np.asarray(state.ended).all(axis=-1) & (clock >= 0)).any():
        raise ValueError("all agents have ended, but done is False: set done=True too.")


def _check_ends(rules: Rules, state: EnvState) -> None:
    """Check that agents that meet an end condition have ended; not at time 0, before any step checked it."""
    going = (np.asarray(state.clock)[..., None] > 0) & ~np.asarray(state.ended)
    for condition in rules.clock.conditions:
        if (late := going & np.asarray(condition(rules, state))).any():
            raise ValueError(
                f"agent {np.argwhere(late)[0][-1]} has reached its end, but ended is False: "
                "set ended=True for it too, and done=True if all have ended."
            )


def _check_slots(rules: Rules, state: EnvState) -> None:
    """Check that every slot holds something that it can hold."""
    assert rules.slots is not None
    known, held = rules.slots, np.asarray(state.slots)
    fits = np.array([[(name, thing) in known.can_be for thing in known.things] for name in known.names])
    if (wrong := np.argwhere(~fits[np.arange(len(known.names)), held])).size:
        name, thing = known.names[wrong[0][-1]], known.things[held[tuple(wrong[0])]]
        raise ValueError(f"the slot {name!r} can never be {thing!r}.")


@functools.lru_cache(maxsize=256)
def _possible(rules: Rules) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(layouts, cells) the row of each cell in a table (rows, things) of what such cells can ever hold."""
    symbols = rules.spec.symbols
    cases = 2 * rules.boards.astype(int) + placing_cells(rules.spec)
    begins, which = np.unique(cases, return_inverse=True)
    reach = np.zeros((len(begins), rules.n_things), bool)
    for row, (began, is_placed) in enumerate(zip(*np.divmod(begins, 2), strict=True)):
        placed = symbols.placed_things if is_placed else frozenset()
        reach[row, [symbols.number[thing] for thing in rules.reachable(began) | placed]] = True
    return which.reshape(rules.boards.shape), reach


def _check_things(rules: Rules, state: EnvState, cells: np.ndarray[Any, Any]) -> None:
    """Check that every thing can occur in its cell of the layout."""
    layout = np.zeros(len(cells), int) if state.layout is None else np.asarray(state.layout).reshape(-1)
    which, reach = _possible(rules)
    impossible = ~reach[which[layout], cells]
    if impossible.any():
        batch, cell = np.argwhere(impossible)[0]
        things, began = rules.spec.symbols.things, rules.boards[layout[batch], cell]
        row, column = divmod(int(cell), rules.width)
        raise ValueError(
            f"row {row}, column {column} starts as {things[began]!r} "
            f"and can never become {things[cells[batch, cell]]!r}."
        )


def _check_places(rules: Rules, state: EnvState) -> None:
    """Check that every thing is where it can be, and every agent on a cell of its own."""
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
        raise ValueError("two agents stand in the same cell: give every agent a cell of its own.")
