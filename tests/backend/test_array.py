"""The helpers that the backends spell differently do the same."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.backend.array import get_backend
from tests.support import BACKENDS, HAS_JAX


@pytest.mark.parametrize("name", ["torch", "", None, ["numpy"]])
def test_an_unknown_backend_is_a_clear_error(name: Any) -> None:
    message = rf"^backend={re.escape(repr(name))} is unknown: choose one of 'numpy', 'jax', .*\.$"
    with pytest.raises(ValueError, match=message):
        cogrid.make("Arena-V0", backend=name)


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
@pytest.mark.parametrize("batch", [(), (300,), (20, 30)])  # a few rows are read in another way than many
@pytest.mark.parametrize("rows", [1, 2, 100, 256, 257, 1000])
@pytest.mark.parametrize("length", [1, 4, 26, 63])
def test_lookup_bytes_is_a_lookup(backend: str, batch: tuple[int, ...], rows: int, length: int) -> None:
    chosen, generator = get_backend(backend), np.random.default_rng(rows)
    table = generator.integers(256, size=(rows, length), dtype=np.uint8)
    index = generator.integers(rows, size=(*batch, 7)).astype(chosen.index_dtype(rows, negatives=False))
    index.reshape(-1)[:2] = 0, rows - 1
    expected = table[index]
    found = chosen.lookup_bytes(table, chosen.xp.asarray(index))
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(np.asarray(found), expected)
    if backend == "jax":
        import jax

        mapped = jax.jit(
            functools.reduce(lambda f, _: jax.vmap(f), batch, lambda i: chosen.lookup_bytes(table, i))
        )
        np.testing.assert_array_equal(mapped(index), expected)


@pytest.mark.skipif(not HAS_JAX, reason="is about JAX")
@pytest.mark.parametrize("length", [4, 26])
def test_lookup_bytes_of_a_batch_whose_size_is_not_known(length: int) -> None:
    """As `jax.export` traces a function that takes any batch."""
    import jax
    from jax import export

    table = np.random.default_rng(1).integers(0, 255, (9, length), np.uint8)
    shape = export.symbolic_shape("b, 20")
    traced = export.export(jax.jit(jax.vmap(lambda index: get_backend("jax").lookup_bytes(table, index))))
    exported = traced(jax.ShapeDtypeStruct(shape, np.uint8))
    index = np.random.default_rng(2).integers(0, 9, (70, 20), np.uint8)
    np.testing.assert_array_equal(exported.call(index), table[index])


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


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("batch", [(), (64,), (2, 3)])
@pytest.mark.parametrize("n", [2, 5])
def test_those_who_meet_any_other_give_way(backend: str, batch: tuple[int, ...], n: int) -> None:
    chosen, generator = get_backend(backend), np.random.default_rng(n)

    def meet(mine: list[Any], theirs: list[Any]) -> Any:
        return (mine[1] == theirs[1]) | ((mine[1] == theirs[0]) & (mine[0] == theirs[1]))

    for _ in range(20 if backend == "numpy" and not batch else 1):
        pos, want = (generator.integers(4, size=(*batch, n)).astype(np.int64) for _ in range(2))
        found = np.asarray(chosen.give_way(meet, chosen.xp.asarray(pos), chosen.xp.asarray(want)))
        blocked = np.asarray(chosen.any_other(meet, chosen.xp.asarray(pos), chosen.xp.asarray(want)))
        assert found.shape == (*batch, n)
        np.testing.assert_array_equal(found, np.where(blocked, pos, want))


def test_places_are_known_to_be_apart_in_a_single_numpy_environment() -> None:
    are_apart = get_backend("numpy").are_apart
    assert are_apart(np.array([3, 1, 2]))
    assert not are_apart(np.array([3, 1, 3]))
    assert not are_apart(np.array([[3, 1, 2]]))  # batches are not looked at


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize("width", [1, 4])
def test_either_is_a_choice_for_each_environment(backend: str, batch: tuple[int, ...], width: int) -> None:
    chosen, generator = get_backend(backend), np.random.default_rng(2)
    zero = np.zeros((1,) * len(batch) + (4,), np.float32)
    value = generator.normal(size=(*batch, width)).astype(np.float32)
    for test in (np.zeros(batch, bool), np.ones(batch, bool), generator.integers(2, size=batch) > 0):
        xp = chosen.xp
        found = np.asarray(chosen.either(xp.asarray(test), xp.asarray(zero), xp.asarray(value)))
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, np.where(np.asarray(test)[..., None], zero, value))
    assert not zero.any()  # nobody writes into a constant


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize("parking", [0, 2])
def test_own_boards_have_the_agent_where_it_stands(
    backend: str, batch: tuple[int, ...], parking: int
) -> None:
    chosen, generator, cells = get_backend(backend), np.random.default_rng(3), 6
    board = generator.integers(10, size=(*batch, cells + parking))
    mine, pos = generator.integers(10, 20, size=(*batch, 2)), generator.integers(cells, size=(*batch, 2))
    if parking:
        pos[..., 0] = cells  # off the board: it sees itself nowhere
    given = [chosen.xp.asarray(value.astype(np.int32)) for value in (board, mine, pos)]
    found = np.asarray(chosen.own_boards(*given, cells))
    own = np.arange(cells) == pos[..., None]
    expected = np.where(own, mine[..., None], board[..., None, :cells])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.asarray(given[0]), board)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_who_is_the_first_in_a_place(backend: str, batch: tuple[int, ...]) -> None:
    chosen, generator = get_backend(backend), np.random.default_rng(1)
    places = generator.integers(8, size=(*batch, 2, 9)).astype(np.int16)
    pos = generator.integers(6, size=(*batch, 4)).astype(np.int16)
    found = np.asarray(chosen.who(chosen.xp.asarray(places), chosen.xp.asarray(pos)))
    assert found.dtype == np.int8
    for at in np.ndindex(*places.shape):
        here = [*pos[at[:-2]].tolist(), places[at]]
        assert found[at] == here.index(places[at])  # 4, the place itself, if nobody is there


@pytest.mark.skipif("jax" not in BACKENDS, reason="is about JAX")
def test_at_once_is_called_for_the_whole_batch_under_vmap() -> None:
    import jax

    chosen, shapes = get_backend("jax"), []

    def function(tree: dict[str, Any], more: Any) -> Any:
        shapes.append((tree["a"].shape, tree["b"].shape, more.shape))
        return tree["a"] + tree["b"][..., 0] + more

    a, b, more = np.arange(6.0).reshape(2, 3), np.ones((3, 1)), np.arange(2.0)

    def one(a: Any, b: Any, more: Any) -> Any:
        return chosen.at_once(function, {"a": a, "b": b}, more)

    alone = one(a[0, 0], b[0], more[0])
    inner = jax.vmap(one, in_axes=(0, 0, None))
    nested = jax.jit(jax.vmap(inner, in_axes=(0, None, 0)))(a, b, more)
    np.testing.assert_array_equal(nested, a + b[:, 0] + more[:, None])
    assert alone == nested[0, 0]
    assert shapes[-1] == ((2, 3), (2, 3, 1), (2, 3)), "what is not mapped is repeated"
    scanned = jax.vmap(lambda x: jax.lax.scan(lambda c, y: (one(c, y, x), None), x, b)[0])(more)
    np.testing.assert_array_equal(scanned, [3, 7])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_columns_are_put_together_in_order(backend: str, batch: tuple[int, ...], n: int) -> None:
    chosen, whole = get_backend(backend), np.random.default_rng(n).integers(99, size=(*batch, n))
    whole = whole.astype(np.int16)
    found = chosen.columns([chosen.xp.asarray(whole[..., i : i + 1]) for i in range(n)])
    assert found.dtype == np.int16
    np.testing.assert_array_equal(found, whole)
