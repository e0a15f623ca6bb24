"""Numbers for people."""

from __future__ import annotations

import pytest

from bench.units import engineering, more, pace, percent, size


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (10_000, "", "10 K"),
        (1_000_000, "", "1 M"),
        (999, "", "999"),
        (999_960, "", "1 M"),
        (0, "", "0"),
        (0.25, "", "0.25"),
        (1_234_567, "steps/s", "1.23 M steps/s"),
        (0.5, "steps/s", "0.5 steps/s"),
        (0.0123, "s", "12.3 ms"),
        (1.5e-6, "s", "1.5 µs"),
        (3e-12, "s", "0.003 ns"),
        (0, "s", "0 s"),
        (43, "B", "43 B"),
        (2.1e9, "B", "2.1 GB"),
        (5e15, "B", "5e+03 TB"),
        (100, "%", "100 %"),
        (float("inf"), "s", "inf s"),
    ],
)
def test_engineering_notation(value: float, unit: str, text: str) -> None:
    assert engineering(value, unit) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.12, "12 % slower"),
        (1 / 1.3, "30 % faster"),
        (0.5, "100 % faster"),
        (2.0, "100 % slower"),
        (1.003, "the same"),
    ],
)
def test_changes_in_words(ratio: float, text: str) -> None:
    assert pace(ratio) == text


@pytest.mark.parametrize(
    ("ratio", "text"), [(1.08, "+8 %"), (0.97, "−3 %"), (0.999, "0 %"), (1.0, "0 %"), (3.0, "+200 %")]
)
def test_more_and_less(ratio: float, text: str) -> None:
    assert more(ratio) == text


@pytest.mark.parametrize(
    ("value", "text"), [(43, "43 B"), (2048, "2 KiB"), (3 * 2**20, "3 MiB"), (5.5 * 2**30, "5.5 GiB")]
)
def test_sizes(value: float, text: str) -> None:
    assert size(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.004, "0.4 %"), (0.05, "5.0 %"), (0.123, "12 %"), (2.0, "200 %")]
)
def test_percentages(share: float, text: str) -> None:
    assert percent(share) == text
