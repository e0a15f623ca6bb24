"""Foraging against lbforaging: injected states and whole episodes; nothing differs but shared cells."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import gymnasium
import numpy as np
import pytest
from lbforaging import register_grid_envs

import cogrid
from cogrid._core.rules import compile_rules
from cogrid.envs.foraging.game import Foraging
from cogrid.envs.foraging.specs import named
from tests.oracles.lbforaging_oracle import Moment, Reference
from tests.support import keys

STATES, EPISODES = 2000, 20
BASE = "Foraging-8x8-2p-3f-V0"
SMALL: dict[str, Any] = {"field_size": 5, "num_agents": 4, "max_num_food": 1}
LARGE: dict[str, Any] = {"field_size": 20, "num_agents": 9, "max_num_food": 10, "sight": 6}
PRICED: dict[str, Any] = {
    "field_size": 6,
    "num_agents": 5,
    "max_num_food": 2,
    "max_player_level": 3,
    "sight": 1,
    "penalty": 0.1,
    "normalize_reward": False,
    "observe_agent_levels": False,
}
EASY: dict[str, Any] = {"field_size": 7, "num_agents": 3, "max_num_food": 4, "max_food_level": 1}
CASES = [(id, {}) for id in cogrid.registered() if id.startswith("Foraging")]
CASES += [(BASE, options) for options in (SMALL, LARGE, PRICED, EASY)]
NAMES = [id + "".join(f" {name}={value}" for name, value in options.items()) for id, options in CASES]
each_case = pytest.mark.parametrize(("id", "options"), CASES, ids=NAMES)
LOAD = 5


def ours(env: Any, state: Any, vectors: Any = None, rewards: Any = None, done: Any = None) -> Moment:
    """All that is compared of a single state of ours."""
    window = 2 * (env.spec.game.sight or env.spec.game.field_size) + 1
    rules = compile_rules(env.spec.override(observation="window", window=window), "numpy")
    grids = rules.observer.see(state.evolve(rules=rules))
    vectors = env.rules.observer.see(state) if vectors is None else vectors
    return Moment(state.agent_pos - 1, state.agent_level, state.field, vectors, grids, rewards, done)


def differing(mine: Moment, theirs: Moment, shared: bool) -> list[str]:
    """Names of what differs; where they share a cell, positions and what is seen of them must."""
    places = ("positions", "vectors", "grids")
    return [
        name
        for name, a, b in zip(Moment._fields, mine, theirs, strict=True)
        if not (shared and name in places) and not np.array_equal(a, b)
    ]


def spawned_in(env: Any, state: Any) -> int:
    """The level of all food as the episode began."""
    if env.rules.slots is None:
        return int(np.asarray(state.field).sum())
    return int(env.rules.slots.things[int(state.slots[0])])


def synchronised(env: Any, reference: Reference, state: Any) -> None:
    """Put theirs into our state, and see that both look alike."""
    reference.inject(
        state.agent_pos - 1, state.agent_level, state.field, spawned_in(env, state), int(state.time)
    )
    assert differing(ours(env, state), reference.now(), False) == []


def crowded(env: Any, generator: Any) -> Any:
    """A batch of states amid episodes: some food is gone, agents stand beside food and each other."""
    state, _ = env.reset_fn(keys(17, STATES))
    field = np.array(state.field)
    for one in field:
        foods = np.argwhere(one)
        gone = foods[generator.random(len(foods)) < 0.3][: len(foods) - 1]  # one at least is left
        one[tuple(gone.T)] = 0
    size, n = env.spec.game.field_size, env.spec.num_agents
    places = np.zeros((STATES, n, 2), int)
    for number, one in enumerate(field):
        taken = {tuple(cell) for cell in np.argwhere(one)}
        wanted = [(r + dr, c + dc) for r, c in taken for dr, dc in ((-1, 0), (1, 0), (0, -1), (0, 1))]
        wanted = [wanted[k] for k in generator.permutation(len(wanted))]
        free = [(r, c) for r, c in itertools.product(range(size), range(size)) if (r, c) not in taken]
        rest = [free[k] for k in generator.permutation(len(free))]
        for agent in range(n):
            first = wanted if generator.random() < 0.6 else rest
            place = next(cell for cell in [*first, *rest] if cell not in taken)
            places[number, agent] = place
            taken.add(place)
    times = generator.integers(0, env.spec.max_steps, STATES)
    return env.replace(state, agent_pos=places + 1, field=field, time=times)


def one_of_batch(state: Any, i: int) -> Any:
    return state.evolve(**{name: value[i] for name, value in state.stored().items()})


def swapped(before: list[int], after: list[int]) -> list[tuple[int, int]]:
    """Pairs of agents that have changed places."""
    pairs = itertools.combinations(range(len(before)), 2)
    return [(i, j) for i, j in pairs if after[i] == before[j] and after[j] == before[i]]


def chosen(generator: Any, n_actions: int, shape: tuple[int, ...]) -> Any:
    """Random actions of which every third is a load."""
    return np.where(generator.random(shape) < 0.35, LOAD, generator.integers(0, n_actions, shape))


def summary(id: str, options: dict[str, Any], what: str, seen: Counter[str]) -> str:
    """A line for the end of the run."""
    name = id + "".join(f" {name}={value}" for name, value in options.items())
    shared = f"{seen['shared cell']} shared cells"
    others = ", ".join(f"{times} {word}" for word, times in sorted(seen.items()) if word != "shared cell")
    return f"{name}: {what}, 0 mismatches, {shared}, {others}"


def test_ids() -> None:
    """Ids of theirs are made by name with their options."""
    register_grid_envs()
    theirs = {id: row.kwargs for id, row in gymnasium.registry.items() if id.startswith("Foraging-")}
    assert len(theirs) > 1920
    for id, options in [*theirs.items()][::13]:  # of every kind, and each of them takes a moment
        spec = named(id.replace("-v3", "-V0"))
        assert spec is not None, id
        game, size = spec.game, options["field_size"][0]
        assert isinstance(game, Foraging)
        assert (game.sight or size) == options["sight"], id
        assert (spec.observation == "window") == options["grid_observation"], id
        ours = {"players": spec.num_agents, "max_episode_steps": spec.max_steps} | vars(game)
        ours |= {
            "field_size": (game.field_size,) * 2,
            "sight": options["sight"],
            "grid_observation": options["grid_observation"],
        }
        assert options.items() <= ours.items(), id


@each_case
def test_injected_states(id: str, options: dict[str, Any], record_property: Any) -> None:
    env = cogrid.make(id, infos=True, **options)
    reference, generator, seen = Reference(env.spec), np.random.default_rng(5), Counter[str]()
    batch = crowded(env, generator)
    actions = chosen(generator, env.rules.n_actions, batch.pos.shape)
    after, vectors, rewards, done, infos = env.step_fn(batch, actions)
    for i in range(STATES):
        state = one_of_batch(batch, i)
        synchronised(env, reference, state)
        theirs, mine = reference.step(actions[i]), one_of_batch(after, i)
        shared = reference.shares_a_cell()
        found = differing(ours(env, mine, vectors[i], rewards[i], bool(done[i])), theirs, shared)
        assert found == [], f"state {i}, actions {actions[i]}: {found}"
        assert len(set(mine.pos.tolist())) == len(mine.pos)
        seen.update({"shared cell": shared, "done": theirs.done})
        seen.update(env.verbs[verb] for verb in infos["verb"][i] if verb)
        loads = (infos["verb"][i] == env.verbs.index("load")).sum()
        seen.update({"load together": int(loads > 1), "moved": int(infos["moved"][i].sum())})
        seen.update({"swap": len(swapped(state.pos.tolist(), mine.pos.tolist()))})
    record_property("foraging", summary(id, options, f"{STATES:,} states", seen))
    rare = [] if options == EASY else [seen["fail"]]  # there nobody is too weak
    rare += [10 * seen["swap"]] if options == SMALL else []  # on a large field they seldom meet
    assert min(seen["load"], seen["moved"], seen["done"], *rare) > 20, seen
    assert seen["shared cell"] < STATES / 5


@each_case
def test_episodes(id: str, options: dict[str, Any], record_property: Any) -> None:
    env = cogrid.make(id, infos=True, **options)
    reference, generator, seen = Reference(env.spec), np.random.default_rng(9), Counter[str]()
    for key in keys(23, EPISODES):
        state, _ = env.reset_fn(key)
        synchronised(env, reference, state)
        while not state.done:
            actions = chosen(generator, env.rules.n_actions, state.pos.shape)
            state, vectors, rewards, done, infos = env.step_fn(state, actions)
            theirs, shared = reference.step(actions), reference.shares_a_cell()
            found = differing(ours(env, state, vectors, rewards, bool(done)), theirs, shared)
            assert found == [], f"step {int(state.time)}: {found}"
            seen.update({"steps": 1, "shared cell": shared})
            seen.update(env.verbs[verb] for verb in infos["verb"] if verb)
            if shared and not done:
                synchronised(env, reference, state)
    record_property("foraging", summary(id, options, f"{EPISODES} episodes", seen))
    assert seen["steps"] > 10 * EPISODES
