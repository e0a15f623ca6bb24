"""A history as a picture: a panel for each case, a point for each night, a line for each level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bench.compare.nights import Series
from bench.show.figures.style import COLOURS, GUIDE
from bench.units import more


def nights(found: Sequence[Series]) -> Figure:
    """How much longer a step takes than at the reference; series of a case share its panel."""
    cases = list(dict.fromkeys(one.case for one in found))
    figure = Figure(figsize=(8, 0.6 + 1.7 * len(cases)), layout="constrained")
    dates = sorted({night.date for one in found for night in one.nights})
    for axis, case in zip(figure.subplots(len(cases), sharex=True, squeeze=False)[:, 0], cases, strict=True):
        axis.set_title(case, fontsize=9, loc="left")
        axis.axhline(0, **GUIDE)
        for number, one in enumerate(other for other in found if other.case == case):
            colour = COLOURS[number % len(COLOURS)]
            places = [dates.index(night.date) for night in one.nights]
            values = [night.ratio for night in one.nights]
            label = f"against {one.reference[:10]} on machine {one.machine[:6]}"
            axis.plot(places, values, ".", color=colour, label=label)
            ends = [0, *(change.at for change in one.changes), len(values)]
            for low, high in pairwise(ends):
                level = float(np.median(values[low:high]))
                axis.plot([places[low], places[high - 1]], [level, level], color=colour, linewidth=1.5)
            for change in one.changes:
                axis.axvline(places[change.at] - 0.5, color=colour, linestyle=":", linewidth=1)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: more(math.exp(value))))
        axis.yaxis.set_major_locator(MaxNLocator(4))
        axis.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        axis.xaxis.set_major_formatter(
            FuncFormatter(lambda place, _: dates[round(place)] if 0 <= round(place) < len(dates) else "")
        )
        axis.legend(fontsize=7, loc="best", frameon=False)
    figure.suptitle("Time against the reference, night by night", fontsize=11)
    return figure
