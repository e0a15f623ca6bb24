"""Exit codes: the numbers that scripts rely on, and which of several wins."""

from __future__ import annotations

import itertools

import pytest

from bench.exit_codes import PRECEDENCE, Code, described, worst


def test_the_numbers_are_those_that_are_documented() -> None:
    assert {code.name: int(code) for code in Code} == {
        "FINE": 0,
        "FAILED": 1,
        "USAGE": 2,
        "REGRESSION": 20,
        "INCONCLUSIVE": 21,
        "MISMATCH": 22,
        "NOT_COMPARABLE": 23,
        "NO_DEVICE": 69,
        "INTERRUPTED": 130,
        "CLOSED": 141,
    }
    assert all(f"{number} " in described() for number in (0, 1, 2, 20, 21, 22, 23, 69))


def test_the_order_is_the_documented_one() -> None:
    assert [int(code) for code in PRECEDENCE] == [22, 69, 20, 1, 23, 21]


@pytest.mark.parametrize(("higher", "lower"), list(itertools.combinations([*PRECEDENCE, Code.FINE], 2)))
def test_the_worse_code_wins_in_any_order(higher: Code, lower: Code) -> None:
    assert worst([higher, lower], strict=True) == worst([lower, higher], strict=True) == higher


def test_doubts_count_only_when_strict() -> None:
    doubts = [Code.INCONCLUSIVE, Code.NOT_COMPARABLE]
    assert worst(doubts) == Code.FINE
    assert worst(doubts, strict=True) == Code.NOT_COMPARABLE
    assert worst([*doubts, Code.FAILED]) == worst([*doubts, Code.FAILED], strict=True) == Code.FAILED


def test_an_unstable_run_never_hides_a_mismatch() -> None:
    for strict in (False, True):
        assert worst([Code.INCONCLUSIVE, Code.MISMATCH, Code.INCONCLUSIVE], strict) == Code.MISMATCH


def test_nothing_to_say_is_fine() -> None:
    assert worst([]) == worst([Code.FINE], strict=True) == Code.FINE
