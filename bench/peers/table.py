"""The table of the targets, and the number met."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from bench.peers.run import Found
from bench.peers.target import COGRID, alone, exponent
from bench.records import Result
from bench.show.tables import machine
from bench.units import engineering

COLUMNS = ("what", "against", "cogrid", "peer", "measured", "95 % interval", "target", "verdict")


def table(result: Result, measured: Sequence[Found], style: str = "simple") -> str:
    lines = [_cells(one) for one in measured]
    text = tabulate(lines, COLUMNS, style, disable_numparse=True, maxcolwidths=[34, 26, *[None] * 5, 44])
    return "\n\n".join([machine(result), text, headline(measured)])


def headline(measured: Sequence[Found]) -> str:
    aimed = [one for one in measured if one.target.enough is not None]
    middles = [(one.target, one.interval.median) for one in aimed if one.interval]
    met = sum(target.reaches(median, target.enough) for target, median in middles)
    wrong = sum(bool(one.failure and one.failure.status == "mismatch") for one in measured)
    return (
        f"{met} of {len(aimed)} targets met, {len(middles) - met} missed, "
        f"{len(aimed) - len(middles)} not measured; "
        + (f"{wrong} with WRONG RESULTS." if wrong else "all trajectories that can be compared agree.")
    )


def _cells(one: Found) -> list[str]:
    target, shown, middle = one.target, one.target.shown, one.interval
    measured = shown(middle.median) if middle else "–"
    within = f"{shown(middle.low)} … {shown(middle.high)}" if middle and middle.low < middle.high else ""
    return [target.what, target.against, *_medians(one), measured, within, target.goal(), _verdict(one)]


def _medians(one: Found) -> tuple[str, str]:
    shown = [engineering(row.numbers.median, row.unit) if row.is_ok else "–" for row in one.rows]
    if one.target.figure is exponent:
        return f"{shown[0]} … {shown[-1]}", ""
    if one.target.figure is alone:
        return (shown[0], "") if one.target.cases[0].peer is COGRID else ("", shown[0])
    return shown[0], shown[1]


def _verdict(one: Found) -> str:
    busy = any(row.noise.get("disturbed", 0) > len(row.samples) / 2 for row in one.rows)
    parts = [one.verdict, one.target.note, "on a busy machine" if busy else ""]
    return "; ".join(dict.fromkeys(filter(None, parts)))
