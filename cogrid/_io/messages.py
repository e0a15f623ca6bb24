"""Messages: values, counts and choices in a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def brief(value: Any) -> str:
    """A value for an error message: its repr, on one line and not too long."""
    try:
        text = repr(value)
    except RecursionError:
        return f"a {type(value).__name__} of many values inside each other"
    if "\n" in text:  # an array of several rows
        text = " ".join(text.split())
    return text if len(text) <= 120 else f"{text[:119]}…"


def several(count: int, noun: str) -> str:
    """A number and its noun, for a message: "1 step", "2 steps"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(words: Iterable[str], last: str = "and") -> str:
    """Words in a sentence: "a", "a and b", "a, b and c"."""
    *first, end = words
    return f"{', '.join(first)} {last} {end}" if first else end


def is_choice(value: Any, choices: Iterable[str]) -> bool:
    """Whether the value is one of the strings; False for an array or a list."""
    return isinstance(value, str) and value in choices
