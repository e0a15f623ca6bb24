"""Tables: a result for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from bench.compare.findings import environment_share, in_short
from bench.compare.sweeps import MODE, same_but
from bench.measure.gpu.compiled import target_of
from bench.measure.phases import Parts
from bench.measure.phases import table as phases_table
from bench.records import Result, Row
from bench.show import gpu
from bench.units import engineering, percent, size
from cogrid._env.shadow import VARIABLE

SPEED = ("case", "steps/s", "±", "agent steps/s", "one environment", "vs numpy-single", "memory")
TIME = ("case", "median", "p95", "p99", "parts")
KEPT = "Disturbed samples were kept where no better ones could be taken."
SHADOW = ("case", "beside", "comparisons", "mismatches", "time of the case : beside")
PROFILE_NOTE = (
    "step: share of the sum of the parts; wall: share of the whole call. NumPy's phases are timed inside the "
    "step, so they sum to less. JAX's phases, and the parts of the observation on both backends, are timed "
    "apart from the whole, so they may sum to more or less."
)
PROFILES = {"profile": "phases of a step", "features": "parts of the flat observation"}


def summary(result: Result, compared: bool = False) -> str:
    """The whole result; if a comparison follows, that one counts the noisy rows."""
    compiled, speeds, times = parted(result.rows)
    parts = [machine(result)]
    if compiled:
        parts += [gpu.table(compiled), gpu.beside(result.rows)]
    if speeds:
        parts.append(_noted([_speed(row, result.rows) for row in speeds], SPEED, speeds))
    if times:
        parts.append(_noted([_time(row) for row in times], TIME, times))
    if any(row.shadow for row in result.rows):
        parts.append(shadows(result.rows))
    return "\n\n".join(filter(None, [*parts, verbs(result.rows), headline(result, compared)]))


def parted(rows: Sequence[Row]) -> tuple[list[Row], list[Row], list[Row]]:
    """The rows as programs compiled for a GPU and not run, speeds, and times."""
    kinds = [0 if target_of(row.case.measure) else 1 if row.unit == "steps/s" else 2 for row in rows]
    compiled, speeds, times = (
        [row for row, one in zip(rows, kinds, strict=True) if one == k] for k in range(3)
    )
    return compiled, speeds, times


def verbs(rows: Sequence[Row]) -> str:
    """How often each verb happened in the steps compared with NumPy, one line per game."""
    games: dict[str, dict[str, int]] = {}
    for row in rows:
        if row.verbs:
            games.setdefault(row.case.id, row.verbs)
    return "\n".join(
        f"Verbs compared in {id}: {', '.join(f'{name} {count}' for name, count in met.items())}."
        for id, met in games.items()
    )


def shadows(rows: Sequence[Row]) -> str:
    reports = [(row.name, row.shadow) for row in rows if row.shadow]
    lines = [
        [name, one.beside, f"{one.comparisons:,}", f"{one.mismatches:,}", _ratio(one.ratio)]
        for name, one in reports
    ]
    total, wrong = sum(one.comparisons for _, one in reports), sum(one.mismatches for _, one in reports)
    first = "".join(f"\n{name}: {one.first}" for name, one in reports if one.first)
    return f"{_table(lines, SHADOW)}\n\nShadow: {total:,} comparisons, {wrong:,} mismatches.{first}"


def _ratio(ratio: float | None) -> str:
    return "–" if ratio is None else f"1 : {ratio:.3g}"


def _table(rows: list[list[str]], columns: Sequence[str], right: int = 0) -> str:
    """The last `right` columns are aligned to the right."""
    aligned = ["left"] * (len(columns) - right) + ["right"] * right
    return tabulate(rows, columns, "simple", disable_numparse=True, colalign=aligned)


def machine(result: Result) -> str:
    system = result.system
    jax = f"jax {system.jax} on {system.platform}" if system.jax else "without JAX"
    shadow = "; with a shadow, so not compared by time" if VARIABLE in system.flags else ""
    revision = f"revision {result.git.short}" if result.git else "no revision"
    return (
        f"{system.cpu}, {system.cores} cores, Python {system.python}, numpy {system.numpy}, {jax}; "
        f"{revision}; fingerprint {result.fingerprint}{shadow}"
    )


def headline(result: Result, compared: bool = False) -> str:
    """One sentence, without the number of noisy rows if a comparison counts them."""
    rows = result.rows
    counts = {status: sum(row.status == status for row in rows) for status in ("failed", "out of memory")}
    noisy = 0 if compared else sum(bool(row.doubt) for row in rows)
    wrong = sum(row.status == "mismatch" for row in rows)
    agree = "all checksums agree" if not wrong else f"{wrong} with WRONG RESULTS"
    troubled = "".join(f", {count} {status}" for status, count in counts.items() if count)
    if rows and all(target_of(row.case.measure) for row in rows):
        return f"{len(rows)} compiled{troubled}."
    return f"{len(rows)} measured{troubled}{f', {noisy} too noisy to compare' if noisy else ''}; {agree}."


def profile(result: Result) -> str:
    """Phases of the step and parts of the observation by mode, with configurations side by side."""
    parts = [machine(result)]
    groups: dict[str, list[Row]] = {}
    for row in sorted(result.rows, key=lambda row: list(PROFILES).index(row.case.measure)):
        title = f"{PROFILES[row.case.measure]}, {row.case.mode}@{row.case.batch}"
        groups.setdefault(title, []).append(row)
    for title, rows in groups.items():
        columns = {
            row.case.environment: Parts(row.parts, row.samples, row.part_means) for row in rows if row.is_ok
        }
        if columns:
            header, *lines = phases_table(columns)
            if rows[0].case.measure == "features":
                header, lines = _of_observation(header, lines)
            parts.append(f"{title}\n\n{_table(lines, header, right=len(columns))}")
        parts += [f"{row.name}: {in_short(row)}" for row in rows if row.doubt or not row.is_ok]
    return "\n\n".join([*parts, PROFILE_NOTE])


def _of_observation(header: list[str], lines: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """The table of parts with the words of an observation: their sum is not a step."""
    *parts, total, wall = lines
    return [title.replace("   step", "    sum") for title in header], [*parts, ["sum", *total[1:]], wall]


def parts_of(row: Row) -> str:
    """The parts of a row measured in seconds: 'trace 200 ms, compile 500 ms'."""
    return ", ".join(f"{name} {engineering(seconds, 's')}" for name, seconds in row.parts.items())


def _speed(row: Row, rows: Sequence[Row]) -> list[str]:
    if not row.is_ok:
        return [row.name, "–", "", "", "", "", ""]
    median, batch = row.numbers.median, row.case.batch
    single = numpy_single(row, rows)
    rss = row.memory.get("peak_rss_bytes")
    return [
        row.name,
        engineering(median),
        percent(row.numbers.cv) if len(row.samples) > 1 else "–",
        engineering(median * row.agents),
        engineering(median / batch) if batch > 1 else "",
        f"{engineering(median / single)}×" if single else "",
        size(rss) if rss else "",
    ]


def _time(row: Row) -> list[str]:
    if not row.is_ok:
        return [row.name, "–", "", "", ""]
    numbers = row.numbers
    tail = (numbers.p95, numbers.p99) if row.case.measure == "latency" else ()
    percentiles = [engineering(value, "s") for value in tail] or ["", ""]
    return [row.name, engineering(numbers.median, row.unit), *percentiles, parts_of(row)]


def _noted(lines: list[list[str]], columns: Sequence[str], rows: Sequence[Row]) -> str:
    """A table with a column of notes; what would repeat in the rows is said once, below."""
    notes = [_notes(row) for row in rows]
    shared = [note for note in notes[0] if all(note in others for others in notes)] if len(rows) > 1 else []
    own = [", ".join(note for note in some if note not in shared) for some in notes]
    if any(own):
        lines, columns = [[*line, note] for line, note in zip(lines, own, strict=True)], [*columns, "note"]
    said = {"All rows": shared}
    if disturbed := [row for row in rows if row.is_ok and row.noise.get("disturbed")]:
        few = f"{len(disturbed)} of {len(rows)} rows" if len(disturbed) < len(rows) else "All rows"
        which = disturbed[0].name if len(disturbed) == 1 else few
        said.setdefault(which, []).append(_disturbed(disturbed))
    below = [f"{which}: {', '.join(some)}." for which, some in said.items() if some]
    below += [KEPT] if disturbed else []
    return "\n\n".join(filter(None, [_table(lines, columns), "\n".join(below)]))


def _notes(row: Row) -> list[str]:
    return list(filter(None, [environment_share(row), row.doubt])) if row.is_ok else [in_short(row)]


def _disturbed(rows: Sequence[Row]) -> str:
    """The range over the rows: '9 of 10 to 10 of 10 samples disturbed'."""
    by_share = sorted(rows, key=lambda row: row.noise["disturbed"] / len(row.samples))
    ends = [f"{row.noise['disturbed']:.0f} of {len(row.samples)}" for row in (by_share[0], by_share[-1])]
    return f"{' to '.join(dict.fromkeys(ends))} samples disturbed"


def numpy_single(row: Row, rows: Sequence[Row]) -> float | None:
    kind = _kind(row)
    singles = (one for one in rows if one.case.mode == "numpy-single" and one.is_ok and one is not row)
    return next((one.numbers.median for one in singles if _kind(one) == kind), None)


def _kind(row: Row) -> str:
    return same_but(row, "library", *MODE)
