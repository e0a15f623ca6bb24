"""Glue: straight Python for arguments of one structure; loops over the structure take twice as long."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cogrid._native.trees import LEAF, Branch, Static
from cogrid.backend.array import Array


def glued(
    given: Any,
    arrays: Sequence[Array],
    takes: Sequence[int],
    run: Callable[[list[Array]], list[Array]],
    result: Any,
    gives: Sequence[tuple[str, int]],
) -> Callable[[tuple[Any, ...]], Any]:
    """A function of a tuple of arguments: the result, or None for another structure, shape or type.

    `run` gets those of the arguments' arrays that it `takes`. An array of the result is one of theirs,
    ("input", k), or one that `run` returned, ("output", k).
    """
    text = GlueText()
    text.take_apart(given, "args", iter(arrays))
    if any(where == "output" for where, _ in gives):
        inputs = ", ".join(f"input{k}" for k in takes)
        text.lines.append(f"outputs = {text.constant(run)}([{inputs}])")
    places = (f"input{k}" if where == "input" else f"outputs[{k}]" for where, k in gives)
    made = text.put_together(result, places)
    body = "".join(f"    {line}\n" for line in (*text.lines, f"return {made}"))
    exec(f"def glue(args):\n{body}", text.names)
    glue: Callable[[tuple[Any, ...]], Any] = text.names["glue"]
    return glue


class GlueText:
    """Lines of Python and the values of their constants."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"new": object.__new__, "put": object.__setattr__}
        self._inputs = self._named = 0

    def constant(self, value: Any) -> str:
        """A name for the value."""
        name = f"constant{len(self.names)}"
        self.names[name] = value
        return name

    def _unless(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return None")

    def _name(self, kind: str) -> str:
        self._named += 1
        return f"{kind}{self._named}"

    def take_apart(self, structure: Any, value: str, arrays: Iterator[Array]) -> None:
        """Name the arrays input0, input1, …, and return None unless all is as it should be."""
        if structure is LEAF:
            name, array = f"input{self._inputs}", next(arrays)
            self._inputs += 1
            kind, dtype = self.constant(type(array)), self.constant(array.dtype)
            self.lines.append(f"{name} = {value}")
            self._unless(f"type({name}) is not {kind} or {name}.dtype is not {dtype}")
            self._unless(f"{name}.shape != {array.shape}")
        elif isinstance(structure, Branch):
            name = self._name("branch")
            self.lines.append(f"{name} = {value}")
            self._unless(f"type({name}) is not {self.constant(structure.kind)}")
            is_record = dataclasses.is_dataclass(structure.kind)
            if structure.kind is dict:
                self._unless(f"tuple({name}) != {self.constant(structure.names)}")
            elif not is_record:
                self._unless(f"len({name}) != {len(structure.parts)}")
            for key, part in zip(structure.names, structure.parts, strict=True):
                inner = f".{key}" if is_record else f"[{self.constant(key)}]"
                self.take_apart(part, name + inner, arrays)
        else:
            self._unless(f"{value} is not {self.constant(_fixed(structure))}")

    def put_together(self, structure: Any, arrays: Iterator[str]) -> str:
        """An expression for the tree of this structure."""
        if structure is LEAF:
            return next(arrays)
        if not isinstance(structure, Branch):
            return self.constant(_fixed(structure))
        kind: Any = structure.kind
        inner = [self.put_together(part, arrays) for part in structure.parts]
        keys = map(self.constant, structure.names)
        fields = ", ".join(f"{key}: {part}" for key, part in zip(keys, inner, strict=True))
        if dataclasses.is_dataclass(structure.kind):
            name = self._name("branch")
            self.lines += [f"{name} = new({self.constant(kind)})", f"put({name}, '__dict__', {{{fields}}})"]
            return name
        if structure.kind is dict:
            return f"{{{fields}}}"
        listed = "".join(f"{part}, " for part in inner)
        if hasattr(kind, "_fields"):
            return f"{self.constant(kind)}({listed})"
        return f"({listed})" if structure.kind is tuple else f"[{listed}]"


def _fixed(structure: Any) -> Any:
    return structure.value if isinstance(structure, Static) else None
