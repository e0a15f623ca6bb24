"""Signatures: what a compiled function takes and returns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Leaf(NamedTuple):
    """An array that a compiled function takes or returns."""

    shape: tuple[int, ...]  # without the batch
    dtype: np.dtype[Any]
    has_batch: bool  # one per environment; else one for all of them


class Signature(NamedTuple):
    """The arrays that a compiled function takes and returns; its symbol is "cogrid_" and the name."""

    name: str
    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]
