"""Bodies: a recorded function as C statements; small arrays become single variables, large ones loops."""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from cogrid._native.expressions import LETTERS, TWICE, applied, ctype, identifier, literal, wrapped
from cogrid._native.reading import Readers
from cogrid._native.record import Block, Function, Node

Index = list[Any]  # for each axis an int, or a C expression
#: Up to this many entries are written one by one, and kept in variables of their own.
SMALL = 8
#: Operations whose entries are expressions of their arguments' entries.
_VARIABLE = re.compile(r"\bv\d+(?:_\d+)?\b")
#: A line that declares or writes a variable, but may read others.
_TARGET = re.compile(r" *(?:const )?(?:\w+ |memcpy\()?(v\d+(?:_\d+)?)(?:\[[^][]*\]| \+ \d+)?(?:;| = |,)")
#: Operations whose entries may be written more than once.
_WRITTEN_AGAIN = ("write", "result")
INLINE = ("map", "take", "view", "reshape")


def flat(index: Index, shape: Sequence[int]) -> Any:
    """The place of an entry in memory: an int, or a C expression."""
    known, terms, stride = 0, [], math.prod(shape)
    for one, size in zip(index, shape, strict=True):
        stride //= max(size, 1)
        if isinstance(one, int):
            known += one * stride
        elif size > 1:
            terms.append(one if stride == 1 else f"{wrapped(one)} * {stride}")
    if not terms:
        return known
    return " + ".join([*terms, str(known)] if known else terms)


class Body:
    """Writes one function. What is written goes to `lines`; expressions are strings."""

    def __init__(self, source: Any, function: Function) -> None:
        self.source, self.function = source, function
        self.readers = Readers(function)
        self.in_memory: set[Node] = set()  # small arrays that are read at places known only in C
        self._start()

    def _start(self) -> None:
        self.lines: list[str] = []
        self.names: dict[Node, str] = {}  # of what has been written, an array or a single value
        self.split: set[Node] = set()  # of these, what is kept in variables of its own
        self.depth, self.loops, self.count = 1, 0, 0
        self.whole: set[Node] = set()

    def written(self, name: str) -> list[str]:
        """The text of the function; written again while arrays turn out to be needed in memory."""
        while True:
            self._start()
            self._function()
            if self.whole <= self.in_memory:
                break
            self.in_memory |= self.whole
        lines = _without_unread(self.lines)
        used = set(re.findall(r"\w+", " ".join(lines)))
        names = [
            *(self.names[node] for node in self.function.inputs),
            *self.out,
        ]  # outputs may have no entries
        unread = [f"    (void){one};" for one in names if one not in used]
        return [*self._head(name), "{", *unread, *lines, "}"]

    def _function(self) -> None:
        recorded = self.function
        taken = names_of(recorded.input_names, [])
        self.names |= dict(zip(recorded.inputs, taken, strict=True))
        self.out = names_of([f"{name}_out" for name in recorded.output_names], taken)
        self.places: dict[Node, str] = {}  # what is computed right where the caller wants it
        for node, out in zip(recorded.outputs, self.out, strict=True):
            made_here = node.op not in ("input", "const", "view", "reshape")
            if made_here and node.size > SMALL and (node.op == "result" or self.readers.is_stored(node)):
                self.places.setdefault(node, out)
        self._block(recorded.block)
        for node, out in zip(recorded.outputs, self.out, strict=True):
            if self.places.get(node) != out:
                self._fill(out, node)

    def _head(self, name: str) -> list[str]:
        inputs = [(node, self.names[node]) for node in self.function.inputs]
        outputs = list(zip(self.function.outputs, self.out, strict=True))
        args = [
            f"const {ctype(node.dtype)} *{place}" if node.shape else f"{ctype(node.dtype)} {place}"
            for node, place in inputs
        ]
        args += [f"{ctype(node.dtype)} *restrict {place}" for node, place in outputs]
        shapes = [
            f"{place} ({', '.join(map(str, node.shape))})" for node, place in inputs + outputs if node.shape
        ]
        comment = textwrap.wrap(", ".join(shapes), 100, subsequent_indent="   ")
        return ["/* " + "\n".join(comment) + " */"] * bool(shapes) + [
            f"static void {name}(",
            *textwrap.wrap(", ".join(args), 104, initial_indent="    ", subsequent_indent="    "),
            ")",
        ]

    # Statements

    def put(self, line: str) -> None:
        """Write a line."""
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def braces(self, head: str) -> Iterator[None]:
        """Write what follows inside of braces."""
        self.put(head + " {")
        self.depth += 1
        yield
        self.depth -= 1
        self.put("}")

    def each(self, shape: Sequence[int], body: Callable[[Index], None], unrolled: int = SMALL) -> None:
        """Write `body(index)` for every place: one by one for a few, else in loops."""
        if math.prod(shape) <= unrolled:
            for place in np.ndindex(*shape):
                body(list(place))
            return
        index: Index = []
        opened = 0
        for size in shape:
            if size == 1:
                index.append(0)
                continue
            self.loops += 1
            letter = LETTERS[self.loops - 1] if self.loops <= len(LETTERS) else f"{LETTERS[-1]}{self.loops}"
            opened += 1
            index.append(letter)
            self.put(f"for (int {letter} = 0; {letter} < {size}; {letter}++) {{")
            self.depth += 1
        body(index)
        for _ in range(opened):
            self.loops -= 1
            self.depth -= 1
            self.put("}")

    def _block(self, block: Block) -> None:
        for node in block.nodes:
            if node.op in ("cond", "loop", "call"):
                if any(self.readers.is_read(out) for out in node.params["outs"]):
                    getattr(self, f"_{node.op}")(node)
            elif node.op != "result" and self.readers.is_stored(node):
                self._store(node)

    def _fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def _declare(self, node: Node) -> str:
        """The name of a new variable, or array, for a node."""
        name = self.names[node] = self.places.get(node) or self._fresh()
        if node in self.places:
            return name
        if node.shape and node.size <= SMALL and node not in self.in_memory:
            self.split.add(node)
            for k in range(node.size if node.op in _WRITTEN_AGAIN else 0):
                self.put(f"{ctype(node.dtype)} {name}_{k};")
        elif node.shape:
            self.put(
                f"{ctype(node.dtype)} {name}[{max(1, node.size)}]; /* {' × '.join(map(str, node.shape))} */"
            )
        else:
            self.put(f"{ctype(node.dtype)} {name};")
        return name

    def _store(self, node: Node) -> None:
        """Compute a node into variables or an array of its own."""
        if 0 < node.size <= SMALL and node.op in INLINE and not (node.shape and node in self.in_memory):
            texts = [self._value(node, list(place)) for place in np.ndindex(*node.shape)]
            name = self.names[node] = self._fresh()
            if node.shape:
                self.split.add(node)
            for k, text in enumerate(texts):
                self.put(f"const {ctype(node.dtype)} {name}{f'_{k}' if node.shape else ''} = {text};")
            return
        self._declare(node)
        self._compute(node)

    def _set(self, node: Node, index: Index, text: str) -> None:
        """Write one entry of a node; one that is kept in a variable is declared with its value."""
        declares = node in self.split and node.op not in _WRITTEN_AGAIN
        self.put(f"{f'const {ctype(node.dtype)} ' * declares}{self.at(node, index)} = {text};")

    def _compute(self, node: Node) -> None:
        if node.op in INLINE:
            rows = self._rows(node)
            if not rows:
                self.each(node.shape, lambda index: self._set(node, index, self._value(node, index)))
        else:
            getattr(self, f"_{node.op}")(node)

    def _rows(self, node: Node) -> bool:
        """Copy whole rows of a table; False if the node is not made of such rows."""
        if node.op != "take" or node.params["axis"] != 0 or node in self.split:
            return False
        table, index = node.args
        row = node.size // max(1, index.size)
        if row * node.dtype.itemsize < 4 or row == 1:
            return False
        source, name = self._memory(table), self.names[node]

        def copy(place: Index) -> None:
            there, here = (
                flat([self._place(index, place, table.shape[0]), 0], (table.shape[0], row)),
                flat([*place, 0], (*index.shape, row)),
            )
            self.put(f"memcpy({_plus(name, here)}, {_plus(source, there)}, {row * node.dtype.itemsize});")

        self.each(index.shape, copy)
        return True

    def _fill(self, name: str, node: Node) -> None:
        """Write all of a node, wherever it is, to an array of this name."""
        size = node.size * node.dtype.itemsize
        if node.size > SMALL and (source := self._as_memory(node)) is not None:
            self.put(f"memcpy({name}, {source}, {size});")
            return
        self.each(
            node.shape, lambda index: self.put(f"{name}[{flat(index, node.shape)}] = {self.at(node, index)};")
        )

    def _copy_in(self, target: Node, node: Node) -> None:
        """Write all of a node to another one that has been declared."""
        if target in self.split or target.shape == ():
            self.each(node.shape, lambda index: self._set(target, index, self.at(node, index)))
        else:
            self._fill(self.names[target], node)

    def _concatenate(self, node: Node) -> None:
        axis, first = node.params["axis"], 0
        for part in node.args:

            def one(index: Index, part: Node = part, first: int = first) -> None:
                here = [_sum(place, first) if d == axis else place for d, place in enumerate(index)]
                self._set(node, here, self.at(part, index))

            source = (
                self._as_memory(part) if part.size > SMALL and math.prod(node.shape[:axis]) == 1 else None
            )
            if source is not None:
                place = flat([first if d == axis else 0 for d in range(len(node.shape))], node.shape)
                self.put(
                    f"memcpy({_plus(self.names[node], place)}, {source}, {part.size * part.dtype.itemsize});"
                )
            else:
                self.each(part.shape, one)
            first += part.shape[axis]

    def _write(self, node: Node) -> None:
        grid, where, value, *test = node.args
        self._copy_in(node, grid)

        def one(index: Index) -> None:
            place = self._place(where, index, grid.shape[-1])
            line = f"{self.at(node, [*index[:-1], place])} = {self.at(value, index)};"
            self.put(f"if ({self.at(test[0], index)}) {line}" if test else line)

        self.each(where.shape, one)

    def _reduce(self, node: Node) -> None:
        (array,), axes, name = node.args, node.params["axes"], node.params["name"]
        inner = [array.shape[d] for d in axes]

        def one(index: Index) -> None:
            def term(places: Index) -> str:
                outer, along = iter(index), iter(places)
                return self.at(
                    array, [next(along) if d in axes else next(outer) for d in range(len(array.shape))]
                )

            def add(total: str, places: Index) -> None:
                if name in TWICE:
                    each = self._fresh()
                    self.put(f"const {ctype(node.dtype)} {each} = {term(places)};")
                    sign = "<" if name == "minimum" else ">"
                    self.put(f"if ({each} {sign} {total}) {total} = {each};")
                else:
                    more = [total, term(places)]
                    self.put(f"{total} = {applied(self.source, name, node.dtype, node.dtype, more)};")

            size = math.prod(inner)
            if 0 < size <= SMALL and name not in TWICE:
                text = ""
                for places in np.ndindex(*inner):
                    more = term(list(places))
                    text = applied(self.source, name, node.dtype, node.dtype, [text, more]) if text else more
                self._set(node, index, text)
                return
            total = self._fresh()
            start = term([0] * len(inner)) if name in TWICE else literal(name == "and", node.dtype)
            self.put(f"{ctype(node.dtype)} {total} = {start};")
            self.each(inner, lambda places: add(total, places))
            self._set(node, index, total)

        self.each(node.shape, one)

    def _argmin(self, node: Node) -> None:
        (array,), sign = node.args, "<" if node.op == "argmin" else ">"

        def one(index: Index) -> None:
            best, where, each, kind = self._fresh(), self._fresh(), self._fresh(), ctype(array.dtype)
            self.put(f"{kind} {best} = {self.at(array, [*index, 0])};")
            self.put(f"int32_t {where} = 0;")

            def along(place: Index) -> None:
                self.put(f"const {kind} {each} = {self.at(array, [*index, *place])};")
                with self.braces(f"if ({each} {sign} {best})"):
                    self.put(f"{best} = {each};")
                    self.put(f"{where} = {place[0]};")

            self.each(array.shape[-1:], along, unrolled=0)
            self._set(node, index, where)

        self.each(node.shape, one)

    _argmax = _argmin

    def _cumsum(self, node: Node) -> None:
        (array,) = node.args

        def one(index: Index) -> None:
            total = self._fresh()
            self.put(f"{ctype(node.dtype)} {total} = 0;")

            def along(place: Index) -> None:
                here = [*index, *place]
                more = [total, self.at(array, here)]
                self.put(f"{total} = {applied(self.source, 'add', node.dtype, node.dtype, more)};")
                self._set(node, here, total)

            self.each(array.shape[-1:], along)

        self.each(node.shape[:-1], one)

    def _sort(self, node: Node) -> None:
        self.whole.add(node)
        self._fill(self.names[node], node.args[0])
        sort, length = self.source.sort(node.dtype), node.shape[-1]

        def one(index: Index) -> None:
            self.put(f"{sort}({_plus(self.names[node], flat([*index, 0], node.shape))}, {length});")

        self.each(node.shape[:-1], one)

    def _outs(self, node: Node) -> list[tuple[int, Node]]:
        """The results of a branch, loop or call that are read, with their numbers."""
        return [(k, out) for k, out in enumerate(node.params["outs"]) if self.readers.is_read(out)]

    def _cond(self, node: Node) -> None:
        outs = self._outs(node)
        for _, out in outs:
            self._declare(out)
        for number, (block, results) in enumerate(
            zip(node.params["blocks"], node.params["results"], strict=True)
        ):
            with self.braces(f"if ({self.at(node.args[0], [])})" if number == 0 else "else"):
                self._block(block)
                for k, out in outs:
                    self._copy_in(out, results[k])

    def _loop(self, node: Node) -> None:
        params = node.params
        number, block, after = params["number"], params["block"], params["after"]
        for out, inner, first in zip(params["outs"], params["inputs"], node.args, strict=True):
            if out.shape:
                self.whole.add(out)
            name = self._declare(out)
            self._copy_in(out, first)
            self.names[inner] = name
        letter = self.names[number] = self._fresh()
        with self.braces(f"for (int32_t {letter} = 0; {letter} < {params['times']}; {letter}++)"):
            self._block(block)
            news = []
            for out, last in zip(params["outs"], after, strict=True):
                news.append(new := self._fresh())
                self.put(f"{ctype(out.dtype)} {new}{f'[{max(1, out.size)}]' if out.shape else ''};")
                if out.shape:
                    self._fill(new, last)
                else:
                    self.put(f"{new} = {self.at(last, [])};")
            if params["settles"]:
                self.put("int32_t changes = 0;")
                for new, out in zip(news, params["outs"], strict=True):
                    self._compare(new, out)
                self.put("if (!changes) break;")
            for new, out in zip(news, params["outs"], strict=True):
                if out.shape:
                    self.put(f"memcpy({self.names[out]}, {new}, sizeof {new});")
                else:
                    self.put(f"{self.names[out]} = {new};")

    def _compare(self, new: str, out: Node) -> None:
        def one(index: Index) -> None:
            self.put(f"changes |= {_entry(new, out, index)} != {self.at(out, index)};")

        self.each(out.shape, one)

    def _call(self, node: Node) -> None:
        name = self.source.function(node.params["function"])
        args = [self.at(arg, []) if arg.shape == () else self._memory(arg) for arg in node.args]
        for out in node.params["outs"]:
            self.whole.add(out)
            place = self._declare(out)
            args.append(f"&{place}" if out.shape == () and out not in self.places else place)
        self.put(f"{name}({', '.join(args)});")

    # Expressions

    def _memory(self, node: Node) -> str:
        """The address of an array, which must be in memory."""
        source = self._as_memory(node)
        if source is None:
            raise AssertionError(f"{node.op} {node.shape} is not in memory")
        return source

    def _as_memory(self, node: Node) -> str | None:
        """The address of an array if it is in memory as it is."""
        if node in self.names and node.shape:
            self.whole.add(node)
            return self.names[node]
        if node.op == "const":
            return str(self.source.table(node.params["value"]))
        if node.op == "reshape":
            return self._as_memory(node.args[0])
        if node.op == "view" and node.size == node.args[0].size and _same_order(node):
            return self._as_memory(node.args[0])
        return None

    def _place(self, index: Node, place: Index, size: int) -> Any:
        """An entry of an index into so many entries: an int if it is known, else kept within the array."""
        if index.op == "const" and all(isinstance(one, int) for one in place):
            return int(index.params["value"][tuple(place)])
        text = self.at(index, place)
        if text.isdigit():
            return int(text)
        return f"{self.source.helper('within')}({text}, {size})"

    def at(self, node: Node, index: Index) -> str:
        """One entry as an expression."""
        if node in self.names:
            return self._entry(node, index)
        return self._value(node, index)

    def _entry(self, node: Node, index: Index) -> str:
        name = self.names[node]
        if node.shape == ():
            return f"*{name}" if node in self.places else name
        place = flat(index, node.shape)
        if node in self.split:
            if isinstance(place, int):
                return f"{name}_{place}"
            self.whole.add(node)
        return f"{name}[{place}]"

    def _value(self, node: Node, index: Index) -> str:
        """One entry as an expression of the node's arguments."""
        return str(getattr(self, f"_{node.op}_value")(node, index))

    def _const_value(self, node: Node, index: Index) -> str:
        value = node.params["value"]
        if all(isinstance(one, int) for one in index):
            return literal(value[tuple(index)], node.dtype)
        first = value.reshape(-1)[0]
        if value.tobytes() == first.tobytes() * value.size:
            return literal(first, node.dtype)
        wide = [d for d, size in enumerate(value.shape) if size > 1]
        if len(wide) == 1 and node.dtype.kind in "iu" and (value.reshape(-1) == np.arange(value.size)).all():
            return f"({ctype(node.dtype)}){wrapped(str(index[wide[0]]))}"
        return f"{self.source.table(value)}[{flat(index, value.shape)}]"

    def _map_value(self, node: Node, index: Index) -> str:
        args = [self.at(arg, index) for arg in node.args]
        return applied(self.source, node.params["name"], node.args[0].dtype, node.dtype, args)

    def _view_value(self, node: Node, index: Index) -> str:
        places = node.params["places"]
        there = [
            first if axis is None else _sum(_times(index[axis], step), first) for first, step, axis in places
        ]
        return self.at(node.args[0], there)

    def _reshape_value(self, node: Node, index: Index) -> str:
        (array,), place = node.args, flat(index, node.shape)
        if isinstance(place, int):
            return self.at(
                array, [int(one) for one in np.unravel_index(place, array.shape)] if array.shape else []
            )
        return f"{self._memory(array)}[{place}]"

    def _take_value(self, node: Node, index: Index) -> str:
        (array, where), axis = node.args, node.params["axis"]
        place = self._place(where, index[axis : axis + len(where.shape)], array.shape[axis])
        return self.at(array, [*index[:axis], place, *index[axis + len(where.shape) :]])


def _without_unread(lines: list[str]) -> list[str]:
    """The lines without variables that nothing reads."""
    while True:
        targets = [target[1] if (target := _TARGET.match(line)) else None for line in lines]
        read = Counter(name for line in lines for name in _VARIABLE.findall(line))
        read.subtract(name for name in targets if name)
        kept = [line for line, name in zip(lines, targets, strict=True) if name is None or read[name]]
        if len(kept) == len(lines):
            return lines
        lines = kept


def names_of(wanted: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Names that C allows, no two alike."""
    found = list(taken)
    for name in map(identifier, wanted):
        choices = (f"{name}{number}" for number in itertools.chain(("",), itertools.count(2)))
        found.append(next(one for one in choices if one not in found))
    return found[len(taken) :]


def _entry(name: str, node: Node, index: Index) -> str:
    return f"{name}[{flat(index, node.shape)}]" if node.shape else name


def _same_order(view: Node) -> bool:
    """Whether a view of all entries has them in the source's order."""
    axes = [
        axis
        for (_, step, axis), size in zip(view.params["places"], view.args[0].shape, strict=True)
        if size > 1
    ]
    steps = [step for _, step, axis in view.params["places"] if axis is not None]
    return None not in axes and axes == sorted(axes) and all(step == 1 for step in steps)


def _plus(name: str, place: Any) -> str:
    return name if place == 0 else f"{name} + {place}"


def _sum(place: Any, more: int) -> Any:
    if isinstance(place, int):
        return place + more
    return place if more == 0 else f"{place} + {more}"


def _times(place: Any, step: int) -> Any:
    if isinstance(place, int):
        return place * step
    return (
        place if step == 1 else f"{wrapped(place)} * {step}" if step >= 0 else f"{wrapped(place)} * ({step})"
    )
