"""The random generator: published answers, JAX's own words, and the same bits on every backend."""

from __future__ import annotations

import numpy as np
import pytest

from cogrid.backend import rng
from cogrid.backend.array import get_backend
from tests.support import BACKENDS, HAS_JAX

SEEDS = (0, 1, 2, 42, 1234567, 2**31 - 1, 2**31, 2**32 - 1, -1, -2, -(2**31))

#: Random123's kat_vectors for threefry2x32 with 20 rounds: counter, key, answer.
KNOWN_ANSWERS = (
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
)


def words_of(key):
    """The words of a key of either backend, on the host."""
    return np.asarray(get_backend("numpy" if isinstance(key, np.ndarray) else "jax").words(key))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN_ANSWERS)
def test_known_answers(backend, counter, key, answer) -> None:
    xp = get_backend(backend).xp
    k0, k1, c0, c1 = (xp.asarray([word], np.uint32) for word in key + counter)
    assert tuple(int(word[0]) for word in rng.threefry(k0, k1, c0, c1)) == answer


@pytest.mark.parametrize("backend", BACKENDS)
def test_known_answers_together(backend) -> None:
    xp = get_backend(backend).xp
    columns = np.array([[*key, *counter] for counter, key, _ in KNOWN_ANSWERS], np.uint32).T
    answers = np.stack([np.asarray(word) for word in rng.threefry(*map(xp.asarray, columns))], axis=-1)
    np.testing.assert_array_equal(answers, [answer for _, _, answer in KNOWN_ANSWERS])


@pytest.mark.parametrize("seed", SEEDS)
def test_key_is_the_seed_in_two_words(seed) -> None:
    key = rng.key(seed)
    assert (key.dtype, key.shape) == (np.uint32, (2,))
    assert key.tolist() == [0, seed % 2**32]


@pytest.mark.parametrize("seed", [2**32, 2**32 + 5, 2**40 + 3, 2**63 - 1, 2**64 - 1])
def test_key_keeps_both_words_of_a_wide_seed(seed) -> None:
    """As JAX with x64; without, it drops the upper word: docs/decisions/004-keys-and-seeds.md."""
    assert rng.key(seed).tolist() == [seed >> 32, seed % 2**32]


def test_key_takes_numpy_integers() -> None:
    np.testing.assert_array_equal(rng.key(np.int64(7)), rng.key(7))
    np.testing.assert_array_equal(rng.key(np.uint8(7)), rng.key(7))


@pytest.mark.parametrize("backend", BACKENDS)
def test_split_leaves_the_key_alone(backend) -> None:
    key = get_backend(backend).key(rng.key(5))
    before = words_of(key).copy()
    rng.split(key, 9)
    np.testing.assert_array_equal(words_of(key), before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_children_differ_from_each_other_and_from_their_parents(backend) -> None:
    parents = get_backend(backend).key(np.stack([rng.key(seed) for seed in range(16)]))
    words = words_of(rng.split(parents, 256))
    assert words.shape == (16, 256, 2)
    everyone = np.concatenate((words.reshape(-1, 2), words_of(parents)))
    assert len({tuple(pair) for pair in everyone.tolist()}) == 16 * 256 + 16


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_longer_split_begins_with_the_shorter_one(backend) -> None:
    key = get_backend(backend).key(rng.key(3))
    np.testing.assert_array_equal(words_of(rng.split(key, 9))[:4], words_of(rng.split(key, 4)))
    assert rng.split(key).shape == rng.split(key, 2).shape


@pytest.mark.parametrize("backend", BACKENDS)
def test_batches_split_like_each_key_alone(backend) -> None:
    words = np.stack([rng.key(seed) for seed in range(6)]).reshape(2, 3, 2)
    batch = words_of(rng.split(get_backend(backend).key(words), 5))
    assert batch.shape == (2, 3, 5, 2)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_array_equal(batch[i, j], words_of(rng.split(words[i, j], 5)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_batches_draw_bits_like_each_key_alone(backend) -> None:
    xp = get_backend(backend).xp
    words = np.stack([rng.key(seed) for seed in range(4)])
    batch = np.asarray(rng.bits(xp.asarray(words), 7))
    assert (batch.dtype, batch.shape) == (np.uint32, (4, 7))
    for i in range(4):
        np.testing.assert_array_equal(batch[i], rng.bits(words[i], 7))


def test_bits_are_evenly_spread() -> None:
    draws = rng.bits(rng.key(0), 2**14)
    ones = ((draws[:, None] >> np.arange(32, dtype=np.uint32)) & 1).mean(axis=0)  # (32,)
    assert abs(ones - 0.5).max() < 5 * 0.5 / 2**7  # five standard deviations of each bit's mean


if HAS_JAX:
    import jax

    def test_keys_are_those_of_jax() -> None:
        seeds = [*SEEDS, *np.random.default_rng(0).integers(-(2**31), 2**32, 200).tolist()]
        for seed in seeds:
            np.testing.assert_array_equal(rng.key(seed), jax.random.key_data(jax.random.key(seed)), str(seed))

    @pytest.mark.parametrize("seed", [-(2**32) - 1, -(2**40), -(2**63)])
    def test_wide_negative_seeds_are_those_of_jax_without_x64(seed) -> None:
        np.testing.assert_array_equal(rng.key(seed), jax.random.key_data(jax.random.key(seed)))

    @pytest.mark.parametrize("n", [1, 2, 3, 7, 64])
    def test_splits_are_those_of_jax(n) -> None:
        for seed in SEEDS:
            theirs = jax.random.key_data(jax.random.split(jax.random.key(seed), n))
            np.testing.assert_array_equal(rng.split(rng.key(seed), n), theirs)
            np.testing.assert_array_equal(words_of(rng.split(jax.random.key(seed), n)), theirs)

    @pytest.mark.parametrize("n", [1, 2, 5, 33])
    def test_bits_are_those_of_jax(n) -> None:
        for seed in SEEDS:
            theirs = jax.random.bits(jax.random.key(seed), (n,))
            np.testing.assert_array_equal(rng.bits(rng.key(seed), n), theirs)
            np.testing.assert_array_equal(rng.bits(jax.random.key_data(jax.random.key(seed)), n), theirs)

    def test_typed_and_legacy_keys_have_the_same_children() -> None:
        typed, legacy = jax.random.key(11), jax.random.PRNGKey(11)
        for key in (typed, legacy):
            np.testing.assert_array_equal(words_of(rng.split(key, 3)), rng.split(rng.key(11), 3))
        assert jax.numpy.issubdtype(rng.split(typed, 3).dtype, jax.dtypes.prng_key)

    def test_children_have_the_form_of_their_parent() -> None:
        assert isinstance(rng.split(rng.key(1), 2), np.ndarray)
        assert rng.split(jax.random.key(1), 2).dtype == jax.random.key(1).dtype
        assert rng.split(jax.random.PRNGKey(1), 2).dtype == np.uint32

    def test_split_inside_jit_and_vmap() -> None:
        keys = jax.random.split(jax.random.key(4), 3)
        inside = jax.jit(jax.vmap(lambda key: rng.split(key, 4)))(keys)
        np.testing.assert_array_equal(words_of(inside), rng.split(words_of(keys), 4))
