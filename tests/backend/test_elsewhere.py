"""What GPUs compile instead of scatters and open loops plays the same bits, here on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cogrid._core.step import step
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.registry import spec_of
from tests.support import HAS_JAX, assert_same, keys

pytestmark = pytest.mark.skipif(not HAS_JAX, reason="is about JAX")

GAMES: list[tuple[str, dict[str, Any], int]] = [
    ("Overcooked-CrampedRoom-V0", {"observation": "lossless"}, 200),
    ("Overcooked-CounterCircuit-V0", {"observation": "window"}, 100),
    ("Arena-V0", {"num_agents": 9, "map_size": 7}, 60),  # crowded: chains of agents wait for each other
]
#: With resets, whose branches a GPU takes all at once.
FAMILIES = (
    "CleanUp-V0",
    "CommonsHarvest-Open-V0",
    "Foraging-8x8-2p-3f-V0",
    "Goals-V0",
    "OvercookedV2-CrampedRoomV2-V0",
    "SearchRescue-Ruins-V0",
)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Compile as for a GPU; the names of the ways that were taken."""
    from cogrid.backend import _jax

    taken: list[str] = []

    def other(here: Any, elsewhere: Any, *values: Any) -> Any:
        taken.append(getattr(elsewhere, "__name__", ""))
        return elsewhere(*values)

    monkeypatch.setattr(_jax, "_on_cpu_else", other)
    return taken


@pytest.mark.parametrize(("id", "options", "steps"), GAMES)
def test_a_gpus_way_plays_the_same(
    elsewhere: list[str], id: str, options: dict[str, Any], steps: int
) -> None:
    import jax

    spec, batch = spec_of(id, {"max_steps": 1000, **options}, ()), 16
    numpy, rules = CoGridEnv(spec), CoGridEnv(spec, "jax").rules
    advance = jax.jit(lambda state, joint: step(rules, state, joint))
    generator = np.random.default_rng(7)
    ours, _ = numpy.reset_fn(keys(3, batch))
    theirs, _ = CoGridEnv(spec, "jax").reset_fn(jax.random.wrap_key_data(keys(3, batch)))
    bumped = 0
    for turn in range(steps):
        joint = generator.integers(0, 7, (batch, spec.num_agents)).astype(np.int32)
        before = ours.pos
        ours, seen, rewards, done, _ = numpy.step_fn(ours, joint)
        theirs, *others = advance(theirs, joint)
        assert_same(ours, theirs, f"step {turn}")
        for mine, other in zip((seen, rewards, done), others, strict=False):
            np.testing.assert_array_equal(mine, other)
        bumped += int(((ours.pos == before) & (joint < 4)).sum())
    assert bumped > steps, "agents were in each other's way"
    if id == "Arena-V0":
        assert "all_passes" in elsewhere
        assert "_write" in elsewhere, "too many agents for choices"
    else:
        assert {"_select", "_through_words", "chosen"} <= {*elsewhere}


@pytest.mark.slow  # six games to compile
@pytest.mark.parametrize("id", FAMILIES)
def test_a_gpus_way_plays_and_resets_every_family(elsewhere: list[str], id: str) -> None:
    import jax

    spec, batch = spec_of(id, {"max_steps": 20}, ()), 8
    numpy, jaxed = CoGridEnv(spec), CoGridEnv(spec, "jax")
    ours, seen = numpy.reset_fn(keys(3, batch))
    theirs, others = jaxed.reset_fn(jax.random.wrap_key_data(keys(3, batch)))

    @jax.jit
    def advance(state: Any, joint: Any) -> Any:
        state, obs, rewards, done, _ = step(jaxed.rules, state, joint)
        return *jaxed.renew_fn(state, obs, done), rewards, done

    generator, ends = np.random.default_rng(7), 0
    for turn in range(45):
        joint = generator.integers(0, numpy.rules.n_actions, (batch, spec.num_agents)).astype(np.int32)
        ours, seen, rewards, done, _ = numpy.step_fn(ours, joint)
        ours, seen = numpy.renew_fn(ours, seen, done)
        theirs, others, paid, over = advance(theirs, joint)
        assert_same(ours, theirs, f"step {turn}")
        for mine, other in ((seen, others), (rewards, paid), (done, over)):
            np.testing.assert_array_equal(mine, other)
        ends += int(done.sum())
    assert ends >= 2 * batch
    assert elsewhere


@pytest.mark.parametrize("index", [[3], [0, 5], [1, 2, 4]])
def test_places_and_ticks(elsewhere: list[str], index: list[int]) -> None:
    from cogrid.backend.array import get_backend

    numpy, jax = get_backend("numpy"), get_backend("jax")
    cells, where = np.arange(24, dtype=np.int8).reshape(4, 6) % 5, np.array(index)
    value = np.full((4, len(index)), 9, np.int8)
    np.testing.assert_array_equal(
        jax.place(jax.xp.asarray(cells), where, value), numpy.place(cells, where, value)
    )
    ticks, wide = np.array([0, 2, 1], np.int8), np.zeros((4, 40), np.int8)
    wide[:, where] = [[1], [2], [0], [1]]
    np.testing.assert_array_equal(jax.lookup_at(ticks, jax.xp.asarray(wide), where), ticks[wide])
    assert elsewhere == ["choose", "raised"]
    restless = np.array([1, 0, 3, 2, 5, 4], np.int8)  # more runs than are compared with
    wide[:, where] += 3
    np.testing.assert_array_equal(
        jax.lookup_at(restless, jax.xp.asarray(wide), where)[:, where], restless[wide[:, where]]
    )
    assert elsewhere[2:] == ["looked_up"]


@pytest.mark.parametrize("shape", [(2,), (3, 2)])
def test_through_words_and_back(elsewhere: list[str], shape: tuple[int, ...]) -> None:
    """All widths, the least and the largest numbers, and more than fit into one word."""
    from cogrid.backend.array import get_backend

    jax = get_backend("jax")
    kinds = (np.int8, np.int16, np.int8, np.uint8, np.int32, np.int16, np.int8)
    values = [np.resize([np.iinfo(kind).min, np.iinfo(kind).max], shape).astype(kind) for kind in kinds]
    found = jax.apart(*(jax.xp.asarray(value) for value in values))
    assert elsewhere == ["_through_words"]
    assert [value.dtype for value in found] == [np.dtype(kind) for kind in kinds]
    for value, other in zip(values, found, strict=True):
        np.testing.assert_array_equal(value, other)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_columns_are_chosen_by_number(elsewhere: list[str], n: int) -> None:
    from cogrid.backend.array import get_backend

    jax, whole = get_backend("jax"), np.arange(3 * n, dtype=np.int16).reshape(3, n)
    found = jax.columns([jax.xp.asarray(whole[:, i : i + 1]) for i in range(n)])
    assert elsewhere == ["chosen"]
    np.testing.assert_array_equal(found, whole)
