"""Strict JAX for every test: no implicit promotion of types or ranks; and several devices."""

from __future__ import annotations

from tests.support import HAS_JAX

if HAS_JAX:
    import jax

    jax.config.update("jax_numpy_dtype_promotion", "strict")
    jax.config.update("jax_numpy_rank_promotion", "raise")
    jax.config.update("jax_num_cpu_devices", 4)  # so that rollouts are spread, unevenly, by default
