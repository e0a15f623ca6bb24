"""Purity: a game's functions must depend on their arguments alone; they are called again and compared."""

from __future__ import annotations

import dataclasses
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

from cogrid._core.author.game import Game
from cogrid._core.compile.checking import plain_answers
from cogrid._core.compile.spec import Spec
from cogrid._core.compile.symbols import Symbols, close
from cogrid._core.phases.rewards import Term
from cogrid._core.rules import Rules, _compiled, compile_rules
from cogrid._core.see.observation import Observer, observer
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

#: Garbage collection is on or off for all threads, so one check runs at a time. No state: it keeps nothing.
ALONE = threading.Lock()


class ImpureError(ValueError):
    """A function of a game that depends on more than its arguments."""


@functools.lru_cache(maxsize=256)
def check_pure(spec: Spec, times: int = 1) -> None:
    """Raise an error that names the first function that reads a clock, draws, or changes its answer.

    Everything is called `times` more times, whatever was compiled before. Functions are compared by what they
    return, those of `rewards()`, `features()` and `paint` by the tables that they become.
    """
    watch = _Watch(spec.game)
    answers = [watch.run(_asked_again, spec) for _ in range(times)]
    rules = compile_rules(spec, "numpy")
    used = _answers(rules, rules.rewards.terms, observer(rules))
    for again in answers:
        for hook in {**again, **used}:  # a hook such as `slots` is missing where it returned nothing
            if again.get(hook) != used.get(hook):
                name = f"{type(spec.game).__name__}.{hook}"
                raise ImpureError(f"{name} returned two different results for the same arguments: {RULE}")


class _Again(Spec):
    """A copy of a spec that equals no other, so that nothing compiled before is used for it."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @functools.cached_property
    def symbols(self) -> Symbols:
        """As those of the spec, but not from the cache, which knows the game."""
        found: Symbols = close.__wrapped__(self.game, self.letters, self.num_agents)
        return found


def _asked_again(spec: Spec) -> dict[str, Any]:
    """The answers of a copy, most of which is not cached, so that it is freed."""
    copy = _Again(**{field.name: getattr(spec, field.name) for field in dataclasses.fields(spec)})
    rules = _compiled.__wrapped__(copy, "numpy")
    answers = _answers(rules, rules.rewards.terms, observer.__wrapped__(rules))
    del copy.symbols
    return answers


def _answers(rules: Rules, paid: tuple[Term, ...], seen: Observer) -> dict[str, Any]:
    """Everything that the game returns, by hook."""
    spec = rules.spec
    pays = [(term.reward.name, term.points.tolist()) for term in paid]
    shown = "features" if spec.observation == "features" else "paint"
    tables = [table.tobytes() for table in _tables(seen.see, set())]
    generated = {"generate": reset(rules, rng.key(0)).cells.tolist()} if rules.generates else {}
    return _rule_answers(rules) | plain_answers(spec) | {"rewards": pays, shown: tables} | generated


def _tables(part: Any, seen: set[int]) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays that a function has in its closure, or those of the functions in it."""
    if id(part) in seen:
        return
    seen.add(id(part))
    if isinstance(part, np.ndarray):
        yield part
    elif isinstance(part, (tuple, list)):
        for one in part:
            yield from _tables(one, seen)
    elif isinstance(part, FunctionType):
        for cell in part.__closure__ or ():
            yield from _tables(cell.cell_contents, seen)


def _rule_answers(rules: Rules) -> dict[str, Any]:
    symbols, game, slots = rules.spec.symbols, rules.game, rules.slots
    near, things, ticks = game.near(), symbols.things, symbols.ticks
    counts = len(ticks.values) // (ticks.n_branches * len(things))
    found: dict[str, Any] = {
        "near": (counts, near and [near.mark(thing) for thing in things]),  # before the ticks that it changes
        "tick" if counts == 1 else "tick_near": _odds(ticks),
        "interact": _odds(symbols.outcomes),
        "tick_hand": _odds(symbols.hand_ticks),
        "start": _odds(symbols.starts),
        "hand": symbols.hands,
        "placed": symbols.placed,
        "meet": symbols.meet_rows,
        "join": symbols.joint_rows,
        "walkable": (things, symbols.items),
        "one_cell": [
            one.becomes(thing) if one.qualifies(thing) else None
            for one in game.one_cell()
            for thing in things
        ],
    }
    if slots is not None:
        counted = [one.count(thing) for _, one in slots.counted for thing in things]
        found["slots"] = slots.names, slots.starts, counted
        found |= {"reply": (_odds(slots.replies), slots.kinds.tolist()), "tick_slot": _odds(slots.ticks)}
        found["rank"] = None if slots.ranks is None else slots.ranks.tolist()
    return found


def _odds(odds: Any) -> tuple[Any, ...]:
    return odds.values, [bound.tolist() for bound in odds.bounds]


class _Watch:
    """A profile function that notes whether a function of the game reads a clock or draws."""

    def __init__(self, game: Game) -> None:
        self.game = game
        classes = type(game).__mro__[: type(game).__mro__.index(Game) + 1]
        named = [(name, f) for one in classes for name, f in vars(one).items() if isinstance(f, FunctionType)]
        hooks = ((name, f) for name, f in named if hasattr(Game, name) and not name.startswith("_"))
        # By code, since a lambda has no name; with the functions that a hook makes, such as those of a Price.
        self.hooks = {code: name for name, function in hooks for code in _codes(function.__code__)}
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
            if module.split(".")[0] == "logging":  # which notes the time of a message
                return ""
            if code in self.hooks:
                return f"{type(self.game).__name__}.{self.hooks[code]}"
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
    calls = (one for one in dis.get_instructions(frame.f_code) if one.opname == "CALL")
    return any(one.offset == frame.f_lasti and (one.arg or 0) >= GIVEN[name] for one in calls)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of the functions inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)
