"""The mutants: every wrong line can be planted, a fault is caught, and a survivor is a failure."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from ci import mutants
from tests.ci.support import script

COOKING = ("tests/envs/overcooked/test_cooking.py", "-k", "not jax")


def run(monkeypatch: pytest.MonkeyPatch, survives: Callable[[mutants.Mutant | None], bool]) -> int:
    """The exit code of a campaign whose test runs are made up."""
    monkeypatch.setattr(sys, "argv", ["mutants.py", "--jobs", "1"])
    monkeypatch.setattr(mutants, "run_tests", lambda mutant, selection: (survives(mutant), "a last line"))
    return mutants.main()


def test_every_wrong_line_can_be_planted() -> None:
    """`--list` looks for each in the source, so that an edited line is noticed before the night."""
    done = script("mutants.py", "--list")
    assert done.returncode == 0, done.stderr
    names = done.stdout.splitlines()
    assert len(set(names)) == len(names)
    assert sum(name.startswith("both backends: ") for name in names) >= 20
    assert sum(name.startswith("one backend: ") for name in names) >= 5


def test_a_line_that_is_not_there_is_an_error_in_words() -> None:
    lost = mutants.WRONG_RULES[0]._replace(old="no such line")
    with pytest.raises(SystemExit, match=r"'a pot takes four': its line stands 0 times in cogrid/.*game.py"):
        mutants.wrong_text(lost)


def test_a_fault_is_caught_by_the_tests_of_its_copy() -> None:
    (fault,) = (mutant for mutant in mutants.WRONG_RULES if mutant.name == "nothing cooks")
    assert mutants.run_tests(None, COOKING)[0]
    survived, last = mutants.run_tests(fault, COOKING)
    assert not survived
    assert last.startswith("FAILED tests/envs/overcooked/test_cooking.py::")


def test_tests_that_do_not_run_catch_nothing() -> None:
    with pytest.raises(SystemExit, match="pytest could not run"):
        mutants.run_tests(None, ("tests/no_such_file.py",))


@pytest.mark.parametrize(
    ("survives", "code"),
    [
        (lambda mutant: mutant is None, 0),
        (lambda mutant: mutant is None or mutant.name == "nothing cooks", 1),
        (lambda mutant: False, 1),  # the project as it is fails, which proves nothing
    ],
)
def test_a_campaign_is_green_only_if_every_fault_is_caught(
    survives: Callable[[mutants.Mutant | None], bool], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch, survives) == code
