"""Expressions: what an operation on single entries is in C."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

_TYPES = MappingProxyType(
    {
        "bool": "uint8_t",
        "float32": "float",
        **{
            name: f"{name}_t"
            for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
        },
    }
)
_ARITHMETIC = MappingProxyType({"add": "+", "subtract": "-", "multiply": "*"})
_BITWISE = MappingProxyType({"and": "&", "or": "|", "xor": "^"})
COMPARISONS = MappingProxyType(
    {
        "equal": "==",
        "not_equal": "!=",
        "less": "<",
        "less_equal": "<=",
        "greater": ">",
        "greater_equal": ">=",
    }
)
#: Operations whose arguments are written twice.
TWICE = ("minimum", "maximum", "absolute")
#: Variables of loops.
LETTERS = "ijklmn"
_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while changes
"""
_TAKEN = re.compile(rf"(v\d+|v\d+_\d+|table\d+|[{LETTERS}]\d*|\d.*|)\Z")  # what the emitter calls its own
_ATOM = re.compile(r"[\w.]+(\[[^][]*\])?\Z")


def ctype(dtype: Any) -> str:
    """The C type of an array's entries."""
    name = np.dtype(dtype).name
    if name not in _TYPES:
        raise TypeError(f"the native backend has no arrays of {name}.")
    return _TYPES[name]


def identifier(name: str) -> str:
    """The name with underscores for all that C does not allow, and one more if it has another meaning."""
    name = re.sub(r"[^a-zA-Z0-9_]+", "_", name)
    return f"{name}_" if name in _KEYWORDS.split() or _TAKEN.match(name) else name


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """A number in C."""
    if dtype.kind == "f":
        number = float(value)
        if not np.isfinite(number):
            return {"nan": "(0.0f / 0.0f)", "inf": "(1.0f / 0.0f)"}.get(str(number), "(-1.0f / 0.0f)")
        return f"{np.float32(value)!s}f"  # the shortest text that is read as the same number
    number = int(value)
    if dtype.kind == "u" and dtype.itemsize >= 4:
        return f"{number}u" + "ll" * (dtype.itemsize == 8)
    if number == np.iinfo(np.int32).min:
        return "(-2147483647 - 1)"
    return str(number)


def wrapped(text: str) -> str:
    """The expression in parentheses, unless it is a name, an entry, a number or in parentheses already."""
    if _ATOM.match(text) or (text[0] == "(" and _closes(text)):
        return text
    return f"({text})"


def _closes(text: str) -> bool:
    """Whether the first parenthesis is closed by the last one, and by none before it."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place == len(text) - 1
    return False


def applied(source: Any, name: str, takes: np.dtype[Any], gives: np.dtype[Any], args: Sequence[str]) -> str:
    """The operation of that name on entries, from one type to another; `source` gives helper functions."""
    one = [wrapped(arg) for arg in args]
    kind = ctype(gives)
    if name == "where" and one[0] in ("0", "1"):
        return args[1] if one[0] == "1" else args[2]
    if name == "where":
        return f"({one[0]} ? {one[1]} : {one[2]})"
    if name in COMPARISONS and one[0] == one[1] and takes.kind != "f":
        return str(int("equal" in name.replace("not_equal", "")))
    if name in COMPARISONS:
        return f"({one[0]} {COMPARISONS[name]} {one[1]})"
    if name in _BITWISE:
        return _fits(f"{one[0]} {_BITWISE[name]} {one[1]}", gives, narrow=False)
    if name in _ARITHMETIC:
        if gives.kind == "b":
            return f"({one[0]} {'|' if name == 'add' else '&'} {one[1]})"
        if name == "multiply" and gives == np.uint16:
            return f"(uint16_t)((uint32_t){one[0]} * {one[1]})"
        return _fits(f"{one[0]} {_ARITHMETIC[name]} {one[1]}", gives)
    if name == "cast":
        return f"({one[0]} != 0)" if gives.kind == "b" else f"({kind}){one[0]}"
    if name in ("minimum", "maximum"):
        return f"({one[0]} {'<' if name == 'minimum' else '>'} {one[1]} ? {one[0]} : {one[1]})"
    if name == "absolute":
        return _fits(f"{one[0]} < 0 ? -{one[0]} : {one[0]}", gives)
    if name == "negative":
        return _fits(f"-{one[0]}" if gives.kind != "u" else f"0u - {one[0]}", gives)
    if name == "not":
        return f"(!{one[0]})" if gives.kind == "b" else f"({kind})~{one[0]}"
    if name == "left_shift":
        return f"({kind})((uint{max(32, 8 * gives.itemsize)}_t){one[0]} << {one[1]})"
    if name == "right_shift":
        return _fits(f"{one[0]} >> {one[1]}", gives, narrow=False)
    if name == "divide":
        return f"({one[0]} / {one[1]})"
    if name in ("floor_divide", "remainder"):
        if gives.kind == "u":
            return f"({one[0]} {'/' if name == 'floor_divide' else '%'} {one[1]})"
        return f"({kind}){source.helper(name)}({args[0]}, {args[1]})"
    if name == "bitwise_count":
        return f"{source.helper(name)}({args[0]})"
    if name == "bits":
        return f"{source.bits(takes, gives)}({args[0]})"
    raise NotImplementedError(name)


def _fits(text: str, dtype: np.dtype[Any], narrow: bool = True) -> str:
    """The expression as this type: C computes narrow integers as `int`, so the result is cut off again."""
    if narrow and dtype.kind in "iu" and dtype.itemsize < 4:
        return f"({ctype(dtype)})({text})"
    return f"({text})"
