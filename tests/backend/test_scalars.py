"""Entry by entry, each operation gives what JAX gives for the whole array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import HAS_JAX

if not HAS_JAX:
    pytest.skip("is about JAX", allow_module_level=True)

import jax
import jax.numpy as jnp
from jax import lax

from cogrid.backend._scalars import Unsupported, entries, evaluate, vector

pytestmark = pytest.mark.skipif(jax.__version_info__ < (0, 8), reason="one kernel needs JAX 0.8")

ENVS = 8
TABLE = np.arange(40, dtype=np.int16).reshape(10, 4) ** 2
CLIP, PROMISE = lax.GatherScatterMode.CLIP, lax.GatherScatterMode.PROMISE_IN_BOUNDS


def looked_up(mode: Any) -> Callable[[Any, Any], Any]:
    numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    return lambda a, i: lax.gather(TABLE, i[:, None], numbers, (1, 4), mode=mode)


def sliced(a: Any, i: Any) -> Any:
    """Windows of two, which are kept inside."""
    numbers = lax.GatherDimensionNumbers((1,), (), (0,))
    return lax.gather(a, i[:, None], numbers, (2,), mode=CLIP)


def summed(a: Any, i: Any) -> Any:
    return lax.scan(lambda c, x: (c + x, c * x), jnp.int32(0), a)


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "arithmetic": lambda a, i: (a * 3 - i[:1]) ^ (a >> 1),
    "comparisons": lambda a, i: jnp.where((a > 3) & ~(a == i[0]), a, -a),
    "nothing depends on it": lambda a, i: jnp.arange(3) + 1,
    "passed on": lambda a, i: (i, a),
    "table, in bounds": looked_up(PROMISE),
    "table, clipped": lambda a, i: looked_up(CLIP)(a, a - 3),
    "own entries": lambda a, i: a.at[i].get(mode="promise_in_bounds"),
    "own entries, clipped": lambda a, i: a.at[a - 2].get(mode="clip"),
    "windows": sliced,
    "known entries": lambda a, i: a[np.array([4, 0, 0])],
    "two axes": lambda a, i: a[:4].reshape(2, 2).at[i % 2, i[::-1] % 2].get(mode="promise_in_bounds"),
    "written": lambda a, i: a.at[i[:1]].set(9, mode="promise_in_bounds"),
    "written at known places": lambda a, i: a.at[np.array([1, 3])].set(i[:2], mode="promise_in_bounds"),
    "reductions": lambda a, i: (a.sum(), a.min(), a.max(), (a > 4).any(), (a > 4).all()),
    "reduced rows": lambda a, i: jnp.outer(a, i).sum(axis=0),
    "first of the least": lambda a, i: (a % 3).argmin(),
    "first of the greatest": lambda a, i: (a % 3).argmax(),
    "sums on the way": lambda a, i: (jnp.cumsum(a), lax.cumsum(a, reverse=True)),
    "joined": lambda a, i: jnp.concatenate([a, i, np.arange(2, dtype=np.int32)])[::-1],
    "stacked": lambda a, i: jnp.stack([a, a + 1], axis=-1).T,
    "padded": lambda a, i: jnp.pad(a, (1, 2)),
    "a loop": summed,
    "a branch for some": lambda a, i: lax.cond(i[0] > 1, lambda: (a * 2, i), lambda: (a, i + 1)),
    "a platform": lambda a, i: lax.platform_dependent(a, cpu=lambda a: a, default=lambda a: a + 0),
}


def whole(function: Callable[..., Any], *values: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(jax.vmap(function)(*values))]


def by_entries(function: Callable[..., Any], *values: Any) -> list[np.ndarray[Any, Any]]:
    closed = jax.make_jaxpr(function)(*(value[0] for value in values))
    given = [entries(iter(value.T), value.shape[1:]) for value in map(jnp.asarray, values)]
    results = evaluate(closed.jaxpr, closed.consts, given, lambda table, place: jnp.asarray(table)[place])
    return [
        np.stack([np.asarray(vector(entry, (ENVS,))) for entry in result.flat], axis=-1).reshape(
            ENVS, *result.shape
        )
        for result in results
    ]


@pytest.mark.parametrize("name", CASES)
def test_entries_are_those_of_the_whole(name: str) -> None:
    generator = np.random.default_rng(3)
    a = generator.integers(0, 10, (ENVS, 5)).astype(np.int32)
    i = generator.integers(0, 5, (ENVS, 3)).astype(np.int32)
    expected, found = whole(CASES[name], a, i), by_entries(CASES[name], a, i)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(other, one)
        assert other.dtype == one.dtype


def test_what_nobody_needs_is_not_computed() -> None:
    def function(a: Any) -> Any:
        jnp.sort(a)
        return a + 1

    values = np.ones((ENVS, 2), np.int32)
    np.testing.assert_array_equal(by_entries(function, values)[0], values + 1)


def test_unknown_operations_are_named() -> None:
    with pytest.raises(Unsupported, match="sort"):
        by_entries(jnp.sort, np.ones((ENVS, 2), np.int32))
