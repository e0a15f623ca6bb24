"""Memory: every question is asked once, none after the rules are compiled; long compilations say so."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid._core.compile import memory
from cogrid._core.compile.memory import HOOKS, NOT_ASKED, PARTS, functions_of, memory_of
from cogrid._core.digest import digest
from cogrid._core.purity import check_pure
from cogrid._core.rules import compile_rules
from cogrid._core.step import functions
from cogrid.author import Chance, Counted, Game, Near, Outcome, Part, Planes, Reward, Slot
from cogrid.backend import rng
from cogrid.testing.exercise import exercise
from tests._core import test_everything as everything
from tests._core.phases import test_leaving as leaving
from tests._core.phases import test_slots as slots
from tests._core.worlds import altered
from tests.support import BACKENDS

Asked = Counter[Any]


@pytest.fixture(params=[everything.SPEC, leaving.SPEC, slots.SPEC], ids=["everything", "leaving", "slots"])
def watched(request: pytest.FixtureRequest) -> tuple[cogrid.Spec, Asked]:
    """A spec, and how often each of its functions was called with which arguments.

    The functions are the hooks that the game writes, and those in its parts, named as the memory names them.
    """
    spec, asked, inside = request.param, Asked(), []
    kind = type(spec.game)

    def counted(path: Any, function: Any) -> Any:
        def call(*about: Any) -> Any:
            if not inside:  # what functions ask each other is their own affair
                asked[path, about] += 1
            inside.append(path)
            try:
                return function(*about)
            finally:
                inside.pop()

        return functools.update_wrapper(call, function)

    def hook_of(name: str) -> Any:
        def hook(self: Any, *about: Any) -> Any:
            answer = counted(name, functools.partial(getattr(kind, name), self))(*about)
            if name not in PARTS:
                return answer
            if isinstance(answer, tuple):
                return tuple(counting(part, (name, ()), place) for place, part in enumerate(answer))
            return counting(answer, (name, ()), None)

        return hook

    def counting(part: Any, whole: Any, place: Any) -> Any:
        for name, _ in functions_of(part):
            part = altered(part, name, functools.partial(counted, (whole, place, name)))
        return part

    written = [name for name in HOOKS - NOT_ASKED if getattr(kind, name) is not getattr(Game, name)]
    game = type(kind.__name__, (kind,), {name: hook_of(name) for name in written})(**vars(spec.game))
    return dataclasses.replace(spec, game=game), asked


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_question_after_the_rules_are_compiled(watched: tuple[cogrid.Spec, Asked], backend: str) -> None:
    spec, asked = watched
    rules = compile_rules(spec, backend)
    assert asked
    assert {*asked} == {*memory_of(spec.game).answers}
    before = asked.copy()
    # Nothing is compiled on JAX: a question would be asked while it traces.
    run = import_module("jax").eval_shape if backend == "jax" else lambda function, *given: function(*given)
    pure = functions(rules, infos=True)
    state, _ = run(pure.reset, rules.backend.key(rng.split(rng.key(0), 3)))
    for _ in range(3):
        state, *_ = run(pure.step, state, np.zeros((3, spec.num_agents), np.int32))
    run(pure.report, state)
    digest(rules)
    exercise(spec, 20, 0)
    assert asked == before


def test_no_question_twice(watched: tuple[cogrid.Spec, Asked]) -> None:
    """Neither for one backend nor for the next; `walkable` of letters is checked before there is a memory."""
    spec, asked = watched
    for question in [question for question in asked if question[0] == "walkable"]:
        del asked[question]
    for backend in BACKENDS:
        compile_rules(spec, backend)
    assert [question for question, times in asked.items() if times > 1] == []


def test_purity_asks_everything_once_more(watched: tuple[cogrid.Spec, Asked]) -> None:
    spec, asked = watched
    compile_rules(spec, "numpy")
    asked.clear()
    check_pure(spec)
    assert {*asked} == {*memory_of(spec.game).answers}


def test_a_new_question_is_an_error() -> None:
    answers = compile_rules(everything.SPEC, "numpy").answers
    late = "was asked for 'never seen' after its rules were compiled"
    with pytest.raises(LookupError, match=rf"^Everything\.walkable {late}"):
        answers.game.walkable("never seen")
    with pytest.raises(LookupError, match=rf"^Moving\.when of Everything {late}"):
        answers.can_move("never seen")
    with pytest.raises(LookupError, match=rf'^Slot\("crop"\)\.start\.count of Everything {late}'):
        answers.parts.every(Slot)[0].start.count("never seen")


def test_an_error_is_not_remembered() -> None:
    class Fails(type(everything.SPEC.game)):
        times = 0

        def walkable(self, thing: Any) -> bool:
            Fails.times += 1
            raise ValueError(thing)

    game = memory_of(Fails()).open.game
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
    """Functions of any kind work, and what they change in each other's answers is their own."""

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

        def show(self, thing: Any) -> Any:
            return {"floor": int(thing == "floor")}

        def show_agent(self, own: bool, facing: int, held: Any) -> Any:
            painted = self.show(thing="floor")
            painted["agent"] = 1 + own
            return painted

        def planes(self) -> Planes:
            return Planes(("floor", "agent"), thing=self.show, agent=self.show_agent)

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


def test_every_option_is_compared() -> None:
    """Equal games share a memory, so that one with another option would get its answers."""

    @dataclass(frozen=True)
    class Paid(Game):
        legend: ClassVar = {" ": "floor", "#": "wall"}
        pay: float = field(default=1.0, compare=False)

    with pytest.raises(TypeError, match=r"^Paid has the option 'pay' with compare=False, but equal games"):
        cogrid.Spec(Paid(), "####\n#12#\n####")


def test_parts_are_not_made_again() -> None:
    @dataclass(frozen=True)
    class Doubled(Reward):
        def __post_init__(self) -> None:
            points = self.points
            object.__setattr__(self, "points", lambda event: 2 * points(event))

    class Paid(type(everything.SPEC.game)):
        def rewards(self) -> Any:
            return (Doubled("double", lambda event: 1.0),)

    (term,) = memory_of(Paid()).open.game.rewards()
    assert term.points(None) == 2.0


def test_a_part_and_its_functions_are_the_same_every_time() -> None:
    """So that one part can be told from another by identity, and functions that are equal share answers."""

    @dataclass(frozen=True)
    class Meadow(Game):
        def parts(self) -> tuple[Part, ...]:
            return (
                Near(lambda thing: 1, lambda thing, count: thing, most=1),
                Slot("grass", Counted(lambda thing: 1, 3)),
                Slot("rain", Chance((0, 1), (1, 1))),
            )

    answers = memory_of(Meadow()).open
    first, again = answers.game.parts(), answers.game.parts()
    assert all(one is other for one, other in zip(first, again, strict=True))
    assert first == answers.parts.all
    assert first[0] is answers.near
    assert answers.near.tick("floor", 1) == "floor"
    assert ((("parts", ()), 0, "tick"), ("floor", 1)) in memory_of(Meadow()).answers
