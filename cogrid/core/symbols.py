"""The closure: every thing and item that can ever occur, numbered, and the game's rules over them."""

from __future__ import annotations

import functools
import math
from collections import Counter
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
        found, todo = {thing}, [thing]
        while todo:
            new = self._next[todo.pop()] - found
            found |= new
            todo += new
        return frozenset(found)

    @functools.cached_property
    def _next(self) -> dict[Thing, set[Thing]]:
        follow: dict[Thing, set[Thing]] = {thing: {self.game.tick(thing)} for thing in self.things}
        for _, thing, outcome in self.rows:
            follow[thing].add(outcome.thing)
        return follow


def outcome_of(game: Game, intent: int, held: Item, thing: Thing) -> Outcome:
    """The game's answer, with "nothing happens" spelled out."""
    answer = None
    try:
        if intent == INTERACT:
            answer = game.interact(held, thing)
        elif intent == TOGGLE:
            answer = game.toggle(held, thing)
    except Exception as error:  # the author's own, whatever it is: said where, and raised again
        error.add_note(f"{type(game).__name__} was asked about hand {held!r} and thing {thing!r}")
        raise
    if answer is None:
        return Outcome(held, thing, "")
    if not isinstance(answer, Outcome) or not answer.verb or not math.isfinite(answer.value):
        raise TypeError(
            f"{type(game).__name__} answers {answer!r} for hand {held!r} and thing {thing!r}: "
            "an interaction returns None or an Outcome with a verb and a finite value."
        )
    return answer


@functools.lru_cache(maxsize=256)
def close(game: Game, letters: frozenset[str]) -> Symbols:
    """The closure of the game's rules over the letters' things and an empty hand."""
    intents = [NOTHING, INTERACT]
    if type(game).toggle is not Game.toggle:
        intents.append(TOGGLE)
    scattered = game.scattered()
    first = [game.legend[letter] for letter in sorted(letters)] + ([scattered[0]] if scattered else [])
    things: dict[Thing, None] = dict.fromkeys(first)  # a dict keeps the order in which they were found
    items: dict[Item, None] = {None: None}
    met_things: list[Thing] = []  # every pair is tried once: when the later of the two is met
    met_items: list[Item] = []

    def meet(held: Item, thing: Thing) -> None:
        for intent in intents[1:]:
            outcome = outcome_of(game, intent, held, thing)
            for found, kind in ((things, outcome.thing), (items, outcome.held)):
                if kind not in found:
                    found[kind] = None
                    todo.append((found is items, kind))

    todo = [(True, None), *((False, thing) for thing in things)]
    for is_item, new in todo:  # grows while it is walked
        if len(things) > MAX_SYMBOLS or len(things) * len(items) > MAX_ROWS:
            raise ValueError(_too_large(game, list(things), len(items)))
        if is_item:
            met_items.append(new)
            for thing in met_things:
                meet(new, thing)
            continue
        met_things.append(new)
        for held in met_items:
            meet(held, new)
        after = game.tick(new)
        if after not in things:
            things[after] = None
            todo.append((False, after))
    ordered = sorted(things, key=lambda thing: not game.walkable(thing))  # stable: walkable first
    _check_ticks(game, ordered)
    return Symbols(game, tuple(ordered), tuple(items), tuple(intents), sum(map(game.walkable, ordered)))


def _too_large(game: Game, things: list[Thing], n_items: int) -> str:
    most = ", ".join(f"{n} of {kind}" for kind, n in Counter(map(game.kind, things)).most_common(3))
    return (
        f"{type(game).__name__} has more than {len(things):,} things ({most}) and {n_items} items: at most "
        f"{MAX_SYMBOLS:,} things and {MAX_ROWS:,} pairs fit, so shorten a clock or drop a recipe."
    )


def _check_ticks(game: Game, things: list[Thing]) -> None:
    for thing in things:
        after = game.tick(thing)
        if game.walkable(thing) and not game.walkable(after):
            raise ValueError(
                f"{type(game).__name__}.tick turns {thing!r}, where an agent may stand, into {after!r}, "
                "where none can: let an interaction close it."
            )
