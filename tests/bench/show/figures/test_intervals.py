"""The intervals of an A/B run: their place, texts and order."""

from __future__ import annotations

from msgspec.structs import replace

from bench.records import Against, Result, Row
from bench.show.figures.intervals import intervals
from tests.bench.show.figures.support import ab_run, drawn, texts
from tests.bench.support import paired, result, row


def test_cases_from_the_slowest_to_the_fastest_with_their_verdicts() -> None:
    figure = drawn(intervals([ab_run()]))
    axis = figure.axes[0]
    assert figure.get_suptitle() == "A/B against main"
    names = [tick.get_text() for tick in axis.get_yticklabels()]
    assert names == ["fresh", "broken", "slow", "unsure", "same", "fast"]
    assert texts(figure) == [
        "new",
        "ValueError: no",
        "12 % slower, confirmed",
        "inconclusive: 6 % slower",
        "the same",
        "25 % faster",
    ]


def test_intervals_are_in_the_picture_around_no_change() -> None:
    axis = drawn(intervals([ab_run()])).axes[0]
    bars = [line.get_xdata() for line in axis.get_lines() if len(line.get_xdata()) == 2]
    low, high = axis.get_xlim()
    assert axis.get_xscale() == "log"
    assert [0.9, 1.3] in [list(ends) for ends in bars]
    assert low < 0.8 * 0.98
    assert high > 1.3
    assert "0 %" in {tick.get_text() for tick in axis.get_xticklabels()}
    assert "+10 %" in {tick.get_text() for tick in axis.get_xticklabels()}


def test_verdicts_stand_right_of_the_intervals_and_inside() -> None:
    figure = drawn(intervals([ab_run()]))
    axis = figure.axes[0]
    right = axis.transData.transform((1.3, 0))[0]
    verdicts = [text for text in axis.texts if "%" in text.get_text() or text.get_text() == "the same"]
    for text in verdicts:
        assert text.get_window_extent().x0 > right
        assert text.get_window_extent().x1 < axis.get_window_extent().x1


def test_a_later_plain_run_does_not_hide_the_pairs() -> None:
    later = result([row(name="slow")], created="2026-12-01T00:00:00+00:00")
    assert len(drawn(intervals([ab_run(), later])).axes[0].get_yticklabels()) == 6


def test_no_pairs_no_plot() -> None:
    assert intervals([result()]) is None


def with_setting(setting: str, day: int, *rows: Row) -> Result:
    run = result(list(rows), created=f"2026-11-{day:02}T10:00:00+00:00")
    against = Against(f"without {setting}", "a" * 40, "a" * 40, setting)
    return replace(run, configuration=replace(run.configuration, suite="ab", against=against))


def test_a_setting_is_named() -> None:
    figure = drawn(intervals([with_setting("NPROC=2", 1, row(name="x", ab=paired(1.3, "slower")))]))
    assert figure.get_suptitle() == "A/B with and without NPROC=2"
    assert [axis.get_title() for axis in figure.axes] == ["CPU"]


def test_the_rows_of_two_runs_are_never_mixed() -> None:
    first = with_setting("NPROC=2", 1, row(name="x", ab=paired(1.3, "slower")), row(name="y", ab=paired()))
    second = with_setting("fast=1", 2, row(name="x", ab=paired(), error="ValueError: no"))
    figure = drawn(intervals([second, first]))
    assert figure.get_suptitle() == "A/B runs"
    shown = [[tick.get_text() for tick in axis.get_yticklabels()] for axis in figure.axes]
    assert shown == [["x", "y"], ["x"]]
    assert [texts(figure, panel) for panel in (0, 1)] == [
        ["30 % slower, confirmed", "the same"],
        ["ValueError: no"],
    ]
    assert [axis.get_title() for axis in figure.axes] == [
        "CPU, 2026-11-01 10:00\nA/B with and without NPROC=2",
        "CPU, 2026-11-02 10:00\nA/B with and without fast=1",
    ]
