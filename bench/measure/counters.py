"""Counters: noise-free numbers for the size of a step, the same from run to run."""

from __future__ import annotations

import dis
import gc
import re
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType, MappingProxyType
from typing import Any

from bench.measure.allocations import CALLBACKS, Allocations

_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = (?P<shape>\(.*?\)|\S+) (?P<opcode>[a-z][\w-]*)\(", re.M)
#: The number of these depends on the cores: XLA wraps what it splits among them in a call.
_NO_WORK = ("call", "parameter")
_WIDE = re.compile(r"\b(?:f64|s64|u64|c128)\[")
_CALLBACK = re.compile(r'custom_call_target="[^"]*callback|is_host_transfer=true| (?:in|out)feed\(')
_MEMORY = MappingProxyType(
    {  # our name -> that of jaxlib, where it has one
        "argument_bytes": "argument_size_in_bytes",
        "output_bytes": "output_size_in_bytes",
        "temp_bytes": "temp_size_in_bytes",
        "peak_bytes": "peak_memory_in_bytes",  # not before jaxlib 0.7
    }
)
_CONSTANT = object()
#: Primitives that could be folded into a table, if all their other inputs are constants.
_PASSES_ON = frozenset(
    {"convert_element_type", "broadcast_in_dim", "reshape", "squeeze", "transpose", "copy", "neg", "not"}
    | {"add", "sub", "mul", "min", "max", "and", "or", "eq", "ne", "lt", "le", "gt", "ge", "select_n"}
)
_CALLS = frozenset({"jit", "pjit", "closed_call", "custom_vmap_call"})  # with the inputs of their equation
#: Instructions by which Python code can reach NumPy: operators, subscripts and calls.
_OPERATIONS = frozenset(
    {"BINARY_OP", "BINARY_SLICE", "BINARY_SUBSCR", "STORE_SLICE", "STORE_SUBSCR", "COMPARE_OP"}
    | {"UNARY_INVERT", "UNARY_NEGATIVE", "CALL", "CALL_KW", "CALL_FUNCTION_EX"}
)


def counters(function: Callable[..., Any], *arguments: Any) -> dict[str, int]:
    """Trace and compile a function for these arguments, and count."""
    import jax

    traced = (function if hasattr(function, "trace") else jax.jit(function)).trace(*arguments)
    return compiled_counters(traced, traced.lower().compile())


def compiled_counters(traced: Any, compiled: Any) -> dict[str, int]:
    """The same for an already traced and compiled function (`jax.stages`).

    Equations are those of the traced program; instructions and fusions are those that XLA made of them. A
    number that this jaxlib or platform does not report is left out.
    """
    program = {"equations": equations(traced.jaxpr), "foldable_gathers": foldable_gathers(traced.jaxpr)}
    found = {**program, **_cost(compiled), **_memory(compiled)}
    return found | hlo_counters(compiled.as_text() or "")


def equations(jaxpr: Any) -> int:
    """All equations of a jaxpr, including those inside calls, loops and branches.

    Where it branches by platform, only this platform's branch counts: nothing else is compiled.
    """
    import jax

    count = 0
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        if platforms := equation.params.get("branches_platforms"):
            pairs = zip(equation.params["branches"], platforms, strict=True)
            count += equations(
                next(b for b, names in pairs if names is None or jax.default_backend() in names)
            )
        elif equation.primitive.name != "platform_index":
            count += 1 + sum(equations(p) for value in equation.params.values() for p in _jaxprs(value))
    return count


def _jaxprs(value: Any) -> list[Any]:
    values = value if isinstance(value, (tuple, list)) else (value,)  # a cond has a tuple of branches
    return [v for v in values if hasattr(v, "eqns") or hasattr(v, "jaxpr")]


def foldable_gathers(jaxpr: Any) -> int:
    """Lookups in a constant table by a constant, or by another lookup's result: they could be one lookup."""
    return _reads(jaxpr.jaxpr, [])[0]


def _reads(jaxpr: Any, inputs: list[Any]) -> tuple[int, list[Any]]:
    """The number of such lookups, and the origins of the outputs.

    The origin of a value is `_CONSTANT`, or the only table lookup that it was computed from; None for others.
    """
    count = 0
    origins = dict.fromkeys(jaxpr.constvars, _CONSTANT) | dict(zip(jaxpr.invars, inputs, strict=False))

    def origin(value: Any) -> Any:
        return _CONSTANT if hasattr(value, "val") else origins.get(value)

    for equation in jaxpr.eqns:
        given, name = list(map(origin, equation.invars)), equation.primitive.name
        found = set(given) - {_CONSTANT}
        results: list[Any] = [None] * len(equation.outvars)
        if name == "gather" and given[0] is _CONSTANT:
            count += given[1] is not None
            results = list(equation.outvars)
        elif name in _PASSES_ON and len(found) <= 1:
            results = [found.pop() if found else _CONSTANT]
        for inner, handed in _inside(equation, given):
            within, ends = _reads(getattr(inner, "jaxpr", inner), handed)
            count += within
            results = ends if name in _CALLS else results
        origins.update(zip(equation.outvars, results, strict=True))
    return count, list(map(origin, jaxpr.outvars))


def _inside(equation: Any, given: list[Any]) -> list[tuple[Any, list[Any]]]:
    """The programs of a call, loop or branch, each with the inputs that are the same on every run."""
    params = equation.params
    consts = params.get("cond_nconsts", 0)
    handed = {
        "scan": given[: params.get("num_consts")],
        "cond": given[1:],
        "while": given[consts : consts + params.get("body_nconsts", 0)],
        **dict.fromkeys(_CALLS, given),
    }.get(equation.primitive.name, [])
    return [
        (inner, given[:consts] if name == "cond_jaxpr" else handed)
        for name, value in params.items()
        for inner in _jaxprs(value)
    ]


def hlo_counters(text: str) -> dict[str, int]:
    found = [match for match in _INSTRUCTION.finditer(text) if match["opcode"] not in _NO_WORK]
    opcodes = Counter(match["opcode"] for match in found)
    return {
        "instructions": len(found),
        "fusions": opcodes["fusion"],
        "host_callbacks": len(_CALLBACK.findall(text)),
        "wide_values": sum(bool(_WIDE.search(match["shape"])) for match in found),
    }


def _cost(compiled: Any) -> dict[str, int]:
    cost = compiled.cost_analysis() or {}
    names = {"flops": "flops", "bytes_accessed": "bytes accessed"}
    return {ours: int(cost[theirs]) for ours, theirs in names.items() if theirs in cost}


def _memory(compiled: Any) -> dict[str, int]:
    memory = compiled.memory_analysis()
    return {ours: int(getattr(memory, theirs)) for ours, theirs in _MEMORY.items() if hasattr(memory, theirs)}


def numpy_counters(function: Callable[..., Any], *arguments: Any) -> dict[str, int]:
    """Count what one call does on the NumPy backend; `numpy_counters(env.step_fn, state, actions)`.

    `operations` are the operators, subscripts and calls that Python code executes, our own or NumPy's: every
    array operation is one, and so are calls of Python functions and a few sums of plain numbers.
    `allocated_bytes` is all array memory allocated, also by copies that live for one instruction, and
    `peak_bytes` the most held at once.
    """
    watch, memory = _Watch(), Allocations()
    before, collecting = sys.gettrace(), gc.isenabled()
    gc.disable()
    sys._getframe().f_trace_opcodes = (
        True  # CPython 3.12 reads this only once, when the trace function is set
    )
    sys.settrace(watch)  # applies to frames that start from here on, not to this one
    try:
        # The first call fills caches, and CPython 3.13 reports instructions only from the second one on.
        function(*arguments)
        with memory:
            watch.operations = 0
            function(*arguments)
            operations = watch.operations
    finally:
        sys.settrace(before)
        if collecting:
            gc.enable()
    return {"operations": operations, "allocated_bytes": memory.total, "peak_bytes": memory.peak}


class _Watch:
    """A trace function for every instruction: Python offers no other way to observe operators."""

    def __init__(self) -> None:
        self.operations = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> _Watch | None:
        if event == "call":
            if frame.f_code in CALLBACKS:
                return None
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
        elif event == "opcode":
            self.operations += dis.opname[frame.f_code.co_code[frame.f_lasti]] in _OPERATIONS
        return self
