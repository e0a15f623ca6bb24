"""A small world of your own: carry coins into a chest, on both backends, from plain Python rules."""

from dataclasses import dataclass
from typing import ClassVar

import cogrid
from cogrid.author import Agents, Each, Game, Layout, Outcome, Place
from cogrid.testing import check_env

MINE = Layout(
    "mine",
    """
#######
#1 c  #
#  B 2#
#######
""",
)


@dataclass(frozen=True)
class Treasure(Game):
    """A coin grows back after `growth` steps; the chest keeps count up to three and is worth 1 a coin."""

    growth: int = 5
    legend: ClassVar = {" ": "floor", "#": "wall", "c": ("coin", 0), "B": ("chest", 0)}

    def interact(self, held, thing):
        match held, thing:
            case None, ("coin", 0):
                return Outcome("gold", ("coin", self.growth), "dig")
            case "gold", ("chest", coins):
                return Outcome(None, ("chest", min(coins + 1, 3)), "store", value=1.0)

    def tick(self, thing):
        return ("coin", max(0, thing[1] - 1)) if thing[0] == "coin" else thing

    def features(self):
        full = Each("chest", ("coins",), lambda thing: (thing[1] / 3 if thing[0] == "chest" else 0.0,))
        return Agents(("gold",), has_gold), Place(nearest=("coin", "chest")), full


def has_gold(item):
    return (float(item == "gold"),)


SPEC = cogrid.Spec(Treasure(), (MINE,), max_steps=100)

if __name__ == "__main__":
    cogrid.register("Treasure-V0", SPEC)
    env = cogrid.make("Treasure-V0", render_mode="ansi")
    env.reset(seed=0)
    for action in (3, 3, 4, 1, 3, 4):  # agent 0: to the coin, dig, down, face the chest, store
        _, rewards, *_ = env.step({0: action, 1: 6})
    print(env.render(), f"\nlast reward {rewards[0]}; events in random play: {check_env(env.spec)}")
