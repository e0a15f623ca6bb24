"""Calls: a compiled function as a pure function on arrays, which uses all cores for large batches."""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from cogrid._native.signature import Signature
from cogrid.backend.array import Array

#: Shapes and types.
Arrays = Sequence[tuple[tuple[int, ...], np.dtype[Any]]]
#: The inputs of a batch -> the outputs, in memory that nobody else has.
Call = Callable[[Sequence[Array]], list[Array]]

# Up to so many bytes, copying an array (0.08 µs) costs less than asking for its address (0.2 µs).
SMALL = 2**14
# Nanoseconds of work for which a thread is worth waking, which takes 20 µs of CPU time.
WORTH = 100_000
TRIALS = 3  # calls on one core, of which the fastest says how much work there is
KEPT = 3  # arrays of an output: of the last step, of this one, and one that a learner looks at
IMPORTED_IN = os.getpid()


def caller(
    library: ctypes.CDLL, signature: Signature, threads: int | None = None
) -> Callable[[tuple[int, ...]], Call]:
    """For a batch shape, the function of the inputs that returns the outputs.

    Large batches run on `threads` cores: by default on those that the process may use, or on one in a worker.
    """
    leaves = (*signature.inputs, *signature.outputs)
    name = f"cogrid_{signature.name}"

    def prepare(batch: tuple[int, ...]) -> Call:
        arrays = [((*batch, *leaf.shape) if leaf.has_batch else leaf.shape, leaf.dtype) for leaf in leaves]
        given, made = arrays[: len(signature.inputs)], arrays[len(signature.inputs) :]
        if sum(math.prod(shape) * dtype.itemsize for shape, dtype in arrays) <= SMALL:
            return _small(library, name, math.prod(batch), given, made)
        return _large(library, name, math.prod(batch), made, threads)

    return prepare


def _small(library: ctypes.CDLL, name: str, size: int, given: Arrays, made: Arrays) -> Call:
    """Copies into arrays whose addresses are known, and out of them."""
    # This call keeps the interpreter's lock: to give it up and get it back can take longer than the work.
    function = ctypes.PyDLL(library._name, handle=library._handle)[name]
    function.restype = None
    first, end = ctypes.c_int64(0), ctypes.c_int64(size)

    def memory() -> tuple[list[Array], list[Array], ctypes.Array[ctypes.c_void_p]]:
        inputs, outputs = ([np.zeros(shape, dtype) for shape, dtype in arrays] for arrays in (given, made))
        return inputs, outputs, _pointers([*map(_address, inputs), *map(_address, outputs)])

    free = [memory()]  # for each thread that calls at the same time

    def call(inputs: Sequence[Array]) -> list[Array]:
        try:
            own = free.pop()
        except IndexError:
            own = memory()
        copies, results, pointers = own
        for copy, value in zip(copies, inputs, strict=True):
            copy[...] = value
        function(first, end, pointers)
        outputs = [result.copy() for result in results]
        free.append(own)
        return outputs

    return call


def _large(library: ctypes.CDLL, name: str, size: int, made: Arrays, threads: int | None) -> Call:
    """Passes the arrays themselves; other Python threads run meanwhile."""
    function = library[name]
    function.argtypes, function.restype = (ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p), None
    memory = OutputMemory(made)
    trials: list[int] = []

    def call(inputs: Sequence[Array]) -> list[Array]:
        outputs, places = memory.take()
        arrays = [*map(_behaved, inputs), *outputs]
        pointers = _pointers([*map(_address, arrays[: len(inputs)]), *places])
        parts = min(min(trials) // WORTH, size) if len(trials) >= TRIALS else 1
        if parts > 1:
            parts = min(parts, usable_cores() if threads is None else threads)
        parts = max(parts, 1)
        ends = [size * k // parts for k in range(parts + 1)]
        parallel = [
            _pool(os.getpid()).submit(_run, function, first, end, pointers, arrays)
            for first, end in itertools.pairwise(ends[1:])
        ]
        began = time.thread_time_ns()
        function(0, ends[1], pointers)
        if len(trials) < TRIALS:
            trials.append(time.thread_time_ns() - began)
        for part in parallel:
            part.result()
        return outputs

    return call


Place = tuple[Array, int]  # an array and its address


def _references(places: list[Place]) -> int:
    return sys.getrefcount(places[0][0])


# Of an array that only a list has. Where Python has no global lock, counts say nothing.
UNUSED = _references([(np.empty(0), 0)]) if getattr(sys, "_is_gil_enabled", lambda: True)() else 0


class OutputMemory:
    """The outputs of calls, given out again when nobody has them any more: new memory is slow to write to."""

    def __init__(self, made: Arrays) -> None:
        self._kept: list[tuple[tuple[int, ...], np.dtype[Any], list[Place]]]
        self._kept = [(shape, dtype, []) for shape, dtype in made]

    def take(self) -> tuple[list[Array], list[int]]:
        """Arrays that nobody else has, and their addresses."""
        places = [_unused(*kept) for kept in self._kept]
        return [array for array, _ in places], [address for _, address in places]


def _unused(shape: tuple[int, ...], dtype: np.dtype[Any], kept: list[Place]) -> Place:
    """A view of an array that nobody has, and its address.

    What is popped is this thread's alone. A lock could be held for ever in a fork.
    """
    for _ in range(len(kept)):
        try:
            own = [kept.pop(0)]
        except IndexError:  # other threads have them
            break
        is_unused = _references(own) == UNUSED
        array, address = own[0]
        view = array[...]  # holds what it views, as do views of it; made before others can see the array
        kept.append(own[0])
        if is_unused:
            return view, address
    array = np.empty(shape, dtype)
    address, view = _address(array), array[...]
    if len(kept) < KEPT:
        kept.append((array, address))
    return view, address


def _run(function: Callable[..., None], first: int, end: int, pointers: Any, arrays: list[Array]) -> None:
    """Run a part in another thread, which needs the arrays' memory even if the caller was interrupted."""
    function(first, end, pointers)


def _behaved(array: Array) -> Array:
    """The array, or a copy if it is not contiguous or not aligned."""
    return array if array.flags.carray else np.require(array, requirements=("C", "A"))


def _pointers(addresses: Sequence[int]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(addresses))(*addresses)


def _address(array: Array) -> int:
    """A quarter of the time of `array.ctypes.data`, which is for what is empty or must not be written to."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError):
        return int(array.ctypes.data)


def usable_cores() -> int:
    """The cores that this process may use; 1 in a worker, since there are others beside it."""
    if os.getpid() != IMPORTED_IN or multiprocessing.parent_process() is not None:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _pool(process: int) -> ThreadPoolExecutor:
    """The threads of this process; a fork has none of its parent's."""
    return ThreadPoolExecutor(os.cpu_count(), "cogrid")
