"""Rewards: terms that listen to events, and never re-derive what happened."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.author.answers import AnyReward, Item, Price, Replies, Reward, Tally, Thing
from cogrid._core.compile.checking import naming_author, paying
from cogrid._core.phases.prices import Pay, by_slot, price, replies, tally
from cogrid._core.rules import Rules
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState, Events

#: Shaping points beyond this would make weight × points inexact (see `exact_weight`).
MAX_SHAPING = 255


class Scarcity(NamedTuple):
    """Tables of a term that is paid while supply < demand."""

    balance: np.ndarray[Any, Any]  # (things,) supply − demand of a thing, before the step
    in_hand: np.ndarray[Any, Any]  # (poses,) supply of a held item
    change: np.ndarray[Any, Any]  # (rows,) how an interaction changes the balance for later agents
    cells: np.ndarray[Any, Any]  # the cells whose balance can differ from 0


class Term(NamedTuple):
    """A reward term, compiled."""

    reward: AnyReward
    points: np.ndarray[Any, Any]  # float32, of events (rows,)
    scarcity: Scarcity | None
    pay: Pay | None  # for terms that are not for events


@functools.lru_cache(maxsize=256)
@naming_author
def terms(rules: Rules) -> tuple[Term, ...]:
    """The terms that can ever pay; shaping terms only if the spec turns shaping on."""
    wanted = [r for r in rules.game.rewards() if rules.spec.shaping or not r.shaping]
    compiled = tuple(term for reward in wanted if (term := _compile(rules, reward)).points.any())
    shaping = [term for term in compiled if term.reward.shaping]
    most = sum(abs(t.points).max() * (rules.n_agents if t.reward.team else 1) for t in shaping)
    if most > MAX_SHAPING:
        names = ", ".join(repr(term.reward.name) for term in shaping)
        raise ValueError(
            f"the shaping terms {names} can pay {most:g} points in a step, but only {MAX_SHAPING} are exact: "
            "pay fewer points and raise the weight."
        )
    return compiled


@functools.lru_cache(maxsize=256)
def never_paid(rules: Rules) -> tuple[str, ...]:
    """The terms that can never pay on these layouts."""
    paid = {term.reward.name for term in terms(rules)}
    wanted = (reward for reward in rules.game.rewards() if rules.spec.shaping or not reward.shaping)
    return tuple(reward.name for reward in wanted if reward.name not in paid)


def _compile(rules: Rules, reward: AnyReward) -> Term:
    scarcity, pay = None, None
    if isinstance(reward, Reward):
        points, scarcity = rules.events(paying(reward), np.float32), _scarcity(rules, reward)
    elif isinstance(reward, Price):
        points, pay = price(rules, reward)
    elif isinstance(reward, Tally):
        points, pay = tally(rules, reward)
    elif isinstance(reward, Replies):
        points, pay = replies(rules, reward)
    else:
        points, pay = by_slot(rules, reward)
    if not np.isfinite(points).all():
        raise ValueError(
            f"the term {reward.name!r} pays {points[~np.isfinite(points)][0]}: points must be finite."
        )
    if reward.shaping and (points != np.rint(points)).any():
        paid = sorted(set(points[points != 0].tolist()))
        raise ValueError(
            f"shaping term {reward.name!r} pays {paid}, but shaping points must be whole numbers: "
            "scale them with the weight."
        )
    return Term(reward, points, scarcity, pay)


def _scarcity(rules: Rules, reward: Reward) -> Scarcity | None:
    supply, demand = reward.supply, reward.demand
    if supply is None or demand is None:
        return None

    def lying(thing: Thing) -> int:
        return supply(thing, None)

    def carried(item: Item) -> int:
        return supply(None, item)

    def balance(thing: Thing) -> int:
        return lying(thing) - demand(thing)

    def left(item: Item) -> int:
        return 0 if reward.hands_at_start else carried(item)

    symbols, place = rules.spec.symbols, lying if reward.demand_at_start else balance
    change = [place(o.thing) - place(t) + left(o.held) - left(h) for h, t, o in symbols.rows]
    # A thing that several work on together would be counted once for each of them.
    change += [left(o.held) - left(h) for h, _, o in symbols.joint_rows]
    change += [sum(map(left, (m.held, m.other))) - left(h) - left(o) for h, o, m in symbols.meet_rows]
    cells = rules.cells_where(lambda thing: balance(thing) != 0)
    return Scarcity(
        rules.symbols(balance, np.int32),
        rules.items(carried, np.int32)[rules.held],
        np.array(change, np.int32),
        cells,
    )


def score(rules: Rules, before: EnvState, state: EnvState, choice: Array, events: Events) -> Array:
    """(*B, n) float32: the sum of all terms, team terms to all, shaping times its weight; 0 after the end.

    An agent that had ended before the step is paid nothing either, not even by terms for the team.
    """
    plain: Array = None
    shaped: Array = None
    for term in terms(rules):
        points = _paid(rules, term, before, state, choice, events)
        if term.reward.shaping:
            shaped = points if shaped is None else shaped + points
        else:
            plain = points if plain is None else plain + points
    if shaped is not None:
        shaped = before.shaping_weight[..., None] * shaped  # exact, so a fused multiply-add changes nothing
    zero = lift(rules.nothing, before.pos.ndim)
    total = [part for part in (plain, shaped) if part is not None] or [zero]
    paid = sum(total[1:], total[0])
    if before.ended is not None and any(map(_pays_the_idle, terms(rules))):
        paid = rules.xp.where(before.ended, zero, paid)
    return rules.backend.either(before.done, zero, paid)


def _pays_the_idle(term: Term) -> bool:
    """Whether a term can pay an agent that did nothing; a weight can make zero points -0."""
    return term.reward.team or term.reward.shaping or isinstance(term.reward, (Tally, Replies))


def components(
    rules: Rules, before: EnvState, state: EnvState, choice: Array, events: Events
) -> dict[str, Array]:
    """Every term without the shaping weight, name -> (*B, n); 0 for terms that can never pay."""
    over, zero = before.done[..., None], lift(rules.nothing, before.pos.ndim)
    over = over if before.ended is None else over | before.ended
    never = never_paid(rules)
    none = (before.pos - before.pos).astype(np.float32) if never else zero  # (*B, n)
    return dict.fromkeys(never, none) | {
        term.reward.name: rules.xp.where(over, zero, _paid(rules, term, before, state, choice, events))
        for term in terms(rules)
    }


def _paid(
    rules: Rules, term: Term, before: EnvState, state: EnvState, choice: Array, events: Events
) -> Array:
    """(*B, n) what one term pays to each agent; (*B, 1) if it pays the same to all."""
    if term.pay is not None:
        points = term.pay(before, state, choice, events)
    else:
        points = rules.lookup(term.points, events.row)
    if term.scarcity is not None:
        points = rules.xp.where(_scarce(rules, term.scarcity, before, events.row), points, np.float32(0))
    if term.reward.team:
        total = points[..., :1]
        for i in range(1, rules.n_agents):  # one by one: a sum over an axis may add in any order
            total = total + points[..., i : i + 1]
        points = total
    if isinstance(term.reward, Replies) and rules.replies:
        points = points + events.expired  # paid by ticks
    return points


def _scarce(rules: Rules, scarcity: Scarcity, before: EnvState, row: Array) -> Array:
    """(*B, n) whether supply < demand at the moment the agent acts."""
    lookup = rules.lookup
    things = lookup(scarcity.balance, rules.pick(before.cells, scarcity.cells))  # (*B, cells)
    hands = lookup(scarcity.in_hand, before.pose)  # (*B, n)
    change = lookup(scarcity.change, row)  # (*B, n)
    total: Any = {"axis": -1, "keepdims": True, "dtype": np.int32}  # which JAX_ENABLE_X64 would widen
    balance = [things.sum(**total) + hands.sum(**total)]
    for i in range(rules.n_agents - 1):
        balance.append(balance[i] + change[..., i : i + 1])
    return rules.xp.concatenate(balance, axis=-1) < 0


def exact_weight(weight: float | Array) -> Array:
    """A shaping weight rounded to 16 significant bits: its product with 8-bit points is exact.

    Subnormal numbers become 0, as XLA treats them.
    """
    if isinstance(weight, (int, float)):
        weight = np.asarray(weight)
    bits = weight.astype(np.float32).view(np.uint32) + np.uint32(0x80)
    normal = (bits & np.uint32(0x7F800000)) != 0
    return (bits * normal.astype(np.uint32) & np.uint32(0xFFFFFF00)).view(np.float32)
