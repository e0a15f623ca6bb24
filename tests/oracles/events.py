"""What happened in a step, told from the canonical states before and after it alone."""

from __future__ import annotations

from itertools import combinations

from tests.oracles.canonical import (
    FACING_OF_MOVE,
    INTERACT,
    OFFSETS,
    POT_SIZE,
    Cell,
    JointAction,
    Kitchen,
    KitchenState,
    Pot,
    is_soup,
)

INGREDIENTS = ("onion", "tomato")


def happened(kitchen: Kitchen, before: KitchenState, joint: JointAction, after: KitchenState) -> list[str]:
    """The names of everything that happened; a name occurs once per agent or once per pair."""
    done = deeds(kitchen, before, joint, after)
    found = [deed for deed in done if deed]
    for i, j in combinations(range(len(joint)), 2):
        found += _movement(kitchen, before, joint, i, j)
        found += _together(kitchen, before, done, i, j) if joint[i] == joint[j] == INTERACT else []
    return found


def deeds(
    kitchen: Kitchen, before: KitchenState, joint: JointAction, after: KitchenState
) -> tuple[str | None, ...]:
    """What each agent did by interacting, if anything."""
    return tuple(
        _interaction(kitchen, before, after, agent) if action == INTERACT else None
        for agent, action in enumerate(joint)
    )


def _interaction(kitchen: Kitchen, before: KitchenState, after: KitchenState, agent: int) -> str | None:
    """The name of what one interacting agent did, if anything."""
    cell = before.faced(agent)
    held, holds = before.held[agent], after.held[agent]
    letter = kitchen.letters[cell]
    if letter == "P":
        return _at_pot(held, holds, dict(before.pots)[cell], dict(after.pots)[cell])
    if held == holds:
        return None
    if letter == "X":
        return "pick up" if held is None else "put down"
    return {"O": "take onion", "T": "take tomato", "D": "take dish", "S": "delivery"}[letter]


def _at_pot(held: str | None, holds: str | None, pot: Pot, pot_after: Pot) -> str | None:
    (items, timer), (items_after, timer_after) = pot, pot_after
    if held is None:
        return "start" if timer < 0 < timer_after and items == items_after else None
    if held in INGREDIENTS:
        return "potting" if holds is None else "refused potting"
    if held == "dish" and not is_soup(holds):
        return "early plating" if timer > 0 else None
    return "plating" if held == "dish" else None


def _movement(kitchen: Kitchen, before: KitchenState, joint: JointAction, i: int, j: int) -> list[str]:
    """Contests, swaps, follows and bumps of two agents."""
    here, there = before.positions[i], before.positions[j]
    to, other_to = target(kitchen, here, joint[i]), target(kitchen, there, joint[j])
    if (to, other_to) == (there, here):
        return ["swap"]
    moving = to != here and other_to != there
    if moving and to == other_to:
        return ["contest"]
    if moving and (to == there or other_to == here):
        return ["follow"]
    return ["bump"] if to == other_to else []


def target(kitchen: Kitchen, cell: Cell, action: int) -> Cell:
    """Where an agent wants to stand, other agents aside."""
    if action not in FACING_OF_MOVE:
        return cell
    d_row, d_col = OFFSETS[FACING_OF_MOVE[action]]
    ahead = cell[0] + d_row, cell[1] + d_col
    return ahead if kitchen.letters[ahead] == " " else cell


def _together(
    kitchen: Kitchen, before: KitchenState, done: tuple[str | None, ...], i: int, j: int
) -> list[str]:
    """What two agents do together when both interact."""
    cell, other = before.faced(i), before.faced(j)
    letter = kitchen.letters[cell]
    found = ["double delivery"] if done[i] == done[j] == "delivery" else []
    if cell != other or letter not in "PX":
        return found
    if letter == "X":
        return ["both at one counter"]
    items, timer = dict(before.pots)[cell]
    hands = before.held[i], before.held[j]
    racing = all(item in INGREDIENTS for item in hands) and timer < 0 and len(items) == POT_SIZE - 1
    return ["both at one pot"] + ["race for the last slot"] * racing
