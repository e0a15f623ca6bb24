"""Every operation that can be recorded: what C makes of it equals what NumPy does, entry by entry."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cogrid._native.backend import NativeBackend
from cogrid._native.compiled import CompiledFunction
from cogrid._native.record import Block, inside
from cogrid._native.traced import FUNCTIONS, UFUNCS, Traced, Untraceable, narrow

BACKEND = NativeBackend()
XP = BACKEND.xp
BATCH = 5


def ints(low: int, high: int, shape: tuple[int, ...], dtype: Any) -> Any:
    return np.random.default_rng(sum(shape)).integers(low, high, (BATCH, *shape)).astype(dtype)


def compared(function: Callable[..., Any], *arrays: Any) -> Any:
    """The results of NumPy and C, one after the other environment and for all at once."""
    word = np.zeros((BATCH, 2), np.uint32)
    compiled = CompiledFunction(lambda word, *arrays: function(*arrays))
    found = compiled(word, *arrays)
    for number in range(BATCH):
        alone = [array[number] for array in arrays]
        wanted = np.asarray(function(*alone))
        for one in (found[number], compiled(word[number], *alone)):
            assert one.dtype == (
                wanted.dtype if any(a.dtype.itemsize == 8 for a in arrays) else narrow(wanted.dtype)
            )
            assert one.shape == wanted.shape
            np.testing.assert_array_equal(one, wanted.astype(one.dtype))
    return found


BYTES, MORE = ints(-9, 10, (3, 4), np.int8), ints(1, 12, (3, 4), np.int8)
SHORTS, WORDS = ints(-999, 999, (3, 1), np.int16), ints(0, 2**32, (4,), np.uint32)
FLAGS, REALS = (
    ints(0, 2, (3, 4), bool),
    (ints(-40, 40, (3, 4), np.float32) / np.float32(7)).astype(np.float32),
)
LONG = ints(-9, 9, (4, 30), np.int32)  # more entries than are written one by one
LARGE = np.array([[2**40, -1, 3]] * BATCH)
TABLE = np.arange(40, dtype=np.int16).reshape(10, 4) ** 2
PLACES = ints(0, 10, (3,), np.int8)

OPERATIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "add": (lambda x, y: x + y, (BYTES, MORE)),
    "add with broadcasting": (lambda x, y: x + y, (BYTES, SHORTS)),
    "add a number": (lambda x: 3 + x, (BYTES,)),
    "wrap around": (lambda x: x * np.int8(100) - 7, (BYTES,)),
    "subtract": (lambda x, y: x - y, (MORE, SHORTS)),
    "multiply": (lambda x, y: x * y, (SHORTS, BYTES)),
    "multiply reals": (lambda x, y: x * y + np.float32(0.1), (REALS, BYTES.astype(np.float32))),
    "divide": (lambda x: x / np.float32(3), (REALS,)),
    "floor divide": (lambda x, y: x // y, (BYTES, MORE)),
    "floor divide by less than zero": (lambda x, y: x // -y, (BYTES, MORE)),
    "remainder": (lambda x, y: x % y, (BYTES, MORE)),
    "remainder by less than zero": (lambda x, y: x % -y, (BYTES, MORE)),
    "remainder of words": (lambda x: x % np.uint32(7) + x // np.uint32(9), (WORDS,)),
    "minimum": (np.minimum, (BYTES, MORE)),
    "maximum": (np.maximum, (BYTES, SHORTS)),
    "clip": (lambda x: np.clip(x, -2, 3), (BYTES,)),
    "and": (lambda x, y: (x & 6) & y, (BYTES, MORE)),
    "or": (lambda x, y: x | y, (FLAGS, BYTES > 0)),
    "xor": (lambda x: x ^ (x >> 3), (BYTES,)),
    "logical and": (lambda x, y: np.logical_and(x, y), (BYTES, MORE)),
    "not": (lambda x: ~x, (FLAGS,)),
    "invert": (lambda x: ~x, (WORDS,)),
    "negative": (lambda x: -x, (BYTES,)),
    "negative words": (lambda x: -x, (WORDS,)),
    "absolute": (abs, (SHORTS,)),
    "left shift": (lambda x: x << np.uint32(5), (WORDS,)),
    "right shift": (lambda x: x >> np.uint32(5), (WORDS,)),
    "right shift with sign": (lambda x: x >> 2, (SHORTS,)),
    "equal": (lambda x, y: x == y, (BYTES, MORE)),
    "not equal": (lambda x, y: x != y, (BYTES, MORE)),
    "less": (lambda x, y: x < y, (BYTES, MORE)),
    "less or equal": (lambda x, y: x <= y, (BYTES, MORE)),
    "greater": (lambda x: x > 3, (BYTES,)),
    "greater or equal": (lambda x: x >= np.uint32(2**31), (WORDS,)),
    "compare with a number that does not fit": (lambda x: x < 300, (BYTES,)),
    "count bits": (np.bitwise_count, (WORDS,)),
    "cast": (lambda x: x.astype(np.uint8), (SHORTS,)),
    "cast to truth": (lambda x: x.astype(bool), (BYTES,)),
    "cast to reals": (lambda x: x.astype(np.float32), (WORDS,)),
    "cut reals": (lambda x: x.astype(np.int32), (REALS,)),
    "bits": (lambda x: x.view(np.uint32) & np.uint32(0xFFFF0000), (REALS,)),
    "where": (lambda t, x, y: np.where(t, x, y), (FLAGS, BYTES, SHORTS)),
    "64 bits": (lambda x: np.minimum(x.astype(np.uint64), np.uint64(7)), (LARGE,)),
    "slice": (lambda x: x[1:, ::-2], (BYTES,)),
    "one entry": (lambda x: x[-1, 2], (BYTES,)),
    "new axes": (lambda x: x[..., None, :] + x[:, None], (WORDS.reshape(BATCH, 2, 2),)),
    "views of views": (lambda x: x[:, 1:][::-1].transpose(1, 0)[1:, 0], (BYTES,)),
    "broadcast": (lambda x: np.broadcast_to(x, (2, 3, 4)), (SHORTS,)),
    "transpose": (lambda x: x.transpose(1, 0) * 2, (LONG,)),
    "swap axes": (lambda x: x.swapaxes(0, 1)[None], (BYTES,)),
    "reshape": (lambda x: x.reshape(4, 3) + x.reshape(-1)[:3], (BYTES,)),
    "reshape what is computed": (lambda x: (x + 1).reshape(12, 10)[::3], (LONG,)),
    "squeeze": (lambda x: x.squeeze(-1), (SHORTS,)),
    "repeat": (lambda x: x[:, None].repeat(3, axis=1), (BYTES,)),
    "known places": (lambda x: x.take(np.array([2, 0, -1]), axis=1), (BYTES,)),
    "a known mask": (lambda x: x[np.array([True, False, True])], (BYTES,)),
    "places of an array": (lambda x, y: x[..., y], (LONG, np.minimum(PLACES, 9))),
    "a row at a place": (lambda x, y: x[y], (LONG, PLACES % 4)),
    "look up": (lambda x: BACKEND.lookup(TABLE[:, 1], x), (PLACES,)),
    "look up rows": (lambda x: BACKEND.lookup(TABLE, x), (PLACES,)),
    "look up rows of one": (lambda x: BACKEND.lookup(TABLE, x[0]), (PLACES,)),
    "look up what was looked up": (
        lambda x: BACKEND.lookup(TABLE[:, 0], BACKEND.lookup(TABLE[:, 1], x) % 10),
        (PLACES,),
    ),
    "concatenate": (lambda x, y: np.concatenate([x, y, x[:, :0]], axis=-1), (BYTES, SHORTS)),
    "concatenate rows": (lambda x, y: np.concatenate([x, y]), (LONG, LONG[:, :2])),
    "stack": (lambda x, y: np.stack([x, y], axis=1), (BYTES, MORE)),
    "pad": (lambda x: np.pad(x, [(0, 1), (2, 0)], constant_values=7), (BYTES,)),
    "put": (lambda x, y: BACKEND.put(x, y, np.int16(-5)), (np.tile(TABLE[:, 1], (BATCH, 1)), PLACES)),
    "sum": (lambda x: x.sum(axis=0), (BYTES,)),
    "sum of many": (lambda x: x.sum(axis=-1, keepdims=True), (LONG,)),
    "sum in a type": (lambda x: x.sum(axis=1, dtype=np.int8), (BYTES,)),
    "sum of all": (lambda x: x.sum(), (FLAGS,)),
    "any": (lambda x: (x > 8).any(axis=-1), (LONG,)),
    "all": (lambda x: (x > -9).all(axis=(0, 1)), (LONG,)),
    "min": (lambda x: x.min(axis=1, initial=-3), (LONG,)),
    "max": (lambda x: x.max(axis=0), (BYTES,)),
    "reduce": (
        lambda x: np.minimum.reduce(x, axis=-1, initial=2) + np.logical_or.reduce(x > 3, axis=-1),
        (BYTES,),
    ),
    "argmin": (lambda x: x.argmin(axis=-1).astype(np.int32), (LONG,)),
    "argmax": (lambda x: x.argmax(axis=-1).astype(np.int32), (BYTES,)),
    "cumsum": (lambda x: x.cumsum(axis=-1, dtype=np.int32), (BYTES,)),
    "cumsum of many": (lambda x: x.cumsum(axis=-1, dtype=np.uint32), (LONG,)),
    "sort": (lambda x: np.sort(x, axis=-1), (LONG,)),
    "sort a few": (lambda x: np.sort(x, axis=-1)[..., :2], (BYTES,)),
    "zeros": (lambda x: XP.zeros((2,), np.int8) + x[0, 0], (BYTES,)),
    "full": (lambda x: XP.full((3,), x[0, 0], np.int16), (BYTES,)),
    "a known array at a traced place": (lambda x: XP.asarray(TABLE)[x], (PLACES,)),
    "a constant": (lambda x: XP.asarray(TABLE), (PLACES,)),
    "nothing": (lambda x: x[:0] + 1, (BYTES,)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_c_does_what_numpy_does(name: str) -> None:
    function, arrays = OPERATIONS[name]
    compared(function, *arrays)


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: 1 if x[0] else 2, "`if`, `and`, `or` and `not`"),
        (lambda x: np.linalg.norm(x), "numpy.linalg.norm"),
        (lambda x: np.sin(x), "numpy.sin"),
        (lambda x: x.tolist(), "the attribute 'tolist'"),
        (lambda x: np.asarray(x), "turning it into a NumPy array"),
        (lambda x: np.cumsum(x[:, None], axis=0), "cumsum along another axis than the last"),
    ],
)
def test_what_cannot_be_recorded_is_named(function: Callable[..., Any], what: str) -> None:
    arrays = np.zeros((BATCH, 2), np.uint32), np.ones((BATCH, 3), np.float32)
    with pytest.raises(TypeError, match=f"^the native backend cannot compile {what}: "):
        CompiledFunction(lambda word, x: function(x))(*arrays)


def listed(row: str) -> list[str]:
    """The names in a row of the page on backends."""
    page = (Path(__file__).parents[2] / "docs/developing/backends.md").read_text(encoding="utf-8")
    (cell,) = re.findall(rf"(?m)^\| {row} \| (.*) \|$", page)
    return re.findall(r"`(\w+)`", cell)


def test_the_page_lists_what_can_be_recorded() -> None:
    methods = [name for name, value in vars(Traced).items() if callable(value) and name[0] != "_"]
    assert sorted(listed("of single entries")) == sorted(ufunc.__name__ for ufunc in UFUNCS)
    assert sorted(listed("of whole arrays")) == sorted(function.__name__ for function in FUNCTIONS)
    assert sorted(listed("methods")) == sorted(methods)
    reduced = set(listed("reduced with `.reduce`"))
    given = {"asarray": ([1],), "array": ([1],), "zeros": (2,), "ones": (2,), "full": (2, 1), "arange": (3,)}
    with inside(Block()):
        for name in listed("made by"):
            made = getattr(XP, name)(*given[name])
            assert isinstance(made, Traced), name
        for attribute in listed("attributes"):
            assert hasattr(made, attribute), attribute
        for ufunc in (ufunc for ufunc in UFUNCS if ufunc.nin == 2):
            if ufunc.__name__ in reduced:
                assert isinstance(ufunc.reduce(made, axis=0), Traced), ufunc
            else:
                with pytest.raises(Untraceable):
                    ufunc.reduce(made, axis=0)


def test_an_array_does_not_outlive_its_recording() -> None:
    kept: list[Any] = []
    CompiledFunction(lambda word: kept.append(word) or word + np.uint32(1))(np.zeros((BATCH, 2), np.uint32))
    with pytest.raises(RuntimeError, match="used after its recording"):
        kept[0] + np.uint32(1)
