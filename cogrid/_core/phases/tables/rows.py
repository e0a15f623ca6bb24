"""Rows: the rule tables that several phases read, for single agents, joint work and meetings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cogrid._core.compile.asking import acts
from cogrid._core.compile.intents import joint_intent
from cogrid._core.compile.odds import Odds
from cogrid._core.phases.phase import Table

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class Meetings:
    """The rows in which agents act on each other."""

    first: int  # the number of the first such row
    of_choice: Table  # (choices,) int32 the line of the choice; the other's item is added
    swap_other: Table  # (lines,) the change of the other's hand, and so of its pose
    useful: Table  # (lines of one branch,) whether anything can happen
    odds: Odds


@dataclass(frozen=True, eq=False)
class Rows:
    """Tables by row.

    A *row* is the number `((branch · intents + intent) · items + item) · things + thing`, where only chance
    has several branches. Those of joint work and of meetings follow, ordered as in `Symbols`.
    """

    verbs: tuple[str, ...]  # "" first, for nothing
    of_choice: Table  # (choices,) the row of the choice; the thing is added
    thing_after: Table  # (rows of single agents,) symbol
    swap: Table  # (rows,) the change of the hand, and so of the pose
    verb: Table  # (rows,) int16 number in `verbs`
    useful: Table  # (rows of one branch,) whether anything can happen, alone or with others
    first_joint: int
    meetings: Meetings | None
    outcomes: Odds
    drawn: Table  # the agents whose outcome is drawn: all or none

    @property
    def acts_alone(self) -> bool:
        """An agent can do something by itself, with a thing or another agent."""
        return self.meetings is not None or bool(self.verb[: self.first_joint].any())

    @property
    def first_meeting(self) -> int:
        """The number of the first row of meetings; that of all rows if there are none."""
        return len(self.verb) if self.meetings is None else self.meetings.first


def rows_of(rules: Rules) -> Rows:
    """Number every row that can be looked up, and build the tables over them."""
    symbols = rules.spec.symbols
    rows, lines, number = symbols.rows, symbols.lines, symbols.item_number
    verbs = tuple(dict.fromkeys(["", *(outcome.verb for _, _, outcome in lines)]))
    swap = [number[outcome.held] - number[held] for held, _, outcome in lines]
    verb_number = {verb: number for number, verb in enumerate(verbs)}
    verb = np.array([verb_number[outcome.verb] for _, _, outcome in lines], np.int16)
    of_choice = _of_choice(rules)
    meetings = _meetings(rules, verb, of_choice)
    branches = max(symbols.outcomes.n_branches, meetings.odds.n_branches if meetings else 1)
    return Rows(
        verbs,
        of_choice,
        np.array([symbols.number[outcome.thing] for _, _, outcome in rows], rules.row_dtype),
        np.array(swap, rules.agent_dtype),
        verb,
        _useful(rules, verb),
        len(rows),
        meetings,
        symbols.outcomes,
        np.arange(rules.n_agents if branches > 1 else 0),
    )


def _of_choice(rules: Rules) -> Table:
    intents, block = rules.spec.symbols.intents, rules.n_items * rules.n_things
    actions = rules.table_actions
    first = np.array([intents.index(a.intent) * block if a.intent in intents else 0 for a in actions])
    can_act = rules.items(lambda item: acts(rules.answers, item), bool)[rules.held]
    rows = np.where(can_act, first[:, None], 0) + rules.held.astype(np.int64) * rules.n_things
    return rows.astype(rules.row_dtype).reshape(-1)


def _useful(rules: Rules, verb: Table) -> Table:
    symbols = rules.spec.symbols
    first, count = len(symbols.rows), len(symbols.joint_rows)
    useful: Table = np.any(verb[:first].reshape(symbols.outcomes.n_branches, -1) > 0, axis=0)
    if count:
        block, intent = rules.n_items * rules.n_things, symbols.intents.index(joint_intent(rules.answers))
        happens = (verb[first : first + count].reshape(-1, block) > 0).any(axis=0)
        useful[intent * block : (intent + 1) * block] |= happens
    return useful


def _meetings(rules: Rules, verb: Table, of_choice: Table) -> Meetings | None:
    symbols = rules.spec.symbols
    lines, number, odds = symbols.meet_rows, symbols.item_number, symbols.meetings
    if odds is None:
        return None
    block, first = rules.n_items**2, len(symbols.rows) + len(symbols.joint_rows)
    swap = [number[meeting.other] - number[other] for _, other, meeting in lines]
    intent, held = np.divmod(of_choice // rules.n_things, rules.n_items)
    line = (intent * block + held * rules.n_items).astype(np.int32)
    useful: Table = np.any(verb[first:].reshape(odds.n_branches, -1) > 0, axis=0)
    return Meetings(first, line, np.array(swap, rules.agent_dtype), useful, odds)
