"""Numbers of the whole grid that are said not to change do not, whatever is played."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._apps.train.varying import varying
from cogrid.backend import rng

#: Kitchens of each kind: fixed, with tomatoes, drawn anew at every reset; and other families.
IDS = (
    *(
        "Overcooked-CrampedRoom-V0",
        "Overcooked-CounterCircuit-V0",
        "OvercookedAI-ForcedCoordinationTomato-V0",
    ),
    *("Overcooked-Generated-V0", "OvercookedV2-CrampedRoom-V0", "Arena-V0"),
)


def played(env: cogrid.CoGridEnv, batch: int, steps: int) -> Any:
    """(observations, *shape) of agents who often act on things, at all times of an episode."""
    generator = np.random.default_rng(0)
    state, obs = env.reset_fn(np.stack([rng.key(seed) for seed in range(batch)]))
    state = env.replace(state, time=np.arange(batch) * (env.spec.max_steps - 1) // batch)
    seen, shape = [obs], (batch, env.spec.num_agents)
    for _ in range(steps):
        actions = generator.integers(len(env.action_names), size=shape)
        actions = np.where(generator.random(shape) < 0.4, env.action_names.index("interact"), actions)
        state, obs, _, done, _ = env.step_fn(state, actions)
        state, obs = env.renew_fn(state, obs, done)
        seen.append(obs)
    return np.concatenate([one.reshape(-1, *one.shape[2:]) for one in seen])


@pytest.mark.parametrize("id", IDS)
def test_what_is_said_not_to_change_does_not(id: str) -> None:
    env = cogrid.make(id, observation="lossless")
    seen, changing = played(env, 64, 150), varying(env.rules)
    changed = seen.min(axis=0) != seen.max(axis=0)
    assert changed.any()
    assert not (changed & ~changing).any()


def test_in_a_fixed_kitchen_most_numbers_never_change() -> None:
    env = cogrid.make("Overcooked-CrampedRoom-V0", observation="lossless")
    changing = varying(env.rules)
    assert (changing.size, changing.sum()) == (520, 144)
    names = env.feature_names
    assert not changing[..., [names.index(name) for name in ("pot", "counter", "serving", "tomato")]].any()
    assert changing[..., names.index("own position")].sum() == 6  # cells of floor
    assert changing[..., names.index("cook time left")].sum() == 1  # the pot
    assert changing[..., names.index("urgent")].all()


@pytest.mark.parametrize("observation", ["features", "window"])
def test_nothing_is_said_of_other_observations(observation: str) -> None:
    rules = cogrid.make("Overcooked-CrampedRoom-V0", observation=observation).rules
    assert varying(rules).all()
