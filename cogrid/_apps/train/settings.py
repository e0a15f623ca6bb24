"""Options that suit single environments better than the defaults: found by trial, see docs/training.md."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

#: Options by id; the command line takes precedence.
SETTINGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "Overcooked-CoordinationRing-V0": {"minibatches": 4, "learning_rate": 1e-3, "entropy": 0.02},
        # Short episodes start often: four steps gained before the first soup are one more soup in 400.
        "Overcooked-AsymmetricAdvantages-V0": {"set": {"max_steps": 100}},
        # In long episodes the counters fill up with soups, until serving is the only place left for one.
        "Overcooked-CounterCircuit-V0": {"set": {"max_steps": 1600, "random_start": True}},
    }
)
