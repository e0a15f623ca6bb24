"""The reset and the step of an environment as recorded functions, and what their arrays are called in C."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cogrid._core.compile.spec import Spec
from cogrid._core.rules import Rules
from cogrid._core.step import functions
from cogrid._native.backend import NativeBackend
from cogrid._native.control import RecordedPart, record
from cogrid._native.expressions import identifier
from cogrid._native.record import Block, Node, inside
from cogrid._native.traced import Traced
from cogrid._native.trees import flatten, paths, rebuild


class Field(NamedTuple):
    """An array as a field of a struct in C."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


#: What a step gives beside the state.
RESULT = ("obs", "rewards", "done")


class ExportedWorld(NamedTuple):
    """A world's functions; reset takes a key, and step the fields of the state and the actions."""

    reset: RecordedPart  # gives the fields of the state, and the observations
    step: RecordedPart  # gives the fields of the state, the observations, the rewards and whether it is over
    state: tuple[Field, ...]
    result: tuple[Field, ...]  # the observations, the rewards and whether the episode is over


def recorded(spec: Spec) -> ExportedWorld:
    """Record both; they share their parts, so that each is written once."""
    rules = Rules(spec, NativeBackend())
    run, parts = functions(rules), dict[Any, Any]()
    with inside(Block(parts=parts)):
        key = Traced("input", (), (2,), np.dtype(np.uint32), {})
        reset = record("reset", run.reset, flatten((key,), []), [key], parts).computing_constants()
        leaves = [Traced("input", (), one.shape, one.dtype, {}) for one in _results(reset, [key])[:-1]]
        actions = Traced("input", (), (spec.num_agents,), np.dtype(np.int32), {})
        structure = flatten((rebuild(reset.structure.parts[0], leaves), actions), [])
        given = [*leaves, actions]
        step = record("step", run.step, structure, given, parts).computing_constants()
    names = [identifier(name) for name in paths(reset.structure.parts[0])]
    fields = [
        Field(name, one.shape, one.dtype)
        for name, one in zip([*names, *RESULT], _results(step, given), strict=True)
    ]
    return ExportedWorld(reset, step, tuple(fields[: len(leaves)]), tuple(fields[len(leaves) :]))


def _results(part: RecordedPart, given: list[Any]) -> list[Node]:
    """The arrays of the part's result, in order."""
    sources = {"input": given, "output": part.function.outputs}
    return [sources[where][k] for where, k in part.gives]
