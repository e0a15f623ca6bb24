"""Readers: how often each node of a function is read, and so which are computed once and kept."""

from __future__ import annotations

from cogrid._native.expressions import TWICE
from cogrid._native.record import Block, Function, Node

#: Operations that fill an array; others can be written where they are read.
_FILLING = ("concatenate", "write", "reduce", "argmin", "argmax", "cumsum", "sort")


class Readers:
    """What is read how often, and what is kept in memory or variables."""

    def __init__(self, function: Function) -> None:
        self._times: dict[Node, int] = {}
        self._kept: set[Node] = set()
        self._in_memory: set[Node] = set()
        for node in function.outputs:
            self._read(node, node.size)
        self._block(function.block)

    def is_read(self, node: Node) -> bool:
        """Whether anything depends on it."""
        return node in self._times

    def is_stored(self, node: Node) -> bool:
        """Whether it is computed once and kept."""
        if node not in self._times or node.op in ("const", "input", "result"):
            return False
        if node.op in ("view", "reshape"):
            return node in self._in_memory
        return node.op in _FILLING or node in self._kept or self._times[node] > 1

    def _block(self, block: Block) -> None:
        for node in reversed(block.nodes):
            if node.op in ("cond", "loop", "call"):
                self._control(node)
            elif node in self._times:
                self._arguments(node)

    def _control(self, node: Node) -> None:
        if not any(out in self._times for out in node.params["outs"]):
            return
        if node.op == "cond":
            for block, results in zip(node.params["blocks"], node.params["results"], strict=True):
                for result, out in zip(results, node.params["outs"], strict=True):
                    if out in self._times:
                        self._read(result, result.size)
                self._block(block)
            self._read(node.args[0], 1)
        elif node.op == "loop":
            for result in node.params["after"]:
                self._read(result, result.size)
            self._block(node.params["block"])
            for arg in node.args:
                self._read(arg, arg.size)
        else:
            for arg in node.args:
                if arg.shape:
                    self._needs_memory(arg)
                self._read(arg, arg.size)

    def _arguments(self, node: Node) -> None:
        if node.op in ("view", "reshape"):
            return  # whoever read it has read its source
        for place, arg in enumerate(node.args):
            if node.op == "take" and place == 0:
                if node.args[1].op != "const" or node.size > node.args[1].size or node.size > 8:
                    self._needs_memory(arg, views=False)
                self._read(arg, node.size)
            else:
                self._read(arg, arg.size if node.op in ("write", "sort") else max(node.size, arg.size))
            if node.op == "map" and node.params["name"] in TWICE:
                self._keep(arg)

    def _read(self, node: Node, size: int) -> None:
        """A node is read, this many entries in all."""
        self._times[node] = self._times.get(node, 0) + 1
        if node.op == "view":
            self._read(node.args[0], size)
        elif node.op == "reshape":
            self._needs_memory(node.args[0])
            self._read(node.args[0], size)
        elif size > node.size:
            self._kept.add(node)

    def _keep(self, node: Node) -> None:
        while node.op in ("view", "reshape"):
            node = node.args[0]
        self._kept.add(node)

    def _needs_memory(self, node: Node, views: bool = True) -> None:
        """It is read at places that are known only in C."""
        self._keep(node)
        while node.op == "reshape":
            node = node.args[0]
        if views and node.op == "view":
            self._in_memory.add(node)
