"""Memory: every question is asked once, none after the rules are compiled; long compilations say so."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.author.hooks import written
from cogrid._core.compile import memory
from cogrid._core.compile.memory import LOOKS, NOT_ASKED, memory_of
from cogrid._core.digest import digest
from cogrid._core.purity import check_pure
from cogrid._core.rules import compile_rules
from cogrid._core.step import functions
from cogrid.backend import rng
from cogrid.testing.exercise import exercise
from tests._core import test_everything as everything
from tests._core.phases import test_leaving as leaving
from tests._core.phases import test_slots as slots
from tests.support import BACKENDS

Asked = Counter[Any]


@pytest.fixture(params=[everything.SPEC, leaving.SPEC, slots.SPEC], ids=["everything", "leaving", "slots"])
def watched(request: pytest.FixtureRequest) -> tuple[cogrid.Spec, Asked]:
    """A spec, and how often each of its hooks was called with which arguments."""
    spec, asked = request.param, Asked()

    def counted(hook: str, function: Any) -> Any:
        @functools.wraps(function)
        def call(self: Any, *about: Any) -> Any:
            asked[hook, about] += 1
            return function(self, *about)

        return call

    kind = type(spec.game)
    hooks = {name: getattr(kind, name) for name in written(spec.game) if name not in NOT_ASKED | LOOKS}
    watched = {
        name: counted(name, hook) for name, hook in hooks.items() if callable(hook) and name != "state_type"
    }
    game = type(kind.__name__, (kind,), watched)(**vars(spec.game))
    made = dataclasses.replace(spec, game=game)
    return made, asked


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_question_after_the_rules_are_compiled(watched: tuple[cogrid.Spec, Asked], backend: str) -> None:
    spec, asked = watched
    rules = compile_rules(spec, backend)
    assert asked
    before = asked.copy()
    pure = functions(rules, infos=True)
    state, _ = pure.reset(rules.backend.key(rng.split(rng.key(0), 3)))
    for _ in range(3):
        state, *_ = pure.step(state, np.zeros((3, spec.num_agents), np.int32))
    pure.report(state)
    digest(rules)
    exercise(spec, 20, 0)
    assert asked == before


def test_no_question_twice(watched: tuple[cogrid.Spec, Asked]) -> None:
    """Neither for one backend nor for the next; `walkable` of letters is checked before there is a memory."""
    spec, asked = watched
    asked.clear()
    for backend in BACKENDS:
        compile_rules(spec, backend)
    assert [question for question, times in asked.items() if times > 1] == []


def test_purity_asks_everything_once_more(watched: tuple[cogrid.Spec, Asked]) -> None:
    spec, asked = watched
    compile_rules(spec, "numpy")
    asked.clear()
    check_pure(spec)
    assert {(hook, about) for hook, about in memory_of(spec.game).answers if isinstance(hook, str)} <= {
        *asked
    } | {question for question in memory_of(spec.game).answers if question[0] in LOOKS}


def test_a_new_question_is_an_error() -> None:
    rules = compile_rules(everything.SPEC, "numpy")
    with pytest.raises(LookupError, match=r"Everything\.walkable was asked for 'never seen' after its rules"):
        rules.game.walkable("never seen")


def test_an_error_is_not_remembered() -> None:
    class Fails(type(everything.SPEC.game)):
        times = 0

        def walkable(self, thing: Any) -> bool:
            Fails.times += 1
            raise ValueError(thing)

    game = memory_of(Fails()).open
    for _ in range(2):
        with pytest.raises(ValueError, match="stone"):
            game.walkable("stone")
    assert Fails.times == 2


def test_long_compilations_say_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], watched: tuple[cogrid.Spec, Asked]
) -> None:
    spec, _ = watched
    name = type(spec.game).__name__
    monkeypatch.setattr(memory, "PATIENCE", -1.0)
    compile_rules(spec, "numpy")
    told = capsys.readouterr().err.splitlines()
    assert told
    assert all(line.startswith(f"compiling the rules of {name}: ") for line in told)
    monkeypatch.undo()
    compile_rules(dataclasses.replace(spec, max_steps=77), "numpy")
    assert capsys.readouterr().err == ""
