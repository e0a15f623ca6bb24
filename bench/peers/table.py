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


def table(result: Result, found: Sequence[Found], style: str = "simple") -> str:
    lines = [_cells(one) for one in found]
    text = tabulate(lines, COLUMNS, style, disable_numparse=True, maxcolwidths=[34, 26, *[None] * 5, 44])
    return "\n\n".join([machine(result), text, headline(found)])


def headline(found: Sequence[Found]) -> str:
    aimed = [one for one in found if one.target.enough is not None]
    middles = [(one.target, one.interval.median) for one in aimed if one.interval]
    met = sum(target.reaches(median, target.enough) for target, median in middles)
    wrong = sum(bool(one.failure and one.failure.status == "mismatch") for one in found)
    return (
        f"{met} of {len(aimed)} targets met, {len(middles) - met} missed, "
        f"{len(aimed) - len(middles)} not measured; "
        + (f"{wrong} with WRONG RESULTS." if wrong else "all trajectories that can be compared agree.")
    )


def _cells(found: Found) -> list[str]:
    target, shown, middle = found.target, found.target.shown, found.interval
    measured = shown(middle.median) if middle else "–"
    within = f"{shown(middle.low)} … {shown(middle.high)}" if middle and middle.low < middle.high else ""
    return [target.what, target.against, *_medians(found), measured, within, target.goal(), _verdict(found)]


def _medians(found: Found) -> tuple[str, str]:
    shown = [engineering(row.numbers.median, row.unit) if row.is_ok else "–" for row in found.rows]
    if found.target.figure is exponent:
        return f"{shown[0]} … {shown[-1]}", ""
    if found.target.figure is alone:
        return (shown[0], "") if found.target.cases[0].peer is COGRID else ("", shown[0])
    return shown[0], shown[1]


def _verdict(found: Found) -> str:
    busy = any(row.noise.get("disturbed", 0) > len(row.samples) / 2 for row in found.rows)
    parts = [found.verdict, found.target.note, "on a busy machine" if busy else ""]
    return "; ".join(dict.fromkeys(filter(None, parts)))
