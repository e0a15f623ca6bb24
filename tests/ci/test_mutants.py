"""The mutants: every wrong line can be planted, a fault is caught, and a survivor is a failure."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.ci.support import ROOT, script, start
from tests.mutants import __main__ as campaign
from tests.mutants import gates, kitchens
from tests.mutants.planting import Mutant, run_tests, wrong_text

COOKING = kitchens.COOKING._replace(tests=("tests/envs/overcooked/test_cooking.py",))


def run(monkeypatch: pytest.MonkeyPatch, survives: Callable[[Mutant | None], bool]) -> int:
    """The exit code of a campaign whose test runs are made up."""
    monkeypatch.setattr(sys, "argv", ["mutants", "--jobs", "1"])
    monkeypatch.setattr(campaign, "run_tests", lambda mutant, topic: (survives(mutant), "a last line"))
    return campaign.main()


def test_every_wrong_line_can_be_planted() -> None:
    """`--list` looks for each in the source, so that an edited line is noticed before the night."""
    done = start(sys.executable, "-m", "tests.mutants", "--list")
    assert done.returncode == 0, done.stderr
    names = done.stdout.splitlines()
    assert len(set(names)) == len(names)
    assert sum(name.startswith("both backends: ") for name in names) >= 20
    assert sum(name.startswith("one backend: ") for name in names) >= 5


def test_a_missing_line_is_a_clear_error() -> None:
    lost = kitchens.COOKING.mutants[0]._replace(old="no such line")
    with pytest.raises(SystemExit, match=r"'a pot takes four': its line stands 0 times in cogrid/.*game.py"):
        wrong_text(lost)


def test_a_fault_is_caught_by_the_tests_of_its_copy() -> None:
    (fault,) = (mutant for mutant in COOKING.mutants if mutant.name == "nothing cooks")
    assert run_tests(None, COOKING)[0]
    survived, last = run_tests(fault, COOKING)
    assert not survived
    assert last.startswith("FAILED tests/envs/overcooked/test_cooking.py::")


def test_tests_that_do_not_run_catch_nothing() -> None:
    with pytest.raises(SystemExit, match="pytest could not run"):
        run_tests(None, COOKING._replace(tests=("tests/no_such_file.py",)))


@pytest.mark.parametrize(
    ("survives", "code"),
    [
        (lambda mutant: mutant is None, 0),
        (lambda mutant: mutant is None or mutant.name == "nothing cooks", 1),
        (lambda mutant: False, 1),  # the project as it is fails, which proves nothing
    ],
)
def test_a_campaign_is_green_only_if_every_fault_is_caught(
    survives: Callable[[Mutant | None], bool], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch, survives) == code


def test_every_fault_has_a_gate_of_every_change_which_the_docs_name() -> None:
    listed = json.loads(script("matrix.py", "--event", "pull_request", "--json").stdout)["include"]
    steps = re.findall(r"session: (bench.*)", (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert {gate.session for gate in gates.GATES} <= {job["session"] for job in listed} | {*steps}
    rows = [f"| {gate.fault} | `{gate.session}` |" for gate in gates.GATES]
    text = (ROOT / "docs/developing/guarantees.md").read_text(encoding="utf-8")
    assert text.splitlines()[-len(rows) :] == rows


def test_every_fault_of_a_gate_can_be_planted() -> None:
    for gate in gates.GATES:
        with gates.clone() as folder:
            gate.plant(folder)
            changed = subprocess.check_output(("git", "status", "--porcelain"), cwd=folder, encoding="utf-8")
        assert len(changed.splitlines()) == 1, gate.fault


@pytest.mark.parametrize(("code", "verdict"), [(0, "cannot tell: "), (1, "found: "), (3, "NOT FOUND: ")])
def test_a_gate_must_pass_without_the_fault_and_fail_with_it(
    code: int, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = next(gate for gate in gates.GATES if gate.fault == "a test without a check")
    if verdict == "cannot tell: ":
        gate = gate._replace(command=("no_such_module",))
    assert gates.found(gate._replace(code=code)) == (verdict == "found: ")
    assert capsys.readouterr().out.startswith(verdict)
