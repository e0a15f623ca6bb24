"""OvercookedV2 equals JaxMARL's, transition by transition, under every option of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jaxmarl")

import jax

from cogrid.envs.overcooked.objects import Soup
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.envs.overcooked_v2.layouts import PLANS
from tests.golden.v2 import lane
from tests.oracles.jaxmarl_v2_oracle import Pair, Rules, their_name
from tests.oracles.v2_states import busy_actions, random_states

pytestmark = pytest.mark.usefixtures("as_jaxmarl_wants_it")
BATCH = 32
HORIZON = 400

#: What JaxMARL does that we do not, and why.
KNOWN_DIFFERENCES = {
    "observation_type='featurized'": "their flat vector is defined for one ingredient only; ours has its own",
    "prints in reset": "with a buffer of start states their reset prints to the screen",
}

PLAIN = Rules("plain")


@pytest.fixture
def as_jaxmarl_wants_it() -> Iterator[None]:
    """It mixes types and ranks, which the other tests forbid."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def rules_of(layout: str) -> Rules:
    """All options together for a layout."""
    return varied([*PLANS].index(layout))


def varied(number: int) -> Rules:
    """All other options together; pots start by themselves in every other layout, and views differ."""
    interact, reach = number % 2 == 0, 1 + number % 3
    ingredients = [*PLANS.values()][number].ingredients
    flags = dict.fromkeys(
        ("sample_recipe_on_delivery", "indicate_successful_delivery", "negative_rewards", "random_reset"),
        True,
    )
    permuted = [i for i in range(ingredients) if i != 1 or number % 4]
    ours = flags | {"random_start": True, "cook_start": "interact" if interact else "auto"}
    theirs = flags | {"start_cooking_interaction": interact, "op_ingredient_permutations": permuted}
    ours["permuted_ingredients"] = permuted
    if number % 4 < 3:
        ours |= {"observation": "window", "window": 2 * reach + 1}
        theirs["agent_view_size"] = reach
    return Rules("varied", ours, theirs)


CASES = [(name, rules) for k, name in enumerate(PLANS) for rules in (PLAIN, varied(k))]
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
    for step in range(HORIZON):
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
    record_property("met", dict(met))
    _check(pair, met)


@pytest.mark.parametrize("layout", ["CrampedRoomV2", "FunCoordination", "GroundedCoordSimple", "LongRoom"])
def test_their_random_resets_are_states_of_ours(layout: str, record_property: Any) -> None:
    """Their states after a random reset, permutations included, step alike; places and hands vary."""
    pair = Pair(layout, rules_of(layout))
    _, theirs = jax.jit(jax.vmap(pair.game.reset))(jax.random.split(jax.random.key(3), BATCH))
    state = pair.from_theirs(theirs)
    assert not pair.differences(state, theirs)
    _, _, found, _ = pair.step(state, theirs, np.full((BATCH, pair.n), 4, np.int32))
    assert not found, found
    assert len({cells.tobytes() for cells in np.asarray(state.cells)}) > BATCH // 2
    assert len({pos.tobytes() for pos in np.asarray(state.pos)}) > 5
    record_property("met", {"option random_reset: states drawn by JaxMARL": BATCH})


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
    """Every thing that can happen in a layout has happened."""
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
            "option indicate_successful_delivery: shown": 3,
        }
    if len(pair.permuted) > 1:
        wanted["option permuted_ingredients: views changed"] = 100
    short = {name: met[name] for name, least in wanted.items() if met[name] < least}
    assert not short, f"{pair.layout}, {pair.rules.name}: too seldom {short} of {dict(met)}"
