"""Rewards: terms that listen to events, and never re-derive what happened."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from cogrid._core.author.rewards import AnyReward, BySlot, Price, Replies, Reward, Tally, pays_other
from cogrid._core.author.values import Item, Thing
from cogrid._core.compile.checking import paying
from cogrid._core.phases.phase import Events, Phase, Table
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules

#: The state now and the events of the step -> points (*B, n), or (*B, 1) for all.
Pay = Callable[[EnvState, Events], Array]
#: Shaping points beyond this would make weight × points inexact (see `exact_weight`).
MAX_SHAPING = 255


class Scarcity(NamedTuple):
    """Tables of a term that is paid while supply < demand."""

    balance: Table  # (things,) supply − demand of a thing, before the step
    in_hand: Table  # (poses,) supply of a held item
    change: Table  # (rows,) how an interaction changes the balance for later agents
    cells: Table  # the cells whose balance can differ from 0


class Term(NamedTuple):
    """A reward term, compiled."""

    reward: AnyReward
    points: Table  # float32, of events (rows,)
    scarcity: Scarcity | None
    pay: Pay | None  # for terms that are not for events
    other: bool  # whether the agent that was met is paid


@dataclass(frozen=True, eq=False)
class Rewards(Phase):
    """The sum of all terms, team terms to all, shaping times its weight; 0 after the end.

    An agent that had ended before the step is paid nothing either, not even by terms for the team.
    """

    terms: tuple[Term, ...]  # those that can ever pay; shaping terms only if the spec turns shaping on
    never_paid: tuple[str, ...]  # the names of those that can never pay on these layouts
    pays_idle: bool  # whether a term can pay an agent that did nothing
    nothing: Table  # (n,) float32 zeros, what all are paid after the end
    name: ClassVar[str] = "reward"

    @classmethod
    def compile(cls, rules: Rules) -> Self:
        """The terms that can pay on these layouts, and the names of those that never do."""
        wanted = [reward for reward in rules.game.rewards() if rules.spec.shaping or not reward.shaping]
        compiled = [_compile(rules, reward) for reward in wanted]
        terms = tuple(term for term in compiled if term.points.any())
        never = tuple(term.reward.name for term in compiled if not term.points.any())
        _check_shaping(rules, terms)
        return cls(terms, never, any(map(_pays_the_idle, terms)), np.zeros(rules.n_agents, np.float32))

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        before, plain, shaped = events.before, None, None
        for term in self.terms:
            points = _paid(rules, term, state, events)
            if term.reward.shaping:
                shaped = points if shaped is None else shaped + points
            else:
                plain = points if plain is None else plain + points
        zero = lift(self.nothing, before.pos.ndim)
        paid = zero if plain is None else plain
        if shaped is not None:
            shaped = before.shaping_weight[..., None] * shaped  # exact: a fused multiply-add changes nothing
            paid = shaped if plain is None else plain + shaped
        if self.pays_idle and before.ended is not None:
            paid = rules.xp.where(before.ended, zero, paid)
        return state, events.evolve(rewards=rules.backend.either(before.done, zero, paid))

    def components(self, rules: Rules, state: EnvState, events: Events) -> dict[str, Array]:
        """Every term without the shaping weight, name -> (*B, n); 0 for terms that can never pay."""
        before, zero = events.before, lift(self.nothing, events.before.pos.ndim)
        over = before.done[..., None]
        over = over if before.ended is None else over | before.ended
        none = (before.pos - before.pos).astype(np.float32) if self.never_paid else zero  # (*B, n)
        return dict.fromkeys(self.never_paid, none) | {
            term.reward.name: rules.xp.where(over, zero, _paid(rules, term, state, events))
            for term in self.terms
        }


def _check_shaping(rules: Rules, terms: tuple[Term, ...]) -> None:
    """Raise an error if the shaping terms can pay more points in a step than are exact."""
    shaping = [term for term in terms if term.reward.shaping]
    most = sum(abs(t.points).max() * (rules.n_agents if _adds_up(t) else 1) for t in shaping)
    if most > MAX_SHAPING:
        names = ", ".join(repr(term.reward.name) for term in shaping)
        raise ValueError(
            f"the shaping terms {names} can pay {most:g} points in a step, but only {MAX_SHAPING} are exact: "
            "pay fewer points and raise the weight."
        )


def _compile(rules: Rules, reward: AnyReward) -> Term:
    scarcity, pay = None, None
    if isinstance(reward, Reward):
        points, scarcity = rules.events(paying(reward), np.float32), _scarcity(rules, reward)
        if reward.other:
            if rules.rows.meetings is None:
                raise ValueError(
                    f"the term {reward.name!r} pays the other agent, but no action of "
                    f"{type(rules.game).__name__} works on agents."
                )
            points[: rules.rows.first_meeting] = 0
    elif isinstance(reward, Price):
        points, pay = _price(rules, reward)
    elif isinstance(reward, Tally):
        points, pay = _tally(rules, reward)
    elif isinstance(reward, Replies):
        points, pay = _replies(rules, reward)
    else:
        points, pay = _by_slot(rules, reward)
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
    return Term(reward, points, scarcity, pay, pays_other(reward))


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


class _Paid(NamedTuple):
    """A term that is not for events: all points that it can pay, and the function that pays them."""

    points: Table  # float32
    pay: Pay


def _price(rules: Rules, term: Price) -> _Paid:
    """A table over actions and poses; agents that have ended get nothing."""
    of_hands, names = rules.spec.symbols.of_hands, [action.name for action in rules.spec.actions]
    if rules.out_of_range == rules.n_actions:
        names.append(names[rules.noop])
    points = paying(term)
    by_item = [of_hands(functools.partial(points, name)) for name in names]
    table = np.array(by_item, np.float32)[:, rules.held].reshape(-1)

    def pay(state: EnvState, events: Events) -> Array:
        points, ended = rules.lookup(table, events.choice), events.before.ended
        return points if ended is None else rules.xp.where(ended, np.float32(0), points)

    return _Paid(table, pay)


def _tally(rules: Rules, term: Tally) -> _Paid:
    """A sum over the cells that can count, at most `most`, and a table over it: all in integers."""
    counts = rules.symbols(term.count, np.int32)
    where = rules.cells_where(lambda thing: term.count(thing) != 0)
    table = np.array([*map(paying(term), range(term.most + 1))], np.float32)

    def pay(state: EnvState, events: Events) -> Array:
        cells = rules.pick((state if term.now else events.before).cells, where)  # (*B, k)
        total = rules.lookup(counts, cells).sum(axis=-1, keepdims=True)
        return rules.lookup(table, rules.xp.clip(total, 0, term.most))

    return _Paid(table, pay)


def _replies(rules: Rules, term: Replies) -> _Paid:
    """The values of slots' replies; those of ticks are added by `rewards`, once for all agents."""
    if rules.slots is None:
        raise ValueError(
            f"the term {term.name!r} pays replies, but {type(rules.game).__name__} has no slots."
        )
    answers = (*rules.slots.replies.values, *rules.slots.ticks.values)
    values = [reply.value for reply in answers if reply is not None]

    def pay(state: EnvState, events: Events) -> Array:
        return rules.xp.zeros_like(events.row, np.float32) if events.replies is None else events.replies

    return _Paid(np.array([0.0, *values], np.float32), pay)


def _by_slot(rules: Rules, term: BySlot) -> _Paid:
    """A table over the slot's things and the rows."""
    if rules.slots is None or term.slot not in rules.slots.names:
        raise ValueError(
            f"the term {term.name!r} names the slot {term.slot!r}: {type(rules.game).__name__} has "
            f"{', '.join(() if rules.slots is None else rules.slots.names) or 'none'}."
        )
    symbols, index, can_be = rules.spec.symbols, rules.slots.names.index(term.slot), rules.slots.can_be
    points = paying(term)
    size, remedy = len(rules.slots.things) * len(symbols.lines), "let slots be fewer things"
    rules.check_table(f"the term {term.name!r}", size, remedy)
    table = np.array(
        [
            symbols.of_event(lambda event, slot=slot: points(event, slot), *line)
            if line.made.verb and (term.slot, slot) in can_be
            else 0
            for slot in rules.slots.things
            for line in symbols.lines
        ],
        np.float32,
    )

    def pay(state: EnvState, events: Events) -> Array:
        first = events.before.slots[..., index : index + 1].astype(np.int32) * np.int32(len(symbols.lines))
        return rules.lookup(table, first + events.row.astype(np.int32))

    return _Paid(table, pay)


def _adds_up(term: Term) -> bool:
    """Whether an agent can be paid for several agents' events in one step."""
    return term.reward.team or term.other


def _pays_the_idle(term: Term) -> bool:
    """Whether a term can pay an agent that did nothing; a weight can make zero points -0."""
    return _adds_up(term) or term.reward.shaping or isinstance(term.reward, (Tally, Replies))


def _paid(rules: Rules, term: Term, state: EnvState, events: Events) -> Array:
    """(*B, n) what one term pays to each agent; (*B, 1) if it pays the same to all."""
    pay = term.pay
    points = rules.lookup(term.points, events.row) if pay is None else pay(state, events)
    if term.scarcity is not None:
        scarce = _scarce(rules, term.scarcity, events.before, events.row)
        points = rules.xp.where(scarce, points, np.float32(0))
    if term.reward.team:
        total = points[..., :1]
        for i in range(1, rules.n_agents):  # one by one: a sum over an axis may add in any order
            total = total + points[..., i : i + 1]
        points = total
    if term.other:
        agents = lift(np.arange(rules.n_agents, dtype=np.int32), points.ndim)
        paid = [
            rules.xp.where(agents == events.met[..., i : i + 1], points[..., i : i + 1], np.float32(0))
            for i in range(rules.n_agents)
        ]
        points = functools.reduce(operator.add, paid)  # one by one, as above
    if isinstance(term.reward, Replies) and events.expired is not None:
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
