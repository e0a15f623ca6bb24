"""Branches, loops and calls: operations with blocks of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cogrid._native.reading import Readers
from cogrid._native.record import Block, Function, current, inside, made
from cogrid._native.traced import Traced, broadcast, cast, common_type, constant, traced
from cogrid._native.trees import flatten, paths, rebuild


def when(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """The result of one of two functions, which must return arrays of the same shapes and types."""
    if (known := constant(traced(test))) is not None:
        return then() if known else otherwise()
    blocks, found, structures = [], [], []
    for branch in (then, otherwise):
        with inside(current().inner()) as block:
            leaves: list[Any] = []
            structures.append(flatten(branch(), leaves))
            blocks.append(block)
            found.append(list(map(traced, leaves)))
    yes, no = found
    if [(a.shape, a.dtype) for a in yes] != [(b.shape, b.dtype) for b in no] or structures[0] != structures[
        1
    ]:
        raise TypeError("the two branches of a condition return different shapes or types.")
    differ = [k for k, (a, b) in enumerate(zip(yes, no, strict=True)) if a is not b]
    results = [[each[k] for k in differ] for each in found]
    node = made(Traced, "cond", (test,), (), np.int32, blocks=blocks, results=results)
    merged = list(yes)
    for place, out in zip(differ, _results(node, results[0]), strict=True):
        merged[place] = out
    return rebuild(structures[0], merged)


def loop(times: int, change: Callable[[Any, Any], Any], value: Any, settles: bool) -> Any:
    """`value = change(number, value)` for each number; a loop that settles stops when nothing changes."""
    leaves: list[Any] = []
    structure = flatten(value, leaves)
    first = list(map(traced, leaves))
    while True:
        with inside(current().inner()) as block:
            number = Traced("input", (), (), np.int32, {})
            inputs = [Traced("input", (), one.shape, one.dtype, {}) for one in first]
            found: list[Any] = []
            flatten(change(number, rebuild(structure, inputs)), found)
            after = list(map(traced, found))
        types = [common_type(a, b) for a, b in zip(first, after, strict=True)]
        before = first
        first = [broadcast(cast(a, kind), b.shape) for a, b, kind in zip(before, after, types, strict=True)]
        if all(a is b for a, b in zip(before, first, strict=True)):
            break
    with inside(block):
        after = [cast(b, kind) for b, kind in zip(after, types, strict=True)]
    node = made(
        Traced,
        "loop",
        first,
        (),
        np.int32,
        block=block,
        number=number,
        inputs=inputs,
        after=after,
        times=times,
        settles=settles,
    )
    return rebuild(structure, _results(node, first))


@dataclass(frozen=True)
class RecordedPart:
    """A recorded part: which arrays it takes, and what its result is made of."""

    function: Function
    takes: list[int]  # of the arrays that it was given
    gives: list[Any]  # for each array of the result ("input", k), ("output", k) or ("constant", value)
    structure: Any  # of the result

    def computing_constants(self) -> RecordedPart:
        """The same where constants are outputs too, for callers outside of C."""
        outputs, gives = list(self.function.outputs), []
        names = list(self.function.output_names)
        for where, k in self.gives:
            if where == "constant":
                gives.append(("output", len(outputs)))
                outputs.append(Traced("const", (), k.shape, k.dtype, {"value": k}))
                names.append("constant")
            else:
                gives.append((where, k))
        function = replace(self.function, outputs=outputs, output_names=names)
        return replace(self, function=function, gives=gives)


def call(name: str, function: Callable[..., Any], *values: Any) -> Any:
    """The function's result, as a call of a C function of that name."""
    given: list[Any] = []
    structure = flatten(values, given)
    leaves = list(map(traced, given))
    same = [next(i for i, other in enumerate(leaves) if other is leaf) for leaf in leaves]
    facts = tuple(
        (first, leaf.params["value"].tobytes() if leaf.op == "const" else None, leaf.shape, leaf.dtype)
        for first, leaf in zip(same, leaves, strict=True)
    )
    parts, key = current().parts, (name, function, structure, facts)
    if key not in parts:
        parts[key] = record(name, function, structure, leaves, parts)
    part = parts[key]
    args = [leaves[k] for k in part.takes]
    outputs = part.function.outputs
    results: list[Any] = []
    if outputs:
        results = _results(made(Traced, "call", args, (), np.int32, function=part.function), outputs)
    sources = {"input": leaves, "output": results}
    return rebuild(
        part.structure, [sources[where][k] if where in sources else traced(k) for where, k in part.gives]
    )


def record(
    name: str, function: Callable[..., Any], structure: Any, leaves: list[Any], parts: dict[Any, Any]
) -> RecordedPart:
    """Record a function of arrays like these; constants stay constants, an array given twice is one input."""
    with inside(Block(parts=parts)) as block:
        inputs: dict[int, Traced] = {}  # by the first place of the array
        inner = []
        for leaf in leaves:
            first = next(i for i, other in enumerate(leaves) if other is leaf)
            if leaf.op == "const":
                inner.append(traced(leaf.params["value"]))
            else:
                inner.append(inputs.setdefault(first, Traced("input", (), leaf.shape, leaf.dtype, {})))
        result = function(*rebuild(structure, inner))
        found: list[Any] = []
        result_structure = flatten(result, found)
        nodes = list(map(traced, found))
    outputs = _distinct(node for node in nodes if node.op not in ("const", "input"))
    gives: list[Any] = []
    for node in nodes:
        if node.op == "const":
            gives.append(("constant", node.params["value"]))
        elif node.op == "input":
            gives.append(("input", next(k for k, one in enumerate(inner) if one is node)))
        else:
            gives.append(("output", next(k for k, one in enumerate(outputs) if one is node)))
    all_names, out_names = list(paths(structure)), list(paths(result_structure))
    firsts = [next(i for i, node in enumerate(nodes) if node is one) for one in outputs]
    recorded = Function(name, block, [], outputs, [], [_short(out_names[k]) for k in firsts])
    readers = Readers(recorded)
    takes = [k for k, node in inputs.items() if readers.is_read(node)]
    recorded.inputs = [inputs[k] for k in takes]
    recorded.input_names = [_short(all_names[k]) for k in takes]
    return RecordedPart(recorded, takes, gives, result_structure)


def _results(node: Any, like: list[Any]) -> list[Any]:
    outs = [made(Traced, "result", (node,), one.shape, one.dtype, number=k) for k, one in enumerate(like)]
    node.params["outs"] = outs
    return outs


def _distinct(nodes: Any) -> list[Any]:
    found: dict[int, Any] = {}
    for node in nodes:
        found.setdefault(id(node), node)
    return list(found.values())


def _short(path: str) -> str:
    """The path without the numbers of arguments at its beginning."""
    words = path.split("_")
    named = list(itertools.dropwhile(str.isdigit, words))
    return "_".join(named) or f"value_{path}"
