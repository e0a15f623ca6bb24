"""OvercookedV2 equals JaxMARL's, transition by transition, under every option of it."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jaxmarl")

import jax
from jaxmarl.environments.overcooked_v2.overcooked import OvercookedV2

from cogrid._core.author.chance import branches
from cogrid._core.compile.odds import probability
from cogrid.backend import rng
from cogrid.envs.overcooked.objects import Counter as CounterTop
from cogrid.envs.overcooked.objects import Pot, Soup
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.envs.overcooked_v2.layouts import PLANS
from tests._core.worlds import bounds
from tests.golden.v2 import lane
from tests.oracles.jaxmarl_v2_oracle import Pair, their_name
from tests.oracles.v2_options import PLAIN, Rules, varied
from tests.oracles.v2_states import busy_actions, random_states

pytestmark = pytest.mark.usefixtures("as_jaxmarl_wants_it")
BATCH = 32

#: What JaxMARL does that we do not, and why.
KNOWN_DIFFERENCES = {
    "observation_type": "their vector of features is defined for one ingredient only; ours has its own",
    "force_path_planning": "prepares that vector and changes nothing else",
    "initial_state_buffer": "their reset prints to the screen, sets the time of the drawn state to 0 and "
    "draws its permutations anew; ours begins with the state as it is given",
}


@pytest.fixture
def as_jaxmarl_wants_it() -> Iterator[None]:
    """It mixes types and ranks, which the other tests forbid."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


CASES = [(name, rules) for name in PLANS for rules in (PLAIN, varied(name))]
cases = pytest.mark.parametrize(("layout", "rules"), CASES, ids=[f"{n}-{r.name}" for n, r in CASES])


@cases
def test_steps_as_jaxmarls(layout: str, rules: Rules, full: bool, record_property: Any) -> None:
    """Injected states, and episodes from a reset."""
    pair, generator, met = Pair(layout, rules), np.random.default_rng(len(layout)), Counter[str]()
    rounds = (2000 if full else 500) // BATCH + 1
    for number in range(rounds):
        state = random_states(pair.env, pair.fresh(BATCH, number), generator)
        actions = busy_actions(generator, (BATCH, pair.n))
        after, _, found, infos = pair.step(state, pair.to_theirs(state), actions)
        assert not found, f"{layout}, {rules}, injected {number}: {found}"
        _count(pair, met, state, after, infos)
    assert rounds * BATCH >= 500
    state, _ = pair.reset(BATCH, 99)
    theirs = pair.to_theirs(state)
    cooks = [ScriptedCooks(pair.env.rules, seed=k, noise=0.05 * k) for k in range(10 if full else 3)]
    for step in range(pair.env.spec.max_steps):
        actions = busy_actions(generator, (BATCH, pair.n))
        for k, cook in enumerate(cooks):  # some play with a purpose
            actions[k] = [*cook.act(lane(state, k)).values()]
        before = state
        state, theirs, found, infos = pair.step(state, theirs, actions)
        assert not found, f"{layout}, {rules}, step {step} of the episodes: {found}"
        _count(pair, met, before, state, infos)
    assert np.asarray(state.done).all()
    met["states injected"], met["episodes played"], met["of them by cooks"] = (
        rounds * BATCH,
        BATCH,
        len(cooks),
    )
    record_property("met OvercookedV2", dict(met))
    _check(pair, met)


@pytest.mark.parametrize("layout", ["CrampedRoomV2", "FunCoordination", "GroundedCoordSimple", "LongRoom"])
def test_their_random_resets_are_states_of_ours(layout: str, record_property: Any) -> None:
    """Their states after a random reset, permutations included, step alike; places and hands vary."""
    pair = Pair(layout, varied(layout))
    _, theirs = jax.jit(jax.vmap(pair.game.reset))(jax.random.split(jax.random.key(3), BATCH))
    state = pair.from_theirs(theirs)
    assert not pair.differences(state, theirs)
    _, _, found, _ = pair.step(state, theirs, np.full((BATCH, pair.n), 4, np.int32))
    assert not found, found
    assert len({cells.tobytes() for cells in np.asarray(state.cells)}) > BATCH // 2
    assert len({pos.tobytes() for pos in np.asarray(state.pos)}) > 5
    record_property("met OvercookedV2", {"option random_reset: states drawn by JaxMARL": BATCH})


@pytest.mark.parametrize("cook_start", ["auto", "interact"])
def test_a_random_reset_has_their_odds(cook_start: str, record_property: Any) -> None:
    """What theirs draws is in pots, on counters and in hands as often as our chances say, by exact bounds."""
    theirs_too = {"random_reset": True, "start_cooking_interaction": cook_start == "interact"}
    pair = Pair("CrampedRoomV2", Rules("odds", {"random_reset": True, "cook_start": cook_start}, theirs_too))
    _, theirs = jax.jit(jax.vmap(pair.game.reset))(jax.random.split(jax.random.key(3), 3000))
    state, symbols, game = pair.from_theirs(theirs), pair.env.spec.symbols, pair.env.spec.game
    board = pair.env.rules.boards[0]
    chances = [(game.hand(0), symbols.items, np.asarray(state.held))]
    for thing in (Pot((), -1), CounterTop(None)):
        places = board == symbols.number[thing]
        chances.append((game.start(thing), symbols.things, np.asarray(state.cells)[:, places]))
    for chance, values, numbers in chances:
        found, odds = Counter(values[number] for number in numbers.ravel().tolist()), branches(chance)
        assert {*found} <= {value for value, _ in odds}
        for branch, (value, _) in enumerate(odds):
            low, high = bounds(numbers.size, probability(branch, odds))
            assert low <= found[value] <= high, f"{value}: {found[value]} of {numbers.size}"
    record_property("met OvercookedV2", {"option random_reset: states whose odds were compared": 3000})


@pytest.mark.parametrize("layout", ["CrampedRoom", "TwoRooms", "GroundedCoordSimple"])
def test_random_positions_are_theirs(layout: str, record_property: Any) -> None:
    """Both put every agent on each cell of its room, and turn it to each side; nothing else is drawn."""
    count = 1500
    pair = Pair(layout, Rules("places", {"random_start": True}, {"random_agent_positions": True}))
    _, theirs = jax.jit(jax.vmap(pair.game.reset))(jax.random.split(jax.random.key(3), count))
    state, ours = pair.from_theirs(theirs), pair.fresh(count, 5)
    assert not pair.differences(state, theirs)
    np.testing.assert_array_equal(state.cells, ours.cells)
    np.testing.assert_array_equal(state.held, ours.held)
    for agent in range(pair.n):
        poses = [
            {*zip(one.pos[:, agent].tolist(), one.agent_dir[:, agent].tolist(), strict=True)}
            for one in (state, ours)
        ]
        assert poses[0] == poses[1]
        assert len(poses[0]) >= 16
    record_property("met OvercookedV2", {"option random_start: states drawn by JaxMARL": count})


@pytest.mark.parametrize("layout", ["CrampedRoomV2", "GroundedCoordRing"])
def test_their_buffer_of_start_states_is_our_pool(layout: str, record_property: Any) -> None:
    """Both begin with every one of the given states, and with all of it."""
    size, count = 8, 200
    pair, generator = Pair(layout, PLAIN), np.random.default_rng(0)
    pool = pair.env.replace(random_states(pair.env, pair.fresh(size), generator), time=np.zeros(size, int))
    given = pair.to_theirs(pool)
    game = type(pair.game)(their_name(layout), initial_state_buffer=given)
    _, theirs = jax.jit(jax.vmap(game.reset))(jax.random.split(jax.random.key(3), count))
    ours, _ = pair.env.reset_fn(np.asarray(rng.split(rng.key(5), count)), pool=pool)
    for begun in (theirs, pair.to_theirs(ours)):
        parts = [[*map(np.asarray, jax.tree.leaves(one))] for one in (given, begun)]
        same = [(a[:, None] == b).reshape(size, count, -1).all(axis=-1) for a, b in zip(*parts, strict=True)]
        chosen = np.all(same, axis=0)  # (size, count)
        assert chosen.any(axis=0).all()
        assert chosen.any(axis=1).all()
    record_property("met OvercookedV2", {"option pool: episodes begun with a given state": count})


def test_every_option_of_theirs_is_compared() -> None:
    """What their constructor takes is set above, or known to differ."""
    options = {*inspect.signature(OvercookedV2.__init__).parameters} - {"self", "layout"}
    compared = {name for _, rules in CASES for name in rules.theirs}
    assert options - compared == {"random_agent_positions", *KNOWN_DIFFERENCES}
    views = {rules.theirs.get("agent_view_size") for _, rules in CASES}
    assert views == {None, 1, 2, 3}
    assert {rules.theirs.get("start_cooking_interaction") for _, rules in CASES} == {None, False, True}


@pytest.mark.parametrize("layout", PLANS)
def test_boards_recipes_and_starts_are_theirs(layout: str) -> None:
    """Also the planes' number for any option, from their own table of layouts."""
    from jaxmarl.environments.overcooked_v2.layouts import overcooked_v2_layouts as theirs

    assert sorted(map(their_name, PLANS)) == sorted(theirs)
    pair = Pair(layout, PLAIN)
    expected, fresh = theirs[their_name(layout)], pair.translated(pair.fresh(1))
    np.testing.assert_array_equal(fresh["grid"][0, ..., 0], expected.static_objects)
    assert [*zip(fresh["x"][0], fresh["y"][0], strict=True)] == expected.agent_positions
    assert pair.env.spec.game.ingredients == expected.num_ingredients


def _count(pair: Pair, met: Counter[str], before: Any, after: Any, infos: dict[str, Any]) -> None:
    """What happened in a step of a batch."""
    game, verbs = pair.env.spec.game, pair.env.verbs
    names = np.array(verbs)[infos["verb"]]  # (B, n)
    for verb in filter(None, verbs):
        if times := int((names == verb).sum()):
            met[f"did: {verb.split(' ')[0] if verb.startswith('pot ') else verb}"] += times
    points = infos["rewards"]["delivery"][:, 0]
    correct, slot = points > 0, _recipe(pair, before) != _recipe(pair, after)
    met["soup of the recipe delivered"] += int(correct.sum())
    met["two deliveries at once"] += int(((names == "deliver").sum(axis=1) > 1).sum())
    met["contested cells and blocked ways"] += int(infos["counts"][..., -2].sum())
    if "dish" in infos["rewards"] and pair.n > 1:
        beside = (names[:, 1] == "take dish") & np.isin(
            names[:, 0], [*_BESIDE, *(v for v in verbs if "pot " in v)]
        )
        met["dish taken beside another's deed"] += int(beside.sum())
        paid = infos["rewards"]["dish"][:, 1] > 0
        met["paid dish beside another's deed"] += int((beside & paid).sum())
    met["option cook_start='interact': steps"] += len(names) * (game.cook_start == "interact")
    met["option cook_start='auto': steps"] += len(names) * (game.cook_start == "auto")
    if game.negative_rewards:
        met["option negative_rewards: wrong soups"] += int((points < 0).sum())
    if game.sample_recipe_on_delivery:
        met["option sample_recipe_on_delivery: draws"] += int(correct.sum())
        met["option sample_recipe_on_delivery: another recipe"] += int((correct & slot).sum())
    if game.indicate_successful_delivery:
        met["option indicate_successful_delivery: shown"] += int(
            pair.served[np.asarray(after.slots)[:, 0]].sum()
        )
    if pair.permuted:
        moved = (pair.sights(after) != np.arange(game.ingredients)).any(axis=-1)
        met["option permuted_ingredients: views changed"] += int(moved.sum())
    if pair.env.spec.observation == "window":
        met[f"option window={pair.env.spec.window}: views"] += names.size
    if game.random_reset:
        met["option random_reset: steps"] += len(names)
        met["option random_start: agents elsewhere"] += int(
            (
                (np.asarray(before.time) == 0)[:, None] & (np.asarray(before.pos) != pair.env.rules.starts[0])
            ).sum()
        )


def _recipe(pair: Pair, state: Any) -> np.ndarray:
    return pair.recipes[np.asarray(state.slots)[:, 0]]


_BESIDE = ("plate", "put down", "pick up")


def _check(pair: Pair, met: Counter[str]) -> None:
    """Every thing that can happen in a layout has happened; half as often where one cook is alone."""
    game = pair.env.spec.game
    wanted = {"did: take dish": 20, "did: pot": 20, "did: plate": 20, "did: deliver": 5, "did: put down": 20}
    wanted |= {"did: pick up": 20, "soup of the recipe delivered": 3}
    if "B" in pair.env.spec.layout[0].text:
        wanted["did: press"] = 20
    if game.cook_start == "interact":
        wanted["did: start"] = 20
    elif game.random_reset:
        wanted["did: light"] = 1
    if game.negative_rewards:
        soups = [item for item in pair.env.spec.symbols.items if isinstance(item, Soup)]
        wanted |= {
            "option negative_rewards: wrong soups": 3 * (len(soups) > 1),
            "option sample_recipe_on_delivery: draws": 3,
            "option sample_recipe_on_delivery: another recipe": 1 * (len(game.possible) > 1),
            "option indicate_successful_delivery: shown": 3,
            "option random_start: agents elsewhere": 20,
        }
    if len(pair.permuted) > 1:
        wanted["option permuted_ingredients: views changed"] = 100
    short = {name: met[name] for name, least in wanted.items() if met[name] < -(-least * pair.n // 2)}
    assert not short, f"{pair.layout}, {pair.rules.name}: too seldom {short} of {dict(met)}"
