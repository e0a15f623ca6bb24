"""The commons: growth, dirt, zaps and returns by boards and by exact bounds; greed and restraint."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.envs.commons.figures import figures
from cogrid.envs.commons.game import CleanUp, Harvest
from cogrid.envs.commons.policies import ScriptedPlayers
from cogrid.envs.commons.specs import SPECS
from cogrid.policies import policy_of
from cogrid.testing import check_env
from tests.core.worlds import after, bounds, drawn, fresh, made, parity, picture
from tests.support import BACKENDS, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)
RIGHT, DOWN, LEFT, UP = range(4)
HARVEST = cogrid.Spec(
    Harvest(timeout=3), "########\n#1 a 2P#\n#  a. P#\n########", observation="none", max_steps=400
)
CLEANING = cogrid.Spec(
    CleanUp(river=4), "#######\n#1 d 2#\n#wdw.P#\n#######", observation="none", max_steps=400
)
#: Draws of every frequency; the ordinary run takes a sample.
MANY = [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)]


def placed(spec: Any, backend: str, places: Any, facing: Any) -> Any:
    return made(spec, backend).replace(
        fresh(spec, backend), agent_pos=np.array(places), agent_dir=np.array(facing)
    )


@each_backend
def test_an_apple_is_eaten_by_walking_onto_it(backend: str) -> None:
    """
    > a   ^ p         . > ^ p
      a .   p   ->      a .   p
    """
    state = placed(HARVEST, backend, [(1, 2), (1, 5)], [RIGHT, UP])
    assert drawn(HARVEST, backend, state) == "  > a   ^ p\n    a .   p"
    state, rewards, _, infos = after(HARVEST, backend, state, "right", "noop")
    assert infos["verbs"] == ["eat", ""]
    assert rewards.tolist() == [1.0, 0.0]
    state, *_ = after(HARVEST, backend, state, "right", "noop")
    assert drawn(HARVEST, backend, state).split("\n")[0] == "    . > ^ p"
    shared = HARVEST.override(common=True)
    state = placed(shared, backend, [(1, 2), (1, 5)], [RIGHT, UP])
    assert after(shared, backend, state, "right", "noop")[1].tolist() == [1.0, 1.0]


@each_backend
def test_a_zap_sends_out_and_the_pads_take_back(backend: str) -> None:
    """
    > a   ^ p         > a     p          > a     p
      a .   p   ->      a .   p   …        a .   ^    after three ends of steps, on one of the pads
    """
    state = placed(HARVEST, backend, [(1, 2), (1, 5)], [RIGHT, UP])
    state, _, _, infos = after(HARVEST, backend, state, "zap", "noop")
    assert infos["verbs"] == ["zap", ""]
    assert infos["away"].tolist() == [False, True]
    for expected in (True, False):
        state, _, _, infos = after(HARVEST, backend, state, "noop", "noop")
        assert infos["away"].tolist() == [False, expected]
    assert np.asarray(state.agent_pos)[1].tolist() in [[1, 6], [2, 6]]


@each_backend
def test_who_was_zapped_does_not_eat_on_its_way_out(backend: str) -> None:
    state = placed(HARVEST, backend, [(1, 1), (1, 4)], [RIGHT, UP])
    state, rewards, _, infos = after(HARVEST, backend, state, "zap", "left")
    assert infos["verbs"] == ["zap", ""]
    assert not rewards.any()
    assert "a" in drawn(HARVEST, backend, state).split("\n")[0]


@each_backend
def test_the_beam_cleans_the_nearest_dirt(backend: str) -> None:
    """
    >   d   ^         >   ~   ^         >   ~   ^
    ~ d ~ . p   ->    ~ d ~ . p   ->    ~ ~ ~ . p     the nearer one beside, then the one ahead
    """
    state = placed(CLEANING, backend, [(1, 1), (1, 5)], [RIGHT, UP])
    assert drawn(CLEANING, backend, state) == picture(">   d   ^\n~ d ~ . p")
    state, _, _, infos = after(CLEANING, backend, state, "clean", "noop")
    assert infos["verbs"] == ["clean", ""]
    assert drawn(CLEANING, backend, state) == picture(">   d   ^\n~ ~ ~ . p")
    state, _, _, infos = after(CLEANING, backend, state, "clean", "noop")
    assert drawn(CLEANING, backend, state) == picture(">   ~   ^\n~ ~ ~ . p")
    assert after(CLEANING, backend, state, "clean", "noop")[3]["verbs"] == ["", ""]


def _played(spec: Any, backend: str, state: Any, steps: int) -> Any:
    """(steps + 1, B, …) cells and away of a batch in which nobody does anything."""
    env = made(spec, backend)
    noops = np.full(state.pos.shape, env.rules.noop, np.int32)
    if backend == "numpy":
        cells, pos = [np.asarray(state.cells)], [np.asarray(state.pos)]
        for _ in range(steps):
            state = env.step_fn(state, noops)[0]
            cells.append(state.cells)
            pos.append(state.pos)
        return np.stack(cells), np.stack(pos)
    import jax

    def advance(state: Any, _: Any) -> Any:
        state = env.jax_step(state, noops)[0]
        return state, (state.cells, state.pos)

    tape = jax.jit(lambda state: jax.lax.scan(advance, state, None, length=steps)[1])(state)
    firsts = (np.asarray(state.cells), np.asarray(state.pos))
    return tuple(
        np.concatenate((first[None], np.asarray(rest))) for first, rest in zip(firsts, tape, strict=True)
    )


def _things(spec: Any, cells: Any, thing: str) -> Any:
    return cells == spec.symbols.number[thing]


@functools.lru_cache(maxsize=8)
def _growth(backend: str, draws: int) -> Any:
    """Of every count of apples near: how often grass could grow, and how often it did."""
    spec = SPECS["CommonsHarvest-Open-V0"].override(observation="none")
    env, steps = made(spec, backend), 16
    batch = draws // (steps * 55) + 1
    state, _ = env.rules.backend.compiled(env.reset_fn)(keys(1, batch))
    apple, grass = (spec.symbols.number[thing] for thing in ("apple", "grass"))
    eaten = np.random.default_rng(0).random(np.shape(state.cells)) < np.linspace(0.4, 1, batch)[:, None]
    cells = np.where((np.asarray(state.cells) == apple) & eaten, grass, np.asarray(state.cells))
    cells, _ = _played(spec, backend, env.replace(state, cells=cells), steps)
    apples = _things(spec, cells, "apple").reshape(*cells.shape[:2], spec.height, spec.width)
    wide = np.pad(apples.astype(int), ((0, 0), (0, 0), (2, 2), (2, 2)))
    near = sum(
        wide[:, :, 2 + r : 2 + r + spec.height, 2 + c : 2 + c + spec.width]
        for r in range(-2, 3)
        for c in range(-2, 3)
        if 0 < r * r + c * c <= 4
    ).reshape(cells.shape)
    grown = _things(spec, cells[:-1], "grass") & _things(spec, cells[1:], "apple")
    could = _things(spec, cells[:-1], "grass")
    assert not (_things(spec, cells[:-1], "apple") & ~_things(spec, cells[1:], "apple")).any()
    counts = [near[:-1].clip(max=3) == count for count in range(4)]
    return [(int((could & mine).sum()), int((grown & mine).sum())) for mine in counts]


@each_backend
@pytest.mark.parametrize("draws", MANY)
def test_apples_grow_by_the_apples_near_them(backend: str, draws: int) -> None:
    found = _growth(backend, draws)
    assert sum(could for could, _ in found) >= draws
    assert found[0][1] == 0
    assert found[0][0] > 1000
    for (could, grew), weight in zip(found[1:], (1, 5, 25), strict=True):
        low, high = bounds(could, round(weight * 2**24 / 1000), tail=0.0005)
        assert low <= grew <= high, (weight, could, grew)
    assert found == _growth("numpy", draws)


@functools.lru_cache(maxsize=8)
def _spoiling(backend: str, draws: int) -> Any:
    """Steps in which a cell could get dirty, and did; the same of apples, for each count of dirt."""
    spec = SPECS["CleanUp-V0"].override(observation="none")
    env, steps = made(spec, backend), 20
    batch = draws // steps + 1
    state, _ = env.rules.backend.compiled(env.reset_fn)(keys(2, batch))
    number, cells = spec.symbols.number, np.asarray(state.cells)
    river = np.isin(cells[0], [number["water"], number["dirt"]]).nonzero()[0]
    dirt = np.arange(batch) % 24  # from a clean river to where nothing grows
    cells = cells.copy()
    cells[:, river] = np.where(np.arange(len(river)) < dirt[:, None], number["dirt"], number["water"])
    start = np.where(np.arange(batch) % 2, 60, 20)
    cells, _ = _played(spec, backend, env.replace(state, cells=cells, time=start), steps)
    dirty = _things(spec, cells, "dirt").sum(axis=-1)  # (steps + 1, B)
    spoilt = np.diff(dirty, axis=0)
    late = (start + np.arange(steps)[:, None] >= 50) & (dirty[:-1] < len(river))
    assert ((spoilt == 0) | (spoilt == 1)).all()
    grown = (_things(spec, cells[:-1], "grass") & _things(spec, cells[1:], "apple")).sum(axis=-1)
    could = _things(spec, cells[:-1], "grass").sum(axis=-1)
    by_dirt = [(int(could[dirty[:-1] == k].sum()), int(grown[dirty[:-1] == k].sum())) for k in range(24)]
    return int(late.sum()), int(spoilt[late].sum()), int(spoilt[~late].sum()), by_dirt


@each_backend
@pytest.mark.parametrize("draws", MANY)
def test_the_river_gets_dirty_and_apples_fewer(backend: str, draws: int) -> None:
    could, did, early, by_dirt = _spoiling(backend, 2 * draws)
    assert could >= draws
    assert early == 0
    low, high = bounds(could, 2**23, tail=0.0005)
    assert low <= did <= high
    river = CleanUp().river
    for dirt, (cells, grown) in enumerate(by_dirt):
        weight = max(0, 2 * river - 5 * dirt)
        low, high = (
            bounds(cells, round(weight * 2**24 / (40 * river)), tail=0.0005 / 24) if weight else (0, 0)
        )
        assert low <= grown <= high, dirt
    assert (could, did, early, by_dirt) == _spoiling("numpy", 2 * draws)


@functools.lru_cache(maxsize=8)
def _returns(backend: str, draws: int) -> Any:
    """How often each pad was chosen by the first of seven who come back at once, and by the last."""
    spec = SPECS["CommonsHarvest-Closed-V0"].override(observation="none")
    env = made(spec, backend)
    state, _ = env.rules.backend.compiled(env.reset_fn)(keys(3, draws))
    out = spec.symbols.item_number[1]
    state = env.replace(state, agent_pos=np.full((draws, 7, 2), -1), held=np.full((draws, 7), out))
    _, pos = _played(spec, backend, state, 1)
    pos = np.sort(pos[1], axis=-1), pos[1]
    assert (np.diff(pos[0], axis=-1) > 0).all()
    return [np.unique(pos[1][:, agent], return_counts=True) for agent in range(7)]


@each_backend
@pytest.mark.parametrize("draws", [3_000, pytest.param(150_000, marks=pytest.mark.slow)])
def test_players_return_to_any_pad(backend: str, draws: int) -> None:
    """Seven draws an environment."""
    for agent, (pads, counts) in enumerate(_returns(backend, draws)):
        low, high = bounds(draws, round(2**24 / 12), tail=0.0005 / 84)
        assert len(pads) == 12
        assert low <= counts.min() <= counts.max() <= high, agent
        np.testing.assert_array_equal(counts, _returns("numpy", draws)[agent][1])


def test_figures() -> None:
    """Two players and four steps: one earns at steps 1 and 3, the other, who is out twice, at step 0."""
    rewards = np.array([[0, 1], [1, 0], [0, 0], [1, 0]], float)
    away = np.array([[0, 0], [0, 1], [0, 1], [0, 0]], bool)
    found = figures(rewards, away)
    assert [float(value) for value in found] == pytest.approx([3 / 4, 1 - 2 / 12, (2 + 0) / 2, 6 / 4])
    both = figures(np.stack([rewards, rewards * 0]), np.stack([away, away]))
    assert both.equality.tolist() == pytest.approx([1 - 2 / 12, 1.0])
    assert both.sustainability.tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match=r"rewards have shape \(4, 2\) and away \(2, 4\)"):
        figures(rewards, away.T)


def episode(id: str, steps: int, seed: int = 0, **options: Any) -> tuple[Any, Any, Any]:
    """Rewards and away of every step, and the apples that are left, of an episode of scripted players."""
    env = made(SPECS[id].override(observation="none", max_steps=steps), "numpy")
    players = ScriptedPlayers(env.rules, seed=seed, **options)
    env.reset(seed=seed)
    rewards, away, verbs = [], [], set()
    while env.agents:
        _, paid, _, _, infos = env.step(players.act(env.env_state))
        rewards.append(list(paid.values()))
        away.append([info["away"] for info in infos.values()])
        verbs |= {info["event"]["verb"] for info in infos.values()}
    apples = int(_things(env.spec, env.env_state.cells, "apple").sum())
    return np.array(rewards), np.array(away), (apples, verbs)


def test_greed_empties_the_commons_and_restraint_keeps_them() -> None:
    """The tragedy: greedy players eat all there is and end with nothing; restrained ones eat on."""
    found = {}
    for name, restraint in (("greedy", 0), ("restrained", 4)):
        rewards, away, (apples, verbs) = episode("CommonsHarvest-Open-V0", 500, restraint=restraint)
        found[name] = rewards.sum(), apples, figures(rewards, away), verbs
        print(name, found[name])
    (greedy, none_left, early, verbs), (restrained, left, late, _) = found["greedy"], found["restrained"]
    assert {"eat", "zap"} <= verbs
    assert none_left == 0
    assert left > 40
    assert restrained > 2 * greedy
    assert late.sustainability > 2 * early.sustainability
    assert early.peace <= 7


def test_cleaners_make_the_orchard_grow() -> None:
    """Nobody cleans and nothing grows; with two who do, all verbs are met and apples are eaten."""
    lazy, _, _ = episode("CleanUp-V0", 250, cleaners=0, restraint=0)
    rewards, _, (_, verbs) = episode("CleanUp-V0", 250, cleaners=2, restraint=0)
    print("lazy", lazy.sum(), "with two cleaners", rewards.sum())
    assert lazy.sum() == 0
    assert rewards.sum() > 50
    assert {"eat", "zap", "clean"} <= verbs


def test_the_policy_by_name() -> None:
    env = made(SPECS["CleanUp-V0"], "numpy")
    env.reset(seed=0)
    actions = policy_of("scripted", env.rules, [0, 3], seed=1)(env.env_state)
    assert set(actions) == {0, 3}


#: With apples to begin with, since a dirty river lets none grow.
FRUITFUL = cogrid.Spec(
    CleanUp(river=4), "########\n#1ad.2a#\n#wdw.aP#\n########", observation="none", max_steps=400
)


@pytest.mark.parametrize("spec", [HARVEST, FRUITFUL])
def test_parity(spec: Any) -> None:
    counts, seen = parity(spec, BACKENDS, ("zap", *spec.game.actions))
    assert min(counts.values()) >= 20, counts
    assert (seen["away"][:-1] & ~seen["away"][1:]).sum() >= 20


@pytest.mark.parametrize("kind", ["window", "lossless", "features"])
def test_conformance(kind: str) -> None:
    """The window turns; JAX sees the same in all kinds."""
    spec = CLEANING.override(observation=kind)
    backends = BACKENDS if kind == "window" else ("numpy",)
    assert check_env(spec, backends).hooks["away"] > 0


def test_options_out_of_range() -> None:
    with pytest.raises(ValueError, match="timeout=0 is out of range"):
        Harvest(timeout=0)
    with pytest.raises(TypeError, match="common=1 is neither True nor False"):
        Harvest(common=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="river=0 is out of range"):
        CleanUp(river=0)
