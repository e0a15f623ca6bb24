"""A digest of a game's rules: what they answer for every thing and item that can occur."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cogrid._core.author.answers import Tally
from cogrid._core.author.chance import Odds
from cogrid._core.rules import Rules

_WITH_ADDRESS: Any = object.__repr__


@functools.lru_cache(maxsize=256)
def digest(rules: Rules) -> str:
    """Hex digits that change with any rule or reward; the same on every backend and in every process."""
    total = hashlib.sha256()
    facts = [(phase.name, phase.facts) for phase in rules.phases if phase.facts]
    for part in (*_things(rules), *_rows(rules), *_agents(rules), *_slots(rules), *_rewards(rules), *facts):
        total.update(text(part).encode("utf-8", "surrogatepass") + b"\n")
    return total.hexdigest()


def text(value: Any) -> str:
    """A value as text that does not depend on addresses or on the order of sets."""
    if isinstance(value, np.ndarray):
        return repr(value.tolist())  # its integers may be wider on another backend
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(text, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{text(key)}: {text(one)}' for key, one in value.items()))}}}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({', '.join(map(text, value))})"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = (getattr(value, field.name) for field in dataclasses.fields(value))
        return f"{type(value).__name__}({', '.join(map(text, parts))})"
    if callable(value) or type(value).__repr__ is _WITH_ADDRESS:
        return type(inspect.unwrap(value) if callable(value) else value).__name__
    return repr(value.item() if isinstance(value, np.generic) else value)


def _things(rules: Rules) -> Iterator[Any]:
    symbols, game = rules.spec.symbols, rules.game
    things = symbols.things
    yield things, symbols.n_walkable, symbols.placed, game.scattered()
    yield _odds(symbols.starts), _odds(symbols.ticks)
    yield [game.spawn(thing) for thing in things], [game.remaining(thing) for thing in things]
    if (near := game.near()) is not None:
        yield near, [near.mark(thing) for thing in things]
    for one in game.one_cell():
        yield one, [one.becomes(thing) if one.qualifies(thing) else None for thing in things]


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
    symbols, game = rules.spec.symbols, rules.game
    yield symbols.items, symbols.hands, symbols.intents, _odds(symbols.hand_ticks)
    yield game.swaps, game.moves_first, game.final_verbs, game.joint, game.actions
    yield [game.aim(action.name) for action in rules.spec.actions]
    for hook in (game.strength, game.can_move, game.can_act, game.away, game.finished):
        yield [hook(item) for item in symbols.items]


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


def _odds(odds: Odds) -> tuple[Any, ...]:
    return odds.bounds, odds.values
