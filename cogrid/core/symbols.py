"""The closure: every thing and item that can ever occur, numbered, and the game's rules over them."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from cogrid.core.actions import INTERACT, NOTHING, TOGGLE
from cogrid.core.game import Game, Item, Outcome, Thing

MAX_SYMBOLS = 2**15 - 1
MAX_ROWS = 2**24


@dataclass(frozen=True, eq=False)
class Symbols:
    """Numbers for all that can occur. Walkable things come first; item 0 is the empty hand."""

    game: Game
    things: tuple[Thing, ...]
    items: tuple[Item, ...]
    intents: tuple[int, ...]  # the intents that can do something, NOTHING first
    n_walkable: int

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
    def rows(self) -> tuple[tuple[Item, Thing, Outcome], ...]:
        """Every line of the rule tables, ordered by intent, item and thing."""
        return tuple(
            (held, thing, outcome_of(self.game, intent, held, thing))
            for intent in self.intents
            for held in self.items
            for thing in self.things
        )

    def reachable(self, thing: Thing) -> frozenset[Thing]:
        """Everything that a cell can become when it begins as this thing."""
        return self._reach[thing]

    @functools.cached_property
    def _reach(self) -> dict[Thing, frozenset[Thing]]:
        follow: dict[Thing, set[Thing]] = {thing: {self.game.tick(thing)} for thing in self.things}
        for _, thing, outcome in self.rows:
            follow[thing].add(outcome.thing)
        return {thing: frozenset(_flood(thing, follow.__getitem__)) for thing in self.things}


def _flood(start: Thing, follow: Callable[[Thing], set[Thing]]) -> set[Thing]:
    found, todo = {start}, [start]
    while todo:
        new = follow(todo.pop()) - found
        found |= new
        todo += new
    return found


def outcome_of(game: Game, intent: int, held: Item, thing: Thing) -> Outcome:
    """The game's answer, with "nothing happens" spelled out."""
    answer = None
    if intent == INTERACT:
        answer = game.interact(held, thing)
    elif intent == TOGGLE:
        answer = game.toggle(held, thing)
    if answer is None:
        return Outcome(held, thing, "")
    if not isinstance(answer, Outcome) or not answer.verb:
        raise TypeError(
            f"{type(game).__name__} answers {answer!r} for hand {held!r} and thing {thing!r}: "
            "an interaction returns None or an Outcome with a verb."
        )
    return answer


@functools.lru_cache(maxsize=256)
def close(game: Game, letters: frozenset[str]) -> Symbols:
    """The closure of the game's rules over the letters' things and an empty hand."""
    extra = game.scattered()
    start = [game.legend[letter] for letter in sorted(letters)] + ([extra[0]] if extra else [])
    things: dict[Thing, None] = dict.fromkeys(start)
    items: dict[Item, None] = {None: None}
    intents = [NOTHING, INTERACT]
    if type(game).toggle is not Game.toggle:
        intents.append(TOGGLE)
    done_things, done_items = 0, 0
    while (done_things, done_items) != (len(things), len(items)):
        old_things, old_items = done_things, done_items
        now_things, now_items = list(things), list(items)
        done_things, done_items = len(now_things), len(now_items)
        for t, thing in enumerate(now_things):
            if t >= old_things:
                things[game.tick(thing)] = None
            for held in now_items if t >= old_things else now_items[old_items:]:
                for intent in intents[1:]:
                    outcome = outcome_of(game, intent, held, thing)
                    things[outcome.thing] = None
                    items[outcome.held] = None
        _check_size(game, list(things), len(items))
    ordered = sorted(things, key=lambda thing: not game.walkable(thing))  # stable: walkable first
    _check_ticks(game, ordered)
    n_walkable = sum(map(game.walkable, ordered))
    return Symbols(game, tuple(ordered), tuple(items), tuple(intents), n_walkable)


def _check_size(game: Game, things: list[Thing], n_items: int) -> None:
    if len(things) > MAX_SYMBOLS or len(things) * n_items > MAX_ROWS:
        most = ", ".join(f"{n} of {kind}" for kind, n in Counter(map(game.kind, things)).most_common(3))
        raise ValueError(
            f"{type(game).__name__} has more than {len(things):,} things ({most}) and {n_items} items: "
            f"at most {MAX_SYMBOLS:,} things and {MAX_ROWS:,} pairs fit, so shorten a clock or drop a recipe."
        )


def _check_ticks(game: Game, things: list[Thing]) -> None:
    for thing in things:
        after = game.tick(thing)
        if game.walkable(thing) and not game.walkable(after):
            raise ValueError(
                f"{type(game).__name__}.tick turns {thing!r}, where an agent may stand, into {after!r}, "
                "where none can: let an interaction close it."
            )
