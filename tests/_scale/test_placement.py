"""Placement: which device has which environments; four CPU devices are there."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import HAS_JAX

if HAS_JAX:
    import jax

    from cogrid._scale.placement import place

    def chosen(devices):
        return list(place(devices, 4).mesh.devices.flat)

    def test_devices_by_number_list_mesh_and_default() -> None:
        all_, some = jax.devices(), jax.devices()[1:3]
        mesh = jax.sharding.Mesh(np.array(some).reshape(1, 2), ("hosts", "chips"))
        assert (chosen(2), chosen(some), chosen(mesh), chosen(None)) == (all_[:2], some, some, all_)
        with jax.default_device(some[0]):
            assert chosen(None) == some[:1]
            assert chosen(2) == all_[:2]
        with jax.default_device("cpu"):
            assert chosen(None) == jax.devices("cpu")

    @pytest.mark.parametrize(("num_envs", "size"), [(1, 1), (4, 1), (5, 2), (7, 2), (8, 2), (9, 3)])
    def test_uneven_numbers_are_padded_and_cut(num_envs, size) -> None:
        there = place(4, num_envs)
        assert (there.size, there.padded, there.processes) == (size, 4 * size, 1)
        assert there.mine().tolist() == list(range(num_envs))
        for rows in (num_envs, num_envs + 1, num_envs + 3, there.padded):  # as other devices padded it
            batch = np.where(np.arange(rows) < num_envs, np.arange(rows), -1)
            fitted = there.fit(jax.device_put(batch, there.of_rows(rows)), rows)
            assert fitted.shape == (there.padded,)
            assert fitted.sharding.is_equivalent_to(there.spread(), 1)
            cut = there.cut(fitted)
            assert np.asarray(cut).tolist() == list(range(num_envs))
            assert cut.sharding.is_fully_replicated == (num_envs % 4 != 0)

    def test_what_this_process_has_in_the_order_of_environments() -> None:
        there = place(list(reversed(jax.devices())), 7)
        steps = np.arange(3 * 8).reshape(3, 8)
        np.testing.assert_array_equal(there.host(jax.device_put(steps, there.spread(1)), 1), steps[:, :7])

    @pytest.mark.parametrize(
        ("devices", "error", "text"),
        [
            (0, ValueError, "devices=0 is out of range: JAX has 4"),
            (5, ValueError, "devices=5 is out of range: JAX has 4"),
            (True, TypeError, "devices=True is neither"),
            ("cpu", TypeError, "devices='cpu' is neither"),
            ([], TypeError, "is neither a number, nor a list"),
            ([1, 2], TypeError, "is neither"),
        ],
    )
    def test_mistakes(devices, error, text) -> None:
        with pytest.raises(error, match=text):
            place(devices, 4)

    def test_a_device_twice() -> None:
        with pytest.raises(ValueError, match="names a device twice"):
            place(jax.devices()[:1] * 2, 4)
