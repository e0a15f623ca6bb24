"""Snapshots that are damaged, or of something else."""

from __future__ import annotations

import copy
import os
import subprocess
import sys

import pytest

import cogrid
from cogrid.envs import registry
from tests.errors.support import ROOM, assert_names, complaint
from tests.support import BACKENDS

FIELDS = ("agent_dir", "cells", "done", "held", "pos", "rng_key", "shaping_weight", "time")


@pytest.mark.parametrize("backend", BACKENDS)
def test_snapshot_of_another_version(unharmed) -> None:
    snapshot = {**unharmed.get_state(), "version": 99}
    assert_names(complaint(lambda: unharmed.set_state(snapshot)), "version 99", "version 1")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("options", [{"cook_time": 19}, {"max_steps": 399}, {"layout": "CoordinationRing"}])
def test_snapshot_of_another_spec(unharmed, options) -> None:
    other = cogrid.make(ROOM, **options)
    other.reset(seed=0)
    text = complaint(lambda: unharmed.set_state(other.get_state()))
    assert_names(text, "another spec", other.get_state()["spec"], unharmed.get_state()["spec"], "overrides")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("snapshot", [None, 5, "text", [], {}, {"version": 1}], ids=repr)
def test_no_snapshot_at_all(unharmed, snapshot) -> None:
    assert_names(complaint(lambda: unharmed.set_state(snapshot)), "not a snapshot", "get_state()")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("field", FIELDS)
def test_snapshot_that_lacks_a_field(unharmed, field) -> None:
    snapshot = copy.deepcopy(unharmed.get_state())
    assert set(snapshot["state"]) == set(FIELDS)
    del snapshot["state"][field]
    assert_names(complaint(lambda: unharmed.set_state(snapshot)), "snapshot", "damaged", field)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cells", [999] * 20),
        ("cells", [-1] * 20),
        ("cells", [0] * 20),
        ("cells", [0, 1]),
        ("cells", [[0], [1, 2]]),
        ("pos", [0, 8]),
        ("pos", [8, 8]),
        ("pos", [11, 500]),
        ("pos", [11, 8 + 256]),
        ("pos", [11.5, 8]),
        ("agent_dir", [4, 0]),
        ("agent_dir", [0, 256]),
        ("held", [99, 0]),
        ("held", [-1, 0]),
        ("held", ["onion", 0]),
        ("time", -5),
        ("time", [1, 2]),
        ("time", 2**40),
        ("shaping_weight", 1e308),
        ("done", "no"),
        ("rng_key", [1]),
        ("rng_key", [2**40, 1]),
        ("rng_key", "ab"),
        ("rng_key", [[1, 2], [3, 4]]),
        ("extra", 1),
    ],
)
def test_damaged_snapshot(unharmed, field, value) -> None:
    snapshot = copy.deepcopy(unharmed.get_state())
    snapshot["state"][field] = value
    complaint(lambda: unharmed.set_state(snapshot), ValueError, TypeError)


@pytest.mark.parametrize("backend", BACKENDS)
def test_snapshot_without_its_state(unharmed) -> None:
    snapshot = {**unharmed.get_state(), "state": None}
    assert_names(complaint(lambda: unharmed.set_state(snapshot)), "snapshot")


RULES = """
from dataclasses import dataclass
from typing import ClassVar

import cogrid
from cogrid.author import Game, Moving, Outcome, Reward, Slot


@dataclass(frozen=True)
class Coins(Game):
    legend: ClassVar = {" ": "floor", "#": "wall", "c": "coin"}

    def interact(self, held, thing):
        if thing == "coin" and held is None:
            return Outcome("gold", "hole", "take")

    def rewards(self):
        return (Reward("taken", lambda event: event.verb == "take"),)

    def parts(self):
        return ()


SPEC = cogrid.Spec(Coins(), "#cc#\\n#12#\\n####")
"""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('Outcome("gold", "hole"', 'Outcome("coal", "ash"'),
        ('Outcome("gold"', 'Outcome("coal"'),
        ("event.verb == ", "2.0 * (event.verb == 'take') or event.verb == "),
        ("return ()", "return (Moving(swaps=True),)"),
        ("return ()", "return (Moving(when=lambda held: held is None),)"),
        ("return ()", "return (Slot('lamp', 'off'),)"),
    ],
)
def test_snapshot_of_other_rules(backend, old, new, tmp_path, monkeypatch) -> None:
    """The same class, options and board, but a coin becomes something else, or pays another sum."""
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    worlds = []
    for folder, text in (("before", RULES), ("after", RULES.replace(old, new)), ("again", RULES)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "coins.py").write_text(text, encoding="utf-8")
        worlds.append(cogrid.make(str(tmp_path / folder / "coins.py"), backend))
        worlds[-1].reset(seed=0)
    before, after, again = worlds
    before.step({0: 4, 1: 6})
    assert_names(complaint(lambda: after.set_state(before.get_state())), "another spec", "rules")
    again.set_state(before.get_state())
    assert again.get_state() == before.get_state()


def test_fingerprints_do_not_depend_on_the_order_of_sets(tmp_path) -> None:
    """A hand that is a set, in processes that order sets differently."""
    file = tmp_path / "coins.py"
    hand = 'frozenset({"gold", "silver", "copper", "iron"})'
    file.write_text(RULES.replace('"gold"', hand), encoding="utf-8")
    program = (
        "import sys, cogrid; from cogrid._core.state.snapshot import fingerprint; "
        f"print(fingerprint(cogrid.make(sys.argv[1]).rules), {hand})"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", program, str(file)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
        ).stdout.split(maxsplit=1)
        for seed in "123"
    ]
    assert len({digits for digits, _ in told}) == 1
    assert len({order for _, order in told}) > 1
