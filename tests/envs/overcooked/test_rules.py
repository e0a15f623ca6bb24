"""The rules of the kitchen, drawn: every cell of the interaction table, clocks, order of agents, rewards."""

from __future__ import annotations

import numpy as np
import pytest

import cogrid
from tests.envs.overcooked.boards import cells_of, draw, kitchen, picture, read, start, state_of, step
from tests.episodes import jitted, shared
from tests.support import BACKENDS, DOWN, HAS_JAX, INTERACT, LEFT, NOOP, RIGHT, TOGGLE, UP, assert_same, keys

each_backend = pytest.mark.parametrize(  # tests of one backend share a worker, and so its compiled functions
    "backend", [pytest.param(b, marks=pytest.mark.xdist_group(f"kitchen rules:{b}")) for b in BACKENDS]
)
ROOM = "Overcooked-CrampedRoom-V0"


def check(env, before, actions, after, paid, **more) -> None:
    """One step from picture to picture, and what it pays to each agent."""
    state, rewards = step(env, state_of(env, before, **more), actions)
    assert draw(env, state) == picture(after)
    assert rewards == paid


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


# Clocks

CLOCK = """
    X X P X
    O   ^oS
    X D X X
"""


def waits(env, state, steps, action=NOOP):
    for _ in range(steps):
        state, _ = step(env, state, [action])
    return state


@each_backend
def test_third_onion_starts_the_clock_and_its_own_tick_counts(backend) -> None:
    env = kitchen(CLOCK, backend)
    before = "X X P2X\nO   ^oS\nX D X X"
    state, _ = step(env, state_of(env, before), [INTERACT])
    assert draw(env, state) == "X X P~X\nO   ^ S\nX D X X"
    assert read(env, state).pot_timer.tolist() == [19]
    assert int(state.time) == 1
    for left in range(18, -1, -1):
        state, _ = step(env, state, [NOOP])
        assert read(env, state).pot_timer.tolist() == [left]
        assert draw(env, state).startswith("X X P~X" if left else "X X P*X")
    state = waits(env, state, 3)
    assert read(env, state).pot_timer.tolist() == [0]  # it stays ready


@each_backend
@pytest.mark.parametrize("cook_time", [1, 2, 20, 300])
def test_soup_can_first_be_taken_cook_time_steps_after_the_third_onion(backend, cook_time) -> None:
    env = kitchen(CLOCK, backend, cook_time=cook_time)
    state, _ = step(env, state_of(env, "X X P2X\nO   ^oS\nX D X X"), [INTERACT])
    assert read(env, state).pot_timer.tolist() == [cook_time - 1]
    state = env.replace(state, agent_inv=[[env.type_ids["dish"]]])
    for waited in range(1, cook_time + 1):
        state, _ = step(env, state, [INTERACT])
        taken = draw(env, state).startswith("X X P X\nO   ^sS")
        assert taken == (waited == cook_time), waited


@each_backend
def test_clock_of_the_interact_rule_starts_with_the_empty_hand(backend) -> None:
    env = kitchen(CLOCK, backend, cook_start="interact")
    state, _ = step(env, state_of(env, "X X P2X\nO   ^oS\nX D X X"), [INTERACT])
    state = waits(env, state, 5)
    assert read(env, state).pot_timer.tolist() == [-1]
    state, _ = step(env, state, [INTERACT])
    assert read(env, state).pot_timer.tolist() == [19]
    state, _ = step(env, state, [INTERACT])  # once started it cannot be started again
    assert read(env, state).pot_timer.tolist() == [18]


@each_backend
@pytest.mark.parametrize("onions", [1, 2, 3])
@pytest.mark.parametrize("orders", [(("onion",) * 3,), ()])
def test_interact_rule_cooks_small_soups(backend, onions, orders) -> None:
    env = kitchen(CLOCK, backend, cook_start="interact", orders=orders)
    state, _ = step(env, state_of(env, f"X X P{onions}X\nO   ^ S\nX D X X"), [INTERACT])
    state = waits(env, state, 19)
    assert read(env, state).pot_timer.tolist() == [0]
    state, _ = step(env, env.replace(state, agent_inv=[[env.type_ids["dish"]]]), [INTERACT])
    soup = "soup:" + ",".join(["onion"] * onions)
    assert read(env, state).agent_inv.tolist() == [[env.type_ids[soup]]]
    assert read(env, state).pot_contents.tolist() == [[-1, -1, -1]]
    state, rewards = step(env, waits(env, state, 1, RIGHT), [INTERACT])
    assert rewards == [20.0 if onions == 3 or not orders else 0.0]


@each_backend
def test_plating_on_the_exact_ready_tick_pays(backend) -> None:
    env = kitchen(CLOCK, backend, shaping=1.0)
    early = state_of(env, "X X P~X\nO   ^dS\nX D X X", timers=[1])
    state, rewards = step(env, early, [INTERACT])  # the soup gets ready in this very step, after the hand
    assert (draw(env, state), rewards) == ("X X P*X\nO   ^dS\nX D X X", [0.0])
    state, rewards = step(env, state, [INTERACT])
    assert (draw(env, state), rewards) == ("X X P X\nO   ^sS\nX D X X", [5.0])


# Several agents: in order, each sees what the earlier ones left

SHARED = """
    X X X P X
    O > X < S
    X   P   X
    X D X D X
"""


@each_backend
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_race_for_the_last_slot_and_one_is_paid(backend, order) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    before = """
        X X X P X
        O   X   S
        X >oP2<oX
        X D X D X
    """
    left_wins, right_wins = (
        """
        X X X P X
        O   X   S
        X > P~<oX
        X D X D X
        """,
        """
        X X X P X
        O   X   S
        X >oP~< X
        X D X D X
        """,
    )
    check(env, before, [INTERACT] * 2, left_wins if order == (0, 1) else right_wins, [3.0, 0.0], order=order)


@each_backend
def test_two_pot_into_one_pot_with_room_for_both(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    before = """
        X X X P X
        O   X   S
        X >oP1<oX
        X D X D X
    """
    after = """
        X X X P X
        O   X   S
        X > P~< X
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [3.0, 3.0])


@each_backend
def test_two_plates_for_one_soup(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    before = """
        X X X P X
        O   X   S
        X >dP*<dX
        X D X D X
    """
    after = """
        X X X P X
        O   X   S
        X >sP <dX
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [5.0, 0.0])


@each_backend
def test_agent_0_puts_down_what_agent_1_takes_in_the_same_step(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P X
        O >oX < S
        X   P   X
        X D X D X
    """
    after = """
        X X X P X
        O > X <oS
        X   P   X
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [0.0, 0.0])


@each_backend
def test_agent_1_does_not_put_down_in_time_for_agent_0(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P X
        O > X <oS
        X   P   X
        X D X D X
    """
    after = """
        X X X P X
        O > Xo< S
        X   P   X
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [0.0, 0.0])


@each_backend
def test_two_put_down_on_one_counter_and_the_first_has_it(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P X
        O >oX <dS
        X   P   X
        X D X D X
    """
    after = """
        X X X P X
        O > Xo<dS
        X   P   X
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [0.0, 0.0])


@each_backend
def test_agent_0_plates_and_agent_1_fills_the_empty_pot_at_once(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    before = """
        X X X P X
        O   X   S
        X >dP*<oX
        X D X D X
    """
    after = """
        X X X P X
        O   X   S
        X >sP1< X
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [5.0, 3.0])


@each_backend
def test_interaction_comes_before_movement(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P X
        O > X < S
        X   P   X
        X D X D X
    """
    after = """
        X X X P X
        O   X < S
        X v P   X
        X D X D X
    """
    check(env, before, [DOWN, INTERACT], after, [0.0, 0.0])
    # facing and position are those before the step: turning to the pile does not take from it
    turned = """
        X X X P X
        O < X < S
        X   P   X
        X D X D X
    """
    check(env, before, [LEFT, NOOP], turned, [0.0, 0.0])


# The score


@each_backend
def test_a_delivery_pays_everyone(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P X
        O > X >sS
        X   P   X
        X D X D X
    """
    after = """
        X X X P X
        O > X > S
        X   P   X
        X D X D X
    """
    check(env, before, [NOOP, INTERACT], after, [20.0, 20.0])


@each_backend
def test_two_deliveries_in_one_step_pay_twice(backend) -> None:
    before = """
        X P S S X
        O   ^s^sX
        X D X X X
    """
    check(kitchen(before, backend), before, [INTERACT] * 2, before.replace("^s", "^ "), [40.0, 40.0])


MIXED = """
    X T X P X
    O   X > S
    X   P   X
    X D X D X
"""


def delivers(env, soup, agents=1) -> list[float]:
    before = MIXED.replace("> S", ">sS")
    state, rewards = step(env, state_of(env, before, soup=soup), [INTERACT])
    assert draw(env, state) == picture(MIXED)  # accepted, whatever it was worth
    return rewards


SOUPS = ("onion,onion,onion", "onion,onion,tomato", "onion,tomato,tomato", "tomato,tomato,tomato")


@each_backend
def test_the_classic_order_is_three_onions(backend) -> None:
    env = kitchen(MIXED, backend)
    assert [delivers(env, soup) for soup in SOUPS] == [[20.0], [0.0], [0.0], [0.0]]
    assert "soup:onion" not in env.type_ids  # the auto rule never makes a small one


@each_backend
def test_an_empty_list_of_orders_takes_every_soup(backend) -> None:
    env = kitchen(MIXED, backend, orders=())
    assert [delivers(env, soup) for soup in SOUPS] == [[20.0]] * 4


@each_backend
def test_other_soups_than_ordered_are_accepted_for_nothing(backend) -> None:
    env = kitchen(MIXED, backend, orders=(("tomato", "onion", "onion"), "onion,onion,onion"))
    assert delivers(env, "onion,onion,tomato") == [20.0]
    assert delivers(env, "onion,onion,onion") == [20.0]
    assert delivers(env, "onion,tomato,tomato") == [0.0]


@each_backend
def test_bonus_orders_pay_twice(backend) -> None:
    soups = (("onion",) * 3, ("tomato",) * 3)
    env = kitchen(MIXED, backend, orders=soups, bonus_orders=soups[1:], soup_value=8.0)
    assert delivers(env, "onion,onion,onion") == [8.0]
    assert delivers(env, "tomato,tomato,tomato") == [16.0]
    assert delivers(env, "onion,tomato,tomato") == [0.0]


@each_backend
def test_recipes_have_their_own_values_and_times(backend) -> None:
    recipes = ((("tomato", "onion", "onion"), 7.5, 4), (("tomato",) * 3, None, 9), (("onion",) * 3, 3, None))
    env = kitchen(MIXED, backend, recipes=recipes, cook_time=15, bonus_orders=(("onion", "onion", "tomato"),))
    assert delivers(env, "onion,onion,tomato") == [15.0]
    assert delivers(env, "tomato,tomato,tomato") == [20.0]  # a recipe is an order where none are given
    assert delivers(env, "onion,onion,onion") == [3.0]
    assert delivers(env, "onion,tomato,tomato") == [0.0]
    before = """
        X T X P X
        O   X   S
        X >tP2  X
        X D X D X
    """
    for inside, timer in ((["onion", "onion"], 4), (["tomato", "tomato"], 9), (["onion", "tomato"], 15)):
        state = state_of(env, before, pots=[[], inside])
        state, _ = step(env, state, [INTERACT])
        assert read(env, state).pot_timer.tolist() == [-1, timer - 1]


@each_backend
def test_tomatoes(backend) -> None:
    env = kitchen(MIXED, backend, shaping=1.0)
    before = """
        X T X P X
        O ^ X   S
        X   P   X
        X D X D X
    """
    check(env, before, [INTERACT], before.replace("^ ", "^t"), [0.0])
    before = """
        X T X P X
        O   X   S
        X >tP1  X
        X D X D X
    """
    check(env, before, [INTERACT], before.replace(">t", "> ").replace("P1", "P2"), [3.0])
    state, _ = step(env, state_of(env, before), [INTERACT])
    ids = env.type_ids
    assert read(env, state).pot_contents.tolist() == [[-1] * 3, [ids["onion"], ids["tomato"], -1]]
    counter = """
        X T X P X
        O >tX   S
        X   P   X
        X D X D X
    """
    check(env, counter, [INTERACT], counter.replace(">tX ", "> Xt"), [0.0])


@each_backend
def test_a_soup_keeps_its_recipe_from_pot_to_counter_to_hand(backend) -> None:
    env = kitchen(MIXED, backend)
    before = """
        X T X P X
        O   X   S
        X >dP*  X
        X D X D X
    """
    state = state_of(env, before, pots=[[], ["onion", "tomato", "tomato"]])
    soup = env.type_ids["soup:onion,tomato,tomato"]
    state, _ = step(env, state, [INTERACT])
    assert read(env, state).agent_inv.tolist() == [[soup]]
    for action in (UP, RIGHT, INTERACT):
        state, _ = step(env, state, [action])
    assert read(env, state).agent_inv.tolist() == [[-1]]
    assert read(env, state).object_state_map[1, 2] == soup
    state, _ = step(env, state, [INTERACT])
    assert read(env, state).agent_inv.tolist() == [[soup]]
    assert not read(env, state).object_state_map.any()


# Shaping


@each_backend
def test_shaping_is_off_by_default(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P X
        O   X   S
        X >oP1<oX
        X D X D X
    """
    _, rewards = step(env, state_of(env, before), [INTERACT] * 2)
    assert rewards == [0.0, 0.0]


#: What agent 0, at the left, does while agent 1 takes a dish from the pile, and who is paid.
DISH_CASES = {
    "one pot in use": (
        """
        X X X P X
        O   X   S
        X > P1v X
        X D X D X
        """,
        NOOP,
        [0.0, 3.0],
    ),
    "a cooking pot counts": (
        """
        X X X P X
        O   X   S
        X > P~v X
        X D X D X
        """,
        NOOP,
        [0.0, 3.0],
    ),
    "a ready pot counts": (
        """
        X X X P*X
        O   X   S
        X > P v X
        X D X D X
        """,
        NOOP,
        [0.0, 3.0],
    ),
    "no pot in use": (
        """
        X X X P X
        O   X   S
        X > P v X
        X D X D X
        """,
        NOOP,
        [0.0, 0.0],
    ),
    "a dish in hand for the only pot": (
        """
        X X X P X
        O   X   S
        X >dP1v X
        X D X D X
        """,
        NOOP,
        [0.0, 0.0],
    ),
    "a dish in hand and two pots": (
        """
        X X X P1X
        O   X   S
        X >dP1v X
        X D X D X
        """,
        NOOP,
        [0.0, 3.0],
    ),
    "a dish lies on a counter": (
        """
        X XdX P1X
        O   X   S
        X > P1v X
        X D X D X
        """,
        NOOP,
        [0.0, 0.0],
    ),
    "an onion lies on a counter": (
        """
        X XoX P1X
        O   X   S
        X > P1v X
        X D X D X
        """,
        NOOP,
        [0.0, 3.0],
    ),
    "agent 0 drops a dish": (  # in hand it was one of two; now one lies about
        """
        X X X P1X
        O   X   S
        X <dP1v X
        X D X D X
        """,
        INTERACT,
        [0.0, 0.0],
    ),
    "agent 0 plates": (  # the dish in its hand is gone, but the pot still counts as before the step
        """
        X X X P X
        O   X   S
        X >dP*v X
        X D X D X
        """,
        INTERACT,
        [5.0, 3.0],
    ),
    "agent 0 takes a dish too": (  # the only pot is served by agent 0's dish
        """
        X X X P X
        O   X   S
        X v P1v X
        X D X D X
        """,
        INTERACT,
        [3.0, 0.0],
    ),
    "agent 0 takes a dish too, two pots": (
        """
        X X X P1X
        O   X   S
        X v P1v X
        X D X D X
        """,
        INTERACT,
        [3.0, 3.0],
    ),
    "agent 0 picks the dish up": (  # none lies about any more, and one of two pots is left
        """
        X X X P1X
        O   X   S
        Xd< P1v X
        X D X D X
        """,
        INTERACT,
        [0.0, 3.0],
    ),
    "agent 0 picks the dish up, one pot": (
        """
        X X X P X
        O   X   S
        Xd< P1v X
        X D X D X
        """,
        INTERACT,
        [0.0, 0.0],
    ),
    "agent 0 pots the first onion": (  # pots count as the step began: JaxMARL pays 3 here, overcooked_ai 0
        """
        X X X P X
        O   X   S
        X >oP v X
        X D X D X
        """,
        INTERACT,
        [3.0, 0.0],
    ),
    "agent 0 delivers nothing but its dish": (
        """
        X X X P1X
        O   X >dS
        X   P v X
        X D X D X
        """,
        INTERACT,
        [0.0, 0.0],
    ),
}


@each_backend
@pytest.mark.parametrize("case", DISH_CASES)
def test_dish_shaping(backend, case) -> None:
    before, first, paid = DISH_CASES[case]
    env = kitchen(SHARED, backend, shaping=1.0)
    state, rewards = step(env, state_of(env, before), [first, INTERACT])
    assert read(env, state).agent_inv[1, 0] == env.type_ids["dish"]
    assert rewards == paid


@each_backend
@pytest.mark.parametrize(
    ("pot", "paid"), [("P ", 0.0), ("P1", 3.0), ("P2", 3.0), ("P3", 0.0), ("P~", 3.0), ("P*", 3.0)]
)
def test_dish_shaping_of_the_interact_rule(backend, pot, paid) -> None:
    """As in overcooked_ai, a full pot that nobody has started asks for no dish."""
    before = """
        X X X P X
        O   X   S
        X > P v X
        X D X D X
    """.replace("> P ", "> " + pot)
    env = kitchen(SHARED, backend, shaping=1.0, cook_start="interact")
    _, rewards = step(env, state_of(env, before), [NOOP, INTERACT])
    assert rewards == [0.0, paid]


@each_backend
def test_dish_shaping_does_not_see_what_later_agents_do(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    drops = """
        X X X P1X
        O   X   S
        X v P1>dX
        X D X D X
    """
    _, rewards = step(env, state_of(env, drops), [INTERACT, INTERACT])
    assert rewards == [3.0, 0.0]
    plates = """
        X X X P X
        O   X   S
        X v P*<dX
        X D X D X
    """
    _, rewards = step(env, state_of(env, plates), [INTERACT, INTERACT])
    assert rewards == [0.0, 5.0]


@each_backend
def test_dish_shaping_for_more_than_two(backend) -> None:
    before = """
        X X X P1X
        O v X   S
        X v P1v X
        X D X D X
    """
    env = kitchen(before, backend, shaping=1.0)
    assert env.config["num_agents"] == 3
    state = state_of(env, before)
    _, rewards = step(env, state, [INTERACT, INTERACT, INTERACT])  # agent 0 faces agent 1
    assert rewards == [0.0, 3.0, 3.0]


@each_backend
def test_shaping_is_paid_to_the_actor_and_the_score_to_all(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    before = """
        X X X P X
        O   X >sS
        X >oP1  X
        X D X D X
    """
    after = """
        X X X P X
        O   X > S
        X > P2  X
        X D X D X
    """
    check(env, before, [INTERACT] * 2, after, [20.0, 23.0])


POTTING = """
    X X X P X
    O   X >sS
    X >oP1  X
    X D X D X
"""


@each_backend
@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 1.0, 2.0])
def test_shaping_weight_is_annealed_by_replace(backend, weight) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    state = env.replace(state_of(env, POTTING), shaping_weight=weight)
    assert float(state.shaping_weight) == weight
    after, rewards = step(env, state, [INTERACT] * 2)
    assert rewards == [20.0, 20.0 + 3 * weight]  # the score is not shaping
    assert float(after.shaping_weight) == weight


@each_backend
def test_shaping_weight_of_the_spec(backend) -> None:
    env = kitchen(SHARED, backend, shaping=0.5)
    _, rewards = step(env, state_of(env, POTTING), [INTERACT] * 2)
    assert rewards == [20.0, 21.5]


@each_backend
def test_shaping_weight_that_is_no_short_fraction(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    state = env.replace(state_of(env, POTTING), shaping_weight=0.3)
    _, rewards = step(env, state, [INTERACT] * 2)
    assert rewards[1] == pytest.approx(20.9, abs=1e-4)


@each_backend
def test_shaping_weights_differ_within_a_batch(backend) -> None:
    env = shared(ROOM, backend, shaping=1.0)
    state = start(env, keys(0, 3))
    state = env.replace(
        state,
        agent_pos=np.array([[1, 2], [1, 3]]),
        agent_inv=np.array([[[env.type_ids["onion"]], [-1]]] * 3),
        shaping_weight=np.array([0.0, 0.5, 1.0], np.float32),
    )
    _, _, rewards, _, _ = jitted(env)(state, np.tile(np.int32([INTERACT, NOOP]), (3, 1)))
    assert np.asarray(rewards).tolist() == [[0.0, 0.0], [1.5, 0.0], [3.0, 0.0]]


if HAS_JAX:
    import jax

    def test_shaping_weight_is_annealed_inside_jit() -> None:
        env = kitchen(SHARED, "jax", shaping=1.0)
        start_state = state_of(env, POTTING)

        @jax.jit
        def anneal(state, weights):
            def body(state, weight):
                state = env.replace(state, shaping_weight=weight)
                _, _, rewards, _, _ = env.jax_step(state, np.array([NOOP, INTERACT], np.int32))
                return state, rewards

            return jax.lax.scan(body, state, weights)

        last, rewards = anneal(start_state, np.array([1.0, 0.5, 0.0], np.float32))
        assert np.asarray(rewards).tolist() == [[0.0, 3.0], [0.0, 1.5], [0.0, 0.0]]
        assert float(last.shaping_weight) == 0.0


# Observations of time and pots


@each_backend
def test_countdown_plane(backend) -> None:
    env = shared(ROOM, backend, observation="lossless")
    assert env.feature_names[25] == "urgent"
    state, obs = env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(keys(0, 1)[0]))
    assert not np.asarray(obs)[..., 25].any()
    for time, urgent in ((0, 0), (358, 0), (359, 0), (360, 1), (398, 1)):
        _, obs, _, done, _ = jitted(env)(env.replace(state, time=time), np.array([NOOP, NOOP], np.int32))
        planes = np.asarray(obs)
        assert (planes[..., 25] == urgent).all(), f"{400 - time - 1} steps left"
        assert planes[..., :25].any()
        assert not bool(done)


@each_backend
def test_horizon_is_a_truncation(backend) -> None:
    env = shared(ROOM, backend)
    assert env.config["max_steps"] == 400
    state = start(env, keys(0, 1)[0])
    noop = np.array([NOOP, NOOP], np.int32)
    state, _, _, done, _ = jitted(env)(env.replace(state, time=398), noop)
    assert not bool(done)
    state, _, _, done, _ = jitted(env)(state, noop)
    assert bool(done)
    assert bool(state.done)
    assert state.ended is None  # a kitchen never terminates


@each_backend
def test_after_the_end_nothing_is_paid(backend) -> None:
    env = kitchen(SHARED, backend, shaping=1.0)
    state = state_of(env, POTTING)
    assert step(env, state, [INTERACT] * 2)[1] == [20.0, 23.0]
    over = env.replace(state, done=True, time=400)
    over, rewards = step(env, over, [INTERACT] * 2)
    assert rewards == [0.0, 0.0]
    assert (bool(over.done), int(over.time)) == (True, 400)


@each_backend
def test_pot_views(backend) -> None:
    env = kitchen(SHARED, backend)
    before = """
        X X X P2X
        O > X < S
        X   P~  X
        X D X D X
    """
    state = state_of(env, before, timers=[-1, 11])
    onion = env.type_ids["onion"]
    positions, contents, timer = (
        np.asarray(x) for x in (state.pot_positions, state.pot_contents, state.pot_timer)
    )
    assert positions.tolist() == [[0, 3], [2, 2]]
    assert contents.tolist() == [[onion, onion, -1], [onion] * 3]
    assert timer.tolist() == [-1, 11]
    types = read(env, state).object_type_map
    assert types[0, 3] == types[2, 2] == env.type_ids["pot"]
    assert not read(env, state).object_state_map.any()  # pots have their own fields


# Agents and boards


@each_backend
@pytest.mark.parametrize("agents", [1, 2, 3, 4, 5, 6])
def test_one_to_six_agents(backend, agents) -> None:
    env = cogrid.make(ROOM, backend=backend, num_agents=agents)
    obs, _ = env.reset(seed=0)
    assert list(obs) == env.agents == list(range(agents))
    state = env.env_state
    cells = read(env, state).agent_pos.tolist()
    assert cells[: min(agents, 2)] == [[2, 1], [1, 3]][:agents]
    assert len({tuple(cell) for cell in cells}) == agents
    # the first agents' digits, then the free floor in reading order
    assert cells[2:] == [[1, 1], [1, 2], [2, 2], [2, 3]][: max(0, agents - 2)]
    assert all(env.observation_space(agent).contains(obs[agent]) for agent in env.agents)
    obs, rewards, _, _, _ = env.step(dict.fromkeys(env.agents, LEFT))
    assert list(obs) == list(rewards) == env.agents


def floor_of_rooms(env) -> list[set[tuple[int, int]]]:
    """The floor cells that each agent can reach from its start, by a search of our own."""
    letters = env.spec.boards[0]
    rooms = []
    for first in env.spec.layout[0].starts:
        room, todo = set(), [first]
        while todo:
            r, c = todo.pop()
            if letters[r][c] == " " and (r, c) not in room:
                room.add((r, c))
                todo += [(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)]
        rooms.append(room)
    return rooms


@each_backend
@pytest.mark.parametrize("layout", ["ForcedCoordination", "AsymmetricAdvantages", "CrampedRoom"])
def test_random_start_within_the_own_room(backend, layout) -> None:
    env = shared(ROOM, backend, layout=layout, random_start=True)
    state = start(env, keys(1, 1000))
    where, facing = read(env, state).agent_pos, np.asarray(state.agent_dir)
    rooms = floor_of_rooms(env)
    assert (rooms[0] == rooms[1]) == (layout == "CrampedRoom")
    for agent in (0, 1):
        assert {tuple(cell) for cell in where[:, agent].tolist()} == rooms[agent]
        assert set(facing[:, agent].tolist()) == {0, 1, 2, 3}
        counts = np.unique(where[:, agent], axis=0, return_counts=True)[1]
        assert counts.min() > 0.5 * 1000 / len(rooms[agent])
    assert (where[:, 0] != where[:, 1]).any(axis=-1).all()
    assert not (read(env, state).agent_inv != -1).any()


@each_backend
def test_random_start_of_six_in_a_room_of_six(backend) -> None:
    env = shared(ROOM, backend, num_agents=6, random_start=True)
    state = start(env, keys(2, 200))
    orders = read(env, state).agent_pos.reshape(200, 6, 2)
    for cells in orders.tolist():
        assert len({tuple(cell) for cell in cells}) == 6
    assert len(np.unique(orders.reshape(200, -1), axis=0)) > 100


@each_backend
def test_own_layout(backend) -> None:
    board = """
        XXXXTXX
        O2    P
        X #1  D
        XXSXXXX
    """
    env = cogrid.make(ROOM, backend=backend, layout=board, num_agents=3)
    env.reset(seed=0)
    state = env.env_state
    assert draw(env, state) == picture(
        """
        X X X X T X X
        O ^ ^       P
        X   # ^     D
        X X S X X X X
        """
    )
    assert read(env, state).agent_pos.tolist() == [[2, 3], [1, 1], [1, 2]]
    assert read(env, state).pot_positions.tolist() == [[1, 6]]
    assert env.config["layout"] == "own-0"
    walls = read(env, state).wall_map
    letters = ["XXXXTXX", "O     P", "X #   D", "XXSXXXX"]
    assert walls.tolist() == [[int(letter != " ") for letter in row] for row in letters]
    names = {
        "X": "counter",
        "O": "onion_pile",
        "T": "tomato_pile",
        "D": "dish_pile",
        "P": "pot",
        "S": "serving",
    }
    names |= {"#": "wall", " ": "floor"}
    types = [[env.type_ids[names[letter]] for letter in row] for row in letters]
    assert read(env, state).object_type_map.tolist() == types


@each_backend
def test_layout_by_name_equals_the_registered_kitchen(backend) -> None:
    named = shared(ROOM, backend, layout="CounterCircuit")
    assert named.spec == shared("Overcooked-CounterCircuit-V0", backend).spec


MIXES = ("CrampedRoom", "CoordinationRing", "CounterCircuit")


def mixed(backend, n):
    env = shared(ROOM, backend, layout=MIXES, shaping=1.0)
    return env, start(env, keys(5, n))


@each_backend
def test_a_batch_mixes_layouts(backend) -> None:
    env, state = mixed(backend, 300)
    assert (state.height, state.width) == (5, 8)
    assert env.config["layout"] == MIXES
    numbers = np.asarray(state.layout)
    assert set(numbers.tolist()) == {0, 1, 2}
    assert np.bincount(numbers).min() > 60
    pots, timers = read(env, state).pot_positions, read(env, state).pot_timer
    types = read(env, state).object_type_map
    for number, positions in enumerate(([[0, 2], [-1, -1]], [[0, 3], [1, 4]], [[0, 3], [0, 4]])):
        some = numbers == number
        assert (pots[some] == positions).all()
    assert (timers == -1).all()
    assert (read(env, state).pot_contents == -1).all()
    assert (types[numbers == 0][:, 4, :] == env.type_ids["wall"]).all()  # padded below
    assert (types[numbers == 0][:, :, 5:] == env.type_ids["wall"]).all()  # and to the right
    assert read(env, state).wall_map[numbers == 0][:, 4, :].all()


def with_onions(env, state):
    """Every hand full, so that something happens soon."""
    onion = list(env.spec.symbols.items).index("onion")
    return env.replace(state, held=onion)


@each_backend
def test_mixed_layouts_play_like_each_alone(backend) -> None:
    env, state = mixed(backend, 24)
    numbers, state = np.asarray(state.layout), with_onions(env, state)
    generator = np.random.default_rng(0)
    choices = [UP, DOWN, LEFT, RIGHT, INTERACT, INTERACT, INTERACT]
    actions = generator.choice(choices, (80, 24, 2)).astype(np.int32)
    track = []
    for joint in actions:
        state, _, rewards, _, _ = jitted(env)(state, joint)
        track.append((read(env, state), np.asarray(rewards)))
    acted = 0
    for number, layout in enumerate(MIXES):
        alone, some = shared(ROOM, backend, layout=layout, shaping=1.0), numbers == number
        single = with_onions(alone, start(alone, keys(0, int(some.sum()))))
        for joint, (both, rewards) in zip(actions, track, strict=True):
            single, _, paid, _, _ = jitted(alone)(single, joint[some])
            plain = read(alone, single)
            for name in ("agent_pos", "agent_dir", "time"):
                np.testing.assert_array_equal(getattr(both, name)[some], getattr(plain, name))
            n_pots = plain.pot_timer.shape[-1]
            np.testing.assert_array_equal(both.pot_timer[some][:, :n_pots], plain.pot_timer)
            np.testing.assert_array_equal(rewards[some], paid)
            acted += np.count_nonzero(paid)
    assert acted > 20  # enough was potted for the comparison to mean something


@each_backend
def test_absent_pots_are_zeros_in_the_features(backend) -> None:
    env, _ = mixed(backend, 1)
    state, obs = env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(keys(5, 300)))
    names = env.feature_names
    second = [k for k, name in enumerate(names) if name.startswith("pot 1 ")]
    assert len(second) == 8  # exists, rows, columns; onions, tomatoes, cooking, ready, time left
    lacks = np.asarray(state.layout) == 0
    seen = np.asarray(obs)
    assert not seen[lacks][..., second].any()
    assert (seen[~lacks][..., names.index("pot 1 exists")] == 1).all()


@each_backend
def test_replace_leaves_absent_pots_alone(backend) -> None:
    env, state = mixed(backend, 30)
    onion = env.type_ids["onion"]
    state = env.replace(state, pot_contents=np.array([[onion, -1, -1], [onion, onion, -1]]))
    lacks = np.asarray(state.layout) == 0
    contents = read(env, state).pot_contents
    assert (contents[lacks] == [[onion, -1, -1], [-1, -1, -1]]).all()
    assert (contents[~lacks] == [[onion, -1, -1], [onion, onion, -1]]).all()
