"""Counts what a program would do on a GPU, and models the time that it would take."""

from __future__ import annotations

from bench.measure.gpu.compiling import Compiled
from bench.measure.gpu.hlo import Launch
from bench.measure.gpu.targets import Gpu

# The model's assumptions, in seconds. A kernel takes as long as its bytes at full memory bandwidth, but at
# least this long inside a CUDA graph, and outside of one.
IN_GRAPH, ALONE = 1.5e-6, 4e-6
# The host waits for the device when it needs the value of a condition.
WAIT = 20e-6


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
