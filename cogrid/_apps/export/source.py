"""The C file and its header: the recorded functions, and two to call, which work on structs."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from cogrid._apps.export.recorded import ExportedWorld, Field
from cogrid._core.compile.spec import Spec
from cogrid._native.control import RecordedPart
from cogrid._native.emit import Source
from cogrid._native.expressions import ctype
from cogrid._native.record import Node

#: What the numbers mean; other fields belong to the game.
MEANINGS = MappingProxyType(
    {
        "cells": "the thing in each cell, row by row; things.txt has the numbers",
        "pos": "the cell of each agent, row * WIDTH + column; HEIGHT * WIDTH or more off the board",
        "pose": "facing * ITEMS + item of each agent; facing 0 right, 1 down, 2 left, 3 up",
        "clock": "steps since the reset; below zero when the episode is over",
        "words": "the key of the episode, from which all random draws are made",
        "weight": "the weight of the shaping terms of the rewards",
        "layout": "the number of the layout",
        "ended": "whether each agent has ended",
        "slots": "the thing in each slot; things.txt has the numbers",
        "places": "the cells of counted things, and whether the board was repaired",
        "obs": "the observation of each agent",
        "rewards": "the reward of each agent in this step",
        "done": "whether the episode is over",
    }
)

_HEADER = """/* {id}, made by cogrid {version} from the rules of the environment.

   The functions keep nothing between calls: everything is in the state, which can be copied by assignment.

{actions} */
#ifndef {upper}_H
#define {upper}_H

#include <stdint.h>

#define {upper}_AGENTS {agents}
#define {upper}_ACTIONS {n_actions}
#define {upper}_HEIGHT {height}
#define {upper}_WIDTH {width}
#define {upper}_ITEMS {items} /* of a hand, an empty one among them */
#define {upper}_STEPS {steps} /* after which an episode ends at the latest */

typedef struct {{
{state}
}} {name}_state;

typedef struct {{
{result}
}} {name}_result;

#ifdef __cplusplus
extern "C" {{
#endif

/* Begin the episode of a key, which is any two numbers. The result has the observations, and zeros.
   With the `words` of a state as the key, its next episode begins, as cogrid's automatic reset does it. */
void {name}_reset(
    const uint32_t *key, {name}_state *state, {name}_result *result);

/* One step. An action that is out of range does nothing. */
void {name}_step(
    const int32_t *actions, {name}_state *state, {name}_result *result);

#ifdef __cplusplus
}}
#endif

#endif
"""
_HEAD = """/* {id}: the same step that cogrid runs on NumPy. The functions to call are at the end. */
#include "{name}.h"

#include <string.h>
"""
_FUNCTIONS = """void {name}_reset(
    const uint32_t *key, {name}_state *state, {name}_result *result)
{{
    const uint32_t given[2] = {{key[0], key[1]}}; /* it may be the state's */
    memset(result, 0, sizeof *result);
{reset}
}}

void {name}_step(
    const int32_t *actions, {name}_state *state, {name}_result *result)
{{
    const {name}_state before = *state;
{step}
}}
"""


def header(id: str, version: str, name: str, spec: Spec, world: ExportedWorld) -> str:
    """The text of the header, with the layout of the state."""
    actions = ", ".join(f"{number} {action.name}" for number, action in enumerate(spec.actions))
    return _HEADER.format(
        id=plain(id),
        version=version,
        name=name,
        upper=name.upper(),
        actions=textwrap.fill(
            plain(f"Actions: {actions}."), 100, initial_indent="   ", subsequent_indent="   "
        ),
        agents=spec.num_agents,
        n_actions=len(spec.actions),
        height=spec.height,
        width=spec.width,
        items=len(spec.symbols.items),
        steps=spec.max_steps,
        state="\n".join(_members(world.state)),
        result="\n".join(_members(world.result)),
    )


def source(id: str, name: str, world: ExportedWorld) -> str:
    """The text of the C file."""
    file = Source()
    state = [f"state->{field.name}" for field in world.state]
    before = [f"before.{field.name}" for field in world.state]
    result = [f"result->{field.name}" for field in world.result]
    fields = (*world.state, *world.result)
    reset = _called(file, world.reset, ["given"], [*state, result[0]], fields)
    step = _called(file, world.step, [*before, "actions"], [*state, *result], fields)
    functions = _FUNCTIONS.format(name=name, reset="\n".join(reset), step="\n".join(step))
    return f"{file.text(_HEAD.format(id=plain(id), name=name))}\n{functions}"


def plain(text: str) -> str:
    """Text for a comment."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ")


def size(field: Field) -> int:
    """Number of entries; C has no arrays without any, so such fields are left out."""
    return math.prod(field.shape)


def _members(fields: Sequence[Field]) -> Iterator[str]:
    for field in filter(size, fields):
        axes = "".join(f"[{length}]" for length in field.shape)
        meaning = f" /* {MEANINGS[field.name]} */" if field.name in MEANINGS else ""
        yield f"    {ctype(field.dtype)} {field.name}{axes};{meaning}"


def _called(
    file: Source, part: RecordedPart, given: Sequence[str], wanted: Sequence[str], fields: Sequence[Field]
) -> Iterator[str]:
    """The call of a recorded function, and copies of what it does not compute."""
    function = part.function
    firsts: dict[int, str] = {}  # where each output is computed
    for (where, k), place, field in zip(part.gives, wanted, fields, strict=False):
        if where == "output":
            firsts.setdefault(k, _pointer(place, field))
    inputs = [_read(given[k], node) for k, node in zip(part.takes, function.inputs, strict=True)]
    called = ",\n        ".join([*inputs, *(firsts[k] for k in range(len(function.outputs)))])
    yield f"    {file.function(function)}(\n        {called});"
    for (where, k), place, field in zip(part.gives, wanted, fields, strict=False):
        held = firsts[k] if where == "output" else given[k]
        target = _pointer(place, field)
        if size(field) and target != held and place.removeprefix("state->") != held.removeprefix("before."):
            origin = held if where == "output" or field.shape else f"&{held}"
            yield f"    memcpy({target}, {origin}, sizeof {place});"


def _read(place: str, node: Node) -> str:
    """What a function is given: a number, or the address of the first entry."""
    if len(node.shape) < 2 and node.size:
        return place
    return f"(const {ctype(node.dtype)} *){place if node.size else 0}"


def _pointer(place: str, field: Field) -> str:
    """The address of a field's first entry."""
    if not size(field):
        return f"({ctype(field.dtype)} *)0"
    if not field.shape:
        return f"&{place}"
    return place if len(field.shape) == 1 else f"({ctype(field.dtype)} *){place}"
