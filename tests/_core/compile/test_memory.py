"""Memory: every question is asked once, none after the rules are compiled; long compilations say so."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

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
from cogrid.author import Game, Outcome, Reward
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
    spec, asked, inside = request.param, Asked(), []

    def counted(hook: str, function: Any) -> Any:
        @functools.wraps(function)
        def call(self: Any, *about: Any) -> Any:
            if not inside:  # what hooks ask each other is their own affair
                asked[hook, about] += 1
            inside.append(hook)
            try:
                return function(self, *about)
            finally:
                inside.pop()

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


def test_the_authors_code_does_not_meet_the_memory() -> None:
    """Hooks of any kind work, and what they change in each other's answers is their own."""

    @dataclass(frozen=True, slots=True)
    class Odd(Game):
        legend: ClassVar = {" ": "floor", "#": "wall", "g": "gold"}
        value: float = 2.0
        reach: int = field(init=False, default=1)

        @staticmethod
        def walkable(thing: Any) -> bool:
            return thing == "floor"

        @classmethod
        def kind(cls, thing: Any) -> str:
            return str(thing)

        def interact(self, held: Any, thing: Any) -> Any:
            if type(self) is not Odd or thing != "gold":
                return None
            return Outcome(held, "floor", "dig", dataclasses.replace(self, value=self.value * 2).value)

        planes: ClassVar = ("floor", "agent")

        def paint(self, thing: Any) -> Any:
            return {"floor": int(thing == "floor")}

        def paint_agent(self, own: bool, facing: int, held: Any) -> Any:
            painted = self.paint(thing="floor")
            painted["agent"] = 1 + own
            return painted

    spec = cogrid.Spec(Odd(), "#####\n#1 g#\n#2  #\n#####")
    env = cogrid.CoGridEnv(spec)
    obs, _ = env.reset(seed=0)
    assert obs[0][..., 1].sum() == 3  # two cells with agents, one of them its own
    check_pure(spec)
    env.step({0: 3, 1: 6})
    env.step({0: 3, 1: 6})
    assert env.step({0: 4, 1: 6})[1] == {0: 4.0, 1: 4.0}
    assert copy.deepcopy(env.rules.game) == env.rules.game == spec.game
    assert isinstance(env.rules.game, Odd)


def test_parts_are_not_made_again() -> None:
    @dataclass(frozen=True)
    class Doubled(Reward):
        def __post_init__(self) -> None:
            points = self.points
            object.__setattr__(self, "points", lambda event: 2 * points(event))

    class Paid(type(everything.SPEC.game)):
        def rewards(self) -> Any:
            return (Doubled("double", lambda event: 1.0),)

    (term,) = memory_of(Paid()).open.rewards()
    assert term.points(None) == 2.0
