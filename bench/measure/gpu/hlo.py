"""Reading optimised HLO: which kernels are launched, how often, and how many bytes each moves."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

#: Instructions that launch nothing.
FREE = frozenset(
    {
        "parameter",
        "constant",
        "bitcast",
        "tuple",
        "get-tuple-element",
        "after-all",
        "partition-id",
        "replica-id",
    }
    | {"opt-barrier", "add-dependency", "all-reduce-done", "all-gather-done", "copy-done", "async-done"}
)
COLLECTIVES = frozenset(
    {"all-reduce", "all-gather", "all-to-all", "collective-permute", "collective-broadcast", "reduce-scatter"}
    | {"all-reduce-start", "all-gather-start", "collective-permute-start", "ragged-all-to-all"}
)
HOST = frozenset({"infeed", "outfeed", "send", "recv"})
_BITS: Mapping[str, int] = MappingProxyType(
    {"pred": 8, "bf16": 16, "s4": 4, "u4": 4}
    | {f"{kind}{bits}": bits for kind in "suf" for bits in (8, 16, 32, 64)}
)
_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.-]+) \(.*\) -> .* \{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.-]+) = (\(.*?\)|\S+) ([a-z][\w-]*)\((.*)$")
_SHAPE = re.compile(r"\b([a-z]+\d+|pred)\[([\d,]*)\]")
_WIDE = re.compile(r"\b(?:f64|s64|u64|c128)\[")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_READS_PART = ("dynamic-slice", "slice", "gather")
_WRITES_PART = {"dynamic-update-slice": 1, "scatter": 2}  # the operand that is written


class Instruction(NamedTuple):
    name: str
    shape: str
    opcode: str
    rest: str  # operands and attributes

    @property
    def operands(self) -> list[str]:
        depths = itertools.accumulate(((c == "(") - (c == ")") for c in self.rest), initial=1)
        end = next((place for place, depth in enumerate(depths) if not depth), len(self.rest))
        return re.findall(r"%([\w.-]+)", self.rest[:end])

    def called(self, attribute: str) -> str:
        match = re.search(rf"\b{attribute}=%?([\w.-]+)", self.rest)
        assert match, f"{self.name} has no {attribute}"
        return match[1]

    @property
    def branches(self) -> list[str]:
        """Of a conditional, the one of index 0 or of False first."""
        if match := re.search(r"branch_computations=\{([^}]*)\}", self.rest):
            return re.findall(r"%?([\w.-]+)", match[1])
        return [self.called("false_computation"), self.called("true_computation")]

    @property
    def trips(self) -> int | None:
        match = _TRIPS.search(self.rest)
        return int(match[1]) if match else None

    @property
    def is_host_transfer(self) -> bool:
        callback = self.opcode == "custom-call" and "callback" in self.rest.lower()
        to_host = self.opcode == "copy-start" and "S(5)" in self.shape
        return callback or to_host or self.opcode in HOST or "is_host_transfer=true" in self.rest


class Launch(msgspec.Struct, frozen=True):
    """A kernel or copy, and how often a run of the program launches it."""

    name: str
    opcode: str
    times: int
    read: int  # bytes, of one launch
    written: int


class Program(msgspec.Struct, frozen=True):
    """What a run of a compiled program does."""

    launches: list[Launch]
    loops: dict[str, int]  # loops without a trip count, and how often each is entered
    branches: dict[str, int]  # conditionals, and how often each is met
    host_transfers: int
    collectives: int
    wide_values: int  # instructions whose result has 64 bits


def size(shape: str) -> int:
    """Bytes of a shape, or of all shapes of a tuple."""
    found = _SHAPE.findall(shape)
    return sum(
        math.prod(map(int, filter(None, dims.split(",")))) * _BITS.get(kind, 32) // 8 for kind, dims in found
    )


def read(text: str) -> Program:
    """Parse a module's text into a program.

    A loop without a trip count is assumed to run once, and a conditional to take its False branch: in cogrid,
    that is the one in which nothing rare happens.
    """
    return _Reader(text).program()


class _Reader:
    def __init__(self, text: str) -> None:
        self.computations: dict[str, list[Instruction]] = {}
        self.entry, name = "", ""
        for line in text.splitlines():
            if match := _COMPUTATION.match(line):
                name = match[2]
                self.computations[name] = []
                self.entry = name if match[1] else self.entry
            elif line.startswith("}"):
                name = ""
            elif name and (match := _INSTRUCTION.match(line)):
                self.computations[name].append(Instruction(*match.groups()))
        if not self.entry:
            raise ValueError("this is no HLO module: it has no ENTRY.")

    def program(self) -> Program:
        self.loops: dict[str, int] = {}
        self.conditionals: dict[str, int] = {}
        launches = list(self._launches(self.entry, 1))
        every = [one for found in self.computations.values() for one in found]
        return Program(
            launches=launches,
            loops=self.loops,
            branches=self.conditionals,
            host_transfers=sum(one.is_host_transfer for one in every),
            collectives=sum(one.opcode in COLLECTIVES for one in every),
            wide_values=sum(bool(_WIDE.search(one.shape)) for one in every if one.opcode != "parameter"),
        )

    def _launches(self, computation: str, times: int) -> Iterator[Launch]:
        body = self.computations[computation]
        shapes = {one.name: one.shape for one in body}
        for one in body:
            if one.opcode == "while":
                trips = one.trips
                if trips is None:
                    self.loops[one.name] = times
                    yield from self._launches(one.called("condition"), times)
                yield from self._launches(one.called("body"), times * (trips or 1))
            elif one.opcode == "conditional":
                self.conditionals[one.name] = times
                yield from self._launches(one.branches[0], times)
            elif one.opcode == "call":
                yield from self._launches(one.called("to_apply"), times)
            elif one.opcode not in FREE:
                yield Launch(one.name, one.opcode, times, *self._moved(one, shapes))

    def _moved(self, one: Instruction, shapes: Mapping[str, str]) -> tuple[int, int]:
        if one.opcode == "fusion":
            return self._touched(one.called("calls"), size(one.shape))
        return sum(size(shapes.get(name, "")) for name in one.operands), size(one.shape)

    def _touched(self, computation: str, written: int) -> tuple[int, int]:
        """Bytes that a fusion reads and writes: only the part of a slice, only the new part of an update."""
        body = self.computations[computation]
        shapes = {one.name: one.shape for one in body}
        users: dict[str, list[Instruction]] = {}
        for one in body:
            for name in set(one.operands):
                users.setdefault(name, []).append(one)
        whole = 0
        for one in body:
            if one.opcode == "parameter":
                whole += min(size(one.shape), sum(_part(one, user) for user in users.get(one.name, ())))
            elif one.opcode in _WRITES_PART:
                new = shapes.get(one.operands[_WRITES_PART[one.opcode]], "")
                written -= size(one.shape) - size(new)
        return whole, max(written, 0)


def _part(parameter: Instruction, user: Instruction) -> int:
    """How much of a parameter one of its users reads."""
    first = user.operands[0] == parameter.name
    if first and user.opcode in _READS_PART:
        return size(user.shape)
    if first and user.opcode in _WRITES_PART:
        return 0
    return size(parameter.shape)
