"""The forest plot: intervals, words and order."""

from __future__ import annotations

from bench.forest import forest
from bench.results import Result
from tests.bench.support import paired, result, row
from tests.bench.test_plots import drawn, texts


def compared() -> Result:
    rows = {
        "same": row(ab=paired(1.01)),
        "slow": row(ab=paired(1.12, "slower")),
        "fast": row(ab=paired(0.8, "faster")),
        "unsure": row(ab=paired(1.06, "inconclusive", low=0.9, high=1.3)),
        "fresh": row(ab=paired(verdict="new") | dict.fromkeys(("ratio", "low", "high", "smallest"))),
        "broken": row(ab=paired(), error="ValueError: no"),
    }
    found = result([{**one, "name": name} for name, one in rows.items()] + [row(name="alone")])
    against = {"revision": "main", "sha": "a" * 40, "head": "b" * 40}
    return {**found, "configuration": {**found["configuration"], "suite": "ab", "against": against}}


def test_cases_from_the_slowest_to_the_fastest_with_their_words() -> None:
    figure = drawn(forest([compared()]))
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
    axis = drawn(forest([compared()])).axes[0]
    bars = [line.get_xdata() for line in axis.get_lines() if len(line.get_xdata()) == 2]
    low, high = axis.get_xlim()
    assert axis.get_xscale() == "log"
    assert [0.9, 1.3] in [list(ends) for ends in bars]
    assert low < 0.8 * 0.98
    assert high > 1.3
    assert "0 %" in {tick.get_text() for tick in axis.get_xticklabels()}
    assert "+10 %" in {tick.get_text() for tick in axis.get_xticklabels()}


def test_words_stand_right_of_the_intervals_and_inside() -> None:
    figure = drawn(forest([compared()]))
    axis = figure.axes[0]
    right = axis.transData.transform((1.3, 0))[0]
    verdicts = [text for text in axis.texts if "%" in text.get_text() or text.get_text() == "the same"]
    for text in verdicts:
        assert text.get_window_extent().x0 > right
        assert text.get_window_extent().x1 < axis.get_window_extent().x1


def test_a_later_plain_run_does_not_hide_the_pairs() -> None:
    later = result([row(name="slow")], created="2026-12-01T00:00:00+00:00")
    assert len(drawn(forest([compared(), later])).axes[0].get_yticklabels()) == 6


def test_no_pairs_no_plot() -> None:
    assert forest([result()]) is None
