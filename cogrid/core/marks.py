"""Marks: whether a cell holds one of some things, by comparison where their numbers follow each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from cogrid.backend.array import Array
from cogrid.core.rules import Rules


def marked(rules: Rules, marks: np.ndarray[Any, Any], cells: Array) -> Array:
    """Whether each symbol is one of `marks` (things,); two comparisons cost much less than a gather."""
    found = np.flatnonzero(marks)
    if not found.size or found[-1] - found[0] >= found.size:
        return rules.lookup(marks, cells)
    return (cells >= found[0].item()) & (cells <= found[-1].item())
