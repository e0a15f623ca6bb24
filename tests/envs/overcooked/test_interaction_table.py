"""What a hand does to a thing: every cell of the interaction table, drawn."""

from __future__ import annotations

import pytest

import cogrid
from tests.envs.overcooked.boards import ROOM, cells_of, draw, each_backend, kitchen, picture, state_of, step
from tests.support import INTERACT, NOOP, TOGGLE, assert_same

# The table: what the hand holds, what is faced -> the same after interact. The board around is

TABLE_BOARD = """
    X X P X
    O     S
    X D X X
"""

#: Where to stand, and how to face, for each thing; "." is the bare floor, "v" the other agent.
SPOTS = {
    "X": ((1, 1), "^", (0, 1)),
    "O": ((1, 1), "<", (1, 0)),
    "D": ((1, 1), "v", (2, 1)),
    "P": ((1, 2), "^", (0, 2)),
    "S": ((1, 2), ">", (1, 3)),
    ".": ((1, 1), ">", (1, 2)),
    "v": ((1, 1), ">", (1, 2)),
}

BOTH_RULES = """
    nothing            onion              dish               soup

    ^   X  ->  ^   X   ^o  X  ->  ^   Xo  ^d  X  ->  ^   Xd  ^s  X  ->  ^   Xs
    ^   Xo ->  ^o  X   ^o  Xo ->  ^o  Xo  ^d  Xo ->  ^d  Xo  ^s  Xo ->  ^s  Xo
    ^   Xd ->  ^d  X   ^o  Xd ->  ^o  Xd  ^d  Xd ->  ^d  Xd  ^s  Xd ->  ^s  Xd
    ^   Xs ->  ^s  X   ^o  Xs ->  ^o  Xs  ^d  Xs ->  ^d  Xs  ^s  Xs ->  ^s  Xs

    <   O  ->  <o  O   <o  O  ->  <o  O   <d  O  ->  <d  O   <s  O  ->  <s  O
    v   D  ->  vd  D   vo  D  ->  vo  D   vd  D  ->  vd  D   vs  D  ->  vs  D

    ^   P  ->  ^   P   ^o  P  ->  ^   P1  ^d  P  ->  ^d  P   ^s  P  ->  ^s  P
                       ^o  P1 ->  ^   P2  ^d  P1 ->  ^d  P1  ^s  P1 ->  ^s  P1
                                          ^d  P2 ->  ^d  P2  ^s  P2 ->  ^s  P2
    ^   P~ ->  ^   P~  ^o  P~ ->  ^o  P~  ^d  P~ ->  ^d  P~  ^s  P~ ->  ^s  P~
    ^   P* ->  ^   P*  ^o  P* ->  ^o  P*  ^d  P* ->  ^s  P   ^s  P* ->  ^s  P*

    >   S  ->  >   S   >o  S  ->  >o  S   >d  S  ->  >d  S   >s  S  ->  >   S
    >   .  ->  >   .   >o  .  ->  >o  .   >d  .  ->  >d  .   >s  .  ->  >s  .
    >   v  ->  >   v   >o  v  ->  >o  v   >d  v  ->  >d  v   >s  v  ->  >s  v
"""

AUTO_ONLY = """
    ^   P1 ->  ^   P1  ^o  P2 ->  ^   P~
    ^   P2 ->  ^   P2
"""

INTERACT_ONLY = """
    ^   P1 ->  ^   P~  ^o  P2 ->  ^   P3  ^d  P3 ->  ^d  P3  ^s  P3 ->  ^s  P3
    ^   P2 ->  ^   P~  ^o  P3 ->  ^o  P3
    ^   P3 ->  ^   P~
"""


def entries(table: str) -> list[tuple[str, str, str, str]]:
    """(held, faced, held after, faced after) of every entry of a drawn table."""
    found = []
    for line in table.split("\n"):
        line = line[4:].ljust(80)
        parts = [line[k : k + 19] for k in range(0, 76, 19)]
        found += [(p[0:2], p[4:6], p[11:13], p[15:17]) for p in parts if p[7:9] == "->"]
    return found


def test_the_table_is_complete() -> None:
    hands, things = 4, ["X ", "Xo", "Xd", "Xs", "O ", "D ", "S ", ". ", "v ", "P ", "P~", "P*", "P1", "P2"]
    seen = [(held[1], faced) for held, faced, _, _ in entries(BOTH_RULES + AUTO_ONLY)]
    assert sorted(seen) == sorted((held, thing) for held in " ods" for thing in things)
    seen = [(held[1], faced) for held, faced, _, _ in entries(BOTH_RULES + INTERACT_ONLY)]
    assert sorted(seen) == sorted((held, thing) for held in " ods" for thing in [*things, "P3"])
    assert len(seen) == hands * 15


def drawn(held: str, faced: str) -> str:
    """The board with the agent and the thing it faces; the other agent is elsewhere, or the thing itself."""
    place, facing, target = SPOTS[faced[0]]
    assert held[0] == facing
    cells = cells_of(TABLE_BOARD)
    other = target if faced[0] == "v" else (1, 1) if place == (1, 2) else (1, 2)
    for (r, c), glyph in ((target, "  " if faced[0] == "." else faced), (place, held)):
        cells[r][c] = glyph
    if faced[0] != ".":
        cells[other[0]][other[1]] = "v "
    return "\n".join("".join(row) for row in cells)


@each_backend
@pytest.mark.parametrize("cook_start", ["auto", "interact"])
def test_interaction_table(backend, cook_start) -> None:
    for held, faced, held_after, faced_after in entries(
        BOTH_RULES + (AUTO_ONLY if cook_start == "auto" else INTERACT_ONLY)
    ):
        before = drawn(held, faced)
        env = kitchen(before, backend, cook_start=cook_start)
        first = [cell for row in cells_of(before) for cell in row if cell[0] in ">v<^"].index(held)
        agents = env.config["num_agents"]
        delivered = (held, faced) == (">s", "S ")
        if agents == 1:
            order, actions = (0,), [INTERACT]
        else:
            order, actions = ((0, 1) if first == 0 else (1, 0)), [INTERACT, NOOP]
        state, rewards = step(env, state_of(env, before, order=order), actions)
        what = f"{held} {faced} -> {held_after} {faced_after}, {cook_start}"
        assert draw(env, state) == picture(drawn(held_after, faced_after)), what
        assert rewards == [20.0 * delivered] * agents, what


@each_backend
@pytest.mark.parametrize("cook_start", ["auto", "interact"])
def test_toggle_is_a_noop(backend, cook_start) -> None:
    for held, faced, _, _ in entries(BOTH_RULES + (AUTO_ONLY if cook_start == "auto" else INTERACT_ONLY)):
        before = drawn(held, faced)
        env = kitchen(before, backend, cook_start=cook_start)
        state = state_of(env, before)
        others = [NOOP] * (env.config["num_agents"] - 1)
        toggled, rewards = step(env, state, [TOGGLE, *others])
        idle, _ = step(env, state, [NOOP, *others])
        assert_same(toggled, idle, f"{held} {faced}")
        assert not any(rewards)


@each_backend
def test_toggle_is_a_noop_in_the_rotation_set(backend) -> None:
    env = cogrid.make(ROOM, backend=backend, action_set="rotation", infos=True)
    env.reset(seed=0)
    _, _, _, _, infos = env.step({0: env.action_names.index("toggle"), 1: 5})
    assert infos[0]["event"]["verb"] == ""
