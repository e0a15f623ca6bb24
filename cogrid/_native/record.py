"""The record: what was done to arrays, as nodes in blocks, in the order in which they were made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Operations that are never shared, because they own blocks or stand for what a block is given.
_UNIQUE = ("input", "cond", "loop", "call", "result")


class Node:
    """One value: how it is made, its shape and its type."""

    __slots__ = ("args", "dtype", "op", "params", "shape")

    def __init__(
        self, op: str, args: Sequence[Node], shape: Sequence[int], dtype: Any, params: dict[str, Any]
    ) -> None:
        self.op = op  # one of those that `emit.py` writes
        self.args = tuple(args)
        self.shape = tuple(int(size) for size in shape)
        self.dtype = np.dtype(dtype)
        self.params = params

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)


@dataclass(eq=False)
class Block:
    """Nodes that are computed together: those of a function, of a branch, or of a loop's body."""

    parent: Block | None = None
    nodes: list[Node] = field(default_factory=list)
    seen: dict[Any, Node] = field(default_factory=dict)
    parts: dict[Any, Any] = field(
        default_factory=dict
    )  # functions that were recorded, by what they were given

    def inner(self) -> Block:
        """A new block inside of this one."""
        return Block(self, parts=self.parts)

    def find(self, key: Any) -> Node | None:
        """The same node, if it was made here or before this block."""
        found = self.seen.get(key)
        return found if found is not None or self.parent is None else self.parent.find(key)


@dataclass(eq=False)
class Function:
    """A recorded function."""

    name: str
    block: Block
    inputs: list[Node]
    outputs: list[Node]
    input_names: list[str]
    output_names: list[str]


#: The block that is being recorded; None outside of `recorded`.
recording: ContextVar[Block | None] = ContextVar("recording", default=None)


@contextmanager
def inside(block: Block) -> Iterator[Block]:
    """Record into this block."""
    before = recording.set(block)
    try:
        yield block
    finally:
        recording.reset(before)


def current() -> Block:
    """The block that is being recorded."""
    if (block := recording.get()) is None:
        raise RuntimeError(
            "a traced array was used after its recording: return it from the function instead."
        )
    return block


def made(
    kind: Callable[..., Any], op: str, args: Sequence[Any], shape: Sequence[int], dtype: Any, **params: Any
) -> Any:
    """A node of this kind in the block that is being recorded, or the equal one that is there already."""
    block = current()
    node = kind(op, args, shape, dtype, params)
    if op not in _UNIQUE:
        facts = tuple((name, value) for name, value in sorted(params.items()))
        key = (op, tuple(map(id, args)), node.shape, node.dtype, facts)
        if (found := block.find(key)) is not None:
            return found
        block.seen[key] = node
    block.nodes.append(node)
    return node
