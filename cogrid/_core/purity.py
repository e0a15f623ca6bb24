"""Purity: a game's functions must depend on their arguments alone; they are called again and compared."""

from __future__ import annotations

import datetime
import dis
import functools
import gc
import os
import random
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from types import CodeType, FrameType, FunctionType, MappingProxyType
from typing import Any

import numpy as np

from cogrid._core.author.cells import Generated
from cogrid._core.author.game import Game
from cogrid._core.compile.checking import naming_author
from cogrid._core.compile.memory import Memory, Question, Waiting, memory_of
from cogrid._core.compile.spec import Spec
from cogrid._core.digest import text
from cogrid._core.rules import Rules, compile_rules
from cogrid._core.see.observation import observer_of
from cogrid._core.state.reset import reset
from cogrid.backend import rng

RULE = "a rule depends on its arguments alone; for chance, return a Chance."

#: What reads a clock or draws, by its module or class. The rest of the standard library calls these, as do
#: NumPy's generators without a seed. A profile function does not see the calls of compiled code such as
#: `numpy.random.rand`, whose draws are found by comparison only.
SOURCES: Mapping[str | type, str] = MappingProxyType(
    {
        "time": "time monotonic perf_counter process_time thread_time clock_gettime "
        "time_ns monotonic_ns perf_counter_ns process_time_ns thread_time_ns clock_gettime_ns "
        "localtime gmtime ctime asctime strftime",
        os.name: "urandom getrandom times",
        "_uuid": "generate_time_safe UuidCreate",
        datetime.date: "now utcnow today",
        random.Random: "random getrandbits",
    }
)
HOMES = MappingProxyType({name: home for home, names in SOURCES.items() for name in names.split()})
#: The number of arguments with which these convert a given time instead of reading the clock.
GIVEN = MappingProxyType({"localtime": 1, "gmtime": 1, "ctime": 1, "asctime": 1, "strftime": 2})

#: How much of a large game `make` asks again; `check_env` asks all.
SAMPLE, SHARE = 128, 16

#: Garbage collection is on or off for all threads, so one check runs at a time. No state: it keeps nothing.
ALONE = threading.Lock()

#: Our own code that looks at a clock, also inside of a function of a game that checks another game.
TIMED = (Waiting.__init__.__code__, Waiting.__call__.__code__)


class ImpureError(ValueError):
    """A function of a game that depends on more than its arguments."""


@functools.lru_cache(maxsize=256)
def check_pure(spec: Spec, times: int = 1, whole: bool = True) -> None:
    """Raise an error that names the first function that reads a clock, draws, or changes its answer.

    Every question that was asked so far, for any spec of the game, is asked `times` more times; if not
    `whole`, of each function at most the larger of `SAMPLE` questions and one in `SHARE`.
    """
    rules, watch = compile_rules(spec, "numpy"), _HookWatch(spec.game)
    known = dict(rules.spec.symbols.memory.answers)  # of an equal spec, which was compiled
    for _ in range(times):
        if name := watch.run(_asked_again, rules, known if whole else _sample(known)):
            raise ImpureError(f"{name} returned two different results for the same arguments: {RULE}")


def _sample(known: Mapping[Question, Any]) -> dict[Question, Any]:
    """Some of the questions for each function, evenly over the order in which they were asked."""
    by_function: dict[Any, list[Question]] = {}
    for question in known:
        by_function.setdefault(question[0], []).append(question)
    sampled = set[Question]()
    for questions in by_function.values():
        sampled.update(questions[:: max(1, len(questions) // max(SAMPLE, len(questions) // SHARE))])
    return {question: known[question] for question in known if question in sampled}


def _asked_again(rules: Rules, known: dict[Question, Any]) -> str:
    """The first function that answers differently than known, of a game without a memory; "" if none does."""
    memory = Memory(rules.spec.game)
    if name := _differs(memory, known):
        return name
    fresh = object.__new__(Rules)
    vars(fresh).update(vars(rules), answers=memory.open, game=memory.open.game)
    if rules.spec.observation == "features":
        fresh.observer = observer_of(fresh)
    before, now = _tables(rules), _tables(fresh)
    return next((name for name in before if now[name] != before[name]), "")


@naming_author
def _differs(memory: Memory, known: dict[Question, Any]) -> str:
    for question, answer in known.items():  # in the order of asking: a function comes after what holds it
        if not _same(memory.ask(question), answer):
            return memory.name(question)
    return ""


def _same(answer: Any, known: Any) -> bool:
    """Whether two answers are equal; of functions in them only the kind is compared, since they are asked."""
    try:
        return bool(answer == known) or text(answer) == text(known)
    except ValueError:  # arrays
        return text(answer) == text(known)


def _tables(rules: Rules) -> dict[str, Any]:
    """What the game makes in arrays: the tables of its features, and a board."""
    made: dict[str, Any] = {}
    own = type(rules.spec.game).__name__
    if rules.spec.observation == "features":
        made[f"{own}.features"] = [table.tobytes() for table in _arrays(rules.observer.see, set())]
    if rules.generates:
        made[f"Generated.draw of {own}"] = reset(rules, rng.key(0)).cells.tolist()
    return made


def _arrays(part: Any, seen: set[int]) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays that a function has in its closure, or those of the functions in it."""
    if id(part) in seen:
        return
    seen.add(id(part))
    if isinstance(part, np.ndarray):
        yield part
    elif isinstance(part, (tuple, list)):
        for one in part:
            yield from _arrays(one, seen)
    elif isinstance(part, FunctionType):
        for cell in part.__closure__ or ():
            yield from _arrays(cell.cell_contents, seen)


class _HookWatch:
    """A profile function that notes whether a function of the game reads a clock or draws."""

    def __init__(self, game: Game) -> None:
        self.game = game
        classes = type(game).__mro__[: type(game).__mro__.index(Game) + 1]
        named = [(name, f) for one in classes for name, f in vars(one).items() if isinstance(f, FunctionType)]
        hooks = ((name, f) for name, f in named if hasattr(Game, name) and not name.startswith("_"))
        # By code, since a lambda has no name; with the functions that a hook makes.
        own = type(game).__name__
        self.hooks = {code: f"{own}.{name}" for name, function in hooks for code in _codes(function.__code__)}
        drawing = memory_of(game).open.parts.one(Generated)
        drawn = (
            [(f"Generated.draw of {own}", drawing.draw)] if drawing else []
        )  # array code, never remembered
        for name, function in (*memory_of(game).functions(), *drawn):
            self.hooks |= dict.fromkeys(_codes(getattr(function, "__code__", None)), name)
        self.found = ""
        self._seeded: weakref.WeakSet[random.Random] = weakref.WeakSet()

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function, and raise an error if a function of the game read a clock or drew.

        In a thread of its own and without garbage collection, so that nothing else runs inside of the game's
        functions: signal handlers run in the main thread, profilers in the threads that they were set for. A
        daemon, so that nobody who presses Ctrl-C waits for it.
        """
        done: Future[Any] = Future()

        def work() -> None:
            sys.setprofile(self)
            try:
                done.set_result(function(*arguments))
            except BaseException as error:
                done.set_exception(error)

        if isinstance(threading.current_thread(), _Worker):  # a game's function that checks another game
            return function(*arguments)  # is watched, and would wait for itself
        with ALONE:
            collects = gc.isenabled()
            gc.disable()
            try:
                _Worker(target=work, daemon=True).start()
                error = done.exception()
            finally:
                if collects:
                    gc.enable()
        if self.found:
            raise ImpureError(self.found) from error
        return done.result()

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        if event != "c_call" or ((name := called.__name__) not in HOMES and name != "seed"):
            return
        if self._is_forbidden(frame, called) and (author := self._author_of(frame)):
            self.found = f"{author} calls {called.__qualname__}: {RULE}"
            sys.setprofile(None)

    def _is_forbidden(self, frame: FrameType, called: Any) -> bool:
        """Whether a function reads a clock, or draws from a generator that no function of the game seeded."""
        name, owner = called.__name__, called.__self__
        if name == "seed":
            shared = not isinstance(owner, random.Random) or owner is random._inst
            if not shared and frame.f_locals.get("a") is not None:  # the frame is that of Random.seed(a)
                self._seeded.add(owner)
            return False
        home = HOMES[name]
        if isinstance(home, str):
            return called.__module__ == home and not _is_given(frame, name)
        kind = owner if isinstance(owner, type) else type(owner)
        return issubclass(kind, home) and owner not in self._seeded

    def _author_of(self, frame: FrameType | None) -> str:
        """The author's function that made a call: a hook, or what a hook gave us; "" if there is none."""
        author, outside = "", True
        while frame is not None and frame.f_code is not _asked_again.__code__:
            code = frame.f_code
            module = str(frame.f_globals.get("__name__"))
            if code.co_filename.startswith("<frozen importlib"):  # a module runs once, whoever needs it first
                return ""
            if module.split(".")[0] == "logging" or code in TIMED:  # which look at the time
                return ""
            if code in self.hooks:
                return self.hooks[code]
            outside = outside and not module.startswith("cogrid.")
            author = code.co_qualname if outside else author  # of the frames that came from us, the first
            frame = frame.f_back
        return author if frame is not None else ""


class _Worker(threading.Thread):
    """The thread of a check."""


def _is_given(frame: FrameType, name: str) -> bool:
    """Whether the call that a frame is at gives the time to a function that otherwise reads the clock."""
    if name not in GIVEN:
        return False
    calls = (
        instruction for instruction in dis.get_instructions(frame.f_code) if instruction.opname == "CALL"
    )
    return any(
        instruction.offset == frame.f_lasti and (instruction.arg or 0) >= GIVEN[name] for instruction in calls
    )


def _codes(code: CodeType | None) -> Iterator[CodeType]:
    """The code of a function and of the functions inside it; none of compiled functions."""
    if code is None:
        return
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)
