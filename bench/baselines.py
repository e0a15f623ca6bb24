"""Baselines: the committed files that a run is held against, and how numbers get into them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import counts, results, runner, words
from bench.counts import COMPILING, Key
from bench.judge import Earlier, differing
from bench.results import ROOT, Result, ResultError
from bench.sweeps import Row
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.measures import Plan
from cogrid.shadow import VARIABLE as SHADOW

FOLDER = ROOT / "bench" / "baselines"
COLUMNS = ("baseline", "holds", "here", "accepted", "revision", "because")

Baseline = dict[str, Any]  # a result with a record of acceptance, or counters


class Accepted(NamedTuple):
    """The files that were written, and what was left out of them, in words."""

    written: list[Path]
    left_out: list[str]


def is_counts(baseline: Baseline) -> bool:
    """Whether it holds counters; otherwise it is a result, with times."""
    return "key" in baseline


def load(path: Path) -> Baseline:
    """A valid baseline of either kind; any result can serve as one."""
    found = results.parsed(path)
    results.validate(found, str(path), _kind(found))
    return found


def _kind(baseline: Baseline) -> str:
    return "counts" if is_counts(baseline) else ""


def files() -> list[Path]:
    """The committed ones."""
    return sorted(FOLDER.glob("*.json"))


def earlier(paths: Iterable[Path]) -> Earlier:
    """What the files hold, to be judged by; a result brings its counters along."""
    found = [load(path) for path in paths]
    timings = [one for one in found if not is_counts(one)]
    brought = [part for one in timings for part in counts.counts_of(one)]
    return Earlier(timings, [one for one in found if is_counts(one)] + brought)


def file_name(baseline: Baseline) -> str:
    """The name that follows from what is inside."""
    if not is_counts(baseline):
        return f"{results.fingerprint(baseline['system'])}.json"
    key: Key = baseline["key"]
    if "numpy" in key:
        return f"counters-numpy-{key['numpy']}-python-{key['python']}.json"
    return f"counters-{key['jaxlib']}-{key['platform']}.json"


# Accepting


def accept(paths: Sequence[Path], reason: str, allow_dirty: bool = False) -> Accepted:
    """Put the rows of results into the baselines of their machines and versions: all of them or nothing."""
    found = [(path, results.load(path)) for path in paths]
    for path, result in found:
        refuse(path, result, reason, allow_dirty)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    merged: dict[Path, Baseline] = {}
    for _, result in found:
        record = {"when": now, **(result["git"] or {"sha": None, "dirty": True}), "reason": reason}
        for new in parts(result):
            path = FOLDER / file_name(new)
            merged[path] = merge(merged.get(path) or (load(path) if path.exists() else None), new, record)
    for path, baseline in merged.items():
        results.validate(baseline, str(path), _kind(baseline))
    for path, baseline in merged.items():
        results.write(path, baseline)
    rows = [row for _, result in found for row in result["rows"]]
    return Accepted(list(merged), list(filter(None, map(left_out, rows))))


def parts(result: Result) -> list[Baseline]:
    """What of a result goes into which baseline: steady rows with their times, and all counters."""
    rows = [row for row in result["rows"] if row["status"] == "ok" and is_current(row)]
    steady = [row for row in rows if not words.doubt(row)]
    counted = counts.counts_of({**result, "rows": rows})
    timed = [{**result, "rows": steady}] if steady else []
    return [{"schema": results.SCHEMA_VERSION, **part} for part in (*counted, *timed)]


def refuse(path: Path, result: Result, reason: str, allow_dirty: bool) -> None:
    """Raise what makes a whole result useless as a baseline."""
    plan = runner.plan_of(result)
    set_flags = [name for name in (*COMPILING, SHADOW) if name in result["system"]["flags"]]
    wrong = [row["name"] for row in result["rows"] if row["status"] == "mismatch"]
    git = result["git"]
    for refused, why in (
        (not reason.strip(), "--reason is empty: say why these numbers are accepted"),
        (bool(wrong), f"it has wrong results ({', '.join(wrong)}): mend them first"),
        (
            not allow_dirty and (git is None or git["dirty"]),
            "its checkout had changes or no revision: commit and measure anew, or say --allow-dirty",
        ),
        (
            plan._replace(samples=0) != Plan(samples=0),
            "it was sampled in a way of its own: run without --iterations and --warmup",
        ),
        (bool(set_flags), f"it was measured under {', '.join(set_flags)}: unset that"),
        (
            result["configuration"]["suite"] in ("ab", "peers"),
            f"its suite is {result['configuration']['suite']!r}: accept what `run` measured",
        ),
    ):
        if refused:
            raise ResultError(f"{path} is not accepted, {why}.")
    if not any(row["status"] == "ok" and is_current(row) for row in result["rows"]):
        raise ResultError(f"{path} is not accepted, it has no row that today's code measured: measure anew.")


def left_out(row: Row) -> str:
    """Why a row, or its times, did not get into a baseline; "" if it did."""
    if row["status"] != "ok":
        return f"{row['name']}: {words.reading(row)}"
    if not is_current(row):
        return f"{row['name']}: measured by other code than today's."
    doubt = words.doubt(row)
    kept = ", its counters were kept" if row["counters"] else ""
    return f"{row['name']}: {doubt}{kept}." if doubt else ""


def is_current(row: Row) -> bool:
    """Whether today's code would measure the row in the same way."""
    try:
        return bool(results.identity(Case.of(row["case"]), Plan()) == row["identity"])
    except (TypeError, ValueError):  # a case that is known no longer
        return False


def merge(old: Baseline | None, new: Baseline, record: dict[str, Any]) -> Baseline:
    """Rows put into a baseline; those of the same name give way, and their records with them."""
    names = sorted(row["name"] for row in new["rows"])
    kept = [row for row in old["rows"] if row["name"] not in names] if old else []
    records = []
    for one in old["accepted"] if old else []:
        if left := [name for name in one["rows"] if name not in names]:
            records.append({**one, "rows": left})
    rows = sorted([*kept, *new["rows"]], key=lambda row: str(row["name"]))
    merged = {**new, "accepted": [*records, {**record, "rows": names}], "rows": rows}
    if not is_counts(merged):
        merged["configuration"] = {**new["configuration"], "planned": [row["case"] for row in rows]}
    return merged


# Looking


def troubles(path: Path) -> list[str]:
    """What is wrong with a committed file, in sentences."""
    try:
        found = load(path)
    except ResultError as error:
        return [str(error)]
    wrong = []
    if "accepted" not in found:
        wrong.append(f"{path.name} has no record of acceptance: `python -m bench baseline accept` makes it.")
    if path.name != file_name(found):
        wrong.append(f"{path.name} should be called {file_name(found)} after what it holds.")
    if not is_counts(found) and found["fingerprint"] != results.fingerprint(found["system"]):
        wrong.append(f"{path.name} has the fingerprint of another machine than it describes.")
    stale = [row["name"] for row in found["rows"] if not is_current(row)]
    if stale:
        told = f"{len(stale)} of its {len(found['rows'])} rows are measured in another way today"
        wrong.append(f"{path.name} is out of date, {told}: {stale[0]}.")
    return wrong


def fit(baseline: Baseline, machine: dict[str, Any]) -> str:
    """Whether this machine's numbers can be held against it, in words."""
    if is_counts(baseline):
        here = [counts.key_of(machine, backend) for backend in ("numpy", "jax")]
        fits = baseline["key"] in here
        return "fits" if fits else f"not comparable: counted for {counts.told_key(baseline['key'])}"
    others = differing(baseline, {"system": machine})
    return f"not comparable: other {' and '.join(others)}" if others else "fits"


def described(path: Path, machine: dict[str, Any]) -> list[str]:
    """A line of the list: file, rows, fit, and when the newest of it was accepted and why."""
    found = load(path)
    newest = found.get("accepted", [{"when": "", "reason": "", "sha": None}])[-1]
    kind = "counters" if is_counts(found) else "times"
    return [
        path.name,
        f"{kind} of {len(found['rows'])} cases",
        fit(found, machine),
        newest["when"][:10],
        (newest["sha"] or "")[:10],
        newest["reason"],
    ]
