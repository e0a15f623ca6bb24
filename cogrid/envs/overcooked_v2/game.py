"""OvercookedV2: a recipe drawn for the episode, shown by indicators and by buttons when pressed."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from cogrid._io.messages import brief, is_choice, several
from cogrid.author import (
    FLOOR,
    WALL,
    AnyReward,
    Chance,
    Event,
    Feature,
    Item,
    Layout,
    Look,
    Looks,
    Outcome,
    Paint,
    Part,
    Planes,
    Reply,
    Slot,
    Thing,
    checked_flag,
    checked_integer,
    checked_number,
)
from cogrid.envs.overcooked import instructions, looks
from cogrid.envs.overcooked.game import AnyKitchen
from cogrid.envs.overcooked.objects import (
    CARROT,
    DISH,
    MUSHROOM,
    ONION,
    TOMATO,
    Counter,
    Pile,
    Pot,
    Serving,
    Soup,
)
from cogrid.envs.overcooked_v2 import features, rewards, starts
from cogrid.envs.overcooked_v2.layouts import PLANS
from cogrid.envs.overcooked_v2.objects import INGREDIENTS, Button, Indicator, Recipe
from cogrid.envs.overcooked_v2.state import RecipeState

BUTTON_TIME = 10
_FLAGS = ("negative_rewards", "sample_recipe_on_delivery", "indicate_successful_delivery", "random_reset")


@dataclass(frozen=True)
class KitchenV2(AnyKitchen):
    """OvercookedV2: three items per pot, any soup can be delivered, and only the current recipe scores."""

    ingredients: int = 1  # how many of onion, tomato, carrot and mushroom are known, up to 4
    recipes: tuple[tuple[str, ...], ...] = ()  # what can be drawn; (): all that the ingredients make
    cook_time: int = 20  # steps from its start until a soup can be taken
    cook_start: str = "auto"  # "auto": with the third item; "interact": an empty hand starts it
    soup_value: float = 20.0  # score of a delivered soup of the recipe, to every agent
    negative_rewards: bool = False  # any other soup costs as much, instead of nothing
    sample_recipe_on_delivery: bool = False  # draw a recipe after each correct delivery, not only at reset
    indicate_successful_delivery: bool = False  # one more plane: a correct delivery was made in this step
    random_reset: bool = False  # hands, pots and counters start with anything; see random_start for positions
    permuted_ingredients: tuple[str, ...] = ()  # each agent sees their planes in an order drawn at reset

    legend: ClassVar[Mapping[str, Thing]] = MappingProxyType(
        {
            FLOOR: "floor",
            WALL: "wall",
            "X": Counter(None),
            "O": Pile(ONION),
            "T": Pile(TOMATO),
            "C": Pile(CARROT),
            "M": Pile(MUSHROOM),
            "D": Pile(DISH),
            "P": Pot((), -1),
            "S": Serving(),
            "R": Indicator(),
            "B": Button(0),
        }
    )
    layouts: ClassVar[Mapping[str, Layout]] = MappingProxyType({n: plan.layout for n, plan in PLANS.items()})
    state_type: ClassVar[type[RecipeState]] = RecipeState

    def __post_init__(self) -> None:
        """Check the options and sort the recipes."""
        super().__post_init__()
        checked_integer("ingredients", self.ingredients, 1, len(INGREDIENTS))
        checked_integer("cook_time", self.cook_time, 1, 255)
        object.__setattr__(self, "soup_value", checked_number("soup_value", self.soup_value, -1e6, 1e6))
        for name in _FLAGS:
            object.__setattr__(self, name, checked_flag(name, getattr(self, name)))
        for name in ("recipes", "permuted_ingredients"):
            if not isinstance(value := getattr(self, name), (list, tuple)):
                raise TypeError(f"{name}={brief(value)} is not a list.")
        object.__setattr__(self, "recipes", tuple(_recipe(recipe, self.known) for recipe in self.recipes))
        permuted = tuple(_named(item, self.known) for item in self.permuted_ingredients)
        if not all(is_choice(item, self.known) for item in permuted) or len({*permuted}) < len(permuted):
            raise ValueError(
                f"permuted_ingredients={brief(self.permuted_ingredients)} are not some of "
                f"{', '.join(self.known)}."
            )
        object.__setattr__(self, "permuted_ingredients", permuted)

    @property
    def known(self) -> tuple[str, ...]:
        """The ingredients' names."""
        return INGREDIENTS[: self.ingredients]

    @property
    def possible(self) -> tuple[tuple[str, ...], ...]:
        """The recipes that can be drawn, with equal probability."""
        every = itertools.combinations_with_replacement(sorted(self.known), 3)
        return tuple(dict.fromkeys(self.recipes)) or tuple(every)

    def interact(self, held: Item, thing: Thing) -> Outcome | None:
        """As in the classic game, but any soup is delivered, and an empty hand presses buttons."""
        match held, thing:
            case None, Pile(item) if item not in (*self.known, DISH):
                raise ValueError(
                    f"the layout has a pile of {item}, but ingredients={self.ingredients} means only "
                    f"{', '.join(self.known)}: set ingredients={INGREDIENTS.index(item) + 1}."
                )
            case None, Button():
                return Outcome(None, Button(BUTTON_TIME), "press")
            case Soup(), Serving():
                return Outcome(None, thing, "deliver")
            # Full but idle: only a random reset makes such a pot.
            case _, Pot((_, _, _) as items, -1) if self.cook_start == "auto":
                return Outcome(held, Pot(items, self.cook_time), "light")
        return super().interact(held, thing)

    def tick(self, thing: Thing) -> Thing:
        """Pots cook, and lit buttons go out."""
        if isinstance(thing, Button):
            return Button(max(0, thing.lit - 1))
        return super().tick(thing)

    def start(self, thing: Thing) -> Thing | Chance:
        """What is there after a random reset."""
        if self.random_reset and isinstance(thing, Counter):
            return starts.counter(self.known, self.possible)
        if self.random_reset and isinstance(thing, Pot):
            return starts.pot(self.known, self.cook_time, partial=self.cook_start == "interact")
        return thing

    def hand(self, agent: int) -> Item | Chance:
        """What a cook holds after a random reset."""
        return starts.hand(self.known, self.possible) if self.random_reset else None

    def parts(self) -> tuple[Part | None, ...]:
        """The recipe, and the order in which each agent sees the ingredients."""
        recipe = Slot("recipe", self._drawn(0), self._served, self._next, to=("deliver",))
        orders = itertools.permutations(self.permuted_ingredients)
        sight = Slot("sight", Chance(*((order, 1) for order in orders)), own=True)
        return (*super().parts(), recipe, sight if self.permuted_ingredients else None)

    def _drawn(self, served: int) -> Chance:
        return Chance(*((Recipe(items, served), 1) for items in self.possible))

    def _served(self, thing: Thing, event: Event) -> Reply | None:
        """A soup of the recipe was delivered; the recipe stays until all have acted."""
        assert isinstance(thing, Recipe)
        matters = self.sample_recipe_on_delivery or self.indicate_successful_delivery
        if matters and event.held == Soup(thing.items):
            return Reply(Recipe(thing.items, served=1))
        return None

    def _next(self, thing: Thing) -> Thing | Chance:
        """After a delivery, the next recipe is drawn and the delivery is shown for one step."""
        assert isinstance(thing, Recipe)
        served = 2 * (thing.served == 1 and self.indicate_successful_delivery)
        if thing.served == 1 and self.sample_recipe_on_delivery:
            return self._drawn(served)
        return Recipe(thing.items, served)

    def menu(self, seen: Sequence[Thing] | None, slots: Sequence[Thing]) -> KitchenV2 | None:
        """The kitchen with the current recipe, if it can be read anywhere in sight."""
        if seen is not None and not any(map(features.is_shown, seen)):
            return None
        assert isinstance(slots[0], Recipe)
        return dataclasses.replace(self, recipes=(slots[0].items,))

    def after(self, soup: tuple[str, ...]) -> KitchenV2:
        """The recipe stays until it is delivered."""
        return self

    @property
    def longest(self) -> int:
        """The longest cook time of all soups."""
        return self.cook_time

    def time_of(self, items: tuple[str, ...]) -> int:
        """Cook time of a soup."""
        return self.cook_time

    def value_of(self, items: tuple[str, ...]) -> float:
        """The most that a delivered soup can score."""
        return self.soup_value if items in self.possible else self._wrong_value

    @property
    def _wrong_value(self) -> float:
        return -self.soup_value if self.negative_rewards else 0.0

    def _told(self, things: Collection[Thing], soups: instructions.Soups) -> Iterator[str]:
        """The recipe, where it can be seen, and what other soups cost."""
        score, recipes = instructions.points(self.soup_value), [*map(instructions.described, self.possible)]
        if len(recipes) == 1:
            yield f"A soup of {recipes[0]} scores {score} for everybody."
        else:
            yield f"Only a soup of the recipe scores, {score} for everybody."
            yield f"The recipe is drawn from these: {'; '.join(recipes)}."
            if self.sample_recipe_on_delivery:
                yield "Another one is drawn each time that it has been served."
            yield from self._shown(things)
        if self.negative_rewards:
            yield f"Any other soup costs everybody {score}."

    def _shown(self, things: Collection[Thing]) -> Iterator[str]:
        """Where the recipe can be seen."""
        indicator, button = (any(isinstance(thing, one) for thing in things) for one in (Indicator, Button))
        if indicator:
            yield "An indicator shows it."
        if button:
            time, cost = several(BUTTON_TIME - 1, "step"), instructions.points(rewards.BUTTON_COST)
            yield f"A button that you press with empty hands shows it for {time} and costs everybody {cost}."
        if not indicator and not button:
            yield "Nothing here shows it."

    def looks(self) -> Looks:
        """As in the classic kitchen; indicators and buttons are boards that show the recipe."""
        return dataclasses.replace(super().looks(), slot=_look_slot)

    def _look(self, thing: Thing) -> Look | None:
        """A lit button glows."""
        if isinstance(thing, (Indicator, Button)):
            return looks.board(lit=features.is_shown(thing), button=isinstance(thing, Button))
        return super()._look(thing)

    def _glyph(self, thing: Thing) -> str | None:
        """A lit button has a star, like a pot that is ready."""
        return "B*" if isinstance(thing, Button) and thing.lit else super()._glyph(thing)

    def rewards(self) -> tuple[AnyReward, ...]:
        """See `envs/overcooked_v2/rewards.py`."""
        return rewards.rewards(self.soup_value, self._wrong_value)

    def features(self) -> tuple[Feature, ...]:
        """See `envs/overcooked_v2/features.py`."""
        return features.features(self.ingredients, self.cook_time)

    def planes(self) -> Planes:
        """Those of JaxMARL, in its order."""
        return Planes(
            self._plane_names,
            thing=features.paint,
            agent=features.paint_agent,
            slot=self._paint_slot,
            shows=self._shows,
            sees=self._sees if self.permuted_ingredients else None,
        )

    @property
    def _plane_names(self) -> tuple[str, ...]:
        return features.planes(self.ingredients, self.indicate_successful_delivery)

    def _paint_slot(self, slot: str, thing: Thing) -> Paint:
        """The planes of the recipe, and of a delivery."""
        delivery = self.indicate_successful_delivery
        return features.paint_recipe(thing, delivery) if isinstance(thing, Recipe) else {}

    def _shows(self, thing: Thing) -> bool | frozenset[str]:
        """Indicators and lit buttons show the recipe, servings a delivery."""
        if features.is_shown(thing):
            return frozenset(name for name in self._plane_names if name.startswith("recipe "))
        return frozenset({"delivered"}) if isinstance(thing, Serving) else False

    def _sees(self, thing: Thing) -> Mapping[str, str]:
        """The planes of the permuted ingredients, in the agent's own order."""
        assert isinstance(thing, tuple)
        instead = dict(zip(self.permuted_ingredients, thing, strict=True))
        return features.renamed(self._plane_names, instead)


def _look_slot(thing: Thing, slot: str, inside: Thing) -> Look:
    """The recipe where it is shown, and a mark at the servings after a correct delivery."""
    if not isinstance(inside, Recipe):
        return ()
    if isinstance(thing, Serving):
        return looks.CHECK if inside.served == 2 else ()
    return looks.recipe(inside.items, isinstance(thing, Button))


def _recipe(recipe: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    """Three names or numbers: ("onion", "onion", "tomato"), "onion,onion,tomato", [0, 0, 1] or "001"."""
    items = recipe
    if isinstance(items, str):
        items = items.split(",") if "," in items else [int(c) if c.isdigit() else c for c in items]
    if isinstance(items, (list, tuple)):
        items = [_named(item, known) for item in items]
    valid = isinstance(items, (list, tuple)) and all(is_choice(item, known) for item in items)
    if not valid or len(items) != 3:
        raise ValueError(f"recipe {brief(recipe)} is not possible: it takes three of {', '.join(known)}.")
    return tuple(sorted(items))


def _named(ingredient: Any, known: tuple[str, ...]) -> Any:
    """An ingredient's number as its name."""
    return known[ingredient] if type(ingredient) is int and 0 <= ingredient < len(known) else ingredient
