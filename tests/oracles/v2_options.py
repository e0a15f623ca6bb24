"""The options under which OvercookedV2 is compared, in our words and in JaxMARL's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cogrid.envs.overcooked_v2.layouts import PLANS


@dataclass(frozen=True)
class Rules:
    """One set of options, in our words and in theirs."""

    name: str
    ours: dict[str, Any] = field(default_factory=dict)
    theirs: dict[str, Any] = field(default_factory=dict)


PLAIN = Rules("plain")


def varied(layout: str) -> Rules:
    """All other options together; pots start by themselves in every other layout, and views differ."""
    number = [*PLANS].index(layout)
    interact, reach = number % 2 == 0, 1 + number % 3
    flags = dict.fromkeys(
        ("sample_recipe_on_delivery", "indicate_successful_delivery", "negative_rewards", "random_reset"),
        True,
    )
    permuted = [i for i in range(PLANS[layout].ingredients) if i != 1 or number % 4]
    ours = flags | {"random_start": True, "cook_start": "interact" if interact else "auto"}
    theirs = flags | {"start_cooking_interaction": interact, "op_ingredient_permutations": permuted}
    ours["max_steps"] = theirs["max_steps"] = 380 + number
    ours["permuted_ingredients"] = permuted
    if number % 4 < 3:
        ours |= {"observation": "window", "window": 2 * reach + 1}
        theirs["agent_view_size"] = reach
    return Rules("varied", ours, theirs)
