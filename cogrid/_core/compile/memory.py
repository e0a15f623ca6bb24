"""Memory: every question that a game's functions were asked, with the answer, so that none is asked twice."""

from __future__ import annotations

import copy
import functools
import math
import sys
import time
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any, cast

from cogrid._core.author.game import Game
from cogrid.backend.array import brief

#: Hooks that draw boards, in arrays, or that only a spec asks for.
NOT_ASKED = frozenset({"generate", "default_layouts"})
#: Hooks that pictures ask, when one is drawn.
LOOKS = frozenset({"shows", "look", "look_slot", "look_item", "look_agent", "glyph"})
#: Hooks whose answers hold functions, which are asked questions in turn.
PARTS = frozenset({"near", "one_cell", "placed", "slots", "own_slots", "rewards", "features"})
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
        # With the name of the game's class, for errors; a subclass of that would show in the author's code.
        names = {name: getattr(type(game), name) for name in ("__module__", "__qualname__", "__doc__")}
        stand_in: Any = type(type(game).__name__, (_Asked,), names)
        self.open, self.sealed = cast(Game, stand_in(self, False)), cast(Game, stand_in(self, True))

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle has the game; its functions may be lambdas, which no pickle can have."""
        return memory_of, (self.game,)

    def ask(self, question: Question) -> Any:
        """The answer to a question, which may be for a function in an earlier answer."""
        path, about = question
        if isinstance(path, str):
            return getattr(self.open if path in PARTS else self.game, path)(*about)
        whole, place, field = path
        answer = self.ask(whole)
        return getattr(answer if place is None else answer[place], field)(*about)


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


def hook_of(question: Question) -> str:
    """The hook that a question is for."""
    path, _ = question
    return path if isinstance(path, str) else hook_of(path[0])


class _Asked:
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
        return bool(self.__memory.game == (other.__memory.game if isinstance(other, _Asked) else other))

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

        ask.__name__ = hook
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
        if self.__is_sealed and question[0] not in LOOKS:
            about = " and ".join(map(brief, question[1]))
            raise LookupError(
                f"{type(self).__name__}.{hook_of(question)} was asked for {about} after its rules were "
                "compiled."
            )
        answer = answers[question] = function(*question[1])
        return answer

    def __remembering(self, question: Question, answer: Any) -> Any:
        """The answer with functions that remember, always the same object."""
        if question not in self.__parts:
            found: Any = answer
            if isinstance(answer, Mapping):
                found = {name: self.__part(question, name, part) for name, part in answer.items()}
            elif type(answer) in (tuple, list):
                found = type(answer)([self.__part(question, k, part) for k, part in enumerate(answer)])
            elif not isinstance(answer, (tuple, list)):
                found = self.__part(question, None, answer)
            self.__parts[question] = found
        return self.__parts[question]

    def __part(self, question: Question, place: Any, part: Any) -> Any:
        """A part with functions that remember: those that it names in `_asks`."""
        functions = {field: getattr(part, field) for field in getattr(part, "_asks", ())}
        if not any(map(callable, functions.values())):
            return part
        part = copy.copy(part)
        for field, function in functions.items():
            if callable(function):
                object.__setattr__(part, field, self.__function((question, place, field), function))
        return part

    def __function(self, path: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def ask(*about: Any) -> Any:
            return self.__answer((path, about), function)

        return ask


def _again(game: Game, sealed: bool) -> Game:
    memory = memory_of(game)
    return memory.sealed if sealed else memory.open
