"""NumPy equals JAX and C, and a batch its environments alone, bit for bit under busy, colliding play."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pytest

import cogrid
from tests.support import (
    BACKENDS,
    EVERY_ID,
    IDS,
    as_users_compile,
    assert_same,
    busy_actions,
    has_features,
    keys,
    marks,
    read_only,
)

STEPS, BATCH = 400, 32
#: Where play seldom gets anywhere, more environments play.
WIDE = {
    "Foraging-8x8-2p-2f-coop-V0": 64,
    "Foraging-2s-8x8-2p-2f-coop-V0": 64,
    "OvercookedAI-Pipeline-V0": 64,
    "OvercookedAI-LongCookTime-V0": 128,
}
KINDS = ("features", "lossless", "none", "window")
#: Where all kinds are compared, these see the states of another one's play, which has as many agents.
SEEN_IN = {"lossless": "features", "window": "none"}
#: Kitchens that stand for the others where those would only be compiled once more.
TYPICAL = (
    "Overcooked-CrampedRoom-V0",
    "OvercookedAI-MultiplayerSchelling-V0",
    "OvercookedV2-CrampedRoomV2-V0",
)
ALIKE = [id for id in IDS if id.startswith("Overcooked") and id not in TYPICAL]
CASES = [(id, kind) for id in IDS for kind in KINDS if kind != "features" or has_features(id)]
#: What the samples stand for: kitchens with the kinds in turn, the other families with each.
OTHERS = [id for id in EVERY_ID if id not in IDS]
CASES += [
    (id, kind)
    for id in OTHERS
    for kind in KINDS
    if not id.startswith("Overcooked") and (kind != "features" or has_features(id))
]
CASES += [
    (id, KINDS[n % len(KINDS)]) for n, id in enumerate(id for id in OTHERS if id.startswith("Overcooked"))
]

#: Kitchens that are alike take the kinds in turn.
REPEATED = {(id, kind) for n, id in enumerate(ALIKE) for kind in KINDS if kind != KINDS[n % len(KINDS)]}
#: Cases in which JAX observes only: the step is compiled without their observation.
OBSERVED = [(id, kind) for id, kind in CASES if (id, SEEN_IN.get(kind)) in CASES]
PLAYED = [case for case in CASES if case not in OBSERVED or case in REPEATED]


COMMONS = ("CommonsHarvest", "CleanUp")


def groups(cases: list[tuple[str, str]], slow: Collection[tuple[str, str]] = ()) -> list[Any]:
    """One xdist group a layout, so that each compiles on one worker only."""
    return [
        pytest.param(
            *case,
            marks=[
                *marks(case[0], pytest.mark.xdist_group(f"parity:{case[0]}")),
                *[pytest.mark.slow] * (case in slow),
            ],
        )
        for case in cases
    ]


def make(id: str, kind: str, backend: str) -> Any:
    """Two agents see features and the lossless planes; four and more crowd the rooms of the other kinds."""
    options: dict[str, Any] = {"observation": kind, "infos": True}
    if id.startswith("OvercookedV2"):
        options |= {
            "sample_recipe_on_delivery": True,
            "indicate_successful_delivery": kind not in ("none", "window"),
        }
    if id.startswith("Overcooked"):
        options |= {"shaping": 0.3, "random_start": True, "cook_time": 5}
        crowd = 3 if "DemoCookWide" in id else 4  # four could not move in its smaller room
        options["num_agents"] = 2 if kind in ("features", "lossless") else crowd
    elif id.startswith("SearchRescue"):
        options |= {"num_agents": 6, "max_steps": STEPS, "random_start": True, "shaping": 0.3}
    elif id.startswith("Goals"):
        options |= {"num_agents": 6, "max_steps": STEPS, "map_size": 9, "colours": 3}
    elif id.startswith("Foraging"):  # a list of food for each of them, and a field for all
        options |= {"num_agents": 6, "max_steps": STEPS, "sight": 3 if kind == "features" else None}
    elif id.startswith(COMMONS):  # who is zapped comes back soon, and into a crowd
        options |= {"max_steps": STEPS, "timeout": 3, "common": kind == "lossless"}
    elif id == "Arena-V0":
        options |= {"num_agents": 8, "map_size": 8}
    return cogrid.make(id, backend, **options)


def scripted(env: Any, steps: int, batch: int) -> np.ndarray[Any, Any]:
    """(steps, batch, n) busy actions: runs into one direction, then interact, so that soups get made."""
    generator = np.random.default_rng(7)
    actions = busy_actions(env, generator, steps, batch)
    runs = np.repeat(generator.integers(0, 4, (steps // 3 + 1, *actions.shape[1:])), 3, axis=0)[:steps]
    return np.where(generator.random(actions.shape) < 0.6, runs, actions).astype(np.int32)


def seeded(env: Any, state: Any) -> Any:
    """The state with pots almost full or ready, and full hands; or new food: every rule is soon met."""
    known = env.spec.symbols.number
    if "grass" in known:  # apples ahead, and dirt where there is a river
        cells, draw = np.array(state.cells), np.random.default_rng(3)
        for before, after in (("grass", "apple"), ("water", "dirt")):
            changed = (cells == known.get(before, -1)) & (draw.random(cells.shape) < 0.5)
            cells[changed] = known.get(after, 0)
        return env.replace(state, cells=cells)
    if env.rules.clock.conditions:
        number = int(np.ravel(state.time)[0])
        fresh, _ = env.rules.backend.compiled(env.reset_fn)(keys(number, len(state.time)))
        changes = {"agent_pos": spread(env, fresh, number)} if "rubble" in known else {}
        return env.replace(fresh, time=number, done=False, **changes)
    if not hasattr(state, "pot_timer"):
        return state
    generator, ids = np.random.default_rng(3), env.type_ids
    onion, soup = ids["onion"], ids["soup:onion,onion,onion"]
    inventory = generator.choice([-1, onion, ids["dish"], soup], (*np.shape(state.agent_dir), 1))
    phase = generator.integers(0, 3, np.shape(state.pot_timer))  # two onions, cooking, ready
    contents = np.where(phase[..., None] == 0, [onion, onion, -1], [onion] * 3)
    timer = np.choose(phase, [-1, 3, 0])
    return env.replace(state, agent_inv=inventory, pot_contents=contents, pot_timer=timer)


def spread(env: Any, state: Any, seed: int) -> np.ndarray[Any, Any]:
    """(B, n, 2) positions in any room, also in those that rubble and doors close off."""
    height, width = env.spec.height, env.spec.width
    free = np.asarray(state.cells)[:, : height * width] == env.spec.symbols.number["floor"]
    rank = np.where(free, np.random.default_rng(seed).random(free.shape), 2.0)
    chosen = rank.argsort(axis=1)[:, : env.spec.num_agents]
    return np.stack(np.divmod(chosen, width), axis=-1)


def tally(before: Any, infos: Any, after: Any, verbs: tuple[str, ...]) -> Counter[str]:
    """How often the interesting things occurred in one step of a batch."""
    counts = Counter(verbs[code] for code in np.ravel(infos["verb"]) if code)
    old, new = np.asarray(before.pos), np.asarray(after.pos)  # (B, n)
    moved, bumped = np.asarray(infos["moved"]), np.asarray(infos["bumped"])
    both_moved = moved[:, :, None] & moved[:, None, :]  # (B, n, n)
    counts["follow"] += int(((new[:, :, None] == old[:, None, :]) & both_moved).sum())
    ahead = before.rules.on_board(old + np.asarray(before.rules.ahead)[np.asarray(after.agent_dir)])
    onto_floor = np.take_along_axis(np.asarray(after.cells), ahead, -1) < before.rules.n_walkable
    stopped = bumped & onto_floor
    pairs = stopped[:, :, None] & stopped[:, None, :] & ~np.eye(old.shape[1], dtype=bool)
    counts["contest"] += int(((ahead[:, :, None] == ahead[:, None, :]) & pairs).sum())
    swapped = (ahead[:, :, None] == old[:, None, :]) & (ahead[:, None, :] == old[:, :, None])
    counts["swap"] += int((swapped & pairs).sum())
    return counts


def played(id: str, kind: str, backend: str) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """One busy episode of a batch: of each step the infos, and both states with all that was seen of it."""
    env, batch = make(id, kind, backend), WIDE.get(id, BATCH)
    reset, step = env.reset_fn, env.step_fn
    if backend == "jax":
        reset, step = as_users_compile(reset), as_users_compile(step)
    state, _ = reset(keys(5, batch))
    for number, actions in enumerate(scripted(env, STEPS, batch)):
        state = seeded(env, state) if number % 10 == 0 else state
        before = read_only(state) if backend == "numpy" else state
        state, obs, rewards, done, infos = step(before, actions)
        yield infos, (before, state, *map(np.asarray, (obs, rewards, done, infos["counts"])))


@functools.lru_cache(maxsize=1)  # they are large: 170 MB with the planes of SearchRescue-Ruins
def episode(id: str, kind: str) -> tuple[list[tuple[Any, ...]], Counter[str]]:
    """All steps on NumPy, and what occurred."""
    verbs, seen, counts = make(id, kind, "numpy").verbs, [], Counter[str]()
    for infos, step in played(id, kind, "numpy"):
        seen.append(step)
        counts += tally(step[0], infos, step[1], verbs)
    return seen, counts


def check_parity(id: str, kind: str, backend: str) -> None:
    """A busy episode is the same on NumPy and on this backend, and everything that matters occurs in it."""
    ours, counts = episode(id, kind)
    for number, (mine, (_, yours)) in enumerate(zip(ours, played(id, kind, backend), strict=True)):
        assert_same(mine[0], yours[0], f"{id} before step {number}")
        assert_same(mine[1], yours[1], f"{id} after step {number}")
        for name, a, b in zip(("obs", "rewards", "done", "counts"), mine[2:], yours[2:], strict=True):
            assert (a.dtype, a.tobytes()) == (b.dtype, b.tobytes()), f"{id} step {number}: {name}"
    assert ours[-1][4].all()
    names = make(id, kind, "numpy").counters
    totals = dict(zip(names, sum(step[5] for step in ours).sum(axis=(0, 1)), strict=True))
    assert all(totals[verb] == count for verb, count in counts.items() if verb in totals)
    assert totals["idle steps"] > 20
    words = yours[1].rules.backend.words(yours[1].rng_key)  # as users read it, not as it is stored
    np.testing.assert_array_equal(ours[-1][1].rng_key, words)
    if kind in ("window", "none"):
        assert totals["contests"] > 40
        stopped = ("contest", "follow") if id.startswith("Foraging") else ("contest", "swap", "follow")
        assert min(counts[name] for name in stopped) > 20, counts
    wanted = {
        "Foraging": ("load", "fail"),
        "Goals": ("reach", "share"),
        "SearchRescue": ("rescue", "clear"),
        "CommonsHarvest": ("eat", "zap"),
        "CleanUp": ("eat", "zap", "clean"),
    }
    wanted = wanted.get(id.split("-")[0], ())
    assert all(counts[verb] > 50 for verb in wanted), counts
    if id.startswith("Overcooked"):
        verbs = ("pot onion", "plate", "deliver", "take dish", "put down", "pick up")
        least = 3 if "LongRoom" in id else 5  # where the ways are long
        assert min(counts[verb] for verb in verbs) >= least, counts


if "native" in BACKENDS:

    @pytest.mark.parametrize(("id", "kind"), groups(CASES, slow=REPEATED))
    def test_numpy_equals_native(id: str, kind: str) -> None:
        check_parity(id, kind, "native")


if "jax" in BACKENDS:
    import jax

    @pytest.mark.parametrize(("id", "kind"), groups(PLAYED, slow=REPEATED))
    def test_numpy_equals_jax(id: str, kind: str) -> None:
        check_parity(id, kind, "jax")

    @pytest.mark.parametrize(("id", "kind"), groups([case for case in OBSERVED if case not in REPEATED]))
    def test_both_see_the_same(id: str, kind: str) -> None:
        """Another kind of observation of the same play, for every state of it."""
        ours, theirs = (make(id, kind, backend) for backend in ("numpy", "jax"))
        see, differ = as_users_compile(theirs.observe), set()
        for number, (_, after, *_) in enumerate(episode(id, SEEN_IN[kind])[0]):
            mine = ours.observe(after.evolve(rules=ours.rules))
            yours = np.asarray(see(after.evolve(rules=theirs.rules)))
            assert (mine.dtype, mine.tobytes()) == (yours.dtype, yours.tobytes()), f"{id} step {number}"
            differ.add(mine.tobytes())
        assert len(differ) > STEPS // 2


@pytest.mark.parametrize(("id", "kind"), groups([case for case in CASES if case[1] != "none"]))
def test_batch_equals_single_numpy(id: str, kind: str) -> None:
    env, batch = make(id, kind, "numpy"), WIDE.get(id, BATCH)
    tape = scripted(env, STEPS, batch)
    for number, (before, after, obs, rewards, done, counts) in enumerate(episode(id, kind)[0]):
        i = number % batch
        state, mine, points, over, infos = env.step_fn(sliced(before, i), tape[number, i])
        assert_same(state, sliced(after, i), f"{id} step {number} environment {i}")
        assert mine.tobytes() == obs[i].tobytes()
        assert points.tobytes() == rewards[i].tobytes()
        assert bool(over) == bool(done[i])
        np.testing.assert_array_equal(infos["counts"], counts[i])


@pytest.mark.parametrize("id", IDS)
def test_1024_in_one_call_equal_1024_one_by_one(id: str) -> None:
    env = make(id, "features" if has_features(id) else "window", "numpy")
    batch, _ = env.reset_fn(keys(9, 1024))
    states = [env.reset_fn(key)[0] for key in keys(9, 1024)]
    for actions in scripted(env, 6, 1024):
        batch, obs, rewards, _, _ = env.step_fn(batch, actions)
        results = [env.step_fn(state, joint) for state, joint in zip(states, actions, strict=True)]
        states = [result[0] for result in results]
        assert np.stack([result[1] for result in results]).tobytes() == obs.tobytes()
        assert np.stack([result[2] for result in results]).tobytes() == rewards.tobytes()
    for i, state in enumerate(states):
        assert_same(state, sliced(batch, i), f"environment {i}")


def sliced(state: Any, i: int) -> Any:
    """Environment i of a batch."""
    return type(state)(**{k: v[i] if hasattr(v, "ndim") else v for k, v in vars(state).items()})


if "jax" in BACKENDS:

    @pytest.mark.parametrize(
        "id",
        [
            pytest.param(
                id, marks=[pytest.mark.xdist_group(f"vmap:{id}"), *[pytest.mark.slow] * (id in ALIKE)]
            )
            for id in IDS
        ],
    )
    def test_direct_batch_equals_vmap_equals_single(id: str) -> None:
        env = make(id, "lossless", "jax")
        step, single = as_users_compile(env.step_fn), as_users_compile(env.jax_step)
        mapped = as_users_compile(jax.vmap(env.jax_step))
        state, _ = jax.jit(env.reset_fn)(keys(11, 8))
        again, _ = jax.jit(jax.vmap(env.jax_reset))(keys(11, 8))
        assert_same(state, again, "reset")
        state = seeded(env, state)
        for actions in scripted(env, 20, 8):
            direct, other = step(state, actions), mapped(state, actions)
            assert_same(direct[0], other[0], "vmap")
            alone = single(jax.tree.map(lambda x: x[3], state), actions[3])
            assert_same(alone[0], jax.tree.map(lambda x: x[3], direct[0]), "single")
            for a, b, c in zip(direct[1:4], other[1:4], alone[1:4], strict=True):
                assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
                assert np.asarray(a)[3].tobytes() == np.asarray(c).tobytes()
            state = direct[0]
