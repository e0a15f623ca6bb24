"""Compiled functions: recorded for one environment at the first call, then run for batches of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cogrid._native import calling, compiling
from cogrid._native.calling import Call
from cogrid._native.control import RecordedPart, record
from cogrid._native.emit import Source
from cogrid._native.expressions import identifier
from cogrid._native.glue import glued
from cogrid._native.record import Block, inside, recording
from cogrid._native.traced import Traced, Untraceable
from cogrid._native.trees import flatten, rebuild
from cogrid.backend.array import Array, as_array
from cogrid.backend.env_state import EnvState

#: More shapes than these are seldom in use; the arrays and the glue of all would add up.
SHAPES = 64


class Program:
    """A compiled function for arguments of one structure, shape and type."""

    def __init__(self, structure: Any, leaves: Sequence[Array], part: RecordedPart, run: Call) -> None:
        self._part, self._run = part, run
        #: The result for a tuple of arguments, or None if they are of another kind.
        self.attempt = glued(structure, leaves, part.takes, run, part.structure, part.gives)

    def __call__(self, leaves: list[Array]) -> Any:
        """The result for these arrays; those that are returned as they came are not copied."""
        outputs = self._run([leaves[k] for k in self._part.takes])
        sources = {"input": leaves, "output": outputs}
        return rebuild(self._part.structure, [sources[where][k] for where, k in self._part.gives])


class CompiledFunction:
    """A function of a key or of states, for one environment or a batch.

    All arrays have the leading axes of the batch, except those of `pool`, and a `board` for all keys.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "function")
        self.__doc__ = function.__doc__
        self._signature = inspect.signature(function)
        self._programs: dict[Any, Program | None] = {}  # None where NumPy has to say what is wrong
        self._parts: dict[Any, tuple[RecordedPart, Callable[[tuple[int, ...]], Call]]] = {}  # for any batch
        self._attempt: Callable[[tuple[Any, ...]], Any] = lambda args: None  # as the last time

    def __call__(self, *args: Any, **options: Any) -> Any:
        if recording.get() is not None:
            return self.function(*args, **options)
        if not options and (result := self._attempt(args)) is not None:
            return result
        leaves: list[Array] = []
        structure = flatten((args, options), leaves)
        key = (structure, tuple([(leaf.__class__, leaf.shape, leaf.dtype) for leaf in leaves]))
        if key not in self._programs:
            if (arrays := self._arrays(args, options)) is not None:
                return self(*arrays.args, **arrays.kwargs)
            if len(self._programs) == SHAPES:
                self._programs.clear()
            self._programs[key] = self._program(structure, leaves, args, options)
        program = self._programs[key]
        if program is None:
            return self.function(*args, **options)
        if not options:
            self._attempt = program.attempt
        return program(leaves)

    def _arrays(self, args: Any, options: Any) -> inspect.BoundArguments | None:
        """The arguments as NumPy arrays; None if they are already."""
        given, leaves = self._signature.bind(*args, **options), list[Any]()
        changed = False
        for name, value in given.arguments.items():
            leaves.clear()
            structure = flatten(value, leaves)
            if not (leaves or value is None or isinstance(value, dict)):
                given.arguments[name], changed = as_array(name, value), True
            elif any(type(leaf) is not np.ndarray for leaf in leaves):
                arrays = [np.asarray(as_array(name, leaf)) for leaf in leaves]
                given.arguments[name], changed = rebuild(structure, arrays), True
        return given if changed else None

    def _program(self, structure: Any, leaves: list[Array], args: Any, options: Any) -> Program | None:
        given = self._signature.bind(*args, **options).arguments
        batch = _batch(given)
        batched = [has for name, value in given.items() for has in _batched(name, value, batch)]
        if None in batched:
            return None
        shapes = [leaf.shape[len(batch) * bool(has) :] for leaf, has in zip(leaves, batched, strict=True)]
        key = (
            structure,
            tuple((shape, leaf.dtype, has) for shape, leaf, has in zip(shapes, leaves, batched, strict=True)),
        )
        if key not in self._parts:
            try:
                part = self._recorded(
                    structure, [(shape, leaf.dtype) for shape, leaf in zip(shapes, leaves, strict=True)]
                )
            except Untraceable:
                raise
            except (TypeError, ValueError):
                self.function(*args, **options)  # says what is wrong with the whole batch
                raise
            self._parts[key] = part, self._caller(part, [bool(batched[k]) for k in part.takes])
        part, prepare = self._parts[key]
        return Program(structure.parts[0], leaves, part, prepare(batch))

    def _recorded(
        self, structure: Any, leaves: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]
    ) -> RecordedPart:
        inputs = [Traced("input", (), shape, dtype, {}) for shape, dtype in leaves]
        name = identifier(self.__name__.removesuffix("_fn"))

        def function(args: Any, options: Any) -> Any:
            return self.function(*args, **options)

        with inside(Block()):
            part = record(name, function, structure, inputs, {})
        return part.computing_constants()

    def _caller(self, part: RecordedPart, batched: Sequence[bool]) -> Callable[[tuple[int, ...]], Call]:
        source = Source()
        signature = source.entry(part.function, batched)
        return calling.caller(compiling.load(source.text(), part.function.name), signature)


def _batch(given: Mapping[str, Any]) -> tuple[int, ...]:
    """The leading axes of the states, or of the key."""
    for name, value in given.items():
        if isinstance(value, EnvState) and name != "pool":
            return tuple(value.clock.shape)
    key = next(iter(given.values()), None)
    return key.shape[:-1] if isinstance(key, np.ndarray) and key.ndim else ()


def _batched(name: str, value: Any, batch: tuple[int, ...]) -> list[bool | None]:
    """Which arrays of an argument have the axes of the batch; None for those that fit no batch."""
    leaves: list[Array] = []
    flatten(value, leaves)
    if name == "pool" or (name == "board" and value is not None and value.ndim == 2):
        return [False] * len(leaves)
    return [True if leaf.shape[: len(batch)] == batch else None for leaf in leaves]
