"""The bars of a run of peers: how many times as fast as each of them, beside what was aimed at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.canvas import COLOURS, GUIDE, SMALL, columns, engineered, name_bars, panel_of
from bench.sweeps import Result, when

Target = dict[str, Any]


def ratios(results: Iterable[Result]) -> Figure | None:
    """The speeds of the newest run that was compared with peers, as multiples of theirs."""
    found = [result for result in results if aimed(result)]
    if not found:
        return None
    newest = max(found, key=when)
    targets = aimed(newest)
    figure, axes = columns([(panel_of([newest]), targets)], "Beside others", 0.5 + 0.42 * len(targets))
    draw(axes[0, 0], targets)
    return figure


def aimed(result: Result) -> list[Target]:
    """The measured targets that ask for a speed, as a multiple of another one's."""
    return [
        target
        for target in result.get("targets", [])
        if target["unit"] == "×" and not target["at_most"] and limit(target) and target["median"]
    ]


def limit(target: Target) -> float:
    """What is enough; the stretch where nothing is; 0 where there is no limit."""
    return float(target.get("enough") or target.get("stretch") or 0)


def draw(axis: Axes, targets: list[Target]) -> None:
    """A bar from as fast as the other one, a line where the target is, the ratio in words."""
    ends = [end for target in targets for end in (target["low"], target["high"], limit(target))]
    axis.set(xscale="log", xlim=(min(0.9, *ends) / 1.1, max(1.1, *ends) * 4))  # room for the words
    for y, target in enumerate(targets):
        ratio, goal = target["median"], limit(target)
        met = COLOURS[0] if ratio >= goal else COLOURS[1]
        axis.barh(y, ratio - 1, left=1, height=0.6, color=met)
        axis.plot([target["low"], target["high"]], [y, y], color="black", linewidth=1)
        axis.plot([goal, goal], [y - 0.4, y + 0.4], color="black", linewidth=2)
        place = (max(ratio, goal, target["high"], 1), y)
        words = f"{ratio:.3g} ×, target {goal:g} ×"
        axis.annotate(words, place, (6, 0), textcoords="offset points", va="center", fontsize=SMALL)
    axis.axvline(1, **GUIDE)
    name_bars(axis, [f"{target['what']}\nvs {target['against']}" for target in targets])
    engineered(axis, "x", "times as fast (black line: the target)", log=True)
