"""What the docs publish of recorded runs: pictures, and blocks of text generated from the files.

A block is enclosed by two comments in a page, so that no number is copied by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from bench import ROOT
from bench.compare.sweeps import batch_sweeps, speed_rows
from bench.exit_codes import UsageError
from bench.records import Result, Row, TargetResult
from bench.storage import results
from bench.suites import CRAMPED
from bench.units import engineering, size, with_unit

EVIDENCE = ROOT / "bench" / "evidence"
IMAGES = ROOT / "docs" / "images"
#: The published figures, by the run from which each is drawn.
FIGURES = {"throughput": ("throughput", "memory"), "peers": ("ratios", "libraries")}
DIFFERENT = "different work"  # the verdict of a target without a limit, of another game
LARGE = 100_000  # environments, for the speed in the README
PLANES, STEP_ENV = "JAX scan@1024, lossless, CrampedRoom", "JaxMARL V1 step_env, actions given"
BLOCK = re.compile(r"(<!-- bench publish: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


class RecordedRuns(NamedTuple):
    """The two committed results, in bench/evidence, that every published number is taken from."""

    throughput: Result
    peers: Result


def recorded(folder: Path = EVIDENCE) -> RecordedRuns:
    return RecordedRuns(*(results.load(folder / f"{name}.json") for name in RecordedRuns._fields))


def place_of(result: Result, folder: Path = EVIDENCE) -> Path:
    """The evidence file that a new run replaces."""
    kinds = {"full": "throughput", "peers": "peers"}
    suite = result.configuration.suite
    if suite not in kinds:
        raise UsageError(f"published are runs of the full suite and of the peers, and this is a {suite} run.")
    return folder / f"{kinds[suite]}.json"


def shown_part(result: Result) -> Result:
    """The CrampedRoom sweeps of a run of the full suite; everything of any other run."""
    if result.configuration.suite != "full":
        return result
    rows = [row for row in speed_rows(result.rows) if _is_swept(row)]
    if not batch_sweeps(rows):
        raise UsageError("this run has no sweep of CrampedRoom over the batch: measure with --full alone.")
    planned = [row.case for row in rows]
    return replace(result, rows=rows, configuration=replace(result.configuration, planned=planned))


def _is_swept(row: Row) -> bool:
    case = row.case
    return (case.id, case.workload, case.options) == (CRAMPED, "random", {})


# Blocks


def pages(recorded_runs: RecordedRuns, root: Path = ROOT) -> dict[Path, str]:
    """The texts of all pages with blocks, with the blocks regenerated from the evidence."""

    def written(match: re.Match[str]) -> str:
        return f"{match[1]}{BLOCKS[match[2]](recorded_runs)}\n\n{match[3]}"

    paths = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    return {path: BLOCK.sub(written, text) for path, text in texts.items() if BLOCK.search(text)}


def speed(runs: RecordedRuns) -> str:
    """For the README: a large batch, and the ratio to JaxMARL."""
    rows = [row for sweep in batch_sweeps(runs.throughput.rows) for row in sweep]
    large = next(row for row in rows if (row.case.mode, row.case.batch) == ("jax-scan", LARGE))
    beside = next(one for one in runs.peers.targets if (one.what, one.against) == (PLANES, STEP_ENV))
    system = runs.throughput.system
    millions = f"{large.numbers.median / 1e6:.1f} million steps per second"
    return (
        f"{LARGE:,} kitchens in one process make {millions} on {system.cores} shared cores "
        f"({system.cpu}, revision\n{_revision(runs.throughput)}). "
        f"With the same planes of the same kitchen cogrid is {beside.median or 0:.1f} times as fast as "
        f"JaxMARL{_within(beside)}, in one run of\n`nox -s bench-peers` at revision {_revision(runs.peers)}."
    )


def throughput(runs: RecordedRuns) -> str:
    result = runs.throughput
    swept = {(row.case.mode, row.case.batch): row for sweep in batch_sweeps(result.rows) for row in sweep}
    lines = [
        {
            "environments": f"{batch:,}",
            "JAX, steps/s": _speed(swept.get(("jax-scan", batch))),
            "NumPy, steps/s": _speed(swept.get(("numpy-batch", batch))),
            "peak memory of the JAX process": _memory(swept.get(("jax-scan", batch))),
        }
        for batch in sorted({batch for _, batch in swept})
    ]
    samples = result.configuration.samples
    how = f"Medians of {samples} samples; the bars in the picture reach from the least to the greatest."
    return f"{_origin(result)}\n{how}\n\n{_table(lines)}"


def peers(runs: RecordedRuns) -> str:
    aimed = [one for one in runs.peers.targets if one.enough is not None]
    met = sum("missed" not in one.verdict and one.median is not None for one in aimed)
    lines = [
        {
            "what": one.what,
            "against": one.against,
            "measured": _measured(one),
            "target": _limit(one.enough, one),
            "stretch goal": _limit(one.stretch, one),
        }
        for one in runs.peers.targets
        if one.enough is not None or one.stretch is not None
    ]
    headline = f"{met} of {len(aimed)} targets are met; the 95 % interval is in brackets."
    parts = [f"{_origin(runs.peers)}\n{headline}", _table(lines), _not_met(runs.peers.targets)]
    return "\n\n".join([*parts, *_other_work(runs.peers)])


def _other_work(result: Result) -> list[str]:
    """What peers without the same games do, for an idea of the scale."""
    lines = [
        {"for comparison, different work": one.what, "beside": one.against, "measured": _measured(one)}
        for one in result.targets
        if one.verdict == DIFFERENT
    ]
    return [_table(lines)] if lines else []


def _not_met(targets: Sequence[TargetResult]) -> str:
    """As text, so that nobody has to compare two columns."""
    missed = [one for one in targets if one.enough is not None and "missed" in one.verdict]
    goals = [one for one in targets if one.stretch is not None and one.median is not None]
    reached = sum(one.verdict == "stretch met" for one in goals)
    lines = [f"- {_named(one)}: {_measured(one)}, wanted {_limit(one.enough, one)}" for one in missed]
    return "\n".join(
        [
            f"{reached} of {len(goals)} stretch goals are reached. "
            + ("Missed targets:" if missed else "No target is missed."),
            *([""] if missed else []),
            *lines,
        ]
    )


def _named(one: TargetResult) -> str:
    return f"{one.what}, beside {one.against}" if one.against else one.what


BLOCKS: Mapping[str, Callable[[RecordedRuns], str]] = {
    "speed": speed,
    "throughput": throughput,
    "peers": peers,
}


def _table(lines: list[dict[str, str]]) -> str:
    """Markdown without padding, so that a changed number changes only one line."""
    rows = [list(lines[0]), ["---"] * len(lines[0]), *(list(line.values()) for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _origin(result: Result) -> str:
    system = result.system
    machine = f"{system.cpu}, {system.cores} cores, Python {system.python}, JAX {system.jax}"
    return f"One run of {result.when:%Y-%m-%d} at revision {_revision(result)}: {machine}."


def _revision(result: Result) -> str:
    return result.git.short if result.git else "unknown"


def _speed(row: Row | None) -> str:
    if row is None:
        return ""
    if not row.is_ok:
        return row.status
    return engineering(row.numbers.median) + (f" ({row.doubt})" if row.doubt else "")


def _memory(row: Row | None) -> str:
    peak = row.memory.get("peak_rss_bytes") if row else None
    return size(peak) if peak else ""


def _measured(one: TargetResult) -> str:
    if one.median is None:
        return one.verdict
    middle = with_unit(one.median, one.unit)
    if one.low is None or one.high is None or one.low == one.high:
        return middle
    return f"{middle} ({with_unit(one.low, one.unit)} … {with_unit(one.high, one.unit)})"


def _within(one: TargetResult) -> str:
    return f" ({one.low:.1f} to {one.high:.1f})" if one.low is not None and one.high is not None else ""


def _limit(limit: float | None, one: TargetResult) -> str:
    return f"{'≤' if one.at_most else '≥'} {with_unit(limit, one.unit)}" if limit is not None else ""


def doubtful(runs: RecordedRuns) -> list[str]:
    """The published speeds that are too noisy; ratios to peers have their intervals instead."""
    return [f"{row.name}: {row.doubt}" for row in runs.throughput.rows if row.doubt]
