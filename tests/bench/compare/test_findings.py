"""The judge: verdicts, what is never compared, the order, and the exit codes that follow."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from bench.compare.findings import MARGIN, Finding, codes, judge, means, verdict_of
from bench.compare.intervals import Interval
from bench.exit_codes import Code, worst
from bench.records import Comparison, Row
from bench.storage.baselines import Baselines
from tests.bench.support import around, paired, result, row


def one(before: Row | None, after: Row, **changes: Any) -> Finding:
    """What is said of a row after one before; changes are those of the system."""
    earlier = Baselines.of(result([before] if before else []))
    (finding,) = judge(result([after], **changes), earlier)
    return finding


# Times


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        ((1.0, 0.98, 1.02), "same"),
        ((1.2, 1.15, 1.25), "same"),  # certain, but no more than another hour makes
        ((1.6, 1.55, 1.65), "slower"),
        ((1.6, 0.95, 1.9), "inconclusive"),
        ((1.45, 1.4, 1.51), "inconclusive"),
        ((0.6, 0.55, 0.65), "faster"),
        ((0.6, 0.5, 1.1), "inconclusive"),
        ((1.0, 0.5, 2.0), "inconclusive"),
    ],
)
def test_verdicts(ratio: tuple[float, float, float], verdict: str) -> None:
    assert MARGIN == 0.50
    assert verdict_of(Interval(*ratio)) == verdict


@pytest.mark.parametrize("measure", ["speed", "reset"])
def test_slower_and_faster_whatever_the_unit(measure: str) -> None:
    quick, slow = (2e6, 1e6) if measure == "speed" else (1.0, 2.0)
    text = [
        one(row(measure=measure, speed=a), row(measure=measure, speed=b))
        for a, b in ((quick, slow), (slow, quick), (slow, slow))
    ]
    assert [(finding.verdict, finding.text) for finding in text] == [
        ("slower", "100 % slower"),
        ("faster", "100 % faster"),
        ("same", "same within 50 %"),
    ]
    assert text[0].ratio == pytest.approx((2.0, 2 / 1.04, 2 * 1.04), rel=0.01)
    assert [worst(finding.codes, strict=True) for finding in text] == [21, 0, 0]
    assert worst(text[0].codes) == 0, "an old baseline raises a suspicion, and no alarm"


def test_unstable_rows_are_said_and_never_compared() -> None:
    shaky = row(samples=around(1e5, 0.5))
    for before, after, text in (
        (row(), shaky, "unstable; 900 % slower is doubtful"),
        (shaky, row(), "unstable before; 900 % faster is doubtful"),
        (row(), row(samples=[1e5]), "unstable: too few samples; 900 % slower is doubtful"),
    ):
        finding = one(before, after)
        assert (finding.verdict, finding.text) == ("unstable", text)
        assert (finding.before, finding.after) == (before.numbers.median, after.numbers.median)
        assert finding.ratio is not None
        assert means([finding]) == {}, "what is doubtful counts in no mean"
        assert worst(finding.codes) == 0
        assert worst(finding.codes, strict=True) == Code.INCONCLUSIVE


@pytest.mark.parametrize(
    ("before", "system", "text"),
    [
        (row(speed=9e6), {"cpu": "another", "cores": 4}, "not comparable: other cpu and cores"),
        (row(speed=9e6, identity="f" * 12), {}, "not comparable: measured in another way"),
        (row(error="x"), {}, "not comparable: failed before"),
        (None, {}, "new: no earlier row"),
    ],
)
def test_what_cannot_be_compared_says_why(before: Any, system: dict[str, Any], text: str) -> None:
    finding = one(before, row(), **system)
    assert (finding.text, finding.ratio) == (text, None)
    assert worst(finding.codes) == 0
    assert worst(finding.codes, strict=True) == Code.NOT_COMPARABLE


def test_without_any_baseline_nothing_is_compared() -> None:
    (finding,) = judge(result(), Baselines())
    assert finding.text == "not comparable: no earlier times"
    assert finding.uncounted == "no earlier counters"


def test_of_several_baselines_the_one_of_this_machine_counts() -> None:
    earlier = Baselines([result([row(speed=9e6)], cpu="another"), result([row(speed=2e6)])], [])
    (finding,) = judge(result([row(speed=1e6)]), earlier)
    assert finding.text == "100 % slower"


def test_rows_that_are_gone_are_named_only_where_all_were_to_be_measured() -> None:
    earlier = Baselines.of(result([row(name="a"), row(name="b")]))
    head = result([row(name="a")])
    assert [finding.name for finding in judge(head, earlier)] == ["a"]
    gone = judge(head, earlier, whole=True)[0]
    assert (gone.name, gone.text) == ("b", "gone: measured only before")
    assert worst(gone.codes, strict=True) == Code.NOT_COMPARABLE


# What outranks a time


def test_other_results_are_a_mismatch_on_any_machine_and_however_unstable() -> None:
    other = row(checksum="f" * 16, samples=around(1e6, 0.5))
    for system in ({}, {"cpu": "another"}, {"jaxlib": "0.11.0"}):
        finding = one(row(), other, **system)
        assert finding.text == "mismatch: other results than before"
        assert worst(finding.codes) == Code.MISMATCH
    (finding,) = judge(result([other]), Baselines([], Baselines.of(result([row()])).counters))
    assert finding.verdict == "mismatch", "the committed counters know the checksum too"


@pytest.mark.parametrize(("status", "code"), [("mismatch", 22), ("failed", 1), ("out of memory", 0)])
def test_rows_without_numbers(status: str, code: int) -> None:
    finding = one(None, row(error="why", status=status))
    assert finding.verdict == status
    assert worst(finding.codes) == worst(finding.codes, strict=True) == code


def test_out_of_memory_where_it_was_enough_is_a_doubt() -> None:
    finding = one(row(), row(error="why", status="out of memory"))
    assert finding.text == "out of memory, which it was not before"
    assert (worst(finding.codes), worst(finding.codes, strict=True)) == (0, 21)


def test_counters_are_compared_where_times_are_not() -> None:
    more = {"equations": 153, "flops": 1021, "bytes_accessed": 2000}
    for after, system in (
        (row(counters=more), {"cpu": "another"}),
        (row(counters=more, samples=around(1e6, 0.5)), {}),
    ):
        finding = one(row(), after, **system)
        assert finding.verdict in ("not comparable", "unstable")
        assert [change.text() for change in finding.grown] == ["flops grew 2.1 %"]
        assert worst(finding.codes) == Code.REGRESSION


def test_a_counter_that_vanished_is_a_doubt() -> None:
    finding = one(row(), row(counters={"equations": 153, "flops": 1000}))
    assert (worst(finding.codes), worst(finding.codes, strict=True)) == (0, 23)


# A/B


@pytest.mark.parametrize(
    ("ab", "text", "plain", "strict"),
    [
        (paired(1.12, "slower"), "12 % slower, confirmed", 20, 20),
        (paired(1.12, "slower", confirmed=False), "12 % slower", 0, 21),
        (paired(1.02, "inconclusive"), "inconclusive: 2 % slower", 0, 21),
        (paired(1.0, "inconclusive"), "inconclusive", 0, 21),
        (paired(1 / 1.12, "faster"), "12 % faster", 0, 0),
        (paired(1.01), "the same", 0, 0),
        (paired(verdict="mismatch", ratio=1.0), "mismatch", 22, 22),
        (
            replace(paired(verdict="new"), ratio=None, low=None, high=None, smallest=None),
            "new",
            0,
            0,
        ),
        (paired(counters={"flops": [1000, 1020]}), "the same", 20, 20),
        (paired(counters={"flops": [1000, None]}), "the same", 0, 23),
    ],
)
def test_an_ab_run_has_the_last_word(ab: Comparison, text: str, plain: int, strict: int) -> None:
    # A baseline that is five times as fast changes nothing: both sides were measured here and now.
    finding = one(row(speed=5e6), row(ab=ab))
    assert finding.text == text
    assert (worst(finding.codes), worst(finding.codes, strict=True)) == (plain, strict)


def test_an_ab_run_tells_what_it_could_have_seen() -> None:
    assert one(None, row(ab=paired())).note == "slowdowns of 3.0 % or more would be detected"
    assert worst(one(None, row(ab=paired(), error="x")).codes) == Code.FAILED


# All rows together


def test_the_worst_comes_first() -> None:
    rows = {
        "wrong": row(checksum="f" * 16),
        "broken": row(error="x"),
        "grown": row(counters={"flops": 1100}),
        "more grown": row(counters={"flops": 1200}),
        "slow": row(speed=0.5e6),
        "slower": row(speed=0.1e6),
        "shaky": row(samples=around(1e6, 0.5)),
        "same": row(),
        "fast": row(speed=5e6),
    }
    before = [row(name=name, counters={"flops": 1000}) for name in rows]
    after = [replace(found, name=name) for name, found in rows.items()]
    for order in (after, after[::-1]):
        found = judge(result(order), Baselines.of(result(before)))
        assert [finding.name for finding in found] == [
            "wrong",
            "broken",
            "more grown",
            "grown",
            "slower",
            "slow",
            "shaky",
            "same",
            "fast",
        ]
    assert worst(codes(found)) == Code.MISMATCH


def test_means_are_geometric_and_by_backend() -> None:
    names = {"a": 2e6, "b": 0.5e6, "c": 1e6}
    before = [row(name=name) for name in names] + [row(name="d", mode="numpy-batch", speed=4e6)]
    after = [row(name=name, speed=speed) for name, speed in names.items()]
    found = judge(result([*after, row(name="d", mode="numpy-batch")]), Baselines.of(result(before)))
    assert means(found) == {"jax": (pytest.approx(1.0), 3), "numpy": (pytest.approx(4.0), 1)}
