"""Many steps in one kernel: interpreted on the CPU, it plays the same bits as NumPy."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.backend import rng
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.registry import spec_of
from tests.support import HAS_JAX, assert_same

if not HAS_JAX:
    pytest.skip("is about JAX", allow_module_level=True)

import jax
import jax.numpy as jnp

if jax.__version_info__ < (0, 8):
    pytest.skip("one kernel needs JAX 0.8", allow_module_level=True)

from cogrid.backend._kernel import repeat

pytestmark = pytest.mark.xdist_group("kernel")

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"
KEY, ENVS = 5, 40  # more than a block of 32, and not a multiple of it
GAMES: list[tuple[str, dict[str, Any], int, set[str]]] = [
    (
        ROOM,
        {"max_steps": 60, "shaping": 1.0, "observation": "lossless"},
        200,
        {"take onion", "put down", "pot onion"},
    ),
    ("Overcooked-CrampedMixedKitchen-V0", {"max_steps": 90}, 100, {"put down"}),  # orders come and expire
    ("OvercookedV2-CrampedRoomV2-V0", {"max_steps": 30}, 100, {"put down"}),  # every reset draws a recipe
    (ARENA, {"map_size": 5, "num_agents": 4, "max_steps": 20}, 50, set()),  # crowded: chains of agents wait
]


def on_numpy(spec: Any, steps: int) -> tuple[Any, Any, Any, Any, Counter[str]]:
    """The rollout by hand: last state, what is seen there, both sums, and what happened on the way."""
    env = CoGridEnv(spec, infos=True)
    n, verbs = spec.num_agents, np.array(env.verbs)
    children = rng.split(rng.split(rng.key(KEY), ENVS), 2)
    (state, obs), words = env.reset_fn(children[:, 0]), children[:, 1]
    paid, episodes = np.zeros((ENVS, n), np.float32), np.zeros(ENVS, np.int32)
    met: Counter[str] = Counter()
    for _ in range(steps):
        words = rng.split(words, 2)
        actions = (rng.bits(words[:, 1], n) % np.uint32(len(spec.actions))).astype(np.int32)
        before, words = state.pos, words[:, 0]
        state, obs, rewards, done, infos = env.step_fn(state, actions)
        paid, episodes = paid + rewards, episodes + done
        met.update(verbs[infos["verb"]].ravel().tolist())
        met["stayed"] += int(((state.pos == before) & (actions < 4)).sum())
        state, obs = env.renew_fn(state, obs, done)
    return state, obs, paid, episodes, met


@pytest.mark.parametrize(("id", "options", "steps", "verbs"), GAMES, ids=[game[0] for game in GAMES])
def test_one_kernel_plays_the_same(id: str, options: dict[str, Any], steps: int, verbs: set[str]) -> None:
    env = cogrid.make(id, backend="jax", **options)
    ours = cogrid.rollout(env, None, KEY, ENVS, steps, chunk=steps // 2, devices=1, one_kernel=True)
    state, obs, paid, episodes, met = on_numpy(env.spec, steps)
    assert_same(state, ours.state, id)
    np.testing.assert_array_equal(ours.obs, obs)
    np.testing.assert_array_equal(ours.sums.rewards, paid)
    np.testing.assert_array_equal(ours.sums.episodes, episodes)
    assert episodes.sum() == ENVS * (steps // options["max_steps"])
    assert met["stayed"] > 100
    assert verbs <= {verb for verb, count in met.items() if count > 10}


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"policy": lambda params, obs, key: obs}, "policy"),
        ({"keep": "trajectory"}, "trajectory"),
        ({"pool": np.zeros((1, 4, 5))}, "pool"),
    ],
)
def test_what_needs_more_than_the_last_state_is_refused(given: dict[str, Any], word: str) -> None:
    env = cogrid.make(ROOM, backend="jax")
    with pytest.raises(ValueError, match=f"one_kernel=True plays random actions without a {word}"):
        cogrid.rollout(env, num_envs=2, num_steps=2, one_kernel=True, **given)


def test_a_large_board_is_refused() -> None:
    env = cogrid.make(ARENA, backend="jax", map_size=12)
    with pytest.raises(ValueError, match=r"numbers is too large for one kernel, which holds 64: leave out"):
        cogrid.rollout(env, num_envs=2, num_steps=2, one_kernel=True)


def test_an_old_jax_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "__version_info__", (0, 7, 2))
    env = cogrid.make(ROOM, backend="jax")
    with pytest.raises(ValueError, match=r"one_kernel=True needs JAX 0\.8 or newer"):
        cogrid.rollout(env, num_envs=2, num_steps=2, one_kernel=True)


def test_what_cannot_be_computed_entry_by_entry_is_refused() -> None:
    with pytest.raises(ValueError, match="one kernel cannot play these rules, which need JAX's sort"):
        repeat(jnp.sort, jnp.zeros((4, 3)), 2, interpret=True)


def test_specs_stay_the_same() -> None:
    """The games above are those that the registry has, with the verbs that are looked for."""
    for id, options, _, verbs in GAMES:
        assert verbs <= set(CoGridEnv(spec_of(id, options, ())).verbs)
