"""Programs compiled for GPUs and not run: one line each, with counters per step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tabulate import tabulate

from bench.compare.sweeps import same_but
from bench.measure.gpu import counting, running
from bench.measure.gpu.compiled import target_of
from bench.measure.gpu.targets import Target
from bench.records import Row
from bench.units import engineering, size

COLUMNS = (
    *("program", "GPU", "kernels a step", "bytes per environment", "modelled steps/s", "in CUDA graphs"),
    *(
        "open loops",
        "conditionals",
        "host transfers",
        "64 bits",
        "collectives",
        "registers",
        "spills",
        "temporary",
    ),
)
MODEL = (
    "Nothing in this table was run. Modelled: a kernel takes its bytes at the memory's bandwidth, at least "
    f"{engineering(counting.IN_GRAPH, 's')} in a CUDA graph and {engineering(counting.ALONE, 's')} outside; "
    f"an open loop, or a conditional outside of graphs, {engineering(counting.WAIT, 's')} more. Open loops "
    "have no trip count and are taken to run once, conditionals to take the branch of False. In a kernel of "
    f"many steps an instruction takes {counting.RESULT} cycles and a load {counting.CACHED}, or longer where "
    "warps wait for each other."
)


MEASURED = ("program", "GPU", "modelled steps/s", "measured steps/s", "measured / modelled")


def table(rows: Sequence[Row], style: str = "simple") -> str:
    lines = [cells(row) for row in rows]
    return f"{tabulate(lines, COLUMNS, style, disable_numparse=True)}\n\n{MODEL}"


def beside(rows: Sequence[Row], style: str = "simple") -> str:
    """The modelled speeds next to those measured on a GPU; empty if none was measured."""
    lines = list(measured(rows))
    return tabulate(lines, MEASURED, style, disable_numparse=True) if lines else ""


def measured(rows: Sequence[Row]) -> Iterator[list[str]]:
    """A line for each program that was both compiled and run."""
    ran = {_program(row): row for row in rows if row.case.measure in running.MEASURES and row.is_ok}
    for row in rows:
        if target_of(row.case.measure) and row.is_ok and (other := ran.get(_program(row))):
            model, speed = row.numbers.median, other.numbers.median
            yield [*cells(row)[:2], engineering(model), engineering(speed), f"{speed / model:.2f}"]


def _program(row: Row) -> str:
    """A key that a compiled program and its run have in common."""
    return f"{same_but(row, 'measure')} {row.case.measure.rpartition('-')[2]}"


def cells(row: Row) -> list[str]:
    target, _, program = row.case.measure.rpartition("-")
    name = f"{row.case.environment} {program}@{row.case.batch}"
    if not row.is_ok:
        return [name, target, "–", f"{row.status}: {row.error}", *[""] * (len(COLUMNS) - 4)]
    counters, steps = row.counters, row.case.steps
    one = [
        str(counters[key])
        for key in ("open_loops", "conditionals", "host_transfers", "wide_values", "collectives")
    ]
    return [
        name,
        target,
        f"{counters['kernels'] / steps:.{1 if counters['kernels'] >= steps else 3}f}",
        f"{bytes_per_environment(row):.0f}",
        engineering(row.numbers.median),
        _share(counters),
        *one,
        str(counters.get("registers", "")),
        _spills(counters),
        size(counters["temp_bytes"]),
    ]


def bytes_per_environment(row: Row) -> float:
    """Bytes that a step moves for each environment; the counters are those of one device."""
    devices = Target.of(row.case.measure.rpartition("-")[0]).number
    return row.counters["bytes"] * devices / row.case.steps / row.case.batch


def _share(counters: dict[str, int]) -> str:
    if "outside_graphs" not in counters:
        return ""
    inside = counters["kernels"] - counters["outside_graphs"]
    if inside == counters["kernels"]:
        return "all"
    share = 100 * inside / counters["kernels"]
    return f"{share:.1f} %" if share < 99.95 else "> 99.9 %"


def _spills(counters: dict[str, int]) -> str:
    if "spill_bytes" not in counters:
        return ""
    return size(counters["spill_bytes"]) if counters["spill_bytes"] else "0"
