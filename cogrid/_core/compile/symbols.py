"""Symbols: numbers for every thing and item that can ever occur, and the game's rules over them."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from cogrid._core.author.chance import Branch, branches
from cogrid._core.author.game import Game
from cogrid._core.author.values import Event, Item, Meeting, Outcome, Thing
from cogrid._core.compile.answers import Answers
from cogrid._core.compile.asking import (
    PlacedThings,
    acts,
    becomes_of,
    hand_ticks_of,
    items_asked,
    joint_of,
    meetings_of,
    outcomes_of,
    placed_of,
    starts_of,
    ticks_of,
)
from cogrid._core.compile.intents import intents_of, rule_name
from cogrid._core.compile.memory import Memory, Waiting, memory_of
from cogrid._core.compile.odds import Odds, odds
from cogrid._io.messages import brief, several

T = TypeVar("T")

MAX_SYMBOLS = 2**15 - 1
MAX_ROWS = 2**24
MAX_ITEMS, MAX_ITEMS_MEETING = 2**13 - 1, 2**9  # where agents meet, every pair of items is tried


class RuleRow(NamedTuple):
    """What one intent does with a thing, for a hand: a row of the rule tables."""

    held: Item
    thing: Thing
    made: Outcome


class MeetingRow(NamedTuple):
    """The same where an agent acts on another."""

    held: Item
    other: Item
    made: Meeting


@dataclass(frozen=True, eq=False)
class Symbols:
    """Numbers for everything that can occur. Walkable things come first; item 0 is the empty hand."""

    memory: Memory  # of the game
    begins: tuple[Thing, ...]  # the letters' things
    things: tuple[Thing, ...]
    items: tuple[Item, ...]
    hands: tuple[tuple[Branch, ...], ...]  # for every agent, what it holds when an episode starts
    placed: tuple[PlacedThings, ...]  # what reset places
    intents: tuple[int, ...]  # the intents that can do something, NOTHING first
    n_walkable: int
    has_empty: bool  # whether a hand can be empty

    @property
    def answers(self) -> Answers:
        """The game and its parts, which are asked what is not known yet."""
        return self.memory.open

    @property
    def game(self) -> Game:
        """The game, which is asked what is not known yet."""
        return self.answers.game

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

    def of_hands(self, function: Callable[[Item], T]) -> list[T]:
        """A function of every item; where no hand can be empty, a wrong answer about None is ignored."""
        if self.has_empty:
            return [function(item) for item in self.items]
        others = [function(item) for item in self.items[1:]]
        try:
            first = function(None)
        except Exception:  # an author's function may raise anything
            first = others[0]  # never read
        return [first if type(first) is type(others[0]) else others[0], *others]

    def of_event(self, function: Callable[..., Any], held: Item, thing: Any, made: Outcome | Meeting) -> Any:
        """A function of what a row makes happen; 0 for an error where no hand can be empty, as above."""
        try:
            return function(Event(made.verb, held, thing, made.value))
        except Exception:
            if self.has_empty or held is not None:
                raise
            return 0

    @functools.cached_property
    def outcomes(self) -> Odds:
        """What every intent does with every item and thing, in this order, branch by branch."""
        return odds(
            [
                _outcomes(self.answers, intent, held, thing)
                for intent in self.intents
                for held in self.items
                for thing in self.things
            ]
        )

    @functools.cached_property
    def rows(self) -> tuple[RuleRow, ...]:
        """Every row of the rule tables, ordered by branch, intent, item and thing."""
        pairs = [(held, thing) for held in self.items for thing in self.things]
        blocks = len(self.outcomes.values) // len(pairs)
        return tuple(
            RuleRow(held, thing, outcome)
            for (held, thing), outcome in zip(pairs * blocks, self.outcomes.values, strict=True)
        )

    @functools.cached_property
    def meetings(self) -> Odds | None:
        """What every intent does with every pair of items, branch by branch; None without meetings."""
        if not self.answers.meets:
            return None
        pairs = [(mine, theirs) for mine in self.items for theirs in self.items]
        return odds([_meetings(self.answers, intent, *pair) for intent in self.intents for pair in pairs])

    @functools.cached_property
    def meet_rows(self) -> tuple[MeetingRow, ...]:
        """The rows of the rule tables for meetings, ordered by branch, intent, item and the other's item."""
        if self.meetings is None:
            return ()
        pairs = [(mine, theirs) for mine in self.items for theirs in self.items]
        blocks = len(self.meetings.values) // len(pairs)
        return tuple(
            MeetingRow(mine, theirs, meeting)
            for (mine, theirs), meeting in zip(pairs * blocks, self.meetings.values, strict=True)
        )

    @functools.cached_property
    def joint_rows(self) -> tuple[RuleRow, ...]:
        """The rows of the rule tables for joint work, ordered by total strength, item and thing."""
        answers = self.answers
        if (joint := answers.joint) is None:
            return ()
        totals = range(joint.most + 1)
        cases = [(total, held, thing) for total in totals for held in self.items for thing in self.things]
        rows = tuple(
            RuleRow(held, thing, _joint(answers, held, total, thing)) for total, held, thing in cases
        )
        left: dict[tuple[int, Thing], Thing] = {}
        able = self.of_hands(lambda held: bool(joint.strength_of(held)) and acts(answers, held))
        works_at_all = dict(zip(self.items, able, strict=True))
        for (total, held, thing), (_, _, outcome) in zip(cases, rows, strict=True):
            if self.game.walkable(thing) and not self.game.walkable(outcome.thing):
                raise ValueError(
                    f"{joint.work.__qualname__} turns {thing!r}, where an agent may stand, into "
                    f"{outcome.thing!r}, where none can: let an interaction close it."
                )
            works = total and works_at_all[held] and (self.has_empty or held is not None)
            if works and left.setdefault((total, thing), outcome.thing) != outcome.thing:
                raise ValueError(
                    f"{joint.work.__qualname__} leaves {outcome.thing!r} for hand {held!r} and "
                    f"{left[total, thing]!r} for another, of {thing!r} by strength {total}: leave the same."
                )
        return rows

    @functools.cached_property
    def lines(self) -> tuple[RuleRow | MeetingRow, ...]:
        """All rows: of single agents and things, of joint work, of meetings."""
        return (*self.rows, *self.joint_rows, *self.meet_rows)

    @functools.cached_property
    def ticks(self) -> Odds:
        """What every thing becomes by itself, ordered by the count near it and the thing."""
        by_thing = [ticks_of(self.answers, thing) for thing in self.things]
        return odds([answers[count] for count in range(len(by_thing[0])) for answers in by_thing])

    @functools.cached_property
    def hand_ticks(self) -> Odds:
        """What every item becomes by itself in a hand."""
        return odds(self.hand_ticks_of)

    @functools.cached_property
    def hand_ticks_of(self) -> list[tuple[Branch, ...]]:
        """The same, item by item."""
        return [_hand_ticks(self.answers, item) for item in self.items]

    @functools.cached_property
    def starts(self) -> Odds:
        """What every letter's thing is when an episode starts; other things stay what they are."""
        return odds([starts_of(self.answers, t) if t in self.begins else branches(t) for t in self.things])

    @functools.cached_property
    def placed_things(self) -> frozenset[Thing]:
        """Everything that the things placed by reset can become."""
        first = {thing for _, cases in self.placed for case in cases for thing, _ in case}
        return frozenset().union(*map(self.reachable, first))

    def reachable(self, thing: Thing) -> frozenset[Thing]:
        """Everything that a cell can become if it starts as this thing."""
        known, todo = {thing}, [thing]
        while todo:
            new = self._next[todo.pop()] - known
            known |= new
            todo += new
        return frozenset(known)

    @functools.cached_property
    def _next(self) -> dict[Thing, set[Thing]]:
        follow: dict[Thing, set[Thing]] = {thing: set() for thing in self.things}
        cases = len(self.ticks.values) // len(self.things)
        for thing, after in zip(self.things * cases, self.ticks.values, strict=True):
            follow[thing].add(after)
        for _, thing, outcome in (*self.rows, *self.joint_rows):
            follow[thing].add(outcome.thing)
        for thing in self.things:
            changes = (change for change in self.answers.one_cell if change.qualifies(thing))
            follow[thing].update(becomes_of(change, thing) for change in changes)
        return follow


@functools.lru_cache(maxsize=256)
def close(game: Game, letters: frozenset[str], n_agents: int) -> Symbols:
    """All that the rules can reach from the letters' things, the agents' first hands and an empty hand."""
    memory = memory_of(game)
    answers, wait = memory.open, Waiting(memory)
    intents, scattered = intents_of(answers), answers.scattered
    begins = tuple(game.legend[letter] for letter in sorted(letters))
    # A dict keeps the order of discovery.
    things: dict[Thing, None] = dict.fromkeys([*begins, *([scattered.thing] if scattered else [])])
    hands = tuple(items_asked(answers.game.hand, agent=agent) for agent in range(n_agents))
    placed = tuple(placed_of(one, hands) for one in answers.placed)
    things |= dict.fromkeys(thing for _, cases in placed for case in cases for thing, _ in case)
    items: dict[Item, None] = dict.fromkeys([None, *(item for hand in hands for item, _ in hand)])
    met_things: list[Thing] = []  # every pair is tried once: when the later of the two is found
    met_items: list[Item] = []
    emptied = [""] if None in (item for hand in hands for item, _ in hand) else []  # rules that empty a hand
    errors: list[Exception] = []  # of questions about the empty hand, which may never occur

    def meet(held: Item, thing: Thing) -> None:
        for intent in intents[1:]:
            for outcome, _ in _outcomes(answers, intent, held, thing, errors):
                about = (rule_name(intent), held, thing)
                note(things, outcome.thing, *about)
                note(items, outcome.held, *about)
        for total in range(1, answers.joint.most + 1) if answers.joint else ():
            outcome = _joint(answers, held, total, thing, errors)
            note(things, outcome.thing, "Joint.work", held, thing)
            note(items, outcome.held, "Joint.work", held, thing)

    def note(known: dict[Any, None], new: Any, rule: str, *about: Any) -> None:
        if new is None and None not in about:
            emptied.append(rule)
        if new not in known:
            known[new] = None
            todo.append((known is items, new))
            made[known is items] = (rule, about, new)

    #: Whether it is an item -> the call that made the last one.
    made: dict[bool, tuple[str, tuple[Any, ...], Any]] = {}

    most_items = MAX_ITEMS_MEETING if answers.meets else MAX_ITEMS
    todo = [*((True, item) for item in items), *((False, thing) for thing in things)]
    for is_item, new in todo:  # grows during the loop
        wait()
        pairs = len(things) * len(items)
        if len(things) > MAX_SYMBOLS or len(items) > most_items or pairs > MAX_ROWS:
            grew = made.get(len(items) > len(things)) or next(iter(made.values()))
            raise ValueError(_too_large(answers.game, list(things), len(items), most_items, *grew))
        if is_item:
            met_items.append(new)
            for thing in met_things:
                meet(new, thing)
            for after, _ in _hand_ticks(answers, new, errors):
                note(items, after, "Hands.tick", new)
            others = met_items if answers.meets else ()
            for pair in [pair for item in others for pair in ((new, item), (item, new))]:
                for meeting, _ in itertools.chain(
                    *(_meetings(answers, intent, *pair, errors) for intent in intents)
                ):
                    note(items, meeting.held, "Act.agent", *pair)
                    note(items, meeting.other, "Act.agent", *pair)
            continue
        met_things.append(new)
        for held in met_items:
            meet(held, new)
        for after, _ in itertools.chain(*ticks_of(answers, new)):
            note(things, after, "tick" if answers.near is None else "Near.tick", new)
        for after, _ in starts_of(answers, new) if new in begins else ():
            note(things, after, "start", new)
        for one in answers.one_cell:
            if one.qualifies(new):
                note(things, becomes_of(one, new), "OneCell.becomes", new)
    if emptied and errors:
        raise errors[0]
    ordered = sorted(things, key=lambda thing: not answers.game.walkable(thing))  # stable: walkable first
    _check_ticks(answers, ordered)
    n_walkable = sum(bool(answers.game.walkable(thing)) for thing in ordered)
    return Symbols(
        memory,
        begins,
        tuple(ordered),
        tuple(items),
        hands,
        placed,
        intents,
        n_walkable,
        has_empty=bool(emptied),
    )


def _or_nothing(
    question: Callable[[], T], hands: tuple[Item, ...], nothing: T, errors: list[Exception] | None
) -> T:
    """The answer to a question; about an empty hand, an error is noted instead of raised.

    Rules are asked again after `close`, which has raised such errors where a hand can be empty.
    """
    if None not in hands:
        return question()
    try:
        return question()
    except Exception as error:  # an author's function may raise anything
        if errors is not None:
            errors.append(error)
        return nothing


def _outcomes(
    answers: Answers, intent: int, held: Item, thing: Thing, errors: list[Exception] | None = None
) -> tuple[Branch, ...]:
    nothing = branches(Outcome(held, thing, ""))
    return _or_nothing(lambda: outcomes_of(answers, intent, held, thing), (held,), nothing, errors)


def _joint(
    answers: Answers, held: Item, total: int, thing: Thing, errors: list[Exception] | None = None
) -> Outcome:
    nothing = Outcome(held, thing, "")
    return _or_nothing(lambda: joint_of(answers, held, total, thing), (held,), nothing, errors)


def _meetings(
    answers: Answers, intent: int, held: Item, other: Item, errors: list[Exception] | None = None
) -> tuple[Branch, ...]:
    nothing = branches(Meeting(held, other, ""))
    return _or_nothing(lambda: meetings_of(answers, intent, held, other), (held, other), nothing, errors)


def _hand_ticks(answers: Answers, held: Item, errors: list[Exception] | None = None) -> tuple[Branch, ...]:
    return _or_nothing(lambda: hand_ticks_of(answers, held), (held,), branches(held), errors)


def _too_large(
    game: Game,
    things: list[Thing],
    n_items: int,
    most_items: int,
    rule: str,
    about: tuple[Any, ...],
    new: Any,
) -> str:
    kinds = Counter(game.kind(thing) for thing in things if thing)
    most = ", ".join(f"{n:,} of {kind}" for kind, n in kinds.most_common(3))
    items, owner = several(n_items, "item"), type(game).__name__
    function = f"{rule} of {owner}" if "." in rule else f"{owner}.{rule}"
    return (
        f"{owner} has more than {len(things):,} things ({most}) and {items}, but only "
        f"{MAX_SYMBOLS:,} things, {most_items:,} items and {MAX_ROWS:,} pairs fit, and "
        f"{function} adds {brief(new)} for {' and '.join(map(brief, about))}: "
        "shorten a clock or drop a recipe."
    )


def _check_ticks(answers: Answers, things: list[Thing]) -> None:
    near, game = answers.near, answers.game
    tick = game.tick if near is None else near.tick
    for thing in filter(game.walkable, things):
        changes: list[tuple[Any, Thing]] = [
            (tick, after) for after, _ in itertools.chain(*ticks_of(answers, thing))
        ]
        cells = [change for change in answers.one_cell if change.qualifies(thing)]
        changes += [(change.becomes, becomes_of(change, thing)) for change in cells]
        for function, after in changes:
            if not game.walkable(after):
                raise ValueError(
                    f"{function.__qualname__} turns {thing!r}, where an agent may stand, into "
                    f"{after!r}, where none can: let an interaction close it."
                )
