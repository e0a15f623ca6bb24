"""The order queue: orders arrive at random, each with a clock; a soup fills the oldest one that matches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from cogrid._core.compile.symbols import MAX_SYMBOLS
from cogrid._io.messages import several
from cogrid.author import (
    AnyReward,
    Chance,
    Event,
    Feature,
    Look,
    Looks,
    Paint,
    Part,
    Planes,
    Replies,
    Reply,
    Slot,
    SlotFeature,
    Thing,
    checked_integer,
    checked_number,
)
from cogrid.envs.overcooked import features, instructions, looks
from cogrid.envs.overcooked.game import Kitchen
from cogrid.envs.overcooked.objects import ONION, TOMATO, Serving, Soup
from cogrid.envs.overcooked.rewards import REWARDS

#: The slot that takes soups that nobody has ordered.
NOBODY = "nobody"


class Order(NamedTuple):
    """An ordered soup, and the steps left."""

    soup: tuple[str, ...]
    left: int


@dataclass(frozen=True)
class OrderKitchen(Kitchen):
    """Up to `max_orders` open orders, each with a clock: a served soup fills the oldest one that matches."""

    orders: tuple[tuple[str, ...], ...] | None = (("onion",) * 3, ("tomato",) * 3)  # drawn uniformly
    max_orders: int = 2  # open at a time
    order_gap: int = 25  # mean number of steps until a free place has a new order
    order_time: int = 100  # steps until an order expires
    expiry_cost: float = 20.0  # to every agent, when an order expires
    wrong_cost: float = 20.0  # to every agent, for a soup that no open order asks for

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_integer("max_orders", self.max_orders, 1, 8)
        checked_integer("order_gap", self.order_gap, 1, 10**6)
        checked_integer("order_time", self.order_time, 1, MAX_SYMBOLS)
        for name in ("expiry_cost", "wrong_cost"):
            object.__setattr__(self, name, checked_number(name, getattr(self, name), 0.0, 1e6))
        if not self.orders:
            raise ValueError(f"orders={self.orders!r} names no soup that can be ordered: give at least one.")

    @property
    def places(self) -> tuple[str, ...]:
        """The names of the orders' slots."""
        return tuple(f"order {k + 1}" for k in range(self.max_orders))

    def parts(self) -> tuple[Part | None, ...]:
        """A slot for each order, none of which is open at first, and one for soups that nobody ordered."""
        served = ("deliver",)
        orders = [Slot(place, None, self._fill, self._next, self._rank, to=served) for place in self.places]
        nobody = Slot(NOBODY, reply=self._refuse, rank=self._rank, to=served) if self.wrong_cost else None
        return (*super().parts(), *orders, nobody)

    def _fill(self, thing: Thing, event: Event) -> Reply | None:
        """A served soup fills an order for it."""
        if not isinstance(thing, Order) or event.held != Soup(thing.soup):
            return None
        return Reply(None, self.value_of(thing.soup))

    def _refuse(self, thing: Thing, event: Event) -> Reply:
        """A served soup that no order asks for costs."""
        return Reply(None, -self.wrong_cost)

    def _rank(self, thing: Thing) -> int:
        """The oldest order first, and nobody's last."""
        return thing.left if isinstance(thing, Order) else self.order_time + 1

    def _told(self, things: Collection[Thing], soups: instructions.Soups) -> Iterator[str]:
        """Orders, and what they cost."""
        yield "A soup scores only if it was ordered: cards at the serving show the open orders."
        yield from super()._told(things, soups)
        late = f"costs everybody {instructions.points(self.expiry_cost)}" if self.expiry_cost else "is lost"
        yield f"An order that is not served within {several(self.order_time, 'step')} {late}."
        if self.wrong_cost:
            yield f"A soup that nobody ordered costs everybody {instructions.points(self.wrong_cost)}."

    def _next(self, thing: Thing) -> Thing | Chance:
        """Clocks run; a free place, even one whose order has just expired, gets a new order at random."""
        if isinstance(thing, Order) and thing.left > 1:
            return Order(thing.soup, thing.left - 1)
        cost = self.expiry_cost if thing is not None else 0.0
        assert self.orders
        new = [(Reply(Order(soup, self.order_time), -cost), 1) for soup in self.orders]
        none = [(Reply(None, -cost), (self.order_gap - 1) * len(new))] if self.order_gap > 1 else []
        return Chance(*none, *new)

    def rewards(self) -> tuple[AnyReward, ...]:
        """Orders instead of deliveries, and the classic shaping."""
        return (Replies("orders"), *(term for term in REWARDS if term.shaping))

    def features(self) -> tuple[Feature, ...]:
        """The classic features, and for each order which soup it is and how much of its time is left."""
        names = tuple(",".join(soup) for soup in self.orders or ())
        shown = tuple(SlotFeature(slot, (*names, "time left"), self._numbers) for slot in self.places)
        return (*super().features(), *shown)

    def _numbers(self, thing: Thing) -> tuple[float, ...]:
        soup, left = thing if isinstance(thing, Order) else ((), 0)
        return (*(float(soup == one) for one in self.orders or ()), left / self.order_time)

    def planes(self) -> Planes:
        """Those of the classic game, and at the servings each order's ingredients and time."""
        own = (f"{place} {what}" for place in self.places for what in _SHOWN)
        return replace(
            super().planes(), names=(*features.PLANES, *own), slot=_paint_order, shows=_shows_orders
        )

    def looks(self) -> Looks:
        """A card for every open order at the servings."""
        return replace(super().looks(), slot=self._card)

    def value_of(self, items: tuple[str, ...]) -> float:
        """What a delivered soup scores if an order for it is open; a soup that is never ordered costs."""
        return super().value_of(items) if items in (self.orders or ()) else -self.wrong_cost

    def menu(self, seen: Sequence[Thing] | None, slots: Sequence[Thing]) -> OrderKitchen | None:
        """The orders that are open, which are read at a serving."""
        if seen is not None and not any(map(_shows_orders, seen)):
            return None
        orders = sorted((thing for thing in slots if isinstance(thing, Order)), key=lambda order: order.left)
        return OpenOrders(**self._options(), open=tuple(order.soup for order in orders))

    def _options(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(OrderKitchen)}

    def _card(self, thing: Thing, slot: str, inside: Thing) -> Look:
        """An order, its clock rounded up to a twelfth."""
        if not isinstance(inside, Order):
            return ()
        left = -(-12 * inside.left // self.order_time) / 12
        return looks.order(inside.soup, left, self.places.index(slot), self.max_orders)


_SHOWN = ("onions", "tomatoes", "time left")


def _shows_orders(thing: Thing) -> bool:
    return isinstance(thing, Serving)


def _paint_order(slot: str, thing: Thing) -> Paint:
    """How many onions and tomatoes, and how many steps are left."""
    if not isinstance(thing, Order):
        return {}
    seen = thing.soup.count(ONION), thing.soup.count(TOMATO), min(thing.left, 255)
    return {f"{slot} {what}": value for what, value in zip(_SHOWN, seen, strict=True)}


@dataclass(frozen=True)
class OpenOrders(OrderKitchen):
    """The kitchen as known to a cook who has read the orders."""

    open: tuple[tuple[str, ...], ...] = ()  # the oldest first

    def value_of(self, items: tuple[str, ...]) -> float:
        """Only open orders pay; the oldest is worth a little more."""
        if items not in self.open:
            return -max(self.wrong_cost, 1.0)
        return super().value_of(items) + 1 / (1 + self.open.index(items))

    def menu(self, seen: Sequence[Thing] | None, slots: Sequence[Thing]) -> OrderKitchen | None:
        """The orders last read; but if there were none, any order may be open by now."""
        return super().menu(seen, slots) or (self if self.open else OrderKitchen(**self._options()))

    def after(self, soup: tuple[str, ...]) -> OpenOrders:
        """The open orders without one for this soup."""
        if soup not in self.open:
            return self
        place = self.open.index(soup)
        return replace(self, open=self.open[:place] + self.open[place + 1 :])
