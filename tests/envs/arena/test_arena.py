"""The arena: a closed border, walls drawn from the key, agents on floor, windows that show just that."""

from __future__ import annotations

import numpy as np
import pytest

import cogrid
from tests.episodes import jitted, shared
from tests.support import BACKENDS, DOWN, INTERACT, LEFT, NOOP, RIGHT, TOGGLE, UP, assert_same, keys

ARENA = "Arena-V0"
each_backend = pytest.mark.parametrize(  # tests of one backend share a worker, and so its compiled functions
    "backend", [pytest.param(b, marks=pytest.mark.xdist_group(f"arena:{b}")) for b in BACKENDS]
)


def arenas(backend, n, seed=0, **options):
    """An environment, and first states and observations of n keys."""
    env = shared(ARENA, backend, **options)
    state, obs = env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(keys(seed, n)))
    return env, state, np.asarray(obs)


def board(state):
    """(B, H, W) walls and (B, n) rows and columns, on the host."""
    size = (*state.time.shape, state.height, state.width)
    walls = (np.asarray(state.cells) >= state.rules.n_walkable).reshape(size)
    return walls, np.stack(np.divmod(np.asarray(state.pos), state.width), axis=-1)


@each_backend
def test_defaults(backend) -> None:
    env = shared(ARENA, backend)
    assert env.config["max_steps"] == 400
    assert env.feature_names == ("wall", "own", "others", "facing")
    space = env.observation_space(0)
    assert (space.shape, space.dtype) == ((7, 7, 4), np.uint8)
    assert env.spec.action_set == "cardinal"


@each_backend
@pytest.mark.parametrize("options", [{}, {"map_size": 5, "num_agents": 3, "density": 0.9}])
def test_closed_border_and_agents_on_distinct_floor_cells(backend, options) -> None:
    _, state, _ = arenas(backend, 500, **options)
    walls, where = board(state)
    assert walls[:, 0].all()
    assert walls[:, -1].all()
    assert walls[:, :, 0].all()
    assert walls[:, :, -1].all()
    assert not np.take_along_axis(walls.reshape(500, -1), np.asarray(state.pos), axis=1).any()
    for cells in where.tolist():
        assert len({tuple(cell) for cell in cells}) == state.n_agents


@each_backend
def test_a_full_arena(backend) -> None:
    """As many agents as floor cells: every one is taken, in ever new order."""
    _, state, _ = arenas(backend, 100, map_size=5, num_agents=9, density=1.0)
    where = np.asarray(state.pos)
    inner = [r * 5 + c for r in (1, 2, 3) for c in (1, 2, 3)]
    assert (np.sort(where, axis=1) == inner).all()
    assert len(np.unique(where, axis=0)) > 95


@each_backend
@pytest.mark.parametrize("density", [0.0, 0.1, 0.5, 1.0])
def test_wall_density(backend, density) -> None:
    n = 1000
    _, state, _ = arenas(backend, n, density=density)
    walls, where = board(state)
    stood = np.zeros_like(walls)
    stood[np.arange(n)[:, None], where[..., 0], where[..., 1]] = True
    inner, free = walls[:, 1:-1, 1:-1], ~stood[:, 1:-1, 1:-1]
    total = free.sum()
    five_sigma = 5 * np.sqrt(density * (1 - density) / total)
    assert abs(inner[free].mean() - density) <= five_sigma
    # every cell alike: none is always free or always wall, and neighbours do not hang together
    each = inner.sum(axis=0) / free.sum(axis=0)
    assert abs(each - density).max() <= 6 * np.sqrt(density * (1 - density) / n)
    both = free[:, :, 1:] & free[:, :, :-1]
    pairs = (inner[:, :, 1:] & inner[:, :, :-1])[both].mean()
    assert abs(pairs - density**2) <= 6 * np.sqrt(0.25 / both.sum())


@each_backend
def test_keys_make_different_arenas_and_the_same_key_the_same(backend) -> None:
    env, state, _ = arenas(backend, 64)
    assert len(np.unique(np.asarray(state.cells), axis=0)) == 64
    again, _ = env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(keys(0, 64)))
    assert_same(state, again)


@each_backend
def test_every_place_and_facing_occurs(backend) -> None:
    _, state, _ = arenas(backend, 1000)
    places = np.bincount(np.asarray(state.pos).ravel(), minlength=144).reshape(12, 12)[1:-1, 1:-1]
    assert places.min() > 15  # 40 expected
    assert np.bincount(np.asarray(state.agent_dir).ravel(), minlength=4).min() > 850  # 1000 expected


def slow_window(walls, where, facing, agent, side):
    """The planes as one would write them down: wall, own, others, facing; nothing outside the map."""
    height, width = walls.shape
    planes = np.zeros((side, side, 4), np.uint8)
    top, left = where[agent][0] - side // 2, where[agent][1] - side // 2
    for i in range(side):
        for j in range(side):
            row, column = top + i, left + j
            if not (0 <= row < height and 0 <= column < width):
                continue
            planes[i, j, 0] = walls[row, column]
            for other, (r, c) in enumerate(where):
                if (r, c) == (row, column):
                    planes[i, j, 1 if other == agent else 2] = 1
                    planes[i, j, 3] = facing[other] + 1
    return planes


@each_backend
@pytest.mark.parametrize(("window", "num_agents"), [(1, 2), (7, 4), (3, 12), (25, 5)])
def test_windows_are_what_a_slow_look_finds(backend, window, num_agents) -> None:
    env, state, obs = arenas(backend, 12, seed=window, window=window, num_agents=num_agents, density=0.3)
    assert (obs.shape, obs.dtype) == ((12, num_agents, window, window, 4), np.uint8)
    generator = np.random.default_rng(0)
    for _ in range(3):
        walls, where = board(state)
        facing = np.asarray(state.agent_dir)
        for i in range(12):
            cells = [tuple(cell) for cell in where[i].tolist()]
            for agent in range(num_agents):
                expected = slow_window(walls[i], cells, facing[i], agent, window)
                np.testing.assert_array_equal(obs[i, agent], expected)
        actions = generator.integers(0, 7, (12, num_agents)).astype(np.int32)
        state, obs, _, _, _ = jitted(env)(state, actions)
        obs = np.asarray(obs)


@each_backend
def test_whole_map_observation_shows_the_same_planes(backend) -> None:
    env, state, obs = arenas(backend, 3, observation="lossless", map_size=6, num_agents=3, window=11)
    assert obs.shape == (3, 3, 6, 6, 4)
    walls, where = board(state)
    for i in range(3):
        cells = [tuple(cell) for cell in where[i].tolist()]
        for agent, (row, column) in enumerate(cells):
            wide = slow_window(walls[i], cells, np.asarray(state.agent_dir)[i], agent, 11)
            np.testing.assert_array_equal(obs[i, agent], wide[5 - row : 11 - row, 5 - column : 11 - column])
    assert env.observation_space(0).contains(obs[0, 0])


@each_backend
@pytest.mark.parametrize("action", [INTERACT, TOGGLE, NOOP, -1, 99])
def test_interact_and_toggle_do_nothing(backend, action) -> None:
    env, state, obs = arenas(backend, 50)
    after, seen, rewards, done, infos = jitted(env)(state, np.full((50, 4), action, np.int32))
    for name in ("cells", "pos", "agent_dir", "held"):
        np.testing.assert_array_equal(getattr(after, name), getattr(state, name))
    np.testing.assert_array_equal(seen, obs)
    assert (np.asarray(after.time) == 1).all()
    assert not np.asarray(rewards).any()
    assert not np.asarray(done).any()
    assert infos == {}


@each_backend
def test_walks_never_pay_and_never_end_in_a_wall_or_in_another(backend) -> None:
    env, state, _ = arenas(backend, 50, num_agents=12, density=0.2, max_steps=40)
    generator, moved = np.random.default_rng(1), 0
    for t in range(40):
        actions = generator.choice([UP, DOWN, LEFT, RIGHT], (50, 12)).astype(np.int32)
        before = np.asarray(state.pos)
        state, _, rewards, done, _ = jitted(env)(state, actions)
        walls, _ = board(state)
        where = np.asarray(state.pos)
        moved += (where != before).sum()
        assert not np.take_along_axis(walls.reshape(50, -1), where, axis=1).any()
        assert (np.diff(np.sort(where, axis=1), axis=1) > 0).all()
        assert not np.asarray(rewards).any()
        assert np.asarray(done).all() == (t == 39)
    assert moved > 50 * 12 * 10


def test_largest_and_smallest() -> None:
    small = cogrid.make(ARENA, map_size=3, num_agents=1, density=1.0)
    obs, _ = small.reset(seed=0)
    assert np.asarray(small.env_state.agent_pos).tolist() == [[1, 1]]
    assert obs[0][..., 0].sum() == 8
    large = cogrid.make(ARENA, map_size=180, num_agents=2)
    large.reset(seed=0)
    assert large.env_state.wall_map.shape == (180, 180)
    crowd = cogrid.make(ARENA, map_size=14, num_agents=127)
    crowd.reset(seed=0)
    assert len({tuple(cell) for cell in crowd.env_state.agent_pos.tolist()}) == 127
