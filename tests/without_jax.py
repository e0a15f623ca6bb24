"""A pytest plugin, `-p tests.without_jax`: the tests run as if JAX were not installed."""

import sys

sys.modules["jax"] = None  # type: ignore[assignment]
