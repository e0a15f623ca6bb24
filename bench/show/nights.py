"""The change points of a history as text, each with the command that finds its commit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tabulate import tabulate

from bench.compare.nights import FALSE_ALARMS, CounterChange, Series, longest, revisions
from bench.units import pace, percent
from cogrid._io.messages import several


def text(found: Sequence[Series], counters: Sequence[CounterChange]) -> str:
    rows, commands = [], []
    for one in found:
        for change in one.changes:
            before, after = revisions(one, change)
            moved = pace(math.exp(change.after - change.before))
            nights = f"{one.nights[change.at - 1].date} … {one.nights[change.at].date}"
            rows.append(
                [one.case, moved, nights, f"{before[:10]} … {after[:10]}", f"{change.probability:.2g}"]
            )
            if change.after > change.before:
                commands.append(f'  python -m bench bisect {before[:10]} {after[:10]} --only "{one.case}"')
    lines = [_heading(found, len(rows))]
    if rows:
        headers = ["case", "became", "between the nights", "and revisions", "by chance"]
        lines += ["", tabulate(rows, headers, disable_numparse=True)]
    if commands:
        lines += ["", "The commit is found by", *commands]
    if counters:
        lines += ["", "Counters that changed:", *map(_counter, counters)]
    return "\n".join(lines)


def _heading(found: Sequence[Series], changed: int) -> str:
    many = f"{len(found)} series of up to {longest(found)} A/B runs"
    rate = f"if nothing changed, one is reported with a probability of {percent(FALSE_ALARMS)}"
    return f"{many}, {several(changed, 'change')} ({rate})."


def _counter(one: CounterChange) -> str:
    where = f"{one.before.date} {one.before.sha[:10]} … {one.after.date} {one.after.sha[:10]}"
    return f"  {one.case}: {one.text}, {where}"
