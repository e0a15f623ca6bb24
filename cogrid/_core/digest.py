"""A digest of a game's rules: what they answer for every thing and item that can occur."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cogrid._core.author.options import is_default
from cogrid._core.author.rewards import Tally
from cogrid._core.compile.odds import Odds
from cogrid._core.rules import Rules

_WITH_ADDRESS: Any = object.__repr__


class _Text(str):
    """A text that is hashed as it is."""


@functools.lru_cache(maxsize=256)
def digest(rules: Rules) -> str:
    """Hex digits that change with any rule or reward; the same on every backend and in every process."""
    total = hashlib.sha256()
    sections = (_things, _placed, _rows, _agents, _slots, _rewards, _facts)
    for part in itertools.chain(*(tell(rules) for tell in sections)):
        total.update(text(part).encode("utf-8", "surrogatepass") + b"\n")
    return total.hexdigest()


def text(value: Any) -> str:
    """A value as text that does not depend on addresses or on the order of sets."""
    if isinstance(value, _Text):
        return str(value)
    if isinstance(value, np.ndarray):
        return repr(value.tolist())  # its integers may be wider on another backend
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(text, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{text(key)}: {text(one)}' for key, one in value.items()))}}}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({', '.join(map(text, value))})"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = (
            getattr(value, field.name) for field in dataclasses.fields(value) if not is_default(value, field)
        )
        return f"{type(value).__name__}({', '.join(map(text, parts))})"
    if callable(value) or type(value).__repr__ is _WITH_ADDRESS:
        return type(inspect.unwrap(value) if callable(value) else value).__name__
    return repr(value.item() if isinstance(value, np.generic) else value)


def _things(rules: Rules) -> Iterator[Any]:
    symbols, answers = rules.spec.symbols, rules.answers
    things, scattered, near = symbols.things, answers.scattered, answers.near
    found = None if scattered is None else (scattered.thing, scattered.density)
    yield things, symbols.n_walkable, tuple(map(tuple, symbols.placed)), found
    yield _odds(symbols.starts), _odds(symbols.ticks)
    ends = answers.ends
    left = ends.remaining or (lambda thing: 0 if ends.in_hands or ends.in_slots else 1)
    yield [answers.back(thing) for thing in things], [left(thing) for thing in things]
    if near is not None:
        name = f"Near(function, {near.most}, {near.radius}, {near.shape!r})"
        yield _Text(name), [near.mark(thing) for thing in things]
    for one in answers.one_cell:
        name = f"OneCell(function, function, {one.weight}, {one.out_of}, {one.since})"
        yield _Text(name), [one.becomes(thing) if one.qualifies(thing) else None for thing in things]


def _placed(rules: Rules) -> Iterator[Any]:
    """What a game places; those of cogrid have options for it, and their digests are older than this."""
    if type(rules.game).__module__.startswith("cogrid.envs."):
        return
    for one in rules.answers.placed:
        strengths = rules.spec.symbols.of_hands(one.strength_of)
        yield one.count, one.weakest, one.apart, one.margin, strengths


def _rows(rules: Rules) -> Iterator[Any]:
    """Things and items by their numbers: there may be many rows."""
    symbols = rules.spec.symbols
    thing, item = symbols.number, symbols.item_number
    for _, _, (held, after, verb, value) in symbols.rows + symbols.joint_rows:
        yield item[held], thing[after], verb, float(value)
    for _, _, (held, other, verb, value) in symbols.meet_rows:
        yield item[held], item[other], verb, float(value)
    yield [odds.bounds for odds in (symbols.outcomes, symbols.meetings) if odds is not None]


def _agents(rules: Rules) -> Iterator[Any]:
    symbols, answers = rules.spec.symbols, rules.answers
    moving, joint, ends = answers.moving, answers.joint, answers.ends
    yield symbols.items, symbols.hands, symbols.intents, _odds(symbols.hand_ticks)
    name = "" if joint is None else joint.name
    yield moving.swaps, moving.first, frozenset(ends.verbs), name, answers.actions
    yield [answers.aim(action.name) for action in rules.spec.actions]
    strength = (lambda held: 1) if joint is None else joint.strength_of
    finished = ends.hand or (lambda held: False)
    for function in (strength, answers.can_move, answers.can_act, answers.away, finished):
        yield symbols.of_hands(function)


def _slots(rules: Rules) -> Iterator[Any]:
    slots = rules.slots
    if slots is not None:
        yield slots.names, slots.things, slots.starts, slots.kinds, slots.ranks
        yield _odds(slots.ticks), _odds(slots.replies)
        for number, counted in slots.counted:
            yield number, counted, [counted.count(thing) for thing in rules.spec.symbols.things]


def _rewards(rules: Rules) -> Iterator[Any]:
    for term in rules.rewards.terms:
        yield term.reward, term.points, term.scarcity
        if isinstance(term.reward, Tally):
            yield [term.reward.count(thing) for thing in rules.spec.symbols.things]


def _facts(rules: Rules) -> Iterator[Any]:
    """What only its phase knows."""
    return ((phase.name, phase.facts) for phase in rules.phases if phase.facts)


def _odds(odds: Odds) -> tuple[Any, ...]:
    return odds.bounds, odds.values
