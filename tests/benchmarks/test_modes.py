"""Modes: all five end where NumPy's batch ends, and a planted difference is named."""

from __future__ import annotations

import dataclasses
import json
from typing import ClassVar

import numpy as np
import pytest

import cogrid
from bench import suites
from cogrid.author import Ends, Game, Outcome, Part
from cogrid.benchmarks import modes
from cogrid.benchmarks.case import MODES, Case
from cogrid.benchmarks.modes import Mismatch, bytes_per_environment, check, ready, verbs_met
from cogrid.envs import registry
from tests.support import BACKENDS

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"
HERE = [mode for mode in MODES if mode.partition("-")[0] in BACKENDS]
BATCHED = [mode for mode in HERE if not mode.endswith("single")]


def case_of(mode: str, batch: int = 20, **changes: object) -> Case:
    return dataclasses.replace(
        Case(ROOM, mode, 1 if mode.endswith("single") else batch, 12, "cooperative"), **changes
    )


@pytest.mark.parametrize("mode", HERE)
def test_a_pass_can_be_repeated_and_ends_like_numpys_batch(mode: str) -> None:
    case = case_of(mode)
    prepared = ready(case)
    checksums = {check(case, prepared, prepared.end(prepared.work.once())) for _ in range(2)}
    assert len(checksums) == 1
    found = bytes_per_environment(case, prepared.end(prepared.work.once()))
    assert found["observation_bytes"] == 2 * 4 * len(cogrid.make(ROOM).feature_names)
    assert 20 < found["state_bytes"] < 500


def test_modes_of_the_same_game_have_the_same_checksum() -> None:
    for group in (BATCHED, [mode for mode in HERE if mode.endswith("single")]):
        found = set()
        for case in map(case_of, group):
            prepared = ready(case)
            found.add(check(case, prepared, prepared.end(prepared.work.once())))
        assert len(found) == 1


@pytest.mark.parametrize("mode", BATCHED)
def test_arenas_with_other_starts(mode: str) -> None:
    case = Case(ARENA, mode, 33, 9, options=(("map_size", 8), ("num_agents", 3)))
    prepared = ready(case)
    assert check(case, prepared, prepared.end(prepared.work.once()))


@pytest.mark.parametrize("mode", HERE)
def test_a_planted_difference_is_caught(mode: str) -> None:
    case = case_of(mode)
    prepared = ready(case)
    state, obs, rewards = prepared.end(prepared.work.once())
    wrong = np.array(obs)
    wrong[(-1,) * wrong.ndim] += 1
    last = case.batch - 1
    with pytest.raises(Mismatch, match=rf"'obs' of environment {last} differs .* after the timed pass"):
        check(case, prepared, (state, wrong, rewards))
    wrong = np.array(rewards)
    wrong.flat[0] += 20
    with pytest.raises(Mismatch, match=r"'rewards' of environment 0 .* after the timed pass"):
        check(case, prepared, (state, obs, wrong))
    path = prepared.path()
    path["obs"] = path["obs"].copy()
    path["obs"][6, case.lanes - 1] += 1
    spoilt = prepared._replace(path=lambda: path)
    with pytest.raises(Mismatch, match=rf"'obs' of environment {case.lanes - 1} .* after 7 steps"):
        check(case, spoilt, (state, obs, rewards))


@pytest.mark.slow
def test_every_game_of_the_full_suite_meets_all_of_its_verbs() -> None:
    cases = [case for case in suites.full() if case.measure == "speed" and case.backend == "numpy"]
    games = {case.id: case for case in cases if case.batch <= 1024 and case.id != ARENA}
    assert len(games) > 10
    for case in games.values():
        met = verbs_met(case)
        assert min(met.values()) > 0, f"{case.name}: {met}"


def test_what_is_compared_step_by_step_meets_every_verb_of_the_game() -> None:
    """However short the timed pass is: a wrong rule of one verb changes the checksum of every case."""
    timed = [case for case in (*suites.quick(), *suites.standard()) if case.measure == "speed"]
    every = {case.spec: case for case in timed if case.id != ARENA}
    for case in every.values():
        met = verbs_met(case)
        assert len(met) == 7
        assert min(met.values()) > 0, f"{case.name}: {met}"
    batch = dataclasses.replace(case_of("numpy-batch"), steps=1)
    prepared = ready(batch)
    rewards = prepared.path()["rewards"]  # (steps, lanes, n)
    assert len(rewards) == modes.WATCHED
    assert (rewards > 0).any(), "deliveries are among them"


class Doors(Game):
    """Whoever walks onto a door has left, and the others go on."""

    legend: ClassVar = {" ": "floor", "#": "wall", "d": "door"}

    def walkable(self, thing: object) -> bool:
        return thing != "wall"

    def enter(self, held: object, thing: object) -> Outcome | None:
        return Outcome(held, "floor", "leave", 1.0) if thing == "door" else None

    def parts(self) -> tuple[Part, ...]:
        return (Ends(verbs=("leave",)),)


def test_episodes_that_end_while_the_clock_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = cogrid.Spec(Doors(), "######\n#1d  #\n#2  d#\n######", observation="lossless")
    monkeypatch.setitem(registry._SPECS, "Doors-V0", spec)
    sums = set()
    for mode in HERE:
        case = Case("Doors-V0", mode, steps=120)
        made = ready(case)
        end = made.end(made.work.once())
        found = check(case, made, end)
        assert np.all(end[0].done), "no episode ended"
        if mode.endswith("single"):
            sums.add(found)
    assert len(sums) == 1


def test_every_mode_is_made_and_named() -> None:
    assert set(modes._PREPARE) == set(MODES)


def test_a_case_that_cannot_run_is_refused() -> None:
    for changes, message in (
        ({"mode": "torch"}, "mode='torch' is unknown: choose one of numpy-single"),
        ({"workload": "none"}, "workload='none' is unknown"),
        ({"batch": 0}, "at least one environment"),
        ({"steps": 0}, "one step"),
        ({"mode": "numpy-single", "batch": 3}, "'numpy-single' runs one environment, not 3"),
    ):
        with pytest.raises(ValueError, match=message):
            Case(**{"id": ROOM, "mode": "numpy-batch", **changes})


def test_parameters_make_the_case_again_and_names_tell_cases_apart() -> None:
    every = suites.full()
    assert [Case.of(json.loads(json.dumps(case.parameters()))) for case in every] == every
    names = [case.name for case in dict.fromkeys(every)]
    assert len(set(names)) == len(names)
