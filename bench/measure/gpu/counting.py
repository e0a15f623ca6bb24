"""Counts what a program would do on a GPU, and models the time that it would take."""

from __future__ import annotations

import math

from bench.measure.gpu.compiling import Compiled, Loop
from bench.measure.gpu.hlo import Launch
from bench.measure.gpu.targets import Gpu

# The model's assumptions, in seconds. A kernel takes as long as its bytes at full memory bandwidth, but at
# least this long inside a CUDA graph, and outside of one.
IN_GRAPH, ALONE = 1.5e-6, 4e-6
# The host waits for the device when it needs the value of a condition.
WAIT = 20e-6
# Cycles until a warp can use the result of an instruction, and of a load that finds its data in the nearest
# cache. Four warps of a core go on in every cycle.
RESULT, CACHED, SCHEDULERS = 4, 33, 4
WARP = 32


def counters(compiled: Compiled) -> dict[str, int]:
    """The counters of one run of the program; what the compiler does not report is left out."""
    program = compiled.program
    found = {
        "kernels": sum(one.times for one in program.launches),
        "bytes": sum(one.times * (one.read + one.written) for one in program.launches),
        "open_loops": len(program.loops),
        "conditionals": len(program.branches),
        "host_transfers": program.host_transfers,
        "wide_values": program.wide_values,
        "collectives": program.collectives,
        "temp_bytes": compiled.temp_bytes,
    }
    if compiled.outside is not None:
        found["outside_graphs"] = sum(one.times for one in program.launches if one.name in compiled.outside)
    if compiled.assembled is not None:
        found["registers"] = compiled.assembled.registers
        found["spill_bytes"] = compiled.assembled.spill_bytes
    if compiled.loop is not None:
        found["loop_instructions"] = compiled.loop.instructions
        found["loop_loads"] = compiled.loop.loads
    return found


def seconds(compiled: Compiled, gpu: Gpu) -> float:
    """The modelled time of one run."""
    outside = compiled.outside or frozenset()
    program = compiled.program
    waits = sum(program.loops.values()) + sum(
        times for name, times in program.branches.items() if name in outside
    )
    return waits * WAIT + sum(one.times * _seconds(one, one.name in outside, gpu) for one in program.launches)


def _seconds(launch: Launch, alone: bool, gpu: Gpu) -> float:
    return max(ALONE if alone else IN_GRAPH, (launch.read + launch.written) / gpu.bandwidth)


def looped(loop: Loop, passes: int, threads: int, gpu: Gpu) -> float:
    """The modelled time of the steps inside of a kernel, a thread for each environment.

    A step takes as long as one warp by itself, of which every instruction waits for the one before; or as all
    warps of a scheduler, one instruction after the other.
    """
    warps = math.ceil(threads / WARP / (gpu.cores * SCHEDULERS))
    alone = RESULT * (loop.instructions - loop.loads) + CACHED * loop.loads
    return passes * max(alone, warps * loop.instructions) / (gpu.clock * 1e9)
