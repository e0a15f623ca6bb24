"""The commons: growth, dirt, zaps and returns by boards and by exact bounds; greed and restraint."""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.envs.commons.figures import Figures, figures
from cogrid.envs.commons.game import CleanUp, Harvest
from cogrid.envs.commons.policies import ScriptedPlayers
from cogrid.envs.commons.specs import SPECS
from cogrid.policies.named import policy_of
from cogrid.testing.conformance import check_env
from tests._core.worlds import after, bounds, drawn, fresh, made, parity, picture
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
      a .   p   ->      a .   p   …        a .   ^    after three more steps, on one of the pads
    """
    state = placed(HARVEST, backend, [(1, 2), (1, 5)], [RIGHT, UP])
    state, _, _, infos = after(HARVEST, backend, state, "zap", "noop")
    assert infos["verbs"] == ["zap", ""]
    assert infos["away"].tolist() == [False, True]
    for expected in (True, True, False):
        state, _, _, infos = after(HARVEST, backend, state, "noop", "noop")
        assert infos["away"].tolist() == [False, expected]
    assert np.asarray(state.agent_pos)[1].tolist() in [[1, 6], [2, 6]]


@each_backend
def test_who_was_zapped_misses_as_many_steps_as_the_timeout(backend: str) -> None:
    """Counted over many zaps of busy play: a pad is always free here, so nobody waits for one."""
    spec = SPECS["CommonsHarvest-Open-V0"].override(observation="none")
    env, batch, steps = made(spec, backend), 32, 120
    state, _ = env.rules.backend.compiled(env.reset_fn)(keys(5, batch))
    step, draw = env.rules.backend.compiled(env.step_fn), np.random.default_rng(5)
    zap = env.action_names.index("zap")
    away, zapped = [np.zeros((batch, 7), bool)], 0
    for _ in range(steps):
        joint = np.where(draw.random((batch, 7)) < 0.5, zap, draw.integers(0, 5, (batch, 7)))
        state, _, _, _, infos = step(state, joint.astype(np.int32))
        away.append(np.asarray(infos["away"]))
        zapped += int((np.asarray(infos["verb"]) == env.verbs.index("zap")).sum())
    out = np.diff(np.array(away).astype(np.int8), axis=0)  # 1 where a player goes out, −1 where it returns
    lasted = []
    for player in out.reshape(steps, -1).T:
        left, back = np.flatnonzero(player == 1), np.flatnonzero(player == -1)
        lasted += (back - left[: len(back)]).tolist()
    assert zapped > len(lasted) > 100
    assert set(lasted) == {25}


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


@functools.lru_cache(maxsize=8)
def _player(spec: Any, backend: str, steps: int) -> Any:
    """A function of a batch of states: (steps + 1, B, …) cells and places, as nobody does anything."""
    env = made(spec, backend)
    noops = functools.partial(np.full, fill_value=env.rules.noop, dtype=np.int32)

    def on_numpy(state: Any) -> Any:
        cells, pos = [state.cells], [state.pos]
        for _ in range(steps):
            state = env.step_fn(state, noops(state.pos.shape))[0]
            cells.append(state.cells)
            pos.append(state.pos)
        return np.stack(cells), np.stack(pos)

    if backend != "jax":
        return on_numpy
    import jax

    def advance(state: Any, _: Any) -> Any:
        state = env.jax_step(state, noops(state.pos.shape))[0]
        return state, (state.cells, state.pos)

    scan = jax.jit(lambda state: jax.lax.scan(advance, state, None, length=steps)[1])

    def on_jax(state: Any) -> Any:
        firsts, tape = (state.cells, state.pos), scan(state)
        pairs = zip(firsts, tape, strict=True)
        return tuple(np.concatenate((np.asarray(first)[None], np.asarray(rest))) for first, rest in pairs)

    return on_jax


def _digest(*values: Any) -> str:
    """Of the numbers, whatever their width."""
    return hashlib.sha256(b"".join(value.astype(np.int16).tobytes() for value in values)).hexdigest()


def _things(spec: Any, cells: Any, thing: str) -> Any:
    return cells == spec.symbols.number[thing]


@functools.lru_cache(maxsize=8)
def _growth(backend: str, draws: int) -> Any:
    """By the apples near: how often grass could grow, and how often it did; and a digest of all."""
    spec = SPECS["CommonsHarvest-Open-V0"].override(observation="none")
    env, steps = made(spec, backend), 16
    batch = draws // (steps * 55) + 1
    state, _ = env.rules.backend.compiled(env.reset_fn)(keys(1, batch))
    apple, grass = (spec.symbols.number[thing] for thing in ("apple", "grass"))
    eaten = np.random.default_rng(0).random(np.shape(state.cells)) < np.linspace(0.4, 1, batch)[:, None]
    cells = np.where((np.asarray(state.cells) == apple) & eaten, grass, np.asarray(state.cells))
    cells, pos = _player(spec, backend, steps)(env.replace(state, cells=cells))
    apples = _things(spec, cells, "apple").reshape(*cells.shape[:2], spec.height, spec.width)
    wide = np.pad(apples.astype(np.int8), ((0, 0), (0, 0), (2, 2), (2, 2)))
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
    return [(int((could & mine).sum()), int((grown & mine).sum())) for mine in counts], _digest(cells, pos)


@each_backend
@pytest.mark.parametrize("draws", MANY)
def test_apples_grow_by_the_apples_near_them(backend: str, draws: int) -> None:
    found, digest = _growth(backend, draws)
    print(f"grass by the apples near, and how much of it grew: {found}")
    assert sum(could for could, _ in found) >= draws
    assert found[0][1] == 0
    assert found[0][0] > 1000
    for (could, grew), weight in zip(found[1:], (1, 5, 25), strict=True):
        low, high = bounds(could, round(weight * 2**24 / 1000), tail=0.0005)
        assert low <= grew <= high, (weight, could, grew)
    assert (found, digest) == _growth("numpy", draws)


CLEAN_UP = SPECS["CleanUp-V0"].override(observation="none")
#: Environments and steps of one part, and the most dirt that the counts tell apart.
PART, SPAN, LEVELS = 2400, 20, 24


def _spoiling_part(backend: str, seed: int) -> Any:
    """Of each level of dirt: cells and apples that grew there; of early and late steps: how many, how often
    a cell got dirty; and a digest of all."""
    env = made(CLEAN_UP, backend)
    state, _ = env.rules.backend.compiled(env.reset_fn)(keys(seed, PART))
    number, cells = CLEAN_UP.symbols.number, np.array(state.cells)
    river = np.isin(cells[0], [number["water"], number["dirt"]]).nonzero()[0]
    dirt = np.arange(PART) % LEVELS  # from a clean river to where nothing grows
    cells[:, river] = np.where(np.arange(len(river)) < dirt[:, None], number["dirt"], number["water"])
    start = np.where(np.arange(PART) % 4, 60, 40)
    cells, pos = _player(CLEAN_UP, backend, SPAN)(env.replace(state, cells=cells, time=start))
    dirty = _things(CLEAN_UP, cells, "dirt").sum(axis=-1)  # (steps + 1, B)
    spoilt = np.diff(dirty, axis=0)
    assert ((spoilt == 0) | (spoilt == 1)).all()
    assert (dirty < len(river)).all()  # there is always a clean cell
    late = start + np.arange(SPAN)[:, None] >= 50
    grown = (_things(CLEAN_UP, cells[:-1], "grass") & _things(CLEAN_UP, cells[1:], "apple")).sum(axis=-1)
    could = _things(CLEAN_UP, cells[:-1], "grass").sum(axis=-1)
    levels = [dirty[:-1] == level for level in range(LEVELS)]
    by_dirt = [(could[mine].sum(), grown[mine].sum()) for mine in levels]
    by_time = [(when.sum(), spoilt[when].sum()) for when in (~late, late)]
    return np.array(by_dirt + by_time), _digest(cells, pos)


@functools.lru_cache(maxsize=8)
def _spoiling(backend: str, draws: int) -> Any:
    """The same of as many parts as it takes."""
    late = PART * SPAN * 3 // 4
    parts = [_spoiling_part(backend, 100 + part) for part in range(-(-draws // late))]
    return sum(counts for counts, _ in parts).tolist(), [digest for _, digest in parts]


@each_backend
@pytest.mark.parametrize("draws", MANY)
def test_the_river_gets_dirty_and_apples_fewer(backend: str, draws: int) -> None:
    counts, digests = _spoiling(backend, draws)
    *by_dirt, (_, early), (could, did) = counts
    print(f"late steps, and those that made dirt: {could, did}; grass that grew by dirt: {by_dirt}")
    assert could >= draws
    assert early == 0
    low, high = bounds(could, 2**23, tail=0.0005)
    assert low <= did <= high
    river = CleanUp().river
    for dirt, (cells, grown) in enumerate(by_dirt):
        weight = max(0, 2 * river - 5 * dirt)
        low, high = (
            bounds(cells, round(weight * 2**24 / (40 * river)), tail=0.0005 / LEVELS) if weight else (0, 0)
        )
        assert low <= grown <= high, dirt
    assert (counts, digests) == _spoiling("numpy", draws)


CLOSED = SPECS["CommonsHarvest-Closed-V0"].override(observation="none")
PADS = 12


def _returns_part(backend: str, seed: int, batch: int) -> Any:
    """(7, cells) where each of seven players came back who do so at once, and a digest."""
    env = made(CLOSED, backend)
    state, _ = env.rules.backend.compiled(env.reset_fn)(keys(seed, batch))
    out = CLOSED.symbols.item_number[1]
    state = env.replace(state, agent_pos=np.full((batch, 7, 2), -1), held=np.full((batch, 7), out))
    pos = _player(CLOSED, backend, 1)(state)[1][1]
    assert (np.diff(np.sort(pos, axis=-1), axis=-1) > 0).all()  # never two in one place
    return np.stack([np.bincount(own, minlength=env.rules.n_cells) for own in pos.T]), _digest(pos)


@functools.lru_cache(maxsize=8)
def _returns(backend: str, draws: int) -> Any:
    """The same of as many parts as it takes; every environment draws seven times."""
    batch = min(draws // 7 + 1, 15_000)
    parts = [_returns_part(backend, 300 + part, batch) for part in range(-(-draws // (7 * batch)))]
    return sum(counts for counts, _ in parts).tolist(), [digest for _, digest in parts]


@each_backend
@pytest.mark.parametrize("draws", MANY)
def test_players_return_to_any_pad(backend: str, draws: int) -> None:
    found, digests = _returns(backend, draws)
    assert np.sum(found) >= draws
    for agent, counts in enumerate(np.array(found)):
        used = counts[counts > 0]
        low, high = bounds(counts.sum(), round(2**24 / PADS), tail=0.0005 / (7 * PADS))
        assert len(used) == PADS
        print(f"player {agent}: {used.min()} to {used.max()} of {counts.sum()} at each of {PADS} pads")
        assert low <= used.min() <= used.max() <= high, agent
    assert (found, digests) == _returns("numpy", draws)


def test_figures() -> None:
    """Two players and four steps: one eats at steps 1 and 3, the other, who is out twice, at step 0."""
    counts = {"eat": [2, 1], "step of eat": [4, 0], "steps away": [0, 2]}
    found = figures({"episode": {"l": 4, "counts": counts}})
    expected = [3 / 4, 1 - 2 / 12, (2 + 0) / 2, 6 / 4]
    assert [float(value) for value in found] == pytest.approx(expected)
    alone = [{name: values[agent] for name, values in counts.items()} for agent in range(2)]
    by_agent = {agent: {"episode": {"l": 4, "counts": own}} for agent, own in enumerate(alone)}
    assert [float(value) for value in figures(by_agent)] == pytest.approx(expected)
    batch = {name: np.array([values, [0, 0], [values[0], 0]]) for name, values in counts.items()}
    found = figures({"episode": {"l": np.array([4, 8, 4]), "counts": batch}})  # nobody eats; one of two does
    assert found.equality.tolist() == pytest.approx([1 - 2 / 12, 1.0, 0.5])
    assert found.sustainability.tolist() == [1.0, 0.0, 2.0]
    for unended in ({0: {}, 1: {}}, {"counts": np.zeros((2, 5)), "verb": np.zeros(2)}):
        with pytest.raises(
            ValueError, match=r"these infos are not from the end of an episode: .* the infos of a pure step"
        ):
            figures(unended)
    with pytest.raises(ValueError, match="not from a commons game: they have no 'eat', but reach"):
        figures({"episode": {"l": 4, "counts": {"reach": [0, 0]}}})
    with pytest.raises(ValueError, match="no counts: make the environment with infos=True"):
        figures({"episode": {"l": 4, "r": [0, 0]}})


@each_backend
def test_figures_of_episodes_are_those_of_their_steps(backend: str) -> None:
    """The counts of a vector environment, beside what its steps told one by one."""
    spec = FRUITFUL.override(max_steps=60)
    vec = cogrid.VectorEnv(spec, 16, backend, infos=True)
    _, infos = vec.reset(seed=3)
    draw, eaten, times, away = np.random.default_rng(2), np.zeros((16, 2)), np.zeros((16, 2)), np.zeros(16)
    for step in range(60):
        away += np.asarray(infos["away"]).sum(axis=-1)
        *_, infos = vec.step(draw.integers(0, vec.rules.n_actions, (16, 2)))
        eats = np.asarray(infos["rewards"]["apples"])
        eaten, times = eaten + eats, times + step * eats
    found = figures(infos)
    assert infos["_episode"].all()
    assert eaten.sum() > 20
    assert away.sum() > 20
    np.testing.assert_allclose(found.efficiency, eaten.sum(axis=-1) / 60)
    earners = np.maximum((eaten > 0).sum(axis=-1), 1)
    late = (times / np.maximum(eaten, 1)).sum(axis=-1) / earners
    np.testing.assert_allclose(found.sustainability, late)
    np.testing.assert_allclose(found.peace, 2 - away / 60)


def episode(id: str, steps: int, seed: int = 0, **options: Any) -> tuple[Figures, int, Counter[str]]:
    """The figures, the apples that are left and the verbs of an episode of scripted players."""
    env = made(SPECS[id].override(observation="none", max_steps=steps), "numpy")
    players = ScriptedPlayers(env.rules, seed=seed, **options)
    env.reset(seed=seed)
    verbs = Counter[str]()
    while env.agents:
        *_, infos = env.step(players.act(env.env_state))
        verbs.update(info["event"]["verb"] for info in infos.values())
    return figures(infos), int(_things(env.spec, env.env_state.cells, "apple").sum()), verbs


def test_greed_empties_the_commons_and_restraint_keeps_them() -> None:
    """The tragedy: greedy players eat all there is and end with nothing; restrained ones eat on."""
    found = {}
    for name, restraint in (("greedy", 0), ("restrained", 4)):
        found[name] = episode("CommonsHarvest-Open-V0", 500, restraint=restraint)
        print(f"{name}: {500 * found[name][0].efficiency:g} apples eaten, {found[name]}")
    (early, none_left, verbs), (late, left, _) = found["greedy"], found["restrained"]
    assert min(verbs["eat"], verbs["zap"]) >= 10, verbs
    assert none_left == 0
    assert left > 40
    assert late.efficiency > 2 * early.efficiency
    assert late.sustainability > 2 * early.sustainability
    assert early.peace <= 7


def test_cleaners_make_the_orchard_grow() -> None:
    """Nobody cleans and nothing grows; with two who do, all verbs are met and apples are eaten."""
    lazy, _, _ = episode("CleanUp-V0", 250, cleaners=0, restraint=0)
    clean, _, verbs = episode("CleanUp-V0", 250, cleaners=2, restraint=0)
    print(f"apples eaten: {250 * lazy.efficiency:g}, with two cleaners {250 * clean.efficiency:g}")
    assert lazy.efficiency == 0
    assert clean.efficiency > 0.2
    assert min(verbs["eat"], verbs["zap"], verbs["clean"]) >= 5, verbs


def test_the_policy_by_name() -> None:
    env = made(SPECS["CleanUp-V0"], "numpy")
    env.reset(seed=0)
    actions = policy_of("scripted", env.rules, [0, 3], seed=1)(env.env_state)
    assert set(actions) == {0, 3}


def test_scripted_players_say_what_they_cannot_play() -> None:
    env = made(SPECS["CleanUp-V0"], "numpy")
    with pytest.raises(TypeError, match="ScriptedPlayers plays Commons, not Goals"):
        ScriptedPlayers(cogrid.make("Goals-V0").rules)
    with pytest.raises(ValueError, match="agent 7 is not in this game"):
        ScriptedPlayers(env.rules, [7])
    with pytest.raises(ValueError, match="restraint=13 is out of range: it must be from 0 to 12"):
        ScriptedPlayers(env.rules, restraint=13)
    with pytest.raises(ValueError, match="scripts act in a single state"):
        ScriptedPlayers(env.rules).act(env.reset_fn(keys(0, 2))[0])


#: With apples to begin with, since a dirty river lets none grow.
FRUITFUL = cogrid.Spec(
    CleanUp(river=4), "########\n#1ad.2a#\n#wdw.aP#\n########", observation="none", max_steps=400
)


@pytest.mark.parametrize(("spec", "often"), [(HARVEST, ("zap", "zap")), (FRUITFUL, ("zap", "zap", "clean"))])
def test_parity(spec: Any, often: tuple[str, ...]) -> None:
    counts, seen = parity(spec, BACKENDS, often)
    assert min(counts.values()) >= 20, counts
    assert (seen["away"][:-1] & ~seen["away"][1:]).sum() >= 20


@pytest.mark.parametrize("kind", ["window", "lossless", "features"])
def test_conformance(kind: str) -> None:
    """The window turns; JAX sees the same in all kinds."""
    spec = CLEANING.override(observation=kind)
    backends = BACKENDS if kind == "window" else ("numpy",)
    assert check_env(spec, backends).hooks["Away.when"] > 0


@each_backend
def test_the_features_tell_the_share_of_the_time_out_that_is_left(backend: str) -> None:
    spec = HARVEST.override(observation="features")
    env = made(spec, backend)
    state = placed(spec, backend, [(1, 1), (1, 3)], [RIGHT, UP])
    state, *_ = after(spec, backend, state, "zap", "noop")
    own = [name.split()[-1] for name in env.feature_names].index("out")
    shares = []
    for _ in range(4):
        shares.append(round(float(np.asarray(env.observe(state))[1, own]), 3))
        state, *_ = after(spec, backend, state, "noop", "noop")
    assert shares == [1.0, 0.667, 0.333, 0.0]


def test_options_out_of_range() -> None:
    with pytest.raises(ValueError, match="timeout=0 is out of range"):
        Harvest(timeout=0)
    with pytest.raises(TypeError, match="common=1 is neither True nor False"):
        Harvest(common=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="river=0 is out of range"):
        CleanUp(river=0)
    with pytest.raises(ValueError, match="window=15: CleanUp-V0 has a window of its own, 11 × 11 cells"):
        cogrid.make("CleanUp-V0", window=15)
    assert cogrid.make("CleanUp-V0", window=11).spec == SPECS["CleanUp-V0"]
