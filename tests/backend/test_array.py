"""The helpers that the backends spell differently do the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cogrid.backend.array import get_backend
from tests.support import BACKENDS


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize("index", [[4], [0, 11], [5, 1, 2]])  # the last are looked up with all others on JAX
def test_lookup_at_is_the_lookup_of_all(backend: str, batch: tuple[int, ...], index: list[int]) -> None:
    chosen, where = get_backend(backend), np.array(index)
    generator = np.random.default_rng(0)
    array = generator.integers(5, size=(*batch, 12)).astype(chosen.index_dtype(10))
    array[..., where] += 5
    table = np.array([0, 1, 2, 3, 4, 6, 7, 8, 9, 5], array.dtype)
    given = chosen.xp.asarray(array)
    found = chosen.lookup_at(table, given, where)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(np.asarray(found), table[array])
    np.testing.assert_array_equal(np.asarray(given), array)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_any_other_leaves_oneself_out(backend: str, batch: tuple[int, ...], n: int) -> None:
    chosen, generator = get_backend(backend), np.random.default_rng(n)
    low, high = (generator.integers(4, size=(*batch, n)).astype(np.int8) for _ in range(2))

    def test(mine: list[Any], theirs: list[Any]) -> Any:
        return (mine[0] == theirs[0]) | (mine[0] > theirs[1])  # true for oneself, and not symmetric

    found = np.asarray(chosen.any_other(test, chosen.xp.asarray(low), chosen.xp.asarray(high)))
    assert found.shape == (*batch, n)
    for at in np.ndindex(*batch):
        expected = [
            any(low[at][i] == low[at][j] or low[at][i] > high[at][j] for j in range(n) if j != i)
            for i in range(n)
        ]
        assert found[at].tolist() == expected
