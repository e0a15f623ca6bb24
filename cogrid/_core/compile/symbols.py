"""Symbols: numbers for every thing and item that can ever occur, and the game's rules over them."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any

from cogrid._core.author.answers import Item, Meeting, Outcome, Thing
from cogrid._core.author.chance import Branch, Odds, branches, odds
from cogrid._core.author.game import Game
from cogrid._core.author.hooks import writes
from cogrid._core.compile.asking import (
    acts,
    asked,
    becomes_of,
    hand_ticks_of,
    hook_of,
    intents_of,
    joint_of,
    meetings_of,
    outcomes_of,
    placed_of,
    starts_of,
    ticks_of,
)
from cogrid._core.compile.memory import Memory, Waiting, memory_of
from cogrid.backend.array import brief, several

MAX_SYMBOLS = 2**15 - 1
MAX_ROWS = 2**24
MAX_ITEMS, MAX_ITEMS_MEETING = 2**13 - 1, 2**9  # where agents meet, every pair of items is tried


@dataclass(frozen=True, eq=False)
class Symbols:
    """Numbers for everything that can occur. Walkable things come first; item 0 is the empty hand."""

    memory: Memory  # of the game
    begins: tuple[Thing, ...]  # the letters' things
    things: tuple[Thing, ...]
    items: tuple[Item, ...]
    hands: tuple[tuple[Branch, ...], ...]  # for every agent, what it holds when an episode starts
    placed: tuple[tuple[int, list[tuple[Branch, ...]]], ...]  # what reset places: see `placed_of`
    intents: tuple[int, ...]  # the intents that can do something, NOTHING first
    n_walkable: int

    @property
    def game(self) -> Game:
        """The game, which is asked what is not known yet."""
        return self.memory.open

    @functools.cached_property
    def number(self) -> dict[Thing, int]:
        """Thing -> symbol."""
        return {thing: s for s, thing in enumerate(self.things)}

    @functools.cached_property
    def item_number(self) -> dict[Item, int]:
        """Item -> number."""
        return {item: s for s, item in enumerate(self.items)}

    @functools.cached_property
    def kinds(self) -> tuple[str, ...]:
        """Names of the types: floor first, then the things', then the items'."""
        names = [self.game.kind(thing) for thing in self.things]
        names += [self.game.item_name(item) for item in self.items[1:]]
        return tuple(dict.fromkeys(["floor", *names]))

    @functools.cached_property
    def outcomes(self) -> Odds:
        """What every intent does with every item and thing, in this order, branch by branch."""
        return odds(
            [
                outcomes_of(self.game, intent, held, thing)
                for intent in self.intents
                for held in self.items
                for thing in self.things
            ]
        )

    @functools.cached_property
    def rows(self) -> tuple[tuple[Item, Thing, Outcome], ...]:
        """Every row of the rule tables, ordered by branch, intent, item and thing."""
        pairs = [(held, thing) for held in self.items for thing in self.things]
        blocks = len(self.outcomes.values) // len(pairs)
        return tuple(
            (held, thing, outcome)
            for (held, thing), outcome in zip(pairs * blocks, self.outcomes.values, strict=True)
        )

    @functools.cached_property
    def meetings(self) -> Odds | None:
        """What every intent does with every pair of items, branch by branch; None without meetings."""
        if not writes(self.game, "meet"):
            return None
        pairs = [(mine, theirs) for mine in self.items for theirs in self.items]
        return odds([meetings_of(self.game, intent, *pair) for intent in self.intents for pair in pairs])

    @functools.cached_property
    def meet_rows(self) -> tuple[tuple[Item, Item, Meeting], ...]:
        """The rows of the rule tables for meetings, ordered by branch, intent, item and the other's item."""
        if self.meetings is None:
            return ()
        pairs = [(mine, theirs) for mine in self.items for theirs in self.items]
        blocks = len(self.meetings.values) // len(pairs)
        return tuple(
            (mine, theirs, meeting)
            for (mine, theirs), meeting in zip(pairs * blocks, self.meetings.values, strict=True)
        )

    @functools.cached_property
    def joint_rows(self) -> tuple[tuple[Item, Thing, Outcome], ...]:
        """The rows of the rule tables for joint work, ordered by total strength, item and thing."""
        if not self.game.joint:
            return ()
        totals = range(self.game.most_strength + 1)
        cases = [(total, held, thing) for total in totals for held in self.items for thing in self.things]
        rows = tuple((held, thing, joint_of(self.game, held, total, thing)) for total, held, thing in cases)
        left: dict[tuple[int, Thing], Thing] = {}
        for (total, held, thing), (_, _, outcome) in zip(cases, rows, strict=True):
            if self.game.walkable(thing) and not self.game.walkable(outcome.thing):
                raise ValueError(
                    f"{type(self.game).__name__}.join turns {thing!r}, where an agent may stand, into "
                    f"{outcome.thing!r}, where none can: let an interaction close it."
                )
            works = total and self.game.strength(held) and acts(self.game, held)
            if works and left.setdefault((total, thing), outcome.thing) != outcome.thing:
                raise ValueError(
                    f"{type(self.game).__name__}.join leaves {outcome.thing!r} for hand {held!r} and "
                    f"{left[total, thing]!r} for another, of {thing!r} by strength {total}: leave the same."
                )
        return rows

    @functools.cached_property
    def lines(self) -> tuple[tuple[Item, Any, Outcome | Meeting], ...]:
        """All rows: of single agents and things, of joint work, of meetings."""
        return (*self.rows, *self.joint_rows, *self.meet_rows)

    @functools.cached_property
    def ticks(self) -> Odds:
        """What every thing becomes by itself, ordered by the count near it and the thing."""
        by_thing = [ticks_of(self.game, thing) for thing in self.things]
        return odds([answers[count] for count in range(len(by_thing[0])) for answers in by_thing])

    @functools.cached_property
    def hand_ticks(self) -> Odds:
        """What every item becomes by itself in a hand."""
        return odds([hand_ticks_of(self.game, item) for item in self.items])

    @functools.cached_property
    def starts(self) -> Odds:
        """What every letter's thing is when an episode starts; other things stay what they are."""
        return odds([starts_of(self.game, t) if t in self.begins else branches(t) for t in self.things])

    @functools.cached_property
    def placed_things(self) -> frozenset[Thing]:
        """Everything that the things placed by reset can become."""
        first = {thing for _, cases in self.placed for case in cases for thing, _ in case}
        return frozenset().union(*map(self.reachable, first))

    def reachable(self, thing: Thing) -> frozenset[Thing]:
        """Everything that a cell can become if it starts as this thing."""
        found, todo = {thing}, [thing]
        while todo:
            new = self._next[todo.pop()] - found
            found |= new
            todo += new
        return frozenset(found)

    @functools.cached_property
    def _next(self) -> dict[Thing, set[Thing]]:
        follow: dict[Thing, set[Thing]] = {thing: set() for thing in self.things}
        cases = len(self.ticks.values) // len(self.things)
        for thing, after in zip(self.things * cases, self.ticks.values, strict=True):
            follow[thing].add(after)
        for _, thing, outcome in (*self.rows, *self.joint_rows):
            follow[thing].add(outcome.thing)
        for thing in self.things:
            changes = (one for one in self.game.one_cell() if one.qualifies(thing))
            follow[thing].update(becomes_of(self.game, one, thing) for one in changes)
        return follow


@functools.lru_cache(maxsize=256)
def close(game: Game, letters: frozenset[str], n_agents: int) -> Symbols:
    """All that the rules can reach from the letters' things, the agents' first hands and an empty hand."""
    memory = memory_of(game)
    game, wait = memory.open, Waiting(memory)
    intents, meets = intents_of(game), writes(game, "meet")
    scattered, begins = game.scattered(), tuple(game.legend[letter] for letter in sorted(letters))
    # A dict keeps the order of discovery.
    things: dict[Thing, None] = dict.fromkeys([*begins, *([scattered[0]] if scattered else [])])
    hands = tuple(asked(game, game.hand, agent=agent) for agent in range(n_agents))
    placed = tuple(placed_of(game, one, hands) for one in game.placed())
    things |= dict.fromkeys(thing for _, cases in placed for case in cases for thing, _ in case)
    items: dict[Item, None] = dict.fromkeys([None, *(item for hand in hands for item, _ in hand)])
    met_things: list[Thing] = []  # every pair is tried once: when the later of the two is found
    met_items: list[Item] = []

    def meet(held: Item, thing: Thing) -> None:
        for intent in intents[1:]:
            for outcome, _ in outcomes_of(game, intent, held, thing):
                note(things, outcome.thing, hook_of(intent), held, thing)
                note(items, outcome.held, hook_of(intent), held, thing)
        for total in range(1, game.most_strength + 1) if game.joint else ():
            outcome = joint_of(game, held, total, thing)
            note(things, outcome.thing, "join", held, thing)
            note(items, outcome.held, "join", held, thing)

    def note(found: dict[Any, None], new: Any, hook: str, *about: Any) -> None:
        if new not in found:
            found[new] = None
            todo.append((found is items, new))
            made[found is items] = (hook, about, new)

    made: dict[
        bool, tuple[str, tuple[Any, ...], Any]
    ] = {}  # whether it is an item -> the call that made the last one

    most_items = MAX_ITEMS_MEETING if meets else MAX_ITEMS
    todo = [*((True, item) for item in items), *((False, thing) for thing in things)]
    for is_item, new in todo:  # grows during the loop
        wait()
        pairs = len(things) * len(items)
        if len(things) > MAX_SYMBOLS or len(items) > most_items or pairs > MAX_ROWS:
            grew = made.get(len(items) > len(things)) or next(iter(made.values()))
            raise ValueError(_too_large(game, list(things), len(items), most_items, *grew))
        if is_item:
            met_items.append(new)
            for thing in met_things:
                meet(new, thing)
            for after, _ in hand_ticks_of(game, new):
                note(items, after, "tick_hand", new)
            for pair in [pair for item in met_items for pair in ((new, item), (item, new))] if meets else []:
                for meeting, _ in itertools.chain(*(meetings_of(game, intent, *pair) for intent in intents)):
                    note(items, meeting.held, "meet", *pair)
                    note(items, meeting.other, "meet", *pair)
            continue
        met_things.append(new)
        for held in met_items:
            meet(held, new)
        for after, _ in itertools.chain(*ticks_of(game, new)):
            note(things, after, "tick" if game.near() is None else "tick_near", new)
        for after, _ in starts_of(game, new) if new in begins else ():
            note(things, after, "start", new)
        for one in game.one_cell():
            if one.qualifies(new):
                note(things, becomes_of(game, one, new), "one_cell", new)
    ordered = sorted(things, key=lambda thing: not game.walkable(thing))  # stable: walkable first
    _check_ticks(game, ordered)
    n_walkable = sum(bool(game.walkable(thing)) for thing in ordered)
    return Symbols(memory, begins, tuple(ordered), tuple(items), hands, placed, intents, n_walkable)


def _too_large(
    game: Game,
    things: list[Thing],
    n_items: int,
    most_items: int,
    hook: str,
    about: tuple[Any, ...],
    new: Any,
) -> str:
    # A tuple without a `kind` of its own is of its first entry's kind, as far as this count goes.
    kinds = Counter(thing[0] if isinstance(thing, tuple) else game.kind(thing) for thing in things if thing)
    most = ", ".join(f"{n:,} of {kind}" for kind, n in kinds.most_common(3))
    items = several(n_items, "item")
    return (
        f"{type(game).__name__} has more than {len(things):,} things ({most}) and {items}, but only "
        f"{MAX_SYMBOLS:,} things, {most_items:,} items and {MAX_ROWS:,} pairs fit, and "
        f"{type(game).__name__}.{hook} adds {brief(new)} for {' and '.join(map(brief, about))}: "
        "shorten a clock or drop a recipe."
    )


def _check_ticks(game: Game, things: list[Thing]) -> None:
    for thing in filter(game.walkable, things):
        changes = [("tick", after) for after, _ in itertools.chain(*ticks_of(game, thing))]
        cells = [one for one in game.one_cell() if one.qualifies(thing)]
        changes += [("one_cell", becomes_of(game, one, thing)) for one in cells]
        for hook, after in changes:
            if not game.walkable(after):
                raise ValueError(
                    f"{type(game).__name__}.{hook} turns {thing!r}, where an agent may stand, into "
                    f"{after!r}, where none can: let an interaction close it."
                )
