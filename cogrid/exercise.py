"""Exercising a game: how often each hook that it writes came into play, and its draws beside their odds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState, Events
from cogrid.core.actions import FURTHER, NOTHING
from cogrid.core.answers import Aim, Near
from cogrid.core.asking import hook_of
from cogrid.core.autoreset import renew
from cogrid.core.chance import SCALE, Branch, probability
from cogrid.core.hooks import written
from cogrid.core.profiling import woven
from cogrid.core.replace import replace
from cogrid.core.reset import reset
from cogrid.core.rules import Rules, compile_rules
from cogrid.core.spec import Spec
from cogrid.core.termination import conditions
from cogrid.core.ticks import changes

#: Hooks that are about what happens; the others are names, looks, and what is seen and paid.
RULES = (
    *("interact", "toggle", "act", "strength", "join", "meet", "aim", "enter", "tick", "tick_near", "start"),
    *("hand", "tick_hand", "can_move", "can_act", "away", "spawn", "one_cell", "slots", "reply", "tick_slot"),
    *("finished", "remaining", "final_verbs"),
)
BATCH, RESETS = 16, 256
#: How unlikely counts may be before they are a fault: each is one of many, at a seed that anybody may choose.
TAIL = 1e-9


class Drawn(NamedTuple):
    """How often one value of a `Chance` was drawn, beside its probability."""

    hook: str
    about: str
    value: Any
    hits: int
    draws: int
    share: int  # the probability is share / 2²⁴
    tail: float  # the probability of so few hits, or so many, whichever is less

    def __str__(self) -> str:
        expected = self.share / SCALE
        return (
            f"{self.hook}({self.about}) -> {self.value!r}: {self.hits} of {self.draws}, odds {expected:.6f}"
        )


class Exercise(NamedTuple):
    """What was tried."""

    hooks: dict[str, int]
    draws: tuple[Drawn, ...]


def exercise(spec: Spec, steps: int, seed: int) -> Exercise:
    """Play random actions on NumPy, half of the environments from states that are put together at random.

    Raises an AssertionError for draws that are too far from their probabilities.
    """
    rules = compile_rules(spec, "numpy")
    seen = _Seen(rules)
    state = reset(rules, rng.split(rng.key(seed), RESETS))
    seen.began(state)
    state, generator = reset(rules, rng.split(rng.key(seed + 1), BATCH)), np.random.default_rng(seed)
    state = _mixed(rules, state, generator)
    step = woven(seen.watch)
    for number in range(steps):
        actions = generator.integers(0, rules.n_actions, state.pos.shape)
        seen.actions = actions
        state, obs, _, done, _ = step(rules, state, actions)
        state, _ = renew(rules, state, obs, done)
        if number % 10 == 9:  # rare things meet now and then
            state = _mixed(rules, state, generator)
    draws = tuple(seen.drawn())
    for one in draws:
        assert one.tail >= TAIL, f"{type(spec.game).__name__}.{one} is too far from it"
    mine = written(spec.game)
    return Exercise({hook: seen.hooks[hook] for hook in RULES if hook in mine}, draws)


def _mixed(rules: Rules, state: EnvState, generator: np.random.Generator) -> EnvState:
    """The second half of a batch with any things that its cells can hold, hands, places and facings."""
    half, n = slice(len(state.clock) // 2, None), rules.n_agents
    layout = np.zeros(len(state.clock), int) if state.layout is None else state.layout
    boards, number = rules.boards[layout][half], rules.spec.symbols.number
    cells, places = state.cells.copy(), state.pos.copy()
    for symbol in np.unique(boards) if not rules.open else ():  # an open board counts what it holds
        where, can_be = boards == symbol, sorted(number[thing] for thing in rules.reachable(symbol))
        cells[half] = np.where(where, generator.choice(can_be, where.shape), cells[half])
    for one in range(half.start, len(cells)):
        free = np.flatnonzero(cells[one] < rules.n_walkable)
        if len(free) >= n:
            places[one] = generator.permutation(free)[:n]
        else:
            cells[one] = state.cells[one]
    held, facing = state.held.copy(), state.agent_dir.copy()
    held[half] = generator.integers(0, rules.n_items, held[half].shape)
    facing[half] = generator.integers(0, 4, facing[half].shape)
    return replace(rules, state, cells=cells, pos=places, held=held, agent_dir=facing)


class _Seen:
    """Watches the phases of a step."""

    def __init__(self, rules: Rules) -> None:
        self.rules, self.hooks = rules, Counter[str]()
        self.actions: Array = None
        self._cases: dict[tuple[str, str], tuple[tuple[Branch, ...], Counter[Any]]] = {}

    def watch(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The phase, with what it does counted."""
        after: dict[str, Callable[..., None]] = {
            "reward": self._acted,
            "reply": self._replied,
            "leave": self._left,
            "finish": self._finished,
        }

        def run(*arguments: Any) -> Any:
            if phase == "tick":
                return self._ticked(*arguments)
            result = function(*arguments)
            if phase in after:
                after[phase](result, *arguments)
            return result

        return run

    def began(self, state: EnvState) -> None:
        """Count what episodes begin with."""
        rules, symbols = self.rules, self.rules.spec.symbols
        layout = np.zeros(len(state.clock), int) if state.layout is None else state.layout
        boards = rules.boards[layout]
        stood = np.zeros_like(boards, bool)
        on = state.pos < rules.n_cells
        stood[np.nonzero(on)[0], state.pos[on]] = True
        starts = dict(zip(symbols.things, _cases(symbols.starts), strict=True))
        where = np.isin(boards, [symbols.number[thing] for thing in symbols.begins]) & ~stood
        where[:, np.setdiff1d(np.arange(rules.n_cells), rules.starting)] = False
        hidden = rules.spec.game.scattered() is not None or rules.spec.game.placed() or rules.open
        if hidden:  # what a letter was when the episode began cannot be told
            self.hooks["start"] += int(where.sum())
        else:
            for letter, thing in zip(boards[where].tolist(), state.cells[where].tolist(), strict=True):
                begun = symbols.things[letter]
                self._note("start", f"{begun!r}", starts[begun], symbols.things[thing])
        for agent, hand in enumerate(symbols.hands):
            for item in state.held[:, agent].tolist():
                self._note("hand", str(agent), hand, symbols.items[item])
        if rules.slots is not None:
            for k, name in enumerate(rules.slots.names):
                for thing in state.slots[:, k].tolist():
                    self._note("slots", repr(name), rules.slots.starts[k], rules.slots.things[thing])

    def _acted(
        self, _: Array, rules: Rules, before: EnvState, state: EnvState, choice: Array, events: Events
    ) -> None:
        symbols, going = rules.spec.symbols, ~before.done
        rows = events.row[going]
        verbs, block = rules.verb[rows] > 0, rules.n_items * rules.n_things
        meets = rows >= rules.first_meeting
        joins = (rows >= rules.first_joint) & ~meets
        intents = np.array(symbols.intents)[np.where(meets | joins, 0, rows) // block % len(symbols.intents)]
        for intent in symbols.intents[1:]:
            self.hooks[hook_of(intent)] += int((verbs & ~meets & ~joins & (intents == intent)).sum())
        self.hooks["meet"] += int((verbs & meets).sum())
        self.hooks["join"] += int((verbs & joins).sum())
        self.hooks["strength"] = self.hooks["join"]
        aims = np.array([rules.spec.game.aim(action.name) != Aim() for action in rules.spec.actions])
        self.hooks["aim"] += int((verbs & ~events.moved[going] & aims[self.actions[going]]).sum())
        self.hooks["final_verbs"] += int(rules.final[rows].sum())
        walks = np.array([a.walks or a.face is not None or a.turn != 0 for a in rules.spec.actions])
        asks = np.array([a.intent != NOTHING for a in rules.spec.actions])
        held, game = before.held[going], rules.spec.game
        for hook, wanted in (("can_move", walks), ("can_act", asks)):
            cannot = ~rules.items(getattr(game, hook), bool)
            self.hooks[hook] += int((cannot[held] & wanted[self.actions[going]]).sum())
        for row in rows.ravel().tolist() if rules.drawn_outcomes else ():
            self._outcome(row)

    def _outcome(self, row: int) -> None:
        """Note the branch of a line that is drawn."""
        rules, symbols = self.rules, self.rules.spec.symbols
        if row >= rules.first_meeting and symbols.meetings is not None:
            odds, line, hook = symbols.meetings, row - rules.first_meeting, "meet"
        elif row < rules.first_joint and symbols.outcomes.n_branches > 1:
            odds, line, hook = symbols.outcomes, row, ""
        else:
            return
        if odds.n_branches == 1:
            return
        case = line % odds.n_cases
        answer = _case(odds, case)
        if len(answer) > 1:
            per_intent = odds.n_cases // len(symbols.intents)
            intent = symbols.intents[case // per_intent]
            action = f"{rules.spec.game.actions[intent - FURTHER]!r}, " if intent >= FURTHER else ""
            held, thing, _ = (symbols.meet_rows if hook else symbols.rows)[case]
            self._note(hook or hook_of(intent), f"{action}{held!r}, {thing!r}", answer, odds.values[line])

    def _ticked(self, rules: Rules, state: EnvState, events: Events) -> EnvState:
        """The ticks, one kind of change after the other."""
        before, symbols = state, rules.spec.symbols
        hook = "tick" if rules.spec.game.near() is None else "tick_near"
        if rules.ticking.size:
            state = state.evolve(cells=rules.backend.lookup_at(rules.ticked, state.cells, rules.ticking))
        steps = list(changes(rules)) if rules.lively else []
        if steps and steps[0][0] == "tick":
            state = steps.pop(0)[1](state, before, events.drawn)
        self.hooks[hook] += int((state.cells != before.cells).sum())
        if rules.chancy.size and symbols.ticks.n_branches > 1:
            self._note_ticks(hook, before.cells, state.cells)
        for name, change in steps:
            after = change(state, before, events.drawn)
            if name == "tick_hand":
                self.hooks[name] += int((after.pose != state.pose).sum())
                if symbols.hand_ticks.n_branches > 1:
                    hands = dict(zip(symbols.items, _cases(symbols.hand_ticks), strict=True))
                    for old, new in zip(
                        state.held.ravel().tolist(), after.held.ravel().tolist(), strict=True
                    ):
                        self._note(
                            name, f"{symbols.items[old]!r}", hands[symbols.items[old]], symbols.items[new]
                        )
            else:
                self.hooks[name] += int((after.cells != state.cells).sum())
            state = after
        return state

    def _note_ticks(self, hook: str, before: Array, after: Array) -> None:
        rules, symbols, near = self.rules, self.rules.spec.symbols, self.rules.spec.game.near()
        counts = np.zeros_like(before) if near is None else _counts(rules, near, before)
        cases = _cases(symbols.ticks)
        triples = np.stack([counts, before, after], axis=-1)[:, rules.chancy].reshape(-1, 3)
        found, often = np.unique(triples, axis=0, return_counts=True)
        for (count, old, new), times in zip(found.tolist(), often.tolist(), strict=True):
            about = f"{symbols.things[old]!r}" + ("" if near is None else f", {count}")
            answer = cases[count * rules.n_things + old]
            self._note(hook, about, answer, symbols.things[new], times)

    def _replied(self, result: Any, rules: Rules, state: EnvState, events: Events) -> None:
        assert rules.slots is not None
        self.hooks["reply"] += int((rules.slots.kinds[events.row] > 0).sum())
        self.hooks["tick_slot"] += int((result[0].slots != state.slots).sum())
        self.hooks["slots"] += state.slots.size

    def _left(self, result: EnvState, rules: Rules, state: EnvState, events: Events) -> None:
        self.hooks["away"] += int((result.away & ~state.away).sum())
        self.hooks["spawn"] += int((~result.away & state.away).sum())

    def _finished(self, _: Any, rules: Rules, state: EnvState, events: Events) -> None:
        if rules.conditions:
            names = [name for name in ("finished", "remaining") if name in written(rules.spec.game)]
            for name, condition in zip(names, conditions(rules), strict=True):
                self.hooks[name] += int(condition(state).sum())

    def _note(self, hook: str, about: str, answer: tuple[Branch, ...], value: Any, times: int = 1) -> None:
        if hook in ("start", "hand"):
            self.hooks[hook] += times
        if len(answer) > 1:
            self._cases.setdefault((hook, about), (answer, Counter()))[1][value] += times

    def drawn(self) -> Iterable[Drawn]:
        """Every value of every `Chance` that was drawn."""
        for (hook, about), (answer, counts) in self._cases.items():
            shares = Counter[Any]()
            for branch, (value, _) in enumerate(answer):
                shares[value] += probability(branch, answer)
            draws = sum(counts.values())
            for value, share in shares.items():
                hits = counts[value]
                yield Drawn(hook, about, value, hits, draws, share, tail_of(draws, share, hits))


def _cases(odds: Any) -> list[tuple[Branch, ...]]:
    return [_case(odds, case) for case in range(odds.n_cases)]


def _case(odds: Any, case: int) -> tuple[Branch, ...]:
    """The branches of one case, without those that repeat the last one."""
    bounds = [int(bound[case]) for bound in odds.bounds] + [SCALE]
    values = odds.values[case :: odds.n_cases]
    found: list[Branch] = []
    for value, bound in zip(values, bounds, strict=True):
        if not found or bound > found[-1][1]:
            found.append((value, bound))
    return tuple(found)


def _counts(rules: Rules, near: Near, cells: Array) -> Array:
    """(B, cells) the marks near each cell, cut off; counted cell by cell, unlike in the step."""
    marks = rules.symbols(near.mark, np.int64)[cells]
    if near.radius is None:
        total = np.broadcast_to(marks.sum(axis=-1, keepdims=True), marks.shape)
        return np.minimum(total, near.most)
    row, column = np.divmod(np.arange(rules.n_cells), rules.width)
    total = np.zeros_like(marks)
    for r, c in near.offsets:
        there = (row + r >= 0) & (row + r < rules.height) & (column + c >= 0) & (column + c < rules.width)
        total += np.where(there, marks[:, np.where(there, (row + r) * rules.width + column + c, 0)], 0)
    return np.minimum(total, near.most)


def tail_of(draws: int, share: int, hits: int) -> float:
    """The probability of at most, or at least, so many hits by the exact binomial distribution."""
    if share in (0, SCALE):
        return float(hits == (draws if share else 0))
    p = share / SCALE
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, draws + 1)))))  # of the factorials
    k = np.arange(draws + 1)
    mass = np.exp(logs[draws] - logs - logs[::-1] + k * np.log(p) + (draws - k) * np.log1p(-p))
    return float(min(mass[: hits + 1].sum(), mass[hits:].sum()))
