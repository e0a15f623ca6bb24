"""C99 from recorded functions: a C function for each, tables as constants, and the entry that is called."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from cogrid._native.body import Body
from cogrid._native.expressions import ctype, identifier, literal
from cogrid._native.record import Function
from cogrid._native.signature import Leaf, Signature

_HEAD = """/* Made by cogrid from the rules of an environment; it is the same step that cogrid runs on NumPy.

   Each exported function takes pointers to arrays: its inputs, then its outputs, with one entry for each
   environment, of which it computes those from `first` up to `end`. */
#include <stdint.h>
#include <string.h>

#ifndef COGRID_EXPORT
#if defined(_WIN32)
#define COGRID_EXPORT __declspec(dllexport)
#else
#define COGRID_EXPORT __attribute__((visibility("default")))
#endif
#endif

/* Asks for the memory of a later environment: without it, writing to memory that is not in the cache takes
   two thirds of the time of a large batch. */
#ifdef __GNUC__
#define COGRID_PREFETCH(address) __builtin_prefetch((address), 1)
#else
#define COGRID_PREFETCH(address) ((void)(address))
#endif
"""
#: Of outputs of so many bytes for each environment, the memory of the environment that is so far ahead.
_LARGE, _AHEAD, _LINE = 256, 4, 64

HELPERS = MappingProxyType(
    {
        "floor_divide": """static inline int32_t cogrid_floor_divide(int32_t a, int32_t b)
{
    int32_t q = a / b;
    return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}""",
        "remainder": """static inline int32_t cogrid_remainder(int32_t a, int32_t b)
{
    int32_t r = a % b;
    return (r != 0) & ((r < 0) != (b < 0)) ? r + b : r;
}""",
        # Places come from states, which users can make: a wrong one reads and writes the first entry.
        "within": """static inline int32_t cogrid_within(int32_t place, int32_t size)
{
    return (uint32_t)place < (uint32_t)size ? place : 0;
}""",
        "bitwise_count": """static inline uint8_t cogrid_bitwise_count(uint32_t x)
{
    uint8_t n = 0;
    for (; x; x &= x - 1)
        n++;
    return n;
}""",
    }
)
_SORT = """static void cogrid_sort_{name}({type} *a, int n)
{{
    static const int gaps[] = {{301, 132, 57, 23, 10, 4, 1}};
    for (int g = 0; g < 7; g++)
        for (int i = gaps[g]; i < n; i++) {{
            {type} x = a[i];
            int j = i;
            for (; j >= gaps[g] && a[j - gaps[g]] > x; j -= gaps[g])
                a[j] = a[j - gaps[g]];
            a[j] = x;
        }}
}}"""
_BITS = """static inline {gives} cogrid_bits_{name}({takes} x)
{{
    {gives} y;
    memcpy(&y, &x, sizeof y);
    return y;
}}"""


class Source:
    """A C file: tables, helpers and functions, each written once."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, bytes], tuple[str, np.ndarray]] = {}
        self._helpers: dict[str, str] = {}
        self._functions: dict[int, tuple[str, list[str]]] = {}  # by the identity of the recorded function
        self._names: dict[str, int] = {}
        self._entries: list[str] = []

    def table(self, value: np.ndarray) -> str:
        """The name of a constant array."""
        key = (value.dtype.str, value.tobytes())
        if key not in self._tables:
            self._tables[key] = (f"table{len(self._tables) + 1}", np.ascontiguousarray(value))
        return self._tables[key][0]

    def helper(self, name: str) -> str:
        """The name of a C function that an operation needs."""
        self._helpers.setdefault(name, HELPERS[name])
        return f"cogrid_{name}"

    def sort(self, dtype: np.dtype) -> str:
        """The name of the function that sorts an array of this type."""
        self._helpers.setdefault(f"sort {dtype}", _SORT.format(name=dtype.name, type=ctype(dtype)))
        return f"cogrid_sort_{dtype.name}"

    def bits(self, takes: np.dtype, gives: np.dtype) -> str:
        """The name of the function that reads the bits of one type as another."""
        name = f"{takes.name}_{gives.name}"
        text = _BITS.format(name=name, takes=ctype(takes), gives=ctype(gives))
        self._helpers.setdefault(f"bits {name}", text)
        return f"cogrid_bits_{name}"

    def function(self, recorded: Function) -> str:
        """The name of the C function for a recorded one, which is written now if it is new."""
        if id(recorded) not in self._functions:
            name = self._unique(f"env_{identifier(recorded.name)}")
            lines = Body(self, recorded).written(name)
            self._functions[id(recorded)] = (name, lines)
        return self._functions[id(recorded)][0]

    def entry(self, recorded: Function, batched: Sequence[bool]) -> Signature:
        """Write a function that can be called from outside; which of the inputs have a batch."""
        inner = self.function(recorded)
        name = identifier(recorded.name)
        inputs = tuple(Leaf(x.shape, x.dtype, has) for x, has in zip(recorded.inputs, batched, strict=True))
        outputs = tuple(Leaf(x.shape, x.dtype, True) for x in recorded.outputs)
        args = []
        for k, (node, leaf) in enumerate(
            zip([*recorded.inputs, *recorded.outputs], [*inputs, *outputs], strict=True)
        ):
            const = "const " if k < len(inputs) else ""
            place = f"({const}{ctype(node.dtype)} *)p[{k}]"
            place += (
                f" + i * {node.size}"
                if leaf.has_batch and node.size != 1
                else " + i"
                if leaf.has_batch
                else ""
            )
            args.append(f"*({place})" if const and not node.shape else place)
        lines = [f"COGRID_EXPORT void cogrid_{name}(int64_t first, int64_t end, void *const *p)", "{"]
        lines.append("    for (int64_t i = first; i < end; i++) {")
        for k, node in enumerate(recorded.outputs, len(inputs)):
            if (size := node.size * node.dtype.itemsize) >= _LARGE:
                place = f"(const char *)p[{k}] + (i + {_AHEAD}) * {size} + k"
                lines.append(f"        for (int k = 0; k < {size}; k += {_LINE})")
                lines.append(f"            COGRID_PREFETCH({place});")
        lines += [
            f"        {inner}(",
            "            " + ",\n            ".join(args),
            "        );",
            "    }",
            "}",
        ]
        self._entries.append("\n".join(lines))
        return Signature(name, inputs, outputs)

    def text(self, head: str = _HEAD) -> str:
        """The file, which begins with `head`."""
        tables = [self._written(name, value) for name, value in self._tables.values()]
        functions = ["\n".join(lines) for _, lines in self._functions.values()]
        return "\n\n".join([head, *self._helpers.values(), *tables, *functions, *self._entries]) + "\n"

    def _unique(self, name: str) -> str:
        self._names[name] = number = self._names.get(name, 0) + 1
        return name if number == 1 else f"{name}{number}"

    def _written(self, name: str, value: np.ndarray) -> str:
        numbers = [literal(one, value.dtype) for one in value.reshape(-1)]
        lines, line = [], ""
        for number in numbers:
            if len(line) + len(number) > 110:
                lines.append(line)
                line = ""
            line += number + ", "
        shape = " × ".join(map(str, value.shape))
        body = "\n".join(f"    {one.rstrip()}" for one in [*lines, line])
        return f"static const {ctype(value.dtype)} {name}[{value.size}] = {{ /* {shape} */\n{body}\n}};"
