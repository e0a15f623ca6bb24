"""The self-check: how often this machine's A/B raises a false alarm and what it misses, as tables."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np
from tabulate import tabulate

from bench.experiments.campaign import Run
from bench.experiments.redraw import RULES, RecordedPair, Score, recorded_pairs, redraw
from bench.units import percent

REAL = ("real runs", "runs", "slowed case found", "with a false alarm", "left open", "time of a run")
NOISE = ("case, beside a hog", "rounds differ by", "pairs of processes by", "smallest effect (median)")
DRAWN = ("A/A suites with an alarm", "10 % found", "20 % found")


def summary(runs: Sequence[Run], suites: int, style: str = "simple") -> str:
    """The real runs, the noise of every case, and the drawn suites by every rule."""
    runs = [run.judged_again() for run in runs]
    recorded = recorded_pairs(runs)
    tables = (
        (_real(runs), REAL),
        (_noise(runs, recorded), NOISE),
        (_drawn(redraw(recorded, suites)), (f"{suites} drawn suites each", *DRAWN)),
    )
    return "\n\n".join(tabulate(rows, headers, style, disable_numparse=True) for rows, headers in tables)


def _real(runs: Sequence[Run]) -> list[list[str]]:
    rows = []
    for kind in dict.fromkeys(run.kind for run in runs):
        chosen = [run for run in runs if run.kind == kind]
        found = sum(run.slowed in run.slower for run in chosen)
        false = sum(bool(set(run.slower) - {run.slowed}) for run in chosen)
        left_open = sum(any(case.is_open for case in run.cases.values()) for run in chosen)
        seconds = [run.seconds for run in chosen]
        longest = f"{statistics.median(seconds):.0f} s, at most {max(seconds):.0f} s"
        numbers = (len(chosen), found if chosen[0].slowed else "–", false, left_open)
        rows.append([kind, *map(str, numbers), longest])
    return rows


def _noise(runs: Sequence[Run], recorded: Sequence[RecordedPair]) -> list[list[str]]:
    rows = []
    for name in recorded[0].rounds:
        rounds = [math.log(head / base) for pair in recorded for base, head in pair.rounds[name]]
        centers = [pair.estimates[name].center for pair in recorded]
        smallest = [run.cases[name].smallest for run in runs if run.is_calibration]
        figures = (float(np.std(rounds)), float(np.std(centers)), statistics.median(smallest))
        rows.append([name, *map(percent, figures)])
    return rows


def _drawn(scores: Sequence[Score]) -> list[list[str]]:
    return [[rule, *(score.text for score in scores if score.rule == rule)] for rule in RULES]
