"""One counter-based random generator, threefry-2x32, with the same bits on NumPy and on JAX."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cogrid._io.messages import brief
from cogrid.backend.array import Array, get_backend, lift

__all__ = ("key", "split")

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def seed(value: Any) -> int:
    """The seed as an integer, or a clear error."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"a seed is an integer, not {brief(value)}.") from None


def key(seed_: int) -> np.ndarray[Any, Any]:
    """The key of a seed: the same two 32-bit words as `jax.random.key`; both backends accept it."""
    number = seed(seed_)
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"seed {brief(number)} does not fit in 64 bits.")
    if number < 0:  # jax.random.key keeps 32 bits of a negative seed
        number %= 2**32
    return np.array([number >> 32, number & 0xFFFFFFFF], dtype=np.uint32)


def split(key: Array, n: int = 2) -> Array:
    """`n` new keys, (*B, n), as `jax.random.split` makes them; typed or plain like the given key."""
    backend = get_backend("numpy" if isinstance(key, np.ndarray) else getattr(key, "backend_name", "jax"))
    children = split_words(backend.xp, backend.words(key), n)
    return children if key.dtype == np.uint32 else backend.key(children)


def split_words(xp: Any, words: Array, n: int) -> Array:
    """Words of `n` children, (*B, 2) -> (*B, n, 2)."""
    return xp.stack(_blocks(words, n), axis=-1)


def bits(words: Array, n: int) -> Array:
    """`n` random uint32, (*B, 2) -> (*B, n), as `jax.random.bits` draws them."""
    first, second = _blocks(words, n)
    return first ^ second


def draws(words: Array, time: Array, numbers: np.ndarray[Any, Any]) -> Array:
    """Random 24-bit numbers, (*B, 2), (*B,) -> (*B, k), from a time and the draws' numbers (k,), both uint32.

    The counter is (time + 1, number): blocks that `split` and `bits` never use.
    """
    low = lift(numbers, words.ndim)
    first, second = threefry(words[..., :1], words[..., 1:], time[..., None] + np.uint32(1), low)
    return (first ^ second) >> np.uint32(8)


def _blocks(words: Array, n: int) -> tuple[Array, Array]:
    """The generator's two outputs for the counters (0, 0) … (0, n − 1), each (*B, n)."""
    low = lift(np.arange(n, dtype=np.uint32), words.ndim)
    return threefry(words[..., :1], words[..., 1:], np.zeros_like(low), low)


def threefry(key0: Array, key1: Array, count0: Array, count1: Array) -> tuple[Array, Array]:
    """Threefry-2x32 with 20 rounds (Salmon et al. 2011); all arguments uint32 with at least one axis."""
    schedule = (key0, key1, key0 ^ key1 ^ _PARITY)
    x, y = count0 + key0, count1 + key1
    for block in range(5):
        for rotation in _ROTATIONS[block % 2]:
            x = x + y
            y = (y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation))
            y = y ^ x
        x = x + schedule[(block + 1) % 3]
        y = y + schedule[(block + 2) % 3] + np.uint32(block + 1)
    return x, y
