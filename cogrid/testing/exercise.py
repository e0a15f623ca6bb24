"""Exercising a game: how often each of its hooks was used, and its draws with their odds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.author.acting import Aim
from cogrid._core.author.cells import Near, OneCell
from cogrid._core.author.chance import Branch, Chance, branches
from cogrid._core.author.kinds import writes
from cogrid._core.compile.actions import FURTHER, NOTHING
from cogrid._core.compile.intents import rule_name
from cogrid._core.compile.spec import Spec
from cogrid._core.phases.entering import Entering
from cogrid._core.phases.interaction import Interaction
from cogrid._core.phases.joining import Joining
from cogrid._core.phases.leaving import Leaving
from cogrid._core.phases.movement import Movement
from cogrid._core.phases.one_cell import Picking
from cogrid._core.phases.phase import Events, Phase
from cogrid._core.phases.ticks import Ticking
from cogrid._core.profiling import watched
from cogrid._core.rules import Rules, compile_rules
from cogrid._core.state.autoreset import renew
from cogrid._core.state.reset import reset
from cogrid._core.step import step
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.testing.draws import TAIL, DrawCounts, Drawn, case_of, cases_of

#: Methods and functions of parts that change the world; others are names, looks, observations and rewards.
METHODS = ("interact", "enter", "tick", "start", "hand")
RULES = (
    *(
        *METHODS,
        "Act.thing",
        "Act.agent",
        "Act.aim",
        "Joint.work",
        "Joint.strength",
        "Joint.agent",
        "Joint.aim",
    ),
    *("Moving.when", "Hands.tick", "Hands.can_act", "Away.when", "Away.back", "Near.tick", "OneCell"),
    *("Slot", "Slot.reply", "Slot.tick"),
    *("Ends.verbs", "Ends.hand", "Ends.remaining", "Ends.in_hands", "Ends.in_slots"),
)
#: Phases whose hooks are counted by the rows that were applied, at the rewards.
BY_ROW = (Movement, Interaction, Joining, Entering)
BATCH, RESETS = 16, 256


class Exercise(NamedTuple):
    """How often each hook was used, and each value of a `Chance` drawn."""

    hooks: dict[str, int]
    draws: tuple[Drawn, ...]


def exercise(spec: Spec, steps: int, seed: int) -> Exercise:
    """Play random actions on NumPy, with half of the environments starting from randomised states.

    Raises an AssertionError for draws that are too far from their probabilities.
    """
    rules = compile_rules(spec, "numpy")
    seen = _Seen(rules)
    state = reset(rules, rng.split(rng.key(seed), RESETS))
    seen.began(state)
    state, generator = reset(rules, rng.split(rng.key(seed + 1), BATCH)), np.random.default_rng(seed)
    state = _mixed(rules, state, generator)
    parts = watched(rules, seen.watch)
    for number in range(steps):
        actions = generator.integers(0, rules.n_actions, state.pos.shape)
        seen.actions = actions
        state, obs, _, done, _ = step(rules, state, actions, watched=parts)
        state, _ = renew(rules, state, obs, done)
        if number % 10 == 9:  # so that rare things meet now and then
            state = _mixed(rules, state, generator)
    draws = tuple(seen.draws.all())
    for one in draws:
        assert one.tail >= TAIL, f"{type(spec.game).__name__}.{one} is too far from it"
    own_rules = rules_of(rules)
    own = {name: seen.hooks[name] for name in RULES if name in own_rules}
    return Exercise(own | {name: times for name, times in seen.hooks.items() if name not in RULES}, draws)


def rules_of(rules: Rules) -> set[str]:
    """The names in `RULES` of what a game writes."""
    answers = rules.answers
    own_rules = {name for name in METHODS if writes(rules.game, name)}
    for part in answers.parts.all:
        kind = type(part).__name__
        own_rules |= {kind, *(f"{kind}.{field}" for field in part._asks if getattr(part, field) is not None)}
        if getattr(part, "aim", Aim()) != Aim():
            own_rules.add(f"{kind}.aim")
    return own_rules | ({"Ends.verbs"} if answers.ends.verbs else set())


def _mixed(rules: Rules, state: EnvState, generator: np.random.Generator) -> EnvState:
    """The batch, its second half with random things that its cells can hold, hands, places and facings."""
    half, n = slice(len(state.clock) // 2, None), rules.n_agents
    layout = np.zeros(len(state.clock), int) if state.layout is None else state.layout
    boards, number = rules.boards[layout][half], rules.spec.symbols.number
    cells, places = state.cells.copy(), state.pos.copy()
    for symbol in np.unique(boards) if not rules.open else ():  # an open board keeps track of its things
        where, can_be = boards == symbol, sorted(number[thing] for thing in rules.reachable(symbol))
        cells[half] = np.where(where, generator.choice(can_be, where.shape), cells[half])
    for env in range(half.start, len(cells)):
        free = np.flatnonzero(cells[env] < rules.n_walkable)
        if len(free) >= n:
            places[env] = generator.permutation(free)[:n]
        else:
            cells[env] = state.cells[env]
    held, facing = state.held.copy(), state.agent_dir.copy()
    held[half] = generator.integers(0, rules.n_items, held[half].shape)
    facing[half] = generator.integers(0, 4, facing[half].shape)
    # Not `replace`, which accepts only reachable states: here the rules are tried with all.
    return state.evolve(cells=cells, pos=places, pose=facing * rules.n_items + held)


class _Seen:
    """Watches the phases of a step."""

    def __init__(self, rules: Rules) -> None:
        self.rules, self.hooks = rules, Counter[str]()
        self.actions: Array = None
        self.draws = DrawCounts()
        slots = rules.slots
        self._replies = [] if slots is None else cases_of(slots.replies)
        self._slot_ticks = [] if slots is None else cases_of(slots.ticks)
        #: What is counted after a phase: of the state before it and after it, and the events after it.
        self._after: dict[str, Callable[[EnvState, EnvState, Events], None]] = {
            "tick": self._ticked,
            "tick hand": self._hands_ticked,
            "one cell": self._picked,
            "reward": self._acted,
            "reply": self._replied,
            "leave": self._left,
            "finish": self._finished,
        }

    def watch(self, name: str, part: Callable[..., Any]) -> Callable[..., Any]:
        """A part of the step, with counting of what it does."""
        if not isinstance(part, Phase):
            return part

        def run(rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
            after, events = part(rules, state, events)
            if name in self._after:
                self._after[name](state, after, events)
            elif not isinstance(part, BY_ROW):
                self.hooks.update(part.counts(rules, state, after, events))
            return after, events

        return run

    def began(self, state: EnvState) -> None:
        """Count what episodes start with."""
        rules, symbols = self.rules, self.rules.spec.symbols
        layout = np.zeros(len(state.clock), int) if state.layout is None else state.layout
        boards = rules.boards[layout]
        stood = np.zeros_like(boards, bool)
        on = state.pos < rules.n_cells
        stood[np.nonzero(on)[0], state.pos[on]] = True
        starts = dict(zip(symbols.things, cases_of(symbols.starts), strict=True))
        where = np.isin(boards, [symbols.number[thing] for thing in symbols.begins]) & ~stood
        where[:, np.setdiff1d(np.arange(rules.n_cells), rules.start.cells)] = False
        hidden = rules.answers.scattered is not None or rules.answers.placed or rules.open
        if hidden:  # what a letter became at the start is unknown
            self.hooks["start"] += int(where.sum())
        else:
            for letter, thing in zip(boards[where].tolist(), state.cells[where].tolist(), strict=True):
                begun = symbols.things[letter]
                self.hooks["start"] += 1
                self.draws.note("start", f"{begun!r}", starts[begun], symbols.things[thing])
        for agent, hand in enumerate(symbols.hands):
            for item in state.held[:, agent].tolist():
                self.hooks["hand"] += 1
                self.draws.note("hand", str(agent), hand, symbols.items[item])
        if rules.slots is not None:
            self.hooks["Slot"] += state.slots.size
            for k, name in enumerate(rules.slots.names):
                for thing in state.slots[:, k].tolist():
                    self.draws.note(
                        "Slot.start", repr(name), rules.slots.starts[k], rules.slots.things[thing]
                    )

    def _acted(self, state: EnvState, after: EnvState, events: Events) -> None:
        rules, before = self.rules, events.before
        symbols, going = rules.spec.symbols, ~before.done
        rows = events.row[going]
        verbs, block = rules.rows.verb[rows] > 0, rules.n_items * rules.n_things
        meets = rows >= rules.rows.first_meeting
        joins = (rows >= rules.rows.first_joint) & ~meets
        intents = np.array(symbols.intents)[np.where(meets | joins, 0, rows) // block % len(symbols.intents)]
        for intent in symbols.intents[1:]:
            self.hooks[rule_name(intent)] += int((verbs & ~meets & ~joins & (intents == intent)).sum())
        self.hooks["Joint.work"] += int((verbs & joins).sum())
        self.hooks["Joint.strength"] = self.hooks["Joint.work"]
        actions, answers = self.actions[going], rules.answers
        for number, action in enumerate(rules.spec.actions):
            if (act := answers.acting(action.intent)) is not None:
                kind, acted = type(act).__name__, verbs & ~events.moved[going] & (actions == number)
                self.hooks[f"{kind}.agent"] += int((acted & meets).sum())
                self.hooks[f"{kind}.aim"] += int((acted & (act.aim != Aim())).sum())
        final = rules.clock.final
        self.hooks["Ends.verbs"] += 0 if final is None else int(final[rows].sum())
        walks = np.array([a.walks or a.face is not None or a.turn != 0 for a in rules.spec.actions])
        asks = np.array([a.intent != NOTHING for a in rules.spec.actions])
        held = before.held[going]
        cases = (("Moving.when", answers.can_move, walks), ("Hands.can_act", answers.can_act, asks))
        for hook, can, wanted in cases:
            cannot = ~rules.items(can, bool)
            self.hooks[hook] += int((cannot[held] & wanted[self.actions[going]]).sum())
        for row in rows.ravel().tolist() if rules.rows.drawn.size else ():
            self._outcome(row)

    def _outcome(self, row: int) -> None:
        """Count the branch that was drawn for a row."""
        rules, symbols = self.rules, self.rules.spec.symbols
        if row >= rules.rows.first_meeting and symbols.meetings is not None:
            odds, line, hook = symbols.meetings, row - rules.rows.first_meeting, "Act.agent"
        elif row < rules.rows.first_joint and symbols.outcomes.n_branches > 1:
            odds, line, hook = symbols.outcomes, row, ""
        else:
            return
        if odds.n_branches == 1:
            return
        case = line % odds.n_cases
        answer = case_of(odds, case)
        if len(answer) > 1:
            per_intent = odds.n_cases // len(symbols.intents)
            intent = symbols.intents[case // per_intent]
            action = f"{rules.answers.actions[intent - FURTHER]!r}, " if intent >= FURTHER else ""
            held, thing, _ = (symbols.meet_rows if hook else symbols.rows)[case]
            self.draws.note(
                hook or rule_name(intent), f"{action}{held!r}, {thing!r}", answer, odds.values[line]
            )

    def _ticked(self, state: EnvState, after: EnvState, events: Events) -> None:
        phase = self.rules.phase(Ticking)
        hook = "tick" if self.rules.answers.near is None else "Near.tick"
        self.hooks[hook] += int((after.cells != state.cells).sum())
        if phase is not None and phase.cases is not None and phase.cases.drawn.size:
            self._note_ticks(hook, phase.cases.cells, state.cells, after.cells)

    def _hands_ticked(self, state: EnvState, after: EnvState, events: Events) -> None:
        symbols = self.rules.spec.symbols
        self.hooks["Hands.tick"] += int((after.pose != state.pose).sum())
        if symbols.hand_ticks.n_branches > 1:
            hands = dict(zip(symbols.items, cases_of(symbols.hand_ticks), strict=True))
            for old, new in zip(state.held.ravel().tolist(), after.held.ravel().tolist(), strict=True):
                held = symbols.items[old]
                self.draws.note("Hands.tick", f"{held!r}", hands[held], symbols.items[new])

    def _picked(self, state: EnvState, after: EnvState, events: Events) -> None:
        """The changes of single cells, one after the other."""
        rules, phase = self.rules, self.rules.phase(Picking)
        assert phase is not None
        for number, (one, change) in enumerate(zip(rules.answers.one_cell, phase.changes, strict=True)):
            drawn = rules.draws.of("one cell", events.drawn)[..., 2 * number : 2 * number + 2]
            changed = state.evolve(cells=change(rules, state, drawn))
            self.hooks["OneCell"] += int((changed.cells != state.cells).sum())
            self._note_one_cell(number, one, state, changed.cells)
            state = changed

    def _note_one_cell(self, number: int, one: OneCell, before: EnvState, after: Array) -> None:
        """Count whether a cell changed, where one could, and which; only for visible changes."""
        rules, things = self.rules, self.rules.spec.symbols.things
        if any(one.qualifies(thing) and one.becomes(thing) == thing for thing in things):
            return
        qualifies = rules.symbols(one.qualifies, bool)[before.cells]
        odds = (
            branches(Chance((True, one.weight), (False, one.out_of - one.weight)))
            if one.weight < one.out_of
            else ()
        )
        for env in np.flatnonzero(qualifies.any(axis=-1) & (before.clock >= one.since)):
            (changed,) = np.nonzero(before.cells[env] != after[env])
            self.draws.note("OneCell", f"{number}: whether", odds, bool(changed.size))
            if changed.size:
                cells = np.flatnonzero(qualifies[env]).tolist()
                self.draws.note_choice("OneCell", f"{number}: which", cells, int(changed[0]))

    def _note_ticks(self, hook: str, cells: Array, before: Array, after: Array) -> None:
        rules, symbols, near = self.rules, self.rules.spec.symbols, self.rules.answers.near
        counts = np.zeros_like(before) if near is None else _counts(rules, near, before)
        cases = cases_of(symbols.ticks)
        triples = np.stack([counts, before, after], axis=-1)[:, cells].reshape(-1, 3)
        found, often = np.unique(triples, axis=0, return_counts=True)
        for (count, old, new), times in zip(found.tolist(), often.tolist(), strict=True):
            about = f"{symbols.things[old]!r}" + ("" if near is None else f", {count}")
            answer = cases[count * rules.n_things + old]
            self.draws.note(hook, about, answer, symbols.things[new], times)

    def _replied(self, state: EnvState, after: EnvState, events: Events) -> None:
        rules = self.rules
        assert rules.slots is not None
        self.hooks["Slot.reply"] += int((rules.slots.kinds[events.row] > 0).sum())
        self.hooks["Slot.tick"] += int((after.slots != state.slots).sum())
        if rules.slots.replies.n_branches > 1 or rules.slots.ticks.n_branches > 1:
            for env in range(len(state.slots)):
                drawn = self._note_slots(state.slots[env].tolist(), events.row[env], events.drawn[env])
                assert drawn == after.slots[env].tolist(), "the slots are not what was drawn for them"

    def _note_slots(self, held: list[int], rows: Array, drawn: Array) -> list[int]:
        """What the slots of one environment become, event by event; computed differently than in the step."""
        rules, slots = self.rules, self.rules.slots
        assert slots is not None
        n, size, number = len(slots.names), len(slots.things), slots.number
        replies, ticks = (
            rules.draws.of(purpose, drawn) if odds.n_branches > 1 else None
            for purpose, odds in (("reply", slots.replies), ("tick slot", slots.ticks))
        )
        for agent, row in enumerate(rows.tolist()):
            verb = rules.spec.symbols.lines[row].made.verb
            answers: list[tuple[int, int, int]] = []  # rank, slot, what it becomes
            for k, thing in enumerate(held):
                answer = self._replies[(int(slots.kinds[row]) * n + k) * size + thing]
                value = _taken(answer, 0 if replies is None else int(replies[agent * n + k]))
                about = f"{slots.names[k]!r}, {slots.things[thing]!r}, {verb!r}"
                self.draws.note("Slot.reply", about, answer, value)
                if value is not None:
                    rank = 0 if slots.ranks is None else int(slots.ranks[k * size + thing])
                    answers.append((rank, k, number[value.thing]))
            if answers:
                _, k, held[k] = min(answers)
        for k, thing in enumerate(held):
            answer = self._slot_ticks[k * size + thing]
            value = _taken(answer, 0 if ticks is None else int(ticks[k]))
            self.draws.note("Slot.tick", f"{slots.names[k]!r}, {slots.things[thing]!r}", answer, value)
            held[k] = number[value.thing]
        return held

    def _left(self, state: EnvState, after: EnvState, events: Events) -> None:
        rules, phase = self.rules, self.rules.phase(Leaving)
        assert phase is not None
        self.hooks["Away.when"] += int((after.away & ~state.away).sum())
        self.hooks["Away.back"] += int((~after.away & state.away).sum())
        places, spawn = phase.parked(rules, state.pose, state.pos), rules.symbols(rules.answers.back, bool)
        back = (places >= rules.n_cells) & (after.pos < rules.n_cells)
        for env in np.flatnonzero(back.any(axis=-1)):
            free = np.setdiff1d(np.flatnonzero(spawn[state.cells[env]]), places[env]).tolist()
            for agent in np.flatnonzero(back[env]):
                cell = int(after.pos[env, agent])
                self.draws.note_choice("Away.back", "which", free, cell)
                free.remove(cell)  # an error if it was not free

    def _finished(self, state: EnvState, after: EnvState, events: Events) -> None:
        for condition in self.rules.clock.conditions:
            self.hooks[condition.name] += int(condition(self.rules, state).sum())
        for name in ("Ends.in_hands", "Ends.in_slots"):
            self.hooks[name] = self.hooks["Ends.remaining"]


def _counts(rules: Rules, near: Near, cells: Array) -> Array:
    """(B, cells) the marks near each cell, clipped; counted cell by cell, unlike in the step."""
    marks = rules.symbols(near.mark, np.int64)[cells]
    if near.radius is None:
        total = np.broadcast_to(marks.sum(axis=-1, keepdims=True), marks.shape)
        return np.minimum(total, near.most)
    row, column = np.divmod(np.arange(rules.n_cells), rules.width)
    total = np.zeros_like(marks)
    for r, c in near.offsets:
        inside = (row + r >= 0) & (row + r < rules.height) & (column + c >= 0) & (column + c < rules.width)
        total += np.where(inside, marks[:, np.where(inside, (row + r) * rules.width + column + c, 0)], 0)
    return np.minimum(total, near.most)


def _taken(answer: tuple[Branch, ...], draw: int) -> Any:
    """The value that a draw takes."""
    return next(value for value, below in answer if draw < below)
