"""The kitchens of overcooked_ai: the board of each of its files, with the settings of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from types import MappingProxyType
from typing import ClassVar

from cogrid._io.messages import brief, is_choice
from cogrid.author import Item, Layout, Thing
from cogrid.envs.overcooked.game import Kitchen, Recipe
from cogrid.envs.overcooked.lineage_layouts import BEGUN_LAYOUTS
from cogrid.envs.overcooked.objects import DISH, INGREDIENTS, ONION, TOMATO, Pot

Worth = tuple[int, int]  # value and cook time

#: Known differences from overcooked_ai, and why; everything else is equal in every step.
DIFFERENCES: Mapping[str, str] = MappingProxyType(
    {
        "tutorial_1": "agent 0 begins facing left; here all agents begin facing up.",
        "tutorial_3": "a bonus order has infinite value; here it counts twice.",
        "one agent, or more than two": "overcooked_ai pays the shaping for a dish to two agents only, and "
        "encodes planes for two only; here there is no such limit.",
        "more than two agents": "if any two collide, overcooked_ai leaves everybody in place; here only "
        "those involved stay.",
    }
)


@dataclass(frozen=True)
class BegunKitchen(Kitchen):
    """A kitchen whose episodes start with something in pots and hands."""

    hands: tuple[
        str | None, ...
    ] = ()  # what the agents hold at the start, in order; further agents hold nothing

    legend: ClassVar[Mapping[str, Thing]] = MappingProxyType(
        {**Kitchen.legend, "p": Pot((ONION,), -1), "q": Pot((ONION, ONION), -1)}
    )
    layouts: ClassVar[Mapping[str, Layout]] = BEGUN_LAYOUTS

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.hands, (list, tuple)):
            raise TypeError(f"hands={brief(self.hands)} is not a list.")
        items = (*INGREDIENTS, DISH)
        for item in self.hands:
            if item is not None and not is_choice(item, items):
                raise ValueError(
                    f"hands hold {brief(item)}: an agent can start with {', '.join(items)} or None."
                )
        object.__setattr__(self, "hands", tuple(self.hands))

    def hand(self, agent: int) -> Item:
        """As in the file."""
        return self.hands[agent] if agent < len(self.hands) else None


def game_of(name: str) -> Kitchen:
    """The game with the settings of a file."""
    return _SETTINGS.get(name, Kitchen(cook_start="interact"))


def _kitchen(
    orders: str = "ooo",
    bonus: str = "",
    *,
    recipes: tuple[Worth, ...] = (),
    each: tuple[Worth, Worth] | None = None,
    hands: tuple[str | None, ...] | None = None,
) -> Kitchen:
    """Soups by the letters of their ingredients; "" orders every soup.

    The worth of a soup: `recipes` in the order of the orders, or `each` onion and tomato.
    """
    ordered, doubled = (tuple(map(_soup, soups.split())) for soups in (orders, bonus))
    worth = _sums(*each) if each else ((soup, *one) for soup, one in zip(ordered, recipes, strict=False))
    game = Kitchen(cook_start="interact", recipes=tuple(worth), orders=ordered, bonus_orders=doubled)
    return game if hands is None else BegunKitchen(**vars(game), hands=hands)


def _soup(letters: str) -> tuple[str, ...]:
    return tuple({"o": ONION, "t": TOMATO}[letter] for letter in letters)


def _sums(onion: Worth, tomato: Worth) -> Iterator[Recipe]:
    """Every soup is worth the sum of what is in it."""
    for n in (1, 2, 3):
        for soup in combinations_with_replacement(INGREDIENTS, n):
            onions, tomatoes = soup.count(ONION), soup.count(TOMATO)
            value, time = (onions * o + tomatoes * t for o, t in zip(onion, tomato, strict=True))
            yield soup, value, time


_USUAL: tuple[Worth, Worth] = (21, 15), (13, 7)

#: The files that ask for more than three onions, 20 points and 20 steps.
_SETTINGS: Mapping[str, Kitchen] = MappingProxyType(
    {
        "asymmetric_advantages_tomato": _kitchen("ooo oot ttt t", "ttt oot", each=_USUAL),
        "bonus_order_test": _kitchen("ooo ttt ot", "ot ttt", recipes=((10, 20), (20, 15), (15, 10))),
        "counter_circuit": _kitchen("ott oot ot", "ot", each=_USUAL),
        "cramped_corridor": _kitchen("t ooo ttt ot tt", "ot t tt", each=_USUAL),
        "cramped_room_o_3orders": _kitchen("ooo oo o", recipes=((20, 20), (9, 20), (4, 20))),
        "cramped_room_tomato": _kitchen("ooo ttt ot", "ot", each=((15, 10), (10, 10))),
        "forced_coordination_tomato": _kitchen("ooo ott oot ttt", recipes=(*[(10, 10)] * 3, (15, 10))),
        "inverse_marshmallow_experiment": _kitchen("o t oot ooo ttt", "ooo", each=_USUAL),
        "long_cook_time": _kitchen("ooo oo o", recipes=((10, 100),) * 3),
        "marshmallow_experiment": _kitchen("ooo ttt", "ooo", each=_USUAL),
        "marshmallow_experiment_coordination": _kitchen("ooo ttt", "ooo", each=_USUAL),
        "mdp_test": _kitchen("o ooo oot", "oot", each=((10, 2), (5, 2))),
        "old_dynamics_cook_test": _kitchen(hands=()),
        "old_dynamics_put_test": _kitchen(hands=(ONION,)),
        "pipeline": _kitchen("ooo oo o", "oo", each=_USUAL),
        "simple_o": _kitchen(recipes=((20, 5),)),
        "simple_o_t": _kitchen("ooo ttt", recipes=((20, 5), (15, 5))),
        "simple_tomato": _kitchen("ttt"),
        "soup_coordination": _kitchen("oot ttt ot t o", "t oot ttt o", each=_USUAL),
        "tutorial_0": _kitchen(each=_USUAL),
        "tutorial_1": _kitchen("ott ot", each=_USUAL, hands=()),
        "tutorial_2": _kitchen("", each=_USUAL),
        "tutorial_3": _kitchen("", "ott", each=_USUAL),  # where overcooked_ai's bonus is infinite
        "you_shall_not_pass": _kitchen("o t oot ott ttt oo", "oot ott", each=_USUAL),
    }
)
