"""Random games: small alphabets, rules that are tables drawn from a seed, hooks switched on at random."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

from cogrid._core.compile.actions import ACTION_SETS
from cogrid.author import (
    Act,
    Aim,
    AnyReward,
    Away,
    BySlot,
    Chance,
    Counted,
    Ends,
    Event,
    Game,
    Generated,
    Hands,
    Joint,
    Layout,
    Meeting,
    Moving,
    Near,
    OneCell,
    Outcome,
    Part,
    Placed,
    Price,
    Replies,
    Reply,
    Reward,
    Scattered,
    Slot,
    Spec,
    Tally,
)

VERBS = ("take", "make", "swap", "drop")
ITEMS = (None, "x", "y", "z")
LETTERS = "abcd"
CHANGES = ("pick", "draws", "repeat", "beside", "shifted", "settle", "below", "full", "start")
OWN_ACTIONS = ("pull", "push")
JOINT = "heave"

Needs = tuple[tuple[str, ...], tuple[str, ...]]
#: What can be switched on, and what each needs: all of the first, one of the second. Worlds are drawn from
#: these names and their order, so both stay: a rule that is new to the language goes into `LATER`.
EARLIER: Mapping[str, Needs] = MappingProxyType(
    {
        "interact": ((), ()),
        "toggle": ((), ()),
        "act": ((), ()),
        "join": ((), ()),
        "strength": (("join",), ()),
        "meet": ((), ()),
        "aim": ((), ("interact", "toggle", "act", "join", "meet")),
        "enter": ((), ()),
        "tick": ((), ()),
        "near": ((), ("tick", "tick_near")),
        "tick_near": (("near",), ()),
        "tick_hand": ((), ()),
        "hand": ((), ()),
        "can_move": ((), ()),
        "can_act": ((), ()),
        "away": ((), ()),
        "spawn": (("away",), ()),
        "one_cell": ((), ()),
        "slots": ((), ()),
        "own_slots": ((), ()),
        "reply": ((), ("slots", "own_slots")),
        "rank": (("reply",), ()),
        "tick_slot": ((), ("slots", "own_slots")),
        "finished": ((), ()),
        "remaining": ((), ()),
        "final_verbs": ((), ("interact", "toggle", "act", "join", "meet", "enter")),
        "moves_first": ((), ()),
        "swaps": ((), ()),
        "walkable": ((), ()),
        "closing": ((), ("interact", "toggle", "act")),  # an action may close what agents can stand on
        "start": ((), ()),
        "placed": ((), ()),
        "scattered": ((), ()),
        "layouts": ((), ()),  # several boards
        "any_board": ((), ()),  # boards are data
        "generate": ((), ()),
        "random_start": ((), ()),
        "Chance": ((), ()),
        "Reward": ((), ()),
        "team": (("Reward",), ()),
        "shaping": (("Reward",), ()),
        "supply": (("Reward",), ()),
        "Price": ((), ()),
        "Tally": ((), ()),
        "Replies": ((), ("reply", "tick_slot")),
        "BySlot": ((), ("slots", "own_slots")),
    }
)
#: What is drawn last, so that a seed's world stays the same; only in worlds that have what it needs.
LATER: Mapping[str, Needs] = MappingProxyType(
    {
        "in_hands": ((), ()),
        "in_slots": ((), ("slots", "own_slots")),
        "other": (("Reward", "meet"), ()),
        "to": (("reply",), ()),
    }
)
HOOKS: Mapping[str, Needs] = MappingProxyType({**EARLIER, **LATER})


class World(NamedTuple):
    """A random game on a random board."""

    seed: int
    spec: Spec
    hooks: frozenset[str]  # those that are switched on
    tables: dict[str, Any]  # what the rules answer, for reports
    given: tuple[str, ...] | None  # a board to reset to, padded, where boards are data


def generate(seed: int) -> World:
    """The world of a seed; a ValueError of cogrid's is its refusal."""
    return _Writer(seed).world()


def chosen(random: Random) -> frozenset[str]:
    """Some of the hooks, with those that they need."""
    often = random.choice((0.12, 0.4, 0.65))  # any two hooks are in 20 of 300 worlds, or more
    found = {hook for hook in EARLIER if random.random() < often}
    if not found & {"interact", "toggle", "act", "join", "meet", "enter"}:
        found.add("interact")
    grew = True
    while grew:
        grew = False
        for hook in sorted(found):
            needs, either = EARLIER[hook]
            more = {*needs} - found
            if either and not found & {*either}:
                more.add(random.choice(either))
            grew, found = grew or bool(more), found | more
    return frozenset(found)


def added(random: Random, hooks: frozenset[str]) -> frozenset[str]:
    """Most of the later hooks that a world with these can have."""
    can_be = {
        hook
        for hook, (needs, either) in LATER.items()
        if hooks >= {*needs} and (not either or hooks & {*either})
    }
    return frozenset(hook for hook in LATER if hook in can_be and random.random() < 0.7)


class _Writer:
    """Draws the tables of one world, and a class with the hooks and parts that look them up."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, Random(f"world {seed}")
        self.hooks = chosen(self.random)
        self.n_agents = self.random.choice((1, 2, 2, 2, 3, 3, 4))
        self.items = ITEMS[: self.random.randint(2, 4)]
        self.action_set = self.random.choice(
            ("cardinal", "cardinal", "cardinal", "rotation", "rotation", "moves")
        )
        if self.hooks & {"interact", "toggle"} and self.action_set == "moves":
            self.action_set = "cardinal"
        own = OWN_ACTIONS[: self.random.randint(1, 2)] if "act" in self.hooks else ()
        self.own_actions = own + ((JOINT,) if "join" in self.hooks else ())
        self.action_names = (*(a.name for a in ACTION_SETS[self.action_set]), *self.own_actions)
        extra = LETTERS[: self.random.randint(1, 4)]
        #: Where agents can stand, and what an edge may hold, which never opens.
        self.walkable, self.edge = {"floor"}, {"wall"}
        for letter in extra:
            if "walkable" in self.hooks and self.random.random() < 0.5:
                self.walkable.add(letter)
            elif self.random.random() < 0.3:
                self.edge.add(letter)
        self.things = ("floor", "wall", *extra)
        self.has_dots = self.random.random() < 0.2  # another letter for floor
        self.least = 5 if self.is_on("placed") else 4  # cells a side
        self.tables: dict[str, Any] = {}
        self.members: dict[str, Any] = {}  # of the class
        #: Fields of the parts: of each action, of each slot, and of parts of which a game has one.
        self.acts: dict[str, dict[str, Any]] = {}
        self.slots: dict[str, dict[str, Any]] = {}
        self.fields: dict[type[Part], dict[str, Any]] = {}
        self.others: list[Part] = []
        self.terms: list[AnyReward] = []

    def world(self) -> World:
        """The game with its board."""
        random = self.random
        self._act()
        self._tick()
        self._hands()
        self._slots()
        self._ends()
        self._rewards()
        self._generate()
        legend = {" ": "floor", "#": "wall"} | {letter: letter for letter in self.things[2:]}
        legend |= {".": "floor"} if self.has_dots else {}
        self.members |= {"legend": legend, "__module__": __name__, "__doc__": f"Random world {self.seed}."}
        spec = Spec(
            self._game(),
            tuple(Layout(f"board {k}", self._board()) for k in range(2 if self.is_on("layouts") else 1)),
            num_agents=self.n_agents,
            max_steps=random.randint(2, 9),
            action_set=self.action_set,
            observation="none",
            any_board=self.is_on("any_board"),
            shaping=random.choice((0.0, 0.5, 1.0, -0.75)) if "shaping" in self.hooks else 0.0,
            random_start=self.is_on("random_start"),
        )
        verbs = sorted({outcome.verb for *_, outcome in spec.symbols.lines} - {""})  # that some rule returns
        if self.is_on("final_verbs"):
            final = random.sample(verbs, min(2, len(verbs)))
            self.tables["final_verbs"] = frozenset(final)
            self.set(Ends, verbs=tuple(final))
        if self.is_on("spawn"):  # every board must have a cell to come back to
            for board in spec.boards:
                things = {
                    thing for letter in "".join(board) for thing in spec.symbols.reachable(legend[letter])
                }
                self.tables["spawn"] |= set() if things & self.tables["spawn"] else {"floor"}
        given = self._given(spec) if self.is_on("any_board") else None
        self.hooks |= added(random, self.hooks)
        self._later(verbs)
        return World(self.seed, dataclasses.replace(spec, game=self._game()), self.hooks, self.tables, given)

    def _game(self) -> Game:
        """A game of what has been drawn so far."""
        parts, terms = self._parts(), tuple(self.terms)
        members = self.members | {"parts": lambda game: parts}
        members |= {"rewards": lambda game: terms} if terms else {}
        game: Any = type("RandomGame", (Game,), members)
        found: Game = game()
        return found

    def _parts(self) -> tuple[Part, ...]:
        """Those that do something; an action of the game's own may do nothing."""
        acts = [
            Joint(name, **fields)
            if name == JOINT
            else Act(name, **({"thing": _nothing} if name in self.own_actions else {}) | fields)
            for name, fields in self.acts.items()
        ]
        slots = [Slot(name, **fields) for name, fields in self.slots.items()]
        parts = (*acts, *slots, *self.others, *(kind(**fields) for kind, fields in self.fields.items()))
        return tuple(part for part in parts if part._has_effect())

    def set(self, kind: type[Part], **fields: Any) -> None:
        """Write fields of a part of which a game has one."""
        self.fields.setdefault(kind, {}).update(fields)

    # Draws

    def is_on(self, hook: str) -> bool:
        """Whether this world writes a hook."""
        return hook in self.hooks

    def number(self) -> float:
        """Points that every sum of a step represents exactly."""
        return self.random.randint(-8, 8) / 4

    def some(self, of: Sequence[Any], often: float = 0.5) -> frozenset[Any]:
        """A part of them."""
        return frozenset(one for one in of if self.random.random() < often)

    def perhaps(self, draw: Callable[[], Any]) -> Any:
        """An answer, or a chance of several."""
        if not self.is_on("Chance") or self.random.random() < 0.6:
            return draw()
        count = self.random.choice((1, 2, 2, 3, 3, 11))  # many bounds are searched in another way
        return Chance(*((draw(), self.random.randint(1, 3)) for _ in range(count)))

    def after(self, thing: str, closes: bool = False) -> str:
        """What a thing may become: an edge never opens, and only actions close what agents stand on."""
        if thing in self.edge:
            return self.random.choice(sorted(self.edge))
        if thing in self.walkable and not (closes and self.is_on("closing")):
            return self.random.choice(sorted(self.walkable))
        return self.random.choice(
            [one for one in self.things if one not in self.edge] * 3 + sorted(self.edge)
        )

    def item(self) -> str | None:
        """Any item, or an empty hand."""
        return self.random.choice(self.items)

    def outcome(self, held: str | None, thing: str, closes: bool = True) -> Outcome:
        """A new hand and a new thing; often the old ones."""
        hand = held if self.random.random() < 0.4 else self.item()
        left = thing if self.random.random() < 0.3 else self.after(thing, closes)
        return Outcome(hand, left, self.random.choice(VERBS), self.number())

    def table(self, hook: str, questions: Sequence[Any], answer: Callable[..., Any]) -> dict[Any, Any]:
        """A rule: an answer, or none, for each of the questions."""
        often = self.random.choice((0.3, 0.6, 0.9))

        def draw(question: Any) -> Any:
            none = self.is_on("Chance") and self.random.random() < 0.1
            return None if none else answer(*question)

        found = {
            question: self.perhaps(lambda question=question: draw(question))  # type: ignore[misc]
            for question in questions
            if self.random.random() < often
        }
        self.tables[hook] = found
        return found

    # Hooks and parts

    def _act(self) -> None:
        pairs = [(held, thing) for held in self.items for thing in self.things]
        own = self.own_actions
        names = [name for name in self.action_names if name in ("interact", "toggle", *own)]
        self.acts = {name: {} for name in names}
        if self.is_on("interact"):
            self.members["interact"] = _method(self.table("interact", pairs, self.outcome))
        if self.is_on("toggle"):
            self.acts["toggle"]["thing"] = _rule(self.table("toggle", pairs, self.outcome))
        if self.is_on("act"):
            asked = [(action, *pair) for action in own for pair in pairs]
            found = self.table("act", asked, lambda _, *pair: self.outcome(*pair))
            self._keep("act", own[: len(own) - self.is_on("join")])  # joint work has a rule of its own
            for action in own:
                if action != JOINT:
                    self.acts[action]["thing"] = _rule(found, action)
        if self.is_on("join"):
            self._join()
        if self.is_on("meet"):
            asked = [(name, held, other) for name in names for held in self.items for other in self.items]
            meetings = self.table(
                "meet",
                asked,
                lambda *_: Meeting(self.item(), self.item(), self.random.choice(VERBS), self.number()),
            )
            for name in names:
                self.acts[name]["agent"] = _rule(meetings, name)
        if self.is_on("aim"):
            aims = [Aim(), Aim(adjacent=True), Aim(2), Aim(3), Aim(1, 1), Aim(2, 1), Aim(4, 2)]
            self.tables["aim"] = {name: self.random.choice(aims) for name in names}
            for name, aim in self.tables["aim"].items():
                self.acts[name]["aim"] = aim
        if self.is_on("enter"):
            stood = [(held, thing) for held in self.items for thing in self.things if thing in self.walkable]
            entered = self.table("enter", stood, lambda *pair: self.outcome(*pair, closes=False))
            self.members["enter"] = _method(entered)
        if self.is_on("moves_first"):
            self.set(Moving, first=True)
        if self.is_on("swaps"):
            self.set(Moving, swaps=True)
        if self.is_on("walkable"):
            stand = frozenset(self.walkable)
            self.members["walkable"] = lambda game, thing: thing in stand

    def _keep(self, hook: str, names: Sequence[str]) -> None:
        """Report no answers but those for these actions or slots: no others are asked for."""
        found = self.tables[hook]
        self.tables[hook] = {question: answer for question, answer in found.items() if question[0] in names}

    def _join(self) -> None:
        most = self.random.randint(1, 4)
        self.acts[JOINT]["most"] = most
        if self.is_on("strength"):
            strong = {item: self.random.choice((0, 1, 1, 2)) for item in self.items}
            self.tables["strength"] = strong
            self.acts[JOINT]["strength"] = strong.__getitem__
        found: dict[Any, Outcome] = {}
        often = self.random.choice((0.4, 0.9))
        for total in range(1, most + 1):
            for thing in self.things:
                if self.random.random() >= often:
                    continue
                after = self.after(thing)  # the same for all who work
                for held in self.items:
                    if after != thing or self.random.random() < 0.7:
                        verb = self.random.choice(VERBS)
                        found[held, total, thing] = Outcome(self.item(), after, verb, self.number())
        self.tables["join"] = found
        self.acts[JOINT]["work"] = _rule(found)

    def _tick(self) -> None:
        random = self.random

        def becomes(thing: str, *_: int) -> str:
            return self.after(thing)

        def stays(found: Mapping[Any, Any]) -> dict[Any, Any]:
            return {question: answer for question, answer in found.items() if _is_whole(answer)}

        if self.is_on("tick"):
            ticks = stays(self.table("tick", [(thing,) for thing in self.things], becomes))
            self.tables["tick"] = ticks
            self.members["tick"] = lambda game, thing: ticks.get((thing,), thing)
        if self.is_on("near"):
            marks, most = (
                {thing: random.choice((0, 0, 1, 1, 2)) for thing in self.things},
                random.randint(1, 3),
            )
            radius = random.choice((None, 1, 1.5, 2))
            shape = random.choice(("circle", "diamond", "square"))
            self.tables["near"] = marks, most, radius, shape
            cases = [(thing, count) for thing in self.things for count in range(most + 1)]
            if self.is_on("tick_near"):
                nearby = stays(self.table("tick_near", cases, becomes))
            else:  # whatever the count is
                nearby = {(thing, count): ticks.get((thing,), thing) for thing, count in cases}
            self.tables["tick_near"] = nearby
            near = Near(
                marks.__getitem__,
                lambda thing, count: nearby.get((thing, count), thing),
                most,
                radius,
                shape,
            )
            self.others.append(near)
            self.members.pop("tick", None)  # `near` takes its place
        if self.is_on("start"):
            starts = stays(
                self.table("start", [(thing,) for thing in self.things], lambda t: self.after(t, closes=True))
            )
            self.tables["start"] = starts
            self.members["start"] = lambda game, thing: starts.get((thing,), thing)
        if self.is_on("placed"):
            kinds = {total: self.perhaps(lambda: random.choice(self.things)) for total in range(9)}
            strong = self.tables.get("strength")
            placed = [
                Placed(
                    random.randint(1, 3),
                    kinds.__getitem__,
                    weakest=random.randint(0, 2),
                    apart=random.choice((1, 1, 2, 3)),
                    margin=random.choice((1, 1, 2)),
                    strength=strong and strong.__getitem__,
                )
                for _ in range(random.randint(1, 2))
            ]
            self.tables["placed"] = kinds, placed
            self.others += placed
        if self.is_on("scattered"):
            scattered = random.choice(self.things), random.choice((0.2, 0.5))
            self.tables["scattered"] = scattered
            self.others.append(Scattered(*scattered))
        if self.is_on("one_cell"):
            self.others += [self._one_cell() for _ in range(random.randint(1, 2))]

    def _one_cell(self) -> OneCell:
        random = self.random
        after = {thing: self.after(thing) for thing in self.things if random.random() < 0.6}
        weight, out_of = random.choice(((1, 1), (1, 2), (2, 3)))
        since = random.choice((0, 0, 1, 3))
        self.tables.setdefault("one_cell", []).append((after, weight, out_of, since))
        return OneCell(after.__contains__, after.__getitem__, weight, out_of, since)

    def _hands(self) -> None:
        random = self.random
        if self.is_on("hand"):
            hands = {agent: self.perhaps(self.item) for agent in range(self.n_agents)}
            self.tables["hand"] = hands
            self.members["hand"] = lambda game, agent: hands[agent]
        if self.is_on("tick_hand"):
            ticks = {held: self.perhaps(self.item) for held in self.items if random.random() < 0.6}
            self.tables["tick_hand"] = ticks
            self.set(Hands, tick=lambda held: ticks.get(held, held))
        if self.is_on("can_move"):
            self.set(Moving, when=self._among("can_move", self.some(self.items, 0.6)))
        if self.is_on("can_act"):
            self.set(Hands, can_act=self._among("can_act", self.some(self.items, 0.6)))
        if self.is_on("away"):
            gone = self.some(self.items[1:]) or {self.items[1]}
            self.set(Away, when=self._among("away", gone | ({None} if random.random() < 0.1 else set())))
        if self.is_on("spawn"):
            points = {*self.some(sorted(self.walkable)), random.choice(sorted(self.walkable))}
            self.tables["spawn"] = points
            self.set(Away, back=lambda thing: thing in points)

    def _among(self, hook: str, items: frozenset[Any] | set[Any]) -> Callable[[Any], bool]:
        """A rule that is true for these items."""
        self.tables[hook] = frozenset(items)
        return lambda held: held in items

    def _slots(self) -> None:
        random, n = self.random, self.n_agents
        things: dict[str, list[Any]] = {}
        if self.is_on("slots"):
            for name in ("till", "clock")[: random.randint(1, 2)]:
                things[name] = [0, 1, 2] if random.random() < 0.5 else ["red", "blue"]
                self.slots[name] = {"start": self._slot(things[name])}
            self.tables["slots"] = {name: fields["start"] for name, fields in self.slots.items()}
        if self.is_on("own_slots"):
            self.slots["purse"] = {"start": self._slot(["full", "bare"], counts=False), "own": True}
            things |= {f"purse {agent}": ["full", "bare"] for agent in range(n)}
            self.tables["own_slots"] = {"purse": self.slots["purse"]["start"]}
        self.slot_things = things
        #: The slot whose answers each part gives: all purses are alike.
        answers = {name: "purse 0" if name == "purse" else name for name in self.slots}
        pairs = [(slot, thing) for slot, some in things.items() for thing in some]
        if self.is_on("reply"):
            by_hand = random.random() < 0.5
            asked = [(*pair, verb, held) for pair in pairs for verb in VERBS for held in self.items]
            replies = self.table("reply", asked, lambda slot, *_: self._reply(slot))
            self._keep("reply", [*answers.values()])
            for name, slot in answers.items():
                self.slots[name]["reply"] = _replying(replies, slot, by_hand)
        if self.is_on("rank"):
            self.tables["rank"] = ranks = {pair: random.randint(-1, 2) for pair in pairs}
            self._keep("rank", [*answers.values()])
            for name, slot in answers.items():
                self.slots[name]["rank"] = _rule(ranks, slot)
        if self.is_on("tick_slot"):
            found = self.table("tick_slot", pairs, lambda slot, _: self._slot_tick(slot))
            ticks = {pair: answer for pair, answer in found.items() if _is_whole(answer)}
            self.tables["tick_slot"] = ticks
            self._keep("tick_slot", [*answers.values()])
            for name, slot in answers.items():
                self.slots[name]["tick"] = _ticking(ticks, slot)

    def _slot(self, things: list[Any], counts: bool = True) -> Any:
        if counts and things == [0, 1, 2] and self.random.random() < 0.4:
            marked = self.some(self.things)
            return Counted(lambda thing: int(thing in marked), most=2)
        return self.perhaps(lambda: self.random.choice(things))

    def _reply(self, slot: str) -> Reply:
        return Reply(self.random.choice(self.slot_things[slot]), self.number())

    def _slot_tick(self, slot: str) -> Any:
        reply = self._reply(slot)
        return reply if self.random.random() < 0.4 else reply.thing

    def _ends(self) -> None:
        random = self.random
        if self.is_on("finished"):
            self.set(Ends, hand=self._among("finished", self.some(self.items[1:]) or {self.items[1]}))
        if self.is_on("remaining"):
            left = {thing: random.choice((0, 0, 0, 1, 2, -1)) for thing in self.things} | {
                "floor": 0,
                "wall": 0,
            }
            self.tables["remaining"] = left
            self.set(Ends, remaining=left.__getitem__)

    def _rewards(self) -> None:
        random = self.random
        kinds = [kind for kind in ("Reward", "Price", "Tally", "Replies", "BySlot") if self.is_on(kind)]
        if not kinds:
            return
        for kind in kinds:
            for _ in range(random.randint(1, 2)):
                self.terms.append(self._term(kind, f"term {len(self.terms)}"))
        random.shuffle(self.terms)
        self._report_terms()

    def _report_terms(self) -> None:
        self.tables["rewards"] = [
            {name: value for name, value in vars(term).items() if not callable(value)} | {"kind": type(term)}
            for term in self.terms
        ]

    def _term(self, kind: str, name: str) -> AnyReward:
        random = self.random
        team = self.is_on("team") and random.random() < 0.5
        shaping = self.is_on("shaping") and random.random() < 0.5
        points = (lambda: float(random.randint(-3, 3))) if shaping else self.number
        by_verb = {verb: points() for verb in VERBS}
        by_held = {held: points() for held in self.items}
        by_thing = {thing: points() for thing in (*self.things, *self.items)}
        is_value = random.random() < 0.5 and not shaping

        def of_event(event: Event) -> float:
            return by_verb[event.verb] + by_held[event.held] + by_thing[event.thing] + is_value * event.value

        if kind == "Price":
            by_action = {action: points() for action in self.action_names}
            return Price(name, lambda action, held: by_action[action] + by_held[held], team, shaping)
        if kind == "Tally":
            marks, most = (
                {thing: random.choice((0, 0, 1, 2, -1)) for thing in self.things},
                random.randint(1, 4),
            )
            paid = [points() for _ in range(most + 1)]
            return Tally(name, marks.__getitem__, paid.__getitem__, most, random.random() < 0.6, shaping)
        if kind == "Replies":
            return Replies(name, team)
        if kind == "BySlot":
            slot = random.choice(sorted(self.slot_things))
            by_slot = {thing: points() for thing in self.slot_things[slot]}
            return BySlot(name, slot, lambda event, thing: of_event(event) + by_slot[thing], team, shaping)
        if not self.is_on("supply") or random.random() < 0.3:
            return Reward(name, of_event, team, shaping)
        lying = {thing: random.choice((0, 0, 1)) for thing in self.things}
        carried = {item: random.choice((0, 1)) for item in self.items[1:]}
        needed = {thing: random.choice((0, 0, 1, 2)) for thing in self.things}
        return Reward(
            name,
            of_event,
            team,
            shaping,
            lambda thing, item: lying.get(thing, 0) + carried.get(item, 0),
            needed.__getitem__,
            random.random() < 0.5,
            random.random() < 0.5,
        )

    def _later(self, verbs: Sequence[str]) -> None:
        """Draw what can be in worlds by now; verbs are those that some rule returns."""
        random = self.random
        if self.is_on("in_hands"):
            hands = {held: random.choice((0, 1, 1, 2, -1)) for held in self.items}
            self.tables["in_hands"] = hands
            self.set(Ends, in_hands=hands.__getitem__)
        if self.is_on("in_slots"):
            inside = {
                (slot, thing): random.choice((0, 0, 1, -1))
                for slot, things in self.slot_things.items()
                for thing in things
            }
            self.tables["in_slots"] = inside
            self.set(Ends, in_slots=lambda slot, thing: inside[slot, thing])
        if self.is_on("other"):
            found = [k for k, term in enumerate(self.terms) if isinstance(term, Reward) and not term.team]
            found = [k for k in found if random.random() < 0.6]
            if not found:
                found = [len(self.terms)]
                self.terms.append(self._term("Reward", f"term {len(self.terms)}"))
            for k in found:
                self.terms[k] = dataclasses.replace(self.terms[k], team=False, other=True)
            self._report_terms()
        if self.is_on("to"):
            names = [name for name in self.slots if random.random() < 0.7] or [*self.slots][:1]
            self.tables["to"] = {
                name: tuple(random.sample(verbs, min(random.randint(1, 2), len(verbs)))) for name in names
            }
            for name, wanted in self.tables["to"].items():
                self.slots[name]["to"] = wanted

    # The board

    def _generate(self) -> None:
        """Draw a plan of changes to the first layout, which are made with all the tools of a sketch."""
        if not self.is_on("generate"):
            return
        random, letters = self.random, [" ", "#", *self.things[2:]]
        plan = [
            (random.choice(CHANGES), random.choice(letters), random.choice(letters), random.randint(1, 3))
            for _ in range(random.randint(1, 4))
        ]
        self.tables["generate"] = plan

        def draw(sketch: Any) -> Any:
            board = sketch.layout()
            for change, old, new, number in plan:
                board = changed(sketch, board, change, old, new, number)
            return board

        self.others.append(Generated(draw))

    def _given(self, spec: Spec) -> tuple[str, ...]:
        """A board of another size, with letters that the layouts have."""
        height, width = (self.random.randint(self.least, most) for most in (spec.height, spec.width))
        rows = self._board(height, width).split("\n")
        known = {*spec.letters, *"123456789"}
        rows = ["".join(letter if letter in known else "#" for letter in row) for row in rows]
        return Layout("given", "\n".join(rows)).padded(spec.height, spec.width, digits=True)

    def _board(self, height: int = 0, width: int = 0) -> str:
        random = self.random
        height, width = height or random.randint(self.least, 6), width or random.randint(self.least, 6)
        inside = [(r, c) for r in range(1, height - 1) for c in range(1, width - 1)]
        edge, others = sorted(self.edge - {"wall"}), [one for one in self.things if one != "floor"]
        board = {
            (r, c): random.choice(edge) if edge and random.random() < 0.3 else "#"
            for r in range(height)
            for c in range(width)
        }
        full = random.choice((0.1, 0.3, 0.6))
        for cell in inside:
            thing = random.choice(others) if random.random() < full else "floor"
            floor = random.choice(" .") if self.has_dots else " "
            board[cell] = {"floor": floor, "wall": "#"}.get(thing, thing)
        if self.is_on("placed"):  # somewhere there must be room
            board[2, 2] = " "
            inside.remove((2, 2))
        for agent, cell in enumerate(random.sample(inside, self.n_agents)):
            is_marked = self.is_on("generate") or random.random() < 0.9
            board[cell] = str(agent + 1) if is_marked else " "
        return "\n".join("".join(board[r, c] for c in range(width)) for r in range(height))


def changed(sketch: Any, board: Any, change: str, old: str, new: str, number: int) -> Any:
    """A board after one change of a plan; starts only move, and the edge stays."""
    xp, before, after = sketch.xp, sketch.code(old), sketch.code(new)
    inside = (sketch.rows > 0) & (sketch.rows < sketch.height - 1)
    inside = inside & (sketch.columns > 0) & (sketch.columns < sketch.width - 1)
    free = inside & (board == before)

    def more(_: Any, drawn: Any, board: Any) -> Any:
        return xp.where(sketch.pick(inside & (board == before), drawn), after, board)

    match change:
        case "pick":
            return more(0, None, board)
        case "draws":
            return more(0, sketch.draws(1), board)
        case "repeat":
            return sketch.repeat(number, more, board)
        case "beside":
            return xp.where(free & sketch.beside(board == after), after, board)
        case "shifted":
            return xp.where(free & sketch.shifted(board == after, number - 2, number), after, board)
        case "settle":
            reached = sketch.settle(lambda mask: mask | (free & sketch.beside(mask)), board == after)
            return xp.where(free & reached, after, board)
        case "below":
            return xp.where(free & (sketch.columns == sketch.below(sketch.width)), after, board)
        case "full":
            return xp.where(inside, board, sketch.full("#"))
    spot, start = sketch.pick(board == sketch.code(" ")), board == sketch.code("1")
    board = xp.where(start & spot.any(axis=-1, keepdims=True), sketch.code(" "), board)
    return xp.where(spot, sketch.code("1"), board)


def _method(table: Mapping[Any, Any]) -> Any:
    return lambda game, *question: table.get(question)


def _rule(table: Mapping[Any, Any], *about: Any) -> Any:
    return lambda *question: table.get((*about, *question))


def _replying(table: Mapping[Any, Any], slot: str, by_hand: bool) -> Any:
    return lambda thing, event: table.get((slot, thing, event.verb, event.held if by_hand else None))


def _ticking(table: Mapping[Any, Any], slot: str) -> Any:
    return lambda thing: table.get((slot, thing), thing)


def _nothing(held: Any, thing: Any) -> None:
    return None


def _is_whole(answer: Any) -> bool:
    """Whether it is a thing in every case."""
    values = [value for value, _ in answer.options] if isinstance(answer, Chance) else [answer]
    return None not in values
