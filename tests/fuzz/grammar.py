"""Generators: valid documents with some parts changed, damaged bytes, and odd values for arguments."""

from __future__ import annotations

import copy
import gzip
import json
import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

DEEP: Any = None
for _ in range(60):
    DEEP = [DEEP]
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 3, 7, 255, 256, 2**31 - 1, 2**31, 2**63, -(2**63) - 1, 10**40),
    *(0.5, -0.0, 1.0, 1e-320, 1e308, math.nan, math.inf, -math.inf),
    *("", "0", "1", "x", "\x00", "\ud800", "é\n", "x" * 700, "Arena-V0", "numpy", "../../etc/passwd"),
    *([], {}, [[]], [None], [0, 1], {"": None}, {"version": 1}, DEEP),
)

Change = Callable[[Random, Any, Any], None]


def mutated(random: Random, document: Any) -> Any:
    """A copy with one to three parts changed."""
    document = copy.deepcopy(document)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        holder, key = _place(random, document)
        if holder is not None:
            random.choice(CHANGES)(random, holder, key)
    return document


def _place(random: Random, document: Any) -> tuple[Any, Any]:
    """A container and a key of it; every level of the document is met as often as any other."""
    holder, key, inside = None, None, document
    while isinstance(inside, (dict, list)) and inside and (holder is None or random.random() < 0.75):
        holder = inside
        key = random.choice(list(inside)) if isinstance(inside, dict) else random.randrange(len(inside))
        inside = holder[key]
    return holder, key


def _odd(random: Random, holder: Any, key: Any) -> None:
    holder[key] = random.choice(ODD)


def _nudge(random: Random, holder: Any, key: Any) -> None:
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, (int, float)):
        holder[key] = value + random.choice((-1, 1, 2, random.randrange(-9, 10)))
    elif isinstance(value, str) and value:
        at = random.randrange(len(value))
        holder[key] = value[:at] + random.choice("0123456789abcdefX. ") + value[at + 1 :]
    elif isinstance(value, list) and value:
        _nudge(random, value, random.randrange(len(value)))


def _drop(random: Random, holder: Any, key: Any) -> None:
    del holder[key]


def _double(random: Random, holder: Any, key: Any) -> None:
    if isinstance(holder, dict):
        holder[f"{key}{random.choice(('', '_', '2'))}"] = copy.deepcopy(holder[key])
    else:
        holder.insert(key, copy.deepcopy(holder[key]))


def _exchange(random: Random, holder: Any, key: Any) -> None:
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    other = random.choice(list(keys))
    holder[key], holder[other] = holder[other], holder[key]


def _wrap(random: Random, holder: Any, key: Any) -> None:
    holder[key] = random.choice(([holder[key]], {"a": holder[key]}, str(holder[key])))


CHANGES: tuple[Change, ...] = (_odd, _odd, _nudge, _nudge, _nudge, _drop, _double, _exchange, _wrap)


def damaged(random: Random, data: bytes) -> bytes:
    """Bytes with some flipped, cut out, doubled or put in."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(len(out) + 1)
        end = min(len(out), at + random.choice((1, 1, 4, 64)))
        match random.randrange(6):
            case 0 if at < len(out):
                out[at] ^= 1 << random.randrange(8)
            case 1:
                del out[at:end]
            case 2:
                out[at:at] = out[at:end]
            case 3:
                del out[at:]
            case 4:
                out[at:at] = random.choice(
                    (b"[" * 2000, b'{"a":' * 500, b"9" * 5000, b"\xff\xfe", b"NaN", b"\0")
                )
            case _:
                out[at:end] = random.randbytes(end - at)
    return bytes(out)


def as_file(random: Random, document: Any, packed: bool) -> bytes:
    """The JSON of a document, sometimes damaged before or after it is compressed."""
    data = json.dumps(document).encode()
    if random.random() < 0.15:
        data = damaged(random, data)
    if packed:
        data = gzip.compress(data, 1, mtime=0)
        if random.random() < 0.3:
            data = damaged(random, data)
    return data


#: Arrays that somebody may take for actions, seeds or maps.
ARRAYS = (
    *(np.zeros(0, np.int32), np.zeros((2, 2), np.int8), np.ones(2, np.uint64), np.array([0.5, 1.0])),
    *(np.array(["1", "2"]), np.array([None, 1]), np.array(3), np.array([True, False]), np.array(np.nan)),
    *(np.full((2, 2), 2**31), np.full(2, -1), np.zeros((2, 0), np.int16), np.zeros((1, 2, 1), np.int64)),
)
numbers = st.one_of(
    st.integers(-3, 9), st.sampled_from([2**31 - 1, 2**31, 2**32, 2**63, 2**64, -(2**63) - 1, 10**30])
)
scalars = st.one_of(
    st.none(), st.booleans(), numbers, st.floats(), st.text(max_size=6), st.binary(max_size=3)
)
#: Anything that Python can hand over.
odd = st.one_of(
    scalars,
    st.sampled_from(ARRAYS),
    st.lists(scalars, max_size=4),
    st.dictionaries(scalars, scalars, max_size=3),
    st.sampled_from([object(), print, int, (), b"", 1j, range(2), slice(2), {1, 2}, ...]),
)


def mostly(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Three times in four what is expected there."""
    return st.integers(0, 3).flatmap(lambda draw: usual if draw else odd)
