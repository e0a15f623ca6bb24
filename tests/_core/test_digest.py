"""The text of values in a digest: no addresses, no order of sets, no integer widths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from cogrid._core.digest import text


@dataclass(frozen=True)
class Pot:
    items: frozenset[str]
    timer: int = 0


class Nameless:
    """Its repr is an address."""


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (frozenset({"b", "a"}), "{'a', 'b'}"),
        (Pot(frozenset({"b", "a"}), 3), "Pot({'a', 'b'}, 3)"),
        (("soup", None, 1.5), "tuple('soup', None, 1.5)"),
        ({"b": 1, "a": 2}, "{'a': 2, 'b': 1}"),
        (np.array([1, 2], np.int8), "[1, 2]"),
        (np.array([1, 2], np.int64), "[1, 2]"),
        (np.int16(4), "4"),
        (Nameless(), "Nameless"),
        (lambda thing: 0, "function"),
    ],
)
def test_text_of_values(value: Any, words: str) -> None:
    assert text(value) == words
