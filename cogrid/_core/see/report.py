"""Reports: the optional infos of a step, for counting events and masking actions."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from cogrid._core.phases.phase import Events
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules

#: What is counted in every game, in addition to its verbs.
ALWAYS = ("moves", "contests", "idle steps")


def counters(rules: Rules) -> tuple[str, ...]:
    """Names of the last axis of the counts: every verb of the game, the common counters, and timed verbs."""
    away = ("steps away",) if rules.leaves else ()
    return (*rules.verbs[1:], *ALWAYS, *away, *(f"step of {verb}" for verb in rules.game.timed))


@functools.lru_cache(maxsize=256)
def _timed(rules: Rules) -> np.ndarray[Any, Any]:
    """The numbers of the timed verbs; −1 for one that cannot happen on these layouts."""
    numbers = {verb: number for number, verb in enumerate(rules.verbs)}
    return np.array([numbers.get(verb, -1) for verb in rules.game.timed], np.int16)


@functools.lru_cache(maxsize=256)
def _numbers(rules: Rules) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The numbers of the verbs, without 0 for nothing, and of the actions."""
    verbs = np.arange(1, len(rules.verbs), dtype=np.int16)
    return verbs, np.arange(rules.n_actions, dtype=rules.choice_dtype)


def report(rules: Rules, state: EnvState, events: Events) -> dict[str, Any]:
    """Events by name, their counts, every reward term, and the mask of the next actions; (*B, n, …)."""
    lookup, going = rules.lookup, ~events.before.done[..., None]  # after the end nothing is reported
    verb = rules.xp.where(going, lookup(rules.rows.verb, events.row), np.int16(0))
    thing = events.row % rules.n_things
    item = events.row // rules.n_things % rules.n_items
    acted = verb > 0  # on a thing, not on another agent
    if rules.rows.meetings is not None:
        first = rules.rows.meetings.first
        met, line = events.row >= first, events.row - first
        item = rules.xp.where(met, line // rules.n_items % rules.n_items, item)
        acted = acted & ~met
    item = rules.xp.where(verb > 0, item, 0)
    infos = {
        "verb": verb,  # number in env.verbs, 0 nothing
        "item": lookup(
            rules.item_types, item.astype(rules.agent_dtype)
        ),  # type id in the hand before, −1 none
        "target": rules.xp.where(acted, lookup(rules.types, thing), 0),  # type id of the thing before
        "moved": events.moved & going,
        "bumped": (events.stride != 0) & ~events.moved & going,
        "counts": counts(rules, state, events, verb),
        "action_mask": action_mask(rules, state),
    }
    if rules.leaves:
        infos["away"] = state.away  # off the board, now
    return infos | {"rewards": rules.rewards.components(rules, state, events)}


def counts(rules: Rules, state: EnvState, events: Events, verb: Array) -> Array:
    """(*B, n, counters) int32 how often each happened in this step, to be summed over steps; 0 after the end.

    A contest is a move to a free cell that another agent prevented. An agent is idle if it did nothing
    visible: no verb, no move, no turn, no contest. An agent that was off the board before the step is away,
    not idle. A timed verb counts the steps before it.
    """
    before = events.before
    awake = ~before.done[..., None]
    if before.ended is not None:
        awake = awake & ~before.ended
    away = [awake & before.away] if rules.leaves else []
    awake = awake & ~before.away if rules.leaves else awake
    codes = lift(_numbers(rules)[0], verb.ndim + 1)
    contest = awake & ~events.moved & (events.wanted != before.pos)
    turned = rules.lookup(rules.facing, before.pose) != rules.lookup(rules.facing, state.pose)
    idle = awake & (verb == 0) & ~events.moved & ~turned & ~contest
    always = rules.xp.stack((awake & events.moved, contest, idle, *away), axis=-1)
    happened = rules.xp.concatenate((verb[..., None] == codes, always), axis=-1).astype(np.int32)
    if not (timed := _timed(rules)).size:
        return happened
    now = rules.xp.where(verb[..., None] == lift(timed, verb.ndim + 1), before.clock[..., None, None], 0)
    return rules.xp.concatenate((happened, now.astype(np.int32)), axis=-1)


def action_mask(rules: Rules, state: EnvState) -> Array:
    """(*B, n, actions) whether the action would change anything if the agent were alone; True for noop."""
    every = lift(_numbers(rules)[1], state.pos.ndim + 1)
    choice = every * rules.n_poses + state.pose.astype(rules.choice_dtype)[..., None]  # (*B, n, actions)
    shares = (phase.useful(rules, state, choice) for phase in rules.phases)
    useful = functools.reduce(operator.or_, (share for share in shares if share is not None))
    if state.ended is not None:
        useful = useful & ~state.ended[..., None]
    if rules.leaves:
        useful = useful & ~state.away[..., None]
    return useful | (every == rules.noop)


def first_report(rules: Rules, state: EnvState) -> dict[str, Array]:
    """The infos of a reset: the mask, and who is off the board."""
    away = {"away": state.away} if rules.leaves else {}
    return {"action_mask": action_mask(rules, state)} | away
