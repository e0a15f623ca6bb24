"""The closure: every thing and item that can ever occur, numbered, and the game's rules over them."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cogrid.core.actions import ENTER, FURTHER, INTERACT, NOTHING, TOGGLE
from cogrid.core.chance import Branch, Odds, branches, odds
from cogrid.core.game import Game, Item, Outcome, Thing

MAX_SYMBOLS = 2**15 - 1
MAX_ROWS = 2**24


@dataclass(frozen=True, eq=False)
class Symbols:
    """Numbers for all that can occur. Walkable things come first; item 0 is the empty hand."""

    game: Game
    begins: tuple[Thing, ...]  # the letters' things
    things: tuple[Thing, ...]
    items: tuple[Item, ...]
    hands: tuple[tuple[Branch, ...], ...]  # of every agent, what it holds when an episode begins
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
        """Every line of the rule tables, ordered by branch, intent, item and thing."""
        pairs = [(held, thing) for held in self.items for thing in self.things]
        blocks = len(self.outcomes.values) // len(pairs)
        return tuple(
            (held, thing, outcome)
            for (held, thing), outcome in zip(pairs * blocks, self.outcomes.values, strict=True)
        )

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
        """What every letter's thing is when an episode begins; other things stay what they are."""
        return odds([starts_of(self.game, t) if t in self.begins else branches(t) for t in self.things])

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
        follow: dict[Thing, set[Thing]] = {thing: set() for thing in self.things}
        cases = len(self.ticks.values) // len(self.things)
        for thing, after in zip(self.things * cases, self.ticks.values, strict=True):
            follow[thing].add(after)
        for _, thing, outcome in self.rows:
            follow[thing].add(outcome.thing)
        for thing in self.things:
            follow[thing].update(one.becomes(thing) for one in self.game.one_cell() if one.qualifies(thing))
        return follow


def asked(game: Game, hook: Callable[..., Any], **about: Any) -> tuple[Branch, ...]:
    """The branches of the game's answer; an error of the author's own says what was asked."""
    try:
        answer = hook(*about.values())
    except Exception as error:
        words = " and ".join(f"{name} {value!r}" for name, value in about.items())
        error.add_note(f"{type(game).__name__}.{hook.__name__} was asked about {words}")
        raise
    return branches(answer)


def ticks_of(game: Game, thing: Thing) -> tuple[tuple[Branch, ...], ...]:
    """What a thing becomes by itself, for each count of what is near it; there is one count where none is."""
    if (near := game.near()) is None:
        return (asked(game, game.tick, thing=thing),)
    return tuple(asked(game, game.tick_near, thing=thing, count=count) for count in range(near.most + 1))


def hand_ticks_of(game: Game, held: Item) -> tuple[Branch, ...]:
    """What a hand becomes by itself."""
    return asked(game, game.tick_hand, hand=held)


def starts_of(game: Game, thing: Thing) -> tuple[Branch, ...]:
    """What a letter's thing is when an episode begins."""
    return asked(game, game.start, thing=thing)


def outcomes_of(game: Game, intent: int, held: Item, thing: Thing) -> tuple[Branch, ...]:
    """The game's answers, with "nothing happens" spelled out."""
    if intent == NOTHING or (intent == ENTER and not game.walkable(thing)):
        return branches(Outcome(held, thing, ""))
    hook: Callable[..., Any] = game.act
    about = {"hand": held, "thing": thing}
    if intent < FURTHER:
        hook = {INTERACT: game.interact, TOGGLE: game.toggle, ENTER: game.enter}[intent]
    else:
        about = {"action": game.actions[intent - FURTHER]} | about
    answers = asked(game, hook, **about)
    return tuple((_checked(game, hook, held, thing, answer), below) for answer, below in answers)


def _checked(game: Game, hook: Callable[..., Any], held: Item, thing: Thing, answer: Any) -> Outcome:
    if answer is None:
        return Outcome(held, thing, "")
    if not isinstance(answer, Outcome) or not answer.verb or not math.isfinite(answer.value):
        raise TypeError(
            f"{type(game).__name__}.{hook.__name__} answers {answer!r} for hand {held!r} and thing "
            f"{thing!r}: an interaction returns None or an Outcome with a verb and a finite value."
        )
    if hook == game.enter and not game.walkable(answer.thing):
        raise ValueError(
            f"{type(game).__name__}.enter leaves {answer.thing!r} under hand {held!r} on {thing!r}: "
            "leave something that an agent can stand on."
        )
    return answer


def intents_of(game: Game) -> tuple[int, ...]:
    """What can be asked in this game."""
    written = [(TOGGLE, type(game).toggle is not Game.toggle), (ENTER, type(game).enter is not Game.enter)]
    further = (FURTHER + k for k in range(len(game.actions)))
    return (NOTHING, INTERACT, *(intent for intent, is_written in written if is_written), *further)


@functools.lru_cache(maxsize=256)
def close(game: Game, letters: frozenset[str], n_agents: int) -> Symbols:
    """The closure of the game's rules over the letters' things, the agents' first hands and an empty hand."""
    intents = intents_of(game)
    scattered, begins = game.scattered(), tuple(game.legend[letter] for letter in sorted(letters))
    # A dict keeps the order in which they were found.
    things: dict[Thing, None] = dict.fromkeys([*begins, *([scattered[0]] if scattered else [])])
    hands = tuple(asked(game, game.hand, agent=agent) for agent in range(n_agents))
    items: dict[Item, None] = dict.fromkeys([None, *(item for hand in hands for item, _ in hand)])
    met_things: list[Thing] = []  # every pair is tried once: when the later of the two is met
    met_items: list[Item] = []

    def meet(held: Item, thing: Thing) -> None:
        for intent in intents[1:]:
            for outcome, _ in outcomes_of(game, intent, held, thing):
                note(things, outcome.thing)
                note(items, outcome.held)

    def note(found: dict[Any, None], new: Any) -> None:
        if new not in found:
            found[new] = None
            todo.append((found is items, new))

    todo = [*((True, item) for item in items), *((False, thing) for thing in things)]
    for is_item, new in todo:  # grows while it is walked
        if len(things) > MAX_SYMBOLS or len(things) * len(items) > MAX_ROWS:
            raise ValueError(_too_large(game, list(things), len(items)))
        if is_item:
            met_items.append(new)
            for thing in met_things:
                meet(new, thing)
            for after, _ in hand_ticks_of(game, new):
                note(items, after)
            continue
        met_things.append(new)
        for held in met_items:
            meet(held, new)
        for after, _ in (
            *itertools.chain(*ticks_of(game, new)),
            *(starts_of(game, new) if new in begins else ()),
        ):
            note(things, after)
        for one in game.one_cell():
            if one.qualifies(new):
                note(things, one.becomes(new))
    ordered = sorted(things, key=lambda thing: not game.walkable(thing))  # stable: walkable first
    _check_ticks(game, ordered)
    n_walkable = sum(map(game.walkable, ordered))
    return Symbols(game, begins, tuple(ordered), tuple(items), hands, intents, n_walkable)


def _too_large(game: Game, things: list[Thing], n_items: int) -> str:
    most = ", ".join(f"{n} of {kind}" for kind, n in Counter(map(game.kind, things)).most_common(3))
    return (
        f"{type(game).__name__} has more than {len(things):,} things ({most}) and {n_items} items: at most "
        f"{MAX_SYMBOLS:,} things and {MAX_ROWS:,} pairs fit, so shorten a clock or drop a recipe."
    )


def _check_ticks(game: Game, things: list[Thing]) -> None:
    for thing in filter(game.walkable, things):
        changes = [("tick", after) for after, _ in itertools.chain(*ticks_of(game, thing))]
        changes += [("one_cell", one.becomes(thing)) for one in game.one_cell() if one.qualifies(thing)]
        for hook, after in changes:
            if not game.walkable(after):
                raise ValueError(
                    f"{type(game).__name__}.{hook} turns {thing!r}, where an agent may stand, into "
                    f"{after!r}, where none can: let an interaction close it."
                )
