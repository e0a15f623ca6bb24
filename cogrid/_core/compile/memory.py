"""Memory: every question that a game's functions were asked, with the answer, so that none is asked twice."""

from __future__ import annotations

import copy
import functools
import inspect
import math
import operator
import sys
import time
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any, cast

from cogrid._core.author.game import Game
from cogrid._core.author.kinds import wrong_keyword
from cogrid._core.author.part import Part, label
from cogrid._core.compile.answers import Answers
from cogrid._io.messages import brief

#: Hooks that only a spec asks for.
NOT_ASKED = frozenset({"default_layouts", "how_to_play"})
#: Hooks whose answers hold functions, which are asked questions in turn.
PARTS = frozenset({"parts", "planes", "looks", "rewards", "features"})
HOOKS = frozenset(
    name for name, hook in vars(Game).items() if isinstance(hook, FunctionType) and name[0] != "_"
)
PATIENCE = 2.0  # seconds

#: A hook and its arguments; or such a pair, place and field of a function in its answer, and arguments.
Question = tuple[Any, tuple[Any, ...]]


class Memory:
    """The answers of one game. `open` asks it what is not known yet; `sealed` raises an error instead."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.answers: dict[Question, Any] = {}

    @functools.cached_property
    def open(self) -> Answers:
        """Asks the game what is not known yet."""
        return self._standing_in(False)

    @functools.cached_property
    def sealed(self) -> Answers:
        """Raises an error for what is not known."""
        return self._standing_in(True)

    def _standing_in(self, sealed: bool) -> Answers:
        # With the name of the game's class, for errors; a subclass of that would show in the author's code.
        names = {name: getattr(type(self.game), name) for name in ("__module__", "__qualname__", "__doc__")}
        stand_in: Any = type(type(self.game).__name__, (_StandIn,), names)
        return Answers(cast(Game, stand_in(self, sealed)))

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle has the game; its functions may be lambdas, which no pickle can have."""
        return memory_of, (self.game,)

    def ask(self, question: Question) -> Any:
        """The answer to a question, which may be for a function in an earlier answer."""
        path, about = question
        if isinstance(path, str):
            return getattr(self.open.game if path in PARTS else self.game, path)(*about)
        whole, place, field = path
        answer = self.ask(whole)
        return operator.attrgetter(field)(answer if place is None else answer[place])(*about)

    def name(self, question: Question) -> str:
        """The function that a question is for: "Tag.tick", "Away.when of Tag", 'Act("zap").thing of Tag'."""
        path, _ = question
        own = type(self.game).__name__
        if isinstance(path, str):
            return f"{own}.{path}"
        whole, place, field = path
        answer = self.answers[whole]
        part = type(answer).__name__ if place is None else label(answer, place)
        return f"{part}.{field} of {own}"

    def functions(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        """The functions in the game's parts, each with its name."""
        for hook in sorted(PARTS):
            whole: Question = (hook, ())
            getattr(self.open.game, hook)()
            answer = self.answers.get(whole, ())  # a default of `Game` is not the author's
            places = enumerate(answer) if isinstance(answer, (tuple, list)) else [(None, answer)]
            for place, part in places:
                for field, function in functions_of(part):
                    yield self.name(((whole, place, field), ())), function


class Waiting:
    """Says once, after two seconds, what a long compilation is at."""

    def __init__(self, memory: Memory) -> None:
        self._memory, self._until = memory, time.monotonic() + PATIENCE

    def __call__(self) -> None:
        if time.monotonic() > self._until:
            self._until = math.inf
            name, questions = type(self._memory.game).__name__, len(self._memory.answers)
            print(f"compiling the rules of {name}: {questions:,} questions so far", file=sys.stderr)


@functools.lru_cache(maxsize=64)
def memory_of(game: Game) -> Memory:
    """What is known of a game; equal games share it. Compiled symbols and rules hold their own reference."""
    return Memory(game)


def functions_of(part: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of a part that are asked questions: its own, and those of a value in it."""
    for field in getattr(part, "_asks", ()):
        if callable(function := getattr(part, field)):
            yield field, function
    for name, value in vars(part).items() if isinstance(part, Part) else ():
        for inner, function in functions_of(value):
            yield f"{name}.{inner}", function


def is_drawn(question: Question) -> bool:
    """Whether pictures ask this, when one is drawn."""
    path, _ = question
    return not isinstance(path, str) and (path[0][0] == "looks" or path[2] == "shows")


class _StandIn:
    """Stands for a game: its hooks look into the memory first, everything else is the game's own.

    The author's functions never meet it: what they call on themselves is called on the game.
    """

    def __init__(self, memory: Memory, sealed: bool) -> None:
        self.__memory, self.__is_sealed = memory, sealed
        self.__parts: dict[Question, Any] = {}

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # for isinstance
        return type(self.__memory.game)

    def __eq__(self, other: object) -> bool:
        return bool(self.__memory.game == (other.__memory.game if isinstance(other, _StandIn) else other))

    def __hash__(self) -> int:
        return hash(self.__memory.game)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """A copy or a pickle is the same game."""
        return _again, (self.__memory.game, self.__is_sealed)

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        game = self.__memory.game
        value: Any = getattr(game, name)
        if name not in HOOKS or name in NOT_ASKED:
            return value
        ours = getattr(Game, name)
        if getattr(type(game), name) is ours and name not in getattr(game, "__dict__", ()):
            value = MethodType(ours, self)  # not the author's, but it may call others that are
        else:
            value = self.__asking(name, value)
        self.__dict__[name] = value  # found there from now on
        return value

    def __asking(self, hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*about: Any) -> Any:
            question = (hook, about)
            answer = self.__answer(question, function)
            return self.__remembering(question, answer) if hook in PARTS else answer

        ask.__name__, ask.__qualname__ = hook, f"{type(self).__name__}.{hook}"
        return ask

    def __answer(self, question: Question, function: Callable[..., Any]) -> Any:
        """What is known, or what the function answers; errors are not remembered."""
        answers = self.__memory.answers
        try:
            return answers[question]
        except KeyError:
            pass
        except TypeError:  # an argument that cannot be hashed, which a check will name
            return function(*question[1])
        if self.__is_sealed and not is_drawn(question):
            about = " and ".join(map(brief, question[1]))
            raise LookupError(
                f"{self.__memory.name(question)} was asked for {about} after its rules were compiled."
            )
        try:
            answer = answers[question] = function(*question[1])
        except Exception as error:  # an author's function may raise anything
            if not getattr(error, "__notes__", ()):
                error.add_note(f"{self.__memory.name(question)} was called{_with(function, question[1])}")
                if note := wrong_keyword(error):
                    error.add_note(note)
            raise
        return answer

    def __remembering(self, question: Question, answer: Any) -> Any:
        """The answer with functions that remember, always the same object."""
        if question not in self.__parts:
            if type(answer) in (tuple, list):
                remembering: Any = type(answer)(
                    [self.__part(question, k, part) for k, part in enumerate(answer)]
                )
            else:
                remembering = self.__part(question, None, answer)
            self.__parts[question] = remembering
        return self.__parts[question]

    def __part(self, question: Question, place: Any, part: Any, inside: str = "") -> Any:
        """A part with functions that remember."""
        changes: dict[str, Any] = {
            field: self.__function((question, place, inside + field), function)
            for field, function in functions_of(part)
            if "." not in field
        }
        for name, value in vars(part).items() if isinstance(part, Part) else ():
            if any(functions_of(value)):
                changes[name] = self.__part(question, place, value, f"{name}.")
        if not changes:
            return part
        part = copy.copy(part)
        for name, value in changes.items():
            object.__setattr__(part, name, value)
        return part

    def __function(self, path: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def ask(*about: Any) -> Any:
            return self.__answer((path, about), function)

        ask.__qualname__ = self.__memory.name((path, ()))
        return ask


def _with(function: Callable[..., Any], about: tuple[Any, ...]) -> str:
    """The arguments of a call, with the names that the author gave them."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # of a compiled function
        names = []
    named = (f"{name} {brief(value)}" for name, value in zip(names, about, strict=False))
    words = " and ".join(named if len(names) >= len(about) else map(brief, about))
    return f" with {words}" if words else ""


def _again(game: Game, sealed: bool) -> Game:
    memory = memory_of(game)
    return (memory.sealed if sealed else memory.open).game
