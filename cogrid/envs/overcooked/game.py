"""The classic game: what cooks can do with the things of a kitchen."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from cogrid._core.compile.symbols import MAX_SYMBOLS
from cogrid._io.messages import brief, is_choice
from cogrid.author import (
    FLOOR,
    WALL,
    AnyReward,
    Feature,
    Game,
    Item,
    Layout,
    Look,
    Looks,
    Outcome,
    Planes,
    Thing,
    checked_integer,
    checked_number,
)
from cogrid.envs.overcooked import features, instructions, layouts, lineage_layouts, looks, rewards
from cogrid.envs.overcooked.objects import (
    DISH,
    INGREDIENTS,
    ONION,
    TOMATO,
    Counter,
    Pile,
    Pot,
    Serving,
    Soup,
    kind_of,
)
from cogrid.envs.overcooked.state import KitchenState

#: Ingredients, value, cook time; None takes the kitchen's own.
Recipe = tuple[tuple[str, ...], float | None, int | None]


class AnyKitchen(Game):
    """What all kitchens have in common: counters, piles, pots, servings, and cooks with hats."""

    cook_start: str  # an option of every kitchen

    def __post_init__(self) -> None:
        if not is_choice(self.cook_start, ("auto", "interact")):
            raise ValueError(f"cook_start={brief(self.cook_start)} is unknown: choose 'auto' or 'interact'.")

    def interact(self, held: Item, thing: Thing) -> Outcome | None:
        """The interactions of the classic game."""
        match held, thing:
            case None, Counter(item) if item is not None:
                return Outcome(item, Counter(None), "pick up")
            case None, Pile(item):
                return Outcome(item, thing, f"take {item}")
            case None, Pot(items, -1) if items and self.cook_start == "interact":
                return Outcome(None, Pot(items, self.time_of(items)), "start")
            case str() | Soup(), Counter(None):
                return Outcome(None, Counter(held), "put down")
            case str(ingredient), Pot(items, -1) if ingredient != DISH and len(items) < 3:
                return Outcome(None, self._filled((*items, ingredient)), f"pot {ingredient}")
            case "dish", Pot(items, 0):
                return Outcome(Soup(items), Pot((), -1), "plate")
            case Soup(items), Serving():
                return Outcome(None, thing, "deliver", self.value_of(items))
        return None

    def _filled(self, items: tuple[str, ...]) -> Pot:
        items = tuple(sorted(items))
        starts = len(items) == 3 and self.cook_start == "auto"
        return Pot(items, self.time_of(items) if starts else -1)

    def tick(self, thing: Thing) -> Thing:
        """A cooking pot has one step less to go."""
        if isinstance(thing, Pot) and thing.timer > 0:
            return Pot(thing.items, thing.timer - 1)
        return thing

    def time_of(self, items: tuple[str, ...]) -> int:
        """Cook time of a soup."""
        raise NotImplementedError

    def value_of(self, items: tuple[str, ...]) -> float:
        """What a delivered soup scores."""
        raise NotImplementedError

    def how_to_play(self, things: Collection[Thing], items: Collection[Item]) -> str:
        """How a soup is made, and which soups score."""
        if not (soups := instructions.scoring_soups(self, items)):
            return "No soup can score here."
        return " ".join((*instructions.cooking(self, things, soups), *self._told(things, soups)))

    def _told(self, things: Collection[Thing], soups: instructions.Soups) -> Iterator[str]:
        """What a new cook is told about scores."""
        yield instructions.scoring(self, soups)

    def kind(self, thing: Thing) -> str:
        """floor, wall, counter, pot, serving, onion_pile …"""
        return kind_of(thing)

    def lying(self, thing: Thing) -> Item:
        """What lies on a counter."""
        return thing.item if isinstance(thing, Counter) else None

    def item_name(self, item: Item) -> str:
        """onion, tomato, dish, soup:…"""
        return f"soup:{','.join(item.items)}" if isinstance(item, Soup) else str(item)

    def looks(self) -> Looks:
        """Kitchens from above; cooks wear hats. See `envs/overcooked/looks.py`."""
        return Looks(thing=self._look, item=looks.item, agent=looks.cook, glyph=self._glyph)

    def _look(self, thing: Thing) -> Look | None:
        """Pots show their contents and the progress of their cooking."""
        left = thing.timer / self.time_of(thing.items) if isinstance(thing, Pot) and thing.timer > 0 else 0.0
        return looks.look(thing, 1.0 - left)

    def _glyph(self, thing: Thing) -> str | None:
        """Pots show their number of items, ~ while they cook, * when ready."""
        if isinstance(thing, Pot) and thing.items:
            return "P" + (str(len(thing.items)) if thing.timer < 0 else "~" if thing.timer else "*")
        return None


@dataclass(frozen=True)
class Kitchen(AnyKitchen):
    """The classic game: three items per pot, a soup onto a dish, a dish to the serving."""

    cook_time: int = 20  # steps from its start until a soup can be taken
    cook_start: str = "auto"  # "auto": with the third item; "interact": an empty hand starts it
    recipes: tuple[Recipe, ...] = ()  # (ingredients, value, time) where they differ from the kitchen's
    orders: tuple[tuple[str, ...], ...] | None = (
        None  # soups that score: three onions and the recipes; (): all
    )
    bonus_orders: tuple[tuple[str, ...], ...] = ()  # orders that score `order_bonus` times
    order_bonus: float = 2.0  # factor for the value of a bonus order
    soup_value: float = 20.0  # score of a delivered soup, to every agent

    legend: ClassVar[Mapping[str, Thing]] = MappingProxyType(
        {
            FLOOR: "floor",
            WALL: "wall",
            "X": Counter(None),
            "O": Pile(ONION),
            "T": Pile(TOMATO),
            "D": Pile(DISH),
            "P": Pot((), -1),
            "S": Serving(),
        }
    )
    layouts: ClassVar[Mapping[str, Layout]] = MappingProxyType(
        {**layouts.LAYOUTS, **layouts.OLDER_LAYOUTS, **lineage_layouts.LAYOUTS}
    )
    state_type: ClassVar[type[KitchenState]] = KitchenState

    def __post_init__(self) -> None:
        """Check the options and sort the recipes."""
        super().__post_init__()
        checked_integer("cook_time", self.cook_time, 1, MAX_SYMBOLS)
        for name in ("order_bonus", "soup_value"):
            object.__setattr__(self, name, checked_number(name, getattr(self, name), -1e6, 1e6))
        for name, read in (("orders", _soup), ("bonus_orders", _soup), ("recipes", _recipe)):
            value = getattr(self, name)
            if isinstance(value, (list, tuple)):
                object.__setattr__(self, name, tuple(map(read, value)))
            elif value is not None or name != "orders":
                raise TypeError(f"{name}={brief(value)} is not a list.")

    def time_of(self, items: tuple[str, ...]) -> int:
        """Cook time of a soup."""
        own = next((time for soup, _, time in self.recipes if soup == items), None)
        return self.cook_time if own is None else own

    def value_of(self, items: tuple[str, ...]) -> float:
        """What a delivered soup scores."""
        orders = self.orders
        if orders is None:
            orders = ((ONION, ONION, ONION), *(soup for soup, _, _ in self.recipes))
        if orders and items not in orders + self.bonus_orders:
            return 0.0
        own = next((value for soup, value, _ in self.recipes if soup == items), None)
        value = self.soup_value if own is None else own
        return value * self.order_bonus if items in self.bonus_orders else value

    def rewards(self) -> tuple[AnyReward, ...]:
        """Deliveries, and the classic shaping."""
        return rewards.REWARDS

    def features(self) -> tuple[Feature, ...]:
        """See `envs/overcooked/features.py`."""
        return features.features(self.longest)

    @property
    def known(self) -> tuple[str, ...]:
        """The ingredients."""
        return INGREDIENTS

    def menu(self, seen: Sequence[Thing] | None, slots: Sequence[Thing]) -> Kitchen | None:
        """Cooks know the orders of the classic game from the start."""
        return self

    def after(self, soup: tuple[str, ...]) -> Kitchen:
        """Every soup scores, however many are made."""
        return self

    @property
    def longest(self) -> int:
        """The longest cook time of all soups."""
        return max([self.cook_time, *(time for _, _, time in self.recipes if time is not None)])

    def planes(self) -> Planes:
        """The lossless planes of overcooked_ai."""
        paint, paint_agent = features.paint, features.paint_agent
        return Planes(features.PLANES, thing=paint, agent=paint_agent, countdown=("urgent", 40))


def _soup(items: Any) -> tuple[str, ...]:
    if isinstance(items, str):
        items = items.split(",")
    known = isinstance(items, (list, tuple)) and all(is_choice(item, INGREDIENTS) for item in items)
    if not known or not 1 <= len(items) <= 3:
        wanted = f"it takes one to three of {', '.join(INGREDIENTS)}"
        raise ValueError(f"{brief(items)} is not a soup: {wanted}.")
    return tuple(sorted(items))


def _recipe(recipe: Any) -> Recipe:
    try:
        items, value, time = recipe
    except (TypeError, ValueError):
        raise ValueError(f"recipe {brief(recipe)} is not (ingredients, value, time).") from None
    if time is not None:
        checked_integer(f"cook time of recipe {items!r}", time, 1, MAX_SYMBOLS)
    if value is not None:
        value = checked_number(f"value of recipe {items!r}", value, -1e6, 1e6)
    return _soup(items), value, time
