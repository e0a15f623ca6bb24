"""Compiling for an absent GPU: the optimised program, the runtime's plan, and the registers."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from bench.measure.gpu.hlo import Program, read
from bench.measure.gpu.targets import ptxas

_THUNK = re.compile(r"^(\s*)(\d+): (\w+)")
_METADATA = re.compile(r'profile_annotation: "([^"]*)"\s+thunk_id: (\d+)')
_LABEL, _JUMP = re.compile(r"^\$\w+:$"), re.compile(r"\bbra(?:\.uni)?\s+(\$\w+);")
_CODE = re.compile(r"^\s+(?:@|[a-z])")
#: The name that the kernel of `rollout(one_kernel=True)` has.
ONE_KERNEL = "cogrid_steps"
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


class Assembled(msgspec.Struct, frozen=True):
    """What NVIDIA's assembler reports: the highest register count of a kernel, and all spilled bytes."""

    registers: int
    spill_bytes: int


class Loop(msgspec.Struct, frozen=True):
    """The loop of a kernel that plays many steps: what a thread does in one of them."""

    instructions: int
    loads: int


class Compiled(msgspec.Struct, frozen=True):
    """A program as a GPU would run it; what this version of XLA does not report is None."""

    program: Program
    temp_bytes: int
    outside: frozenset[str] | None  # the launches that are in no CUDA graph
    assembled: Assembled | None
    loop: Loop | None = None  # of a rollout in one kernel


def compiled(lowered: Any) -> Compiled:
    """Compile the result of `jax.jit(…).lower(…)`, and read everything that the compiler dumped about it."""
    with tempfile.TemporaryDirectory(prefix="cogrid-gpu-") as folder:
        done = lowered.compile(compiler_options={"xla_dump_to": folder})
        files = {path.name.split(".", 2)[-1]: path for path in Path(folder).iterdir()}
        return Compiled(
            program=read(done.as_text()),
            temp_bytes=int(done.memory_analysis().temp_size_in_bytes),
            outside=_outside(files),
            assembled=_assembled(sorted(Path(folder).glob("*.ptx"))),
            loop=_loop(sorted(Path(folder).glob("*.ptx"))),
        )


def _outside(files: dict[str, Path]) -> frozenset[str] | None:
    plan, names = files.get("thunk_sequence_after_thunk_passes.txt"), files.get("thunk_metadata.txt")
    if plan is None or names is None:
        return None
    return outside_graphs(plan.read_text(), names.read_text())


def outside_graphs(plan: str, metadata: str) -> frozenset[str]:
    """The instructions that the runtime starts one by one; the plan numbers them, the metadata names them."""
    names = {int(number): name for name, number in _METADATA.findall(metadata)}
    return frozenset(names[number] for number, inside in _thunks(plan) if not inside and number in names)


def _thunks(plan: str) -> Iterator[tuple[int, bool]]:
    """Every numbered line, and whether it is indented below a command buffer, which is a CUDA graph."""
    graph: int | None = None
    for line in plan.splitlines():
        if match := _THUNK.match(line):
            indent = len(match[1])
            if graph is not None and indent <= graph:
                graph = None
            if match[3] == "kCommandBuffer":
                graph = indent if graph is None else graph
            else:
                yield int(match[2]), graph is not None
        elif line.strip():  # "condition:" and "body:" of a loop that is itself in no graph
            graph = graph if graph is not None and len(line) - len(line.lstrip()) > graph else None


def _assembled(files: list[Path]) -> Assembled | None:
    program = ptxas()
    if program is None or not files:
        return None
    told = ""
    for file in files:
        command = [str(program), "-v", "--gpu-name", _architecture(file), "-o", "/dev/null", str(file)]
        told += subprocess.run(command, capture_output=True, text=True, check=True).stderr
    spills = sum(int(stores) + int(loads) for stores, loads in _SPILLS.findall(told))
    return Assembled(max(map(int, _REGISTERS.findall(told)), default=0), spills)


def _loop(files: list[Path]) -> Loop | None:
    texts = (text for file in files if f".entry {ONE_KERNEL}(" in (text := file.read_text()))
    return next((longest_loop(text) for text in texts), None)


def longest_loop(ptx: str) -> Loop:
    """The longest way from a jump back to its label; branches inside count as if all of them were taken."""
    lines = ptx.splitlines()
    labels = {line[:-1]: number for number, line in enumerate(lines) if _LABEL.match(line)}
    jumps = (
        (number, labels.get(match[1])) for number, line in enumerate(lines) if (match := _JUMP.search(line))
    )
    bodies = [lines[first : last + 1] for last, first in jumps if first is not None and first < last]
    body = [line for line in max(bodies, key=len, default=[]) if _CODE.match(line)]
    return Loop(len(body), sum("ld.global" in line for line in body))


def _architecture(file: Path) -> str:
    match = re.search(r"^\.target (\w+)", file.read_text(), re.M)
    return match[1] if match else "sm_80"
