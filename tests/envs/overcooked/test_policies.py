"""The scripted cooks: how many soups they deliver, with whom, from where, and that they never get stuck."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.backend import rng
from cogrid.envs.overcooked.objects import Soup
from cogrid.envs.overcooked.policies import ScriptedCooks
from tests.envs.overcooked.boards import kitchen, start, state_of
from tests.episodes import jitted, shared
from tests.support import BACKENDS, HAS_JAX, KITCHENS

ROOM = "Overcooked-CrampedRoom-V0"
#: Soups of two cooks in 400 steps; they reach 12, 18, 15, 14 and 10.
SOUPS = {
    "CrampedRoom": 11,
    "AsymmetricAdvantages": 16,
    "CoordinationRing": 13,
    "ForcedCoordination": 12,
    "CounterCircuit": 9,
}
each_kitchen = pytest.mark.parametrize("name", SOUPS)


def make(name: str, **options: Any) -> cogrid.CoGridEnv:
    return shared(f"Overcooked-{name}-V0", "numpy", observation="none", max_steps=2000, **options)


def play(
    env: Any,
    *cooks: ScriptedCooks,
    state: Any = None,
    seed: int = 0,
    steps: int = 400,
    others: Callable[[], int] | None = None,
) -> tuple[float, list[list[int]], list[str]]:
    """The score, the tape and, with infos, the verbs of a game; who is no cook does what `others` says."""
    state = env.reset_fn(rng.key(seed))[0] if state is None else state
    score, tape, verbs = 0.0, [], []
    for _ in range(steps):
        acts: dict[int, int] = {}
        for cook in cooks:
            acts |= cook.act(state)
        tape.append(
            [
                acts[a] if a in acts else others() if others else env.rules.noop
                for a in range(env.rules.n_agents)
            ]
        )
        state, _, rewards, _, infos = env.step_fn(state, np.array(tape[-1]))
        assert (rewards == rewards[0]).all()  # all are paid for a soup
        score += float(rewards[0])
        verbs += [env.verbs[number] for number in infos.get("verb", ()) if number]
    assert np.min(tape) >= 0
    assert np.max(tape) < env.rules.n_actions
    return score, tape, verbs


def soups(env: Any, *cooks: ScriptedCooks, **how: Any) -> float:
    return play(env, *cooks, **how)[0] / 20


def random_agent(env: Any, seed: int) -> Callable[[], int]:
    generator = np.random.default_rng(seed)
    return lambda: int(generator.integers(env.rules.n_actions))


def after_a_mess(env: Any, seed: int, steps: int = 200) -> Any:
    """A state with things in hands, on counters and in pots where random actions left them."""
    state, generator = env.reset_fn(rng.key(seed))[0], np.random.default_rng(seed)
    interact, shape = env.action_names.index("interact"), env.rules.n_agents
    for _ in range(steps):
        actions = generator.integers(0, env.rules.n_actions, shape)
        state = env.step_fn(state, np.where(generator.random(shape) < 0.3, interact, actions))[0]
    return state


def test_all_classic_kitchens_are_played() -> None:
    assert {f"Overcooked-{name}-V0" for name in SOUPS} <= set(KITCHENS)


@each_kitchen
def test_soups_from_the_standard_start(name) -> None:
    env = make(name)
    assert soups(env, ScriptedCooks(env.rules)) >= SOUPS[name]


@each_kitchen
def test_soups_from_random_starts(name) -> None:
    env = make(name, random_start=True)
    assert min(soups(env, ScriptedCooks(env.rules), seed=seed) for seed in (1, 2)) >= SOUPS[name]


@each_kitchen
@pytest.mark.parametrize("cook_start", ["auto", "interact"])
def test_soups_from_a_mess(name, cook_start) -> None:
    env = make(name, random_start=True, cook_start=cook_start)
    for seed in (1, 2) if cook_start == "auto" else (3,):
        state = after_a_mess(env, seed)
        assert soups(env, ScriptedCooks(env.rules), state=state, steps=200) >= SOUPS[name] // 4


@each_kitchen
def test_soups_of_pots_that_are_started_by_hand(name) -> None:
    env = make(name, cook_start="interact")
    assert soups(env, ScriptedCooks(env.rules)) >= SOUPS[name] - 1


@each_kitchen
def test_soups_with_rotation(name) -> None:
    env = make(name, action_set="rotation")
    assert soups(env, ScriptedCooks(env.rules)) >= SOUPS[name] // 2 + 1


@pytest.mark.parametrize(  # elsewhere the one who stands still is in the way of everything, or is needed
    ("name", "agent", "least"),
    [
        ("CrampedRoom", 0, 8),
        ("AsymmetricAdvantages", 0, 11),
        ("AsymmetricAdvantages", 1, 8),
        ("CoordinationRing", 1, 7),
        ("CounterCircuit", 0, 4),
        ("CounterCircuit", 1, 3),
    ],
)
def test_soups_with_one_who_does_nothing(name, agent, least) -> None:
    env = make(name)
    assert soups(env, ScriptedCooks(env.rules, [agent])) >= least


@pytest.mark.parametrize("agent", [0, 1])
@pytest.mark.parametrize(
    ("name", "least"),
    [("CrampedRoom", 5), ("AsymmetricAdvantages", 7), ("CoordinationRing", 4), ("CounterCircuit", 2)],
)
def test_soups_with_one_who_plays_at_random(name, agent, least) -> None:
    env = make(name)
    assert soups(env, ScriptedCooks(env.rules, [agent]), others=random_agent(env, agent)) >= least


@each_kitchen
def test_noisy_cooks_recover(name) -> None:
    env = make(name)
    assert soups(env, ScriptedCooks(env.rules, noise=0.2)) >= SOUPS[name] // 2


@each_kitchen
@pytest.mark.parametrize("action_set", ["cardinal", "rotation"])
def test_cooks_who_are_made_one_by_one_play_as_all_at_once(name, action_set) -> None:
    env = make(name, action_set=action_set)
    together = play(env, ScriptedCooks(env.rules), steps=150)
    assert play(env, *(ScriptedCooks(env.rules, [agent]) for agent in (0, 1)), steps=150) == together


def test_equal_seeds_play_alike() -> None:
    env = make("CrampedRoom")
    tapes = [play(env, ScriptedCooks(env.rules, seed=s, noise=0.3), steps=60)[1] for s in (7, 7, 8)]
    assert tapes[0] == tapes[1] != tapes[2]


def test_a_new_episode_is_played_as_by_new_cooks() -> None:
    env = make("CoordinationRing")
    cooks = ScriptedCooks(env.rules, [0])
    first = play(env, cooks, steps=90)
    assert play(env, cooks, steps=90) == first


def test_a_copy_plays_on_alike() -> None:
    env = make("CounterCircuit")
    cooks, state = ScriptedCooks(env.rules, noise=0.2), env.reset_fn(rng.key(0))[0]
    for _ in range(30):
        state = env.step_fn(state, np.array(list(cooks.act(state).values())))[0]
    other = copy.deepcopy(cooks)
    assert play(env, cooks, state=state, steps=60) == play(env, other, state=state, steps=60)


@pytest.mark.skipif(not HAS_JAX, reason="needs JAX")
def test_both_backends_give_the_same_tape() -> None:
    options = {"observation": "none", "random_start": True, "layout": ("CoordinationRing", "CrampedRoom")}
    plain, compiled = (shared(ROOM, backend, **options) for backend in BACKENDS)
    tapes = []
    for env, rules in ((plain, plain.rules), (compiled, compiled.rules), (compiled, plain.rules)):
        cooks, tape, state = ScriptedCooks(rules, seed=3, noise=0.1), [], start(env)
        for _ in range(60):
            tape.append(list(cooks.act(state).values()))
            state = jitted(env)(state, np.array(tape[-1], np.int32))[0]
        tapes.append(tape)
    assert tapes[0] == tapes[1] == tapes[2]


def test_with_the_stateful_environment() -> None:
    env = cogrid.make(ROOM)
    env.reset(seed=0)
    partner, score = ScriptedCooks(env.rules, [0]), 0.0
    while env.agents:
        score += env.step({1: env.rules.noop} | partner.act(env.env_state))[1][1]
    assert score >= 8 * 20


# Other kitchens

SPICY = """
    XXPXTX
    O1   X
    X   2D
    XXXSXX
"""
#: Onions and dishes, a pot, and the serving in three rooms.
CHAIN = """
    XXXXXXX
    O1X2X3S
    D X P X
    XXXXXXX
"""
#: Nobody can pass, the soup must be handed on.
CORRIDOR = """
    XXXXXXXXX
    O1     2S
    XXPXDXXXX
"""
#: The one way to the serving has a corner to step aside.
CORNER = """
    XXXXXXXX
    O 1 2  S
    XXXDPX X
    XXXXXXXX
"""
#: The pot is at a dead end: who is in there must get out before another can get in.
DEAD_END = """
    XXXXPXX
    XO 12XX
    X   DXX
    X     X
    S     O
    XXXXXXX
"""
#: Tomatoes are where nobody is.
SEALED = """
    XXPXXXX
    O1 X  T
    X 2DX#X
    XXSXXXX
"""


@pytest.mark.parametrize(
    ("layout", "agents", "least"),
    [(SPICY, 2, 10), (CHAIN, 3, 8), (CORRIDOR, 2, 9), (CORNER, 2, 5), (DEAD_END, 2, 8), (DEAD_END, 3, 8)],
    ids=["spicy", "chain", "corridor", "corner", "dead end", "dead end for three"],
)
def test_soups_in_other_kitchens(layout, agents, least) -> None:
    env = make("CrampedRoom", layout=layout, num_agents=agents)
    assert soups(env, ScriptedCooks(env.rules)) >= least
    assert soups(env, ScriptedCooks(env.rules), state=after_a_mess(env, 0)) >= least // 2


@pytest.mark.parametrize(("agents", "least"), [(1, 9), (3, 11), (4, 12), (6, 6)])
def test_any_number_of_cooks(agents, least) -> None:
    env = make("CrampedRoom", num_agents=agents)
    assert soups(env, ScriptedCooks(env.rules)) >= least


def test_layouts_drawn_by_the_key() -> None:
    env = make("CrampedRoom", layout=tuple(SOUPS))
    drawn = {seed: list(SOUPS)[int(env.reset_fn(rng.key(seed))[0].layout)] for seed in range(5)}
    assert len(set(drawn.values())) > 2
    cooks = ScriptedCooks(env.rules)
    assert all(soups(env, cooks, seed=seed) >= SOUPS[name] for seed, name in drawn.items())


@pytest.mark.parametrize(
    ("options", "value", "least"),
    [
        ({"recipes": (("onion,tomato,tomato", 50.0, 10),)}, 50, 13),
        ({"orders": ("tomato,tomato,tomato",)}, 20, 10),
        ({"orders": ("onion,onion,onion",), "bonus_orders": ("onion,tomato,tomato",)}, 40, 10),
        ({"orders": ("onion", "tomato,tomato"), "cook_start": "interact"}, 20, 12),
        ({"orders": (), "cook_start": "interact", "cook_time": 3}, 20, 20),
    ],
    ids=["recipe", "order", "bonus", "short", "any"],
)
def test_the_most_valuable_order_is_made(options, value, least) -> None:
    env = make("CrampedRoom", layout=SPICY, infos=True, **options)
    score, _, verbs = play(env, ScriptedCooks(env.rules))
    assert score == value * verbs.count("deliver")
    assert verbs.count("deliver") >= least


@pytest.mark.parametrize("layout", ["CrampedRoom", SEALED], ids=["absent", "out of reach"])
def test_an_order_that_lacks_its_ingredient_is_left(layout) -> None:
    env = make("CrampedRoom", layout=layout, recipes=(("tomato,tomato,tomato", 50.0, None),))
    assert soups(env, ScriptedCooks(env.rules)) >= 8


# Odd states, drawn

FULL_ROOM = """
    XoXoP XoXo
    O >t  >tO
    Xo      Xo
    XoD XoS Xo
"""
SPOILT = """
    X X P2X X
    O >d  >oO
    T       X
    X D X S X
"""


def test_a_spoilt_pot_is_emptied_at_the_serving() -> None:
    env = kitchen(SPOILT, "numpy", infos=True, max_steps=2000, observation="none")
    state = state_of(env, SPOILT, pots=[["onion", "tomato"]])
    score, _, verbs = play(env, ScriptedCooks(env.rules), state=state)
    assert score == 20 * (verbs.count("deliver") - 1) >= 180


def test_full_counters() -> None:
    drawing = FULL_ROOM.replace("t", "o")
    env = kitchen(drawing, "numpy", infos=True, max_steps=2000, observation="none")
    assert soups(env, ScriptedCooks(env.rules), state=state_of(env, drawing)) >= 9


def test_wrong_ingredients_in_hands_and_no_free_counter() -> None:
    drawing = FULL_ROOM.replace("O >t", "T >t")
    env = kitchen(drawing, "numpy", infos=True, max_steps=2000, observation="none")
    score, _, verbs = play(env, ScriptedCooks(env.rules), state=state_of(env, drawing))
    assert 0 < score < 20 * verbs.count("deliver")


def test_a_dish_in_a_sleepers_hand_is_not_waited_for() -> None:
    drawing = """
        X X P*X X
        O >   >dO
        X       X
        X D X S X
    """
    env = kitchen(drawing, "numpy", max_steps=2000, observation="none")
    assert soups(env, ScriptedCooks(env.rules, [0]), state=state_of(env, drawing)) >= 8


# Refusals


def test_refusals() -> None:
    rules = make("CrampedRoom").rules
    with pytest.raises(TypeError, match="play kitchens, not Arena"):
        ScriptedCooks(shared("Arena-V0", "numpy").rules)
    with pytest.raises(ValueError, match=r"agent 2 is none of this kitchen's: they are 0 to 1\."):
        ScriptedCooks(rules, [2])
    with pytest.raises(ValueError, match="noise=2 is out of range"):
        ScriptedCooks(rules, noise=2)
    with pytest.raises(ValueError, match=r"a batch of shape \(3,\)"):
        ScriptedCooks(rules).act(make("CrampedRoom").reset_fn(rng.split(rng.key(0), 3))[0])
    with pytest.raises(ValueError, match="another environment"):
        ScriptedCooks(rules).act(make("CounterCircuit").reset_fn(rng.key(0))[0])


@pytest.mark.parametrize("id", [id for id in KITCHENS if id.startswith("OvercookedAI-")])
def test_soups_in_the_kitchens_of_overcooked_ai(id) -> None:
    """At least one that is ordered in 400 steps, in every one of them, by as many cooks as it has."""
    env = shared(id, "numpy", observation="none", infos=True)
    score, _, verbs = play(env, ScriptedCooks(env.rules))
    assert verbs.count("deliver") >= 1
    assert score > 0


@pytest.mark.parametrize(
    ("id", "least"),
    [("CounterCircuit", (8, 11, 13)), ("SchellingS", (11, 18, 22)), ("MdpTest", (13, 25, 32))],
)
def test_soups_of_one_two_and_three_cooks(id, least) -> None:
    for n, soups_at_least in enumerate(least, 1):
        env = shared(f"OvercookedAI-{id}-V0", "numpy", observation="none", infos=True, num_agents=n)
        assert play(env, ScriptedCooks(env.rules))[2].count("deliver") >= soups_at_least


ORDERS = "Overcooked-CrampedMixedKitchen-V0"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cooks_read_the_orders(seed) -> None:
    """Every soup that they serve is one that is ordered, and they cook both kinds; few orders expire."""
    env = shared(ORDERS, "numpy", observation="none", infos=True, order_time=60)
    score, _, verbs = play(env, ScriptedCooks(env.rules), seed=seed)
    expired = 20 * verbs.count("deliver") - score
    assert verbs.count("deliver") >= 8
    assert min(verbs.count("pot onion"), verbs.count("pot tomato")) >= 6
    assert expired <= 20 * 4


def test_cooks_wait_for_orders() -> None:
    """Without an order nothing is cooked, and a soup that nobody wants is not served."""
    env = shared(ORDERS, "numpy", observation="none", infos=True, order_gap=10**6)
    soup = env.spec.symbols.item_number[Soup(("onion",) * 3)]
    state = env.replace(env.reset_fn(rng.key(0))[0], held=np.array([soup, 0]))
    score, _, verbs = play(env, ScriptedCooks(env.rules), state=state, steps=60)
    assert (score, verbs) == (0.0, ["put down"])


@pytest.mark.parametrize(
    ("id", "sight", "least"),
    [
        (ORDERS, 1, 2),
        (ORDERS, 2, 8),
        ("Overcooked-AsymmetricAdvantages-PartialObs-V0", 1, 16),
        ("OvercookedAI-CounterCircuit-V0", 1, 5),
        ("OvercookedAI-MultiplayerSchelling-V0", 1, 6),
        ("OvercookedAI-MultiplayerSchelling-V0", 2, 12),
    ],
)
def test_soups_of_cooks_who_see_little(id, sight, least) -> None:
    """Each acts on what it has seen itself, so that not even two who stand face to face share a thought."""
    env = shared(id, "numpy", observation="none", infos=True)
    assert play(env, ScriptedCooks(env.rules, sight=sight))[2].count("deliver") >= least
