"""The `overcooked` package (a fork of overcooked_ai) behind the canonical state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from overcooked.mdp.actions import Action, Direction
from overcooked.mdp.overcooked_mdp import (
    ObjectState,
    OvercookedGridworld,
    OvercookedState,
    PlayerState,
    Recipe,
    SoupState,
)

from tests.oracles.canonical import (
    DOWN,
    HORIZON,
    INTERACT,
    LEFT,
    NOOP,
    RIGHT,
    TOGGLE,
    UP,
    Cell,
    JointAction,
    Kitchen,
    KitchenState,
    Outcome,
    Pot,
    is_soup,
    soup_ingredients,
    soup_name,
)

DIRECTIONS = (Direction.EAST, Direction.SOUTH, Direction.WEST, Direction.NORTH)  # by our facing
THEIR_ACTION = {
    UP: Direction.NORTH,
    DOWN: Direction.SOUTH,
    LEFT: Direction.WEST,
    RIGHT: Direction.EAST,
    INTERACT: Action.INTERACT,
    TOGGLE: Action.STAY,
    NOOP: Action.STAY,
}


OWN_FACINGS, OTHER_FACINGS = (2, 3, 4, 5), (6, 7, 8, 9)  # planes


class OvercookedOracle:
    """One kitchen under one cook rule; their positions are (x, y), ours (row, column)."""

    def __init__(self, kitchen: Kitchen, cook_start: str, mdp: OvercookedGridworld | None = None) -> None:
        # A classic kitchen is always built from our own text: their file `counter_circuit` is another one,
        # and `mdp.copy()` would drop the cook rule.
        self.kitchen = kitchen
        options = {"old_dynamics": cook_start == "auto", **_orders(kitchen)}
        self.mdp = mdp or OvercookedGridworld.from_grid(list(kitchen.rows), options)

    @classmethod
    def of_file(cls, kitchen: Kitchen, **changes: Any) -> OvercookedOracle:
        """The kitchen as the package's own layout file has it."""
        return cls(kitchen, "interact", OvercookedGridworld.from_layout_name(kitchen.name, **changes))

    def step(self, states: Sequence[KitchenState], actions: Sequence[JointAction]) -> list[Outcome]:
        Recipe.configure(self.mdp.recipe_config)  # class-global: another kitchen may have been stepped before
        return [self._step(state, joint) for state, joint in zip(states, actions, strict=True)]

    def planes(self, state: KitchenState) -> np.ndarray:
        """The lossless encoding of a canonical state, (n, H, W, 26) uint8."""
        Recipe.configure(self.mdp.recipe_config)
        return self._encode(self.to_theirs(state))

    def start(self) -> KitchenState:
        return self.from_theirs(self.mdp.get_standard_start_state())

    def _step(self, state: KitchenState, joint: JointAction) -> Outcome:
        their_joint = [THEIR_ACTION[action] for action in joint]
        after, infos = self.mdp.get_state_transition(self.to_theirs(state), their_joint)
        score = float(sum(infos["sparse_reward_by_agent"]))  # every agent gets the team's score
        shaped = tuple(float(points) for points in infos["shaped_reward_by_agent"])
        return Outcome(self.from_theirs(after), (score,) * len(joint), shaped, self._encode(after))

    def _encode(self, theirs: OvercookedState) -> np.ndarray:
        planes = self._lossless(theirs)  # (n, W, H, 26)
        narrow = planes.astype(np.uint8)
        assert (narrow == planes).all()
        return narrow.swapaxes(1, 2)

    def _lossless(self, theirs: OvercookedState) -> np.ndarray:
        """Their encoding is of two players: asked as if there were two, only those of others are missing."""
        n, self.mdp.num_players = self.mdp.num_players, 2
        try:
            planes = np.stack(self.mdp.lossless_state_encoding(theirs, horizon=HORIZON))
        finally:
            self.mdp.num_players = n
        if n > 2:
            own, others = [0, *OWN_FACINGS], [1, *OTHER_FACINGS]
            whole = planes[..., own].sum(axis=0)  # (W, H, 5) of everybody
            planes[..., others] = whole - planes[..., own]
        return planes

    def to_theirs(self, state: KitchenState) -> OvercookedState:
        agents = zip(state.positions, state.facings, state.held, strict=True)
        players = [
            PlayerState(_xy(cell), DIRECTIONS[facing], None if item is None else self._thing(item, cell))
            for cell, facing, item in agents
        ]
        objects = {_xy(cell): self._thing(item, cell) for cell, item in state.counters}
        objects |= {_xy(cell): self._soup(*pot, cell) for cell, pot in state.pots if pot[0]}
        orders = {"all_orders": self.mdp.start_all_orders, "bonus_orders": self.mdp.start_bonus_orders}
        return OvercookedState(players, objects, timestep=state.time, **orders)

    def _thing(self, item: str, cell: Cell) -> ObjectState:
        return self._soup(soup_ingredients(item), 0, cell) if is_soup(item) else ObjectState(item, _xy(cell))

    def _soup(self, ingredients: Sequence[str], timer: int, cell: Cell) -> SoupState:
        things = [ObjectState(name, _xy(cell)) for name in ingredients]
        return SoupState(_xy(cell), things, -1 if timer < 0 else self.kitchen.cook_time(ingredients) - timer)

    def from_theirs(self, theirs: OvercookedState) -> KitchenState:
        cells = {(y, x): thing for (x, y), thing in theirs.objects.items()}
        lying = {cell: thing for cell, thing in cells.items() if self.kitchen.letters[cell] == "X"}
        pots = {cell: _from_pot(cells.get(cell)) for cell in self.kitchen.pot_cells}
        assert set(cells) <= set(lying) | set(pots)
        return KitchenState(
            positions=tuple((y, x) for x, y in theirs.player_positions),
            facings=tuple(DIRECTIONS.index(direction) for direction in theirs.player_orientations),
            held=tuple(_from_object(player.held_object) for player in theirs.players),
            counters=tuple((cell, _from_object(thing)) for cell, thing in sorted(lying.items())),
            pots=tuple(sorted(pots.items())),
            time=theirs.timestep,
        )


def _xy(cell: Cell) -> tuple[int, int]:
    return cell[1], cell[0]


def _orders(kitchen: Kitchen) -> dict[str, list[Any]]:
    names = [{"ingredients": list(recipe.ingredients)} for recipe in kitchen.recipes]
    return {
        "start_all_orders": names,
        "start_bonus_orders": [
            name for name, recipe in zip(names, kitchen.recipes, strict=True) if recipe.bonus
        ],
        "recipe_values": [recipe.value for recipe in kitchen.recipes],
        "recipe_times": [recipe.time for recipe in kitchen.recipes],
    }


def _from_object(thing: ObjectState | None) -> str | None:
    if thing is None:
        return None
    if not isinstance(thing, SoupState):
        return thing.name
    assert thing.is_ready, "only ready soups leave a pot"
    return soup_name(thing.ingredients)


def _from_pot(soup: SoupState | None) -> Pot:
    if soup is None:
        return (), -1
    timer = -1 if soup.is_idle else soup.cook_time_remaining
    return tuple(sorted(soup.ingredients)), timer
