"""A history's series: what belongs together, what does not, and counters that changed."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from bench.compare import nights
from bench.records import Against, Result
from tests.bench.support import paired, result, row

REFERENCE = "d" * 40


def night(number: int, ratio: float, reference: str = REFERENCE, **changes: Any) -> Result:
    """A nightly A/B run, with this ratio in its first look."""
    draw = random.Random(number)
    pairs = [[[0.1, 0.1 * ratio * math.exp(draw.gauss(0, 0.01))] for _ in range(9)] for _ in range(4)]
    counters = changes.pop("counters", {"equations": 153})
    one = row(ab=paired(9.9, pairs=pairs), counters=counters, options={})
    found = result(
        [one], created=f"2026-{1 + number // 28:02}-{1 + number % 28:02}T02:17:00+00:00", **changes
    )
    found.configuration.against = Against(reference[:7], reference, f"{number:040x}")
    assert found.git
    found.git.sha = f"{number:040x}"
    return found


def stepped(at: int, count: int = 40) -> list[Result]:
    return [night(number, 1.1 if number >= at else 1.0) for number in range(count)]


def test_a_step_is_between_two_revisions() -> None:
    (one,) = nights.series(stepped(25)[::-1])  # in any order
    (change,) = one.changes
    assert nights.revisions(one, change) == (f"{24:040x}", f"{25:040x}")
    assert math.exp(change.after - change.before) == pytest.approx(1.1, abs=0.01)
    assert (one.reference, len(one.nights)) == (REFERENCE, 40)


def test_the_ratio_is_that_of_the_first_look() -> None:
    """The one that is shown, 9.9, is of the second look where there was one."""
    (one,) = nights.series([night(0, 1.2)])
    assert math.exp(one.nights[0].ratio) == pytest.approx(1.2, abs=0.02)


@pytest.mark.parametrize("other", [{"cpu": "Intel Xeon"}, {"numpy": "2.5.0"}, {"reference": "e" * 40}])
def test_other_machines_versions_and_references_are_other_series(other: dict[str, Any]) -> None:
    """They would look like a change on the night on which they came."""
    runs = [night(number, 1.0) for number in range(20)]
    runs += [night(number, 1.1, **other) for number in range(20, 40)]
    found = nights.series(runs)
    assert [len(one.nights) for one in found] == [20, 20]
    assert all(not one.changes for one in found)


def test_runs_that_compare_nothing_are_left_out() -> None:
    assert nights.series([result([row()])]) == []
    assert nights.longest([]) == 0


def test_counters_that_changed_are_named_once() -> None:
    runs = [night(number, 1.0, counters={"equations": 153 if number < 7 else 160}) for number in range(12)]
    (change,) = nights.counter_changes(runs)
    assert change.text == "equations grew 4.6 %"
    assert (change.before.sha, change.after.sha) == (f"{6:040x}", f"{7:040x}")
    elsewhere = [night(12, 1.0, counters={"equations": 170}, jaxlib="0.11.0")]
    assert len(nights.counter_changes(runs + elsewhere)) == 1
