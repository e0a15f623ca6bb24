"""Memory: every question that a game's functions were asked, with the answer, so that none is asked twice."""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
import time
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, cast

from cogrid._core.author.game import Game
from cogrid.backend.array import brief

#: Hooks that draw boards, in arrays, or that only a spec asks for.
NOT_ASKED = frozenset({"generate", "default_layouts"})
#: Hooks that pictures ask, when one is drawn.
LOOKS = frozenset({"shows", "look", "look_slot", "look_item", "look_agent", "glyph"})
#: Hooks whose answers hold functions, which are asked questions in turn.
PARTS = frozenset({"near", "one_cell", "placed", "slots", "own_slots", "rewards", "features"})

PATIENCE = 2.0  # seconds

#: A hook and its arguments; or such a pair, place and field of a function in its answer, and arguments.
Question = tuple[Any, tuple[Any, ...]]


class Memory:
    """The answers of one game. `open` asks it what is not known yet; `sealed` raises an error instead."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.answers: dict[Question, Any] = {}
        self.open, self.sealed = _remembering(self, False), _remembering(self, True)

    def ask(self, question: Question) -> Any:
        """The answer to a question, which may be for a function in an earlier answer."""
        path, about = question
        if isinstance(path, str):
            return getattr(self.game if path not in PARTS else self.open, path)(*about)
        whole, place, field = path
        return getattr(_at(self.ask(whole), place), field)(*about)


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
    """What is known of a game; equal games share it."""
    return Memory(game)


def hook_of(question: Question) -> str:
    """The hook that a question is for."""
    path, _ = question
    return path if isinstance(path, str) else hook_of(path[0])


def _remembering(memory: Memory, sealed: bool) -> Game:
    """The game as an instance of a subclass whose hooks look into the memory first."""
    own: Any = type(memory.game)
    kind = _kind(own)
    game = object.__new__(kind)
    values = {field.name: getattr(memory.game, field.name) for field in dataclasses.fields(memory.game)}
    game.__dict__.update(getattr(memory.game, "__dict__", {}) | values)
    game.__dict__.update(_memory=memory, _is_sealed=sealed, _parts={})
    return game


@functools.lru_cache(maxsize=256)
def _kind(kind: type[Game]) -> type[Game]:
    """The subclass; hooks that the game does not write itself are not the author's."""
    ours = {name: hook for name, hook in vars(Game).items() if isinstance(hook, FunctionType)}
    written = {
        name: getattr(kind, name) for name in ours.keys() - NOT_ASKED if getattr(kind, name) is not ours[name]
    }
    hooks = {name: _asking(name, hook) for name, hook in written.items() if not name.startswith("_")}
    own = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    own["__reduce__"] = lambda game: (_again, (game._memory.game, game._is_sealed))
    return cast(type[Game], type(kind.__name__, (kind,), hooks | own))


def _again(game: Game, sealed: bool) -> Game:
    """A copy or a pickle is the same game: the memory of its rules."""
    memory = memory_of(game)
    return memory.sealed if sealed else memory.open


def _asking(hook: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def ask(self: Any, *about: Any, **named: Any) -> Any:
        if named:  # an author's function calls another one
            return original(self, *about, **named)
        answer = _answer(self, (hook, about), functools.partial(original, self._memory.open))
        return _parts(self, (hook, about), answer) if hook in PARTS else answer

    return ask


def _answer(game: Any, question: Question, function: Callable[..., Any]) -> Any:
    """What is known, or what the function answers; errors are not remembered."""
    answers = game._memory.answers
    try:
        return answers[question]
    except KeyError:
        pass
    except TypeError:  # an argument that cannot be hashed, which a check will name
        return function(*question[1])
    if game._is_sealed and question[0] not in LOOKS:
        about = " and ".join(map(brief, question[1]))
        raise LookupError(
            f"{type(game).__name__}.{hook_of(question)} was asked for {about} after its rules were compiled."
        )
    answer = answers[question] = function(*question[1])
    return answer


def _parts(game: Any, question: Question, answer: Any) -> Any:
    """The answer with functions that remember, always the same object."""
    if question not in game._parts:
        if isinstance(answer, Mapping):
            found: Any = {name: _part(game, question, name, part) for name, part in answer.items()}
        elif isinstance(answer, (tuple, list)):
            found = type(answer)([_part(game, question, place, part) for place, part in enumerate(answer)])
        else:
            found = _part(game, question, None, answer)
        game._parts[question] = found
    return game._parts[question]


def _part(game: Any, question: Question, place: Any, part: Any) -> Any:
    """A part with functions that remember: those that it names in `asks`."""
    functions = {field: getattr(part, field) for field in getattr(part, "asks", ())}
    remembering = {
        field: _function(game, (question, place, field), function)
        for field, function in functions.items()
        if callable(function)
    }
    return dataclasses.replace(part, **remembering) if remembering else part


def _function(game: Any, path: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def ask(*about: Any) -> Any:
        return _answer(game, (path, about), function)

    return ask


def _at(answer: Any, place: Any) -> Any:
    return answer if place is None else answer[place]
