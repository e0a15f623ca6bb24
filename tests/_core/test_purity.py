"""Functions that depend on more than their arguments are refused by `check_env` and `make`."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import gc
import importlib
import itertools
import logging
import random
import re
import secrets
import signal
import sys
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid._core.author.kinds import KINDS, written
from cogrid._core.author.part import label
from cogrid._core.compile.memory import functions_of
from cogrid._core.purity import ImpureError, check_pure
from cogrid._core.rules import Rules, compile_rules
from cogrid._core.state.reset import reset
from cogrid.author import (
    Act,
    Agents,
    BySlot,
    Faced,
    Game,
    Generated,
    Looks,
    Near,
    Outcome,
    Part,
    Planes,
    Price,
    Reward,
    Slot,
    SlotFeature,
    Spec,
    Tally,
)
from cogrid.backend import rng
from cogrid.envs import registry
from cogrid.render.picture import picture
from cogrid.testing import check_env
from tests._core import test_everything as everything
from tests._core.worlds import altered
from tests.support import posix

COUNT = itertools.count()
SOURCES = {
    "random": lambda: random.random() < 0.5,
    "randint": lambda: random.randint(0, 1),
    "clock": lambda: time.time() % 2 < 1,
    "date": lambda: datetime.datetime.now().second % 2,
    "numpy": lambda: np.random.default_rng().random() < 0.5,
    "global": lambda: next(COUNT) % 7 == 0,
}


#: Their answers are always the same, so that only the call itself can be found.
HIDDEN = {
    "default_rng": lambda: np.random.default_rng().random() < 2,
    "generator of a module": lambda: GENERATOR.random() < 2,
    "Random": lambda: random.Random().random() < 2,
    "seed": lambda: random.seed(3) is None and random.random() < 2,
    "SystemRandom": lambda: random.SystemRandom().random() < 2,
    "secrets": lambda: secrets.randbelow(3) < 3,
    "uuid1": lambda: uuid.uuid1().int > 0,
    "uuid4": lambda: uuid.uuid4().int > 0,
    "today": lambda: datetime.date.today().year > 0,
    "derived": lambda: Day.now().year > 0,
    "time_ns": lambda: time.time_ns() > 0,
    "localtime": lambda: time.localtime().tm_year > 0,
    "strftime": lambda: time.strftime("%Y") > "",
}
#: What looks like a clock or like chance, but depends on its arguments alone.
PURE = {
    "Random": lambda: random.Random(3).randint(0, 1) == random.Random(3).randint(0, 1),
    "default_rng": lambda: np.random.default_rng(3).random() < 2,
    "timedelta": lambda: datetime.timedelta(seconds=3).total_seconds() == 3,
    "datetime": lambda: datetime.datetime(2020, 1, 1).time().hour == 0,
    "gmtime": lambda: time.gmtime(0).tm_year == 1970,
    "strftime": lambda: time.strftime("%Y", (2020, *[1] * 8)) == "2020",
    "logging": lambda: LOG.info("asked") is None,
}
GENERATOR = random.Random(3)
LOG = logging.getLogger(__name__)


class Day(datetime.datetime):
    """A class of the author's own."""


FOUND = "{} (calls|returned two different results for the same arguments)"
BOARD = "abcdefgh\n#1    2#\n########"


@dataclass(frozen=True)
class Impure(Game):
    """A switch that listens to the wrong thing."""

    source: str = "random"
    legend: ClassVar[Any] = {
        " ": "floor",
        "#": "wall",
        **{letter: f"switch {letter}" for letter in "abcdefgh"},
    }

    def switch(self, held: Any, thing: Any) -> Any:
        if not thing.startswith("switch"):
            return None
        return Outcome(held, thing, "on" if (SOURCES | HIDDEN)[self.source]() else "off")

    def parts(self) -> tuple[Part, ...]:
        return (Act("toggle", thing=self.switch),)


@pytest.mark.parametrize("source", SOURCES)
def test_impure_rules_are_found(source: str) -> None:
    spec = Spec(Impure(source), BOARD, observation="none")
    with pytest.raises(AssertionError, match=FOUND.format(r"Act\.thing of Impure")):
        check_env(spec, ["numpy"], steps=3)


@pytest.mark.parametrize("source", HIDDEN)
def test_sources_are_found_by_the_call(source: str) -> None:
    with pytest.raises(ImpureError, match=r"^Act\.thing of Impure calls \w+"):
        check_pure(Spec(Impure(source), BOARD, observation="none"))


@dataclass(frozen=True)
class Pure(Impure):
    """A switch that listens to the right thing."""

    def switch(self, held: Any, thing: Any) -> Any:
        return Outcome(held, thing, "on") if thing.startswith("switch") and PURE[self.source]() else None


@pytest.mark.parametrize("source", PURE)
def test_what_depends_on_its_arguments_alone_is_accepted(source: str, caplog: Any) -> None:
    caplog.set_level(logging.INFO)  # every message is stamped
    spec = Spec(Pure(source), BOARD, observation="none")
    check_pure(spec)
    assert "on" in compile_rules(spec, "numpy").verbs


@dataclass(frozen=True)
class ImpureReward(Impure):
    """The rules are fine; what they pay is not."""

    def switch(self, held: Any, thing: Any) -> Any:
        return Outcome(held, thing, "on") if thing.startswith("switch") else None

    def rewards(self) -> tuple[Reward, ...]:
        return (Reward("on", lambda event: 1 + SOURCES[self.source]()),)


@dataclass(frozen=True)
class ImpureFeature(Impure):
    """What agents see is not a function of the board."""

    def switch(self, held: Any, thing: Any) -> Any:
        return None

    def features(self) -> tuple[Any, ...]:
        return (Faced(("on",), lambda thing: (float(SOURCES[self.source]()) / 2,)),)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("game", "function"),
    [
        (Impure, r"Act\.thing of Impure"),
        (ImpureReward, r"Reward\.points of ImpureReward"),
        (ImpureFeature, r"Faced\.of_thing of ImpureFeature"),
    ],
)
def test_make_refuses_impure_worlds(game: Any, function: str, source: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    cogrid.register(f"{game.__name__}-{source}-V0", Spec(game(source), BOARD))
    with pytest.raises(ValueError, match=FOUND.format(function)):
        cogrid.make(f"{game.__name__}-{source}-V0")


GAME = everything.SPEC.game
HOOKS = [name for name in written(GAME) if isinstance(getattr(Game, name), FunctionType)]
#: Hooks whose answers have functions, which are called later.
WITH_FUNCTIONS = ("parts", "planes", "looks", "rewards", "features")


def several(answer: Any) -> tuple[Any, ...]:
    """The parts that a hook returns, which may be a single value."""
    return answer if isinstance(answer, tuple) else (answer,)


def fields_of(part: Any) -> tuple[str, ...]:
    """The functions of a part."""
    return (*dict(functions_of(part)), *(("draw",) if isinstance(part, Generated) else ()))


#: Each function in the world's parts, the first of its name: the hook that returns it, its part's number.
FUNCTIONS: dict[str, tuple[str, int]] = {}
for _hook in WITH_FUNCTIONS:
    for _number, _part in enumerate(several(getattr(GAME, _hook)())):
        for _field in fields_of(_part):
            FUNCTIONS.setdefault(f"{type(_part).__name__}.{_field}", (_hook, _number))


#: What a hook, or a function of a part, calls before it answers.
PLANTED: dict[str, Callable[[], Any]] = {}


def planted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, but it calls what is planted under its name."""

    def ask(*arguments: Any) -> Any:
        PLANTED.get(name, int)()
        return function(*arguments)

    ask.__code__ = ask.__code__.replace(co_name=name)  # by its code a function is blamed
    return ask


def with_functions(hook: str) -> Callable[..., Any]:
    """A hook of the world of everything, each function of whose parts can be planted."""

    def ask(self: Any) -> Any:
        answer = getattr(everything.Everything, hook)(self)
        parts = several(answer)
        for number, part in enumerate(parts):
            for field in fields_of(part):
                change = functools.partial(planted, f"{label(parts, number)}.{field}")
                part = altered(part, field, change)
            parts = (*parts[:number], part, *parts[number + 1 :])
        return parts if isinstance(answer, tuple) else parts[0]

    return ask


@functools.cache
def compiled(observation: str) -> Spec:
    """The world of everything in which anything can be planted, compiled before it is checked."""
    hooks = {hook: getattr(everything.Everything, hook) for hook in HOOKS}
    hooks |= {hook: with_functions(hook) for hook in WITH_FUNCTIONS}
    game = type(
        "Changed", (everything.Everything,), {name: planted(name, hook) for name, hook in hooks.items()}
    )
    spec = dataclasses.replace(everything.SPEC, game=game(), observation=observation)
    rules = compile_rules(spec, "numpy")
    picture(rules, reset(rules, rng.key(0)), 8)  # which alone asks for the looks
    return spec


def check_with(hook: str, name: str, call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the world in which a function, of this hook or of its answers, calls something."""
    spec = compiled("features" if hook == "features" else "window")
    monkeypatch.setitem(PLANTED, name, call)
    check_pure(spec)


@pytest.mark.parametrize("hook", HOOKS)
def test_a_clock_is_found_in_every_hook_whatever_was_compiled_before(hook: str, monkeypatch: Any) -> None:
    with pytest.raises(ImpureError, match=rf"^Changed\.{hook} calls time: a rule depends on"):
        check_with(hook, hook, time.time, monkeypatch)


def test_every_function_of_every_part_is_tried() -> None:
    kinds = (*KINDS, Planes, Looks, Reward, Price, Tally, BySlot, Agents, Faced, SlotFeature)
    assert {*FUNCTIONS} >= {f"{kind.__name__}.{field}" for kind in kinds for field in kind._asks}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_clock_is_found_in_every_function_of_a_part(name: str, monkeypatch: Any) -> None:
    hook, number = FUNCTIONS[name]
    shown = f"{label(several(getattr(GAME, hook)()), number)}.{name.partition('.')[2]}"
    with pytest.raises(ImpureError, match=rf"^{re.escape(shown)} of Changed calls time: a rule depends on"):
        check_with(hook, shown, time.time, monkeypatch)


NEAR = Near(lambda thing: 1, lambda thing, count: thing, most=1)
PAIRS: list[tuple[str, Any, Any]] = [
    ("parts", (), (Slot("clock", 0),)),
    ("parts", (NEAR,), (NEAR, Slot("clock", 0))),
    ("parts", (), (NEAR,)),
    ("parts", (NEAR,), (dataclasses.replace(NEAR, most=2),)),
    ("planes", Planes(), Planes(("lamp",))),
    ("looks", Looks(), Looks(glyph=lambda thing: None)),
]
CHANGES = [(hook, *pair) for hook, *pair in PAIRS] + [(hook, after, before) for hook, before, after in PAIRS]


@pytest.mark.parametrize(("hook", "before", "after"), CHANGES, ids=range(len(CHANGES)))
def test_a_hook_that_later_returns_more_or_less_is_found(hook: str, before: Any, after: Any) -> None:
    answer = before

    def change(self: Any) -> Any:
        return answer

    game = type("Changed", (Impure,), {"parts": Game.parts} | {hook: change})
    spec = Spec(game(), BOARD, observation="none")
    compile_rules(spec, "numpy")
    answer = after
    with pytest.raises(ImpureError, match=rf"^Changed\.{hook} returned two different results"):
        check_pure(spec)


def test_chance_is_found_in_replies_of_compiled_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImpureError, match=r'^Slot\("customer"\)\.reply of Changed calls'):
        check_with("parts", 'Slot("customer").reply', lambda: random.choice([1]), monkeypatch)


@dataclass(frozen=True)
class Lamps(Impure):
    """Lamps that are switched; `kind` takes a while, and makes garbage, so that something comes between."""

    def switch(self, held: Any, thing: Any) -> Any:
        return Outcome(held, thing, "on") if thing.startswith("switch") else None

    def kind(self, thing: Any) -> str:
        for k in range(2000):
            loop: list[Any] = [k]
            loop.append(loop)
        return str(thing)


@dataclass(frozen=True)
class Timed(Lamps):
    """An author who catches everything, and a helper that reads the clock."""

    def walkable(self, thing: Any) -> bool:
        try:
            return bool(thing == "floor" and stamp())
        except Exception:
            return False


def stamp() -> float:
    return time.monotonic()


def test_helpers_are_blamed_and_nothing_hides_it() -> None:
    spec = Spec(Timed(), BOARD, observation="none")
    with pytest.raises(ImpureError, match=r"Timed\.walkable calls monotonic"):
        check_pure(spec)


@pytest.fixture
def often() -> Iterator[None]:
    """Garbage is collected all the time."""
    before = gc.get_threshold()
    gc.set_threshold(1)
    yield
    gc.set_threshold(*before)


def test_callbacks_of_garbage_collection_are_nobodys_rule(often: None) -> None:
    called = []

    def callback(phase: str, info: Any) -> None:
        called.append(time.perf_counter())

    gc.callbacks.append(callback)
    try:
        check_pure(Spec(Lamps("gc"), BOARD, observation="none"))
    finally:
        gc.callbacks.remove(callback)
    assert called
    assert gc.isenabled()


class Old:
    """Garbage that reads the clock when it is collected."""

    ended: ClassVar[list[float]] = []
    watched: ClassVar[list[Any]] = []

    def __init__(self) -> None:
        self.itself = self
        self.watched.append(weakref.ref(self, lambda _: note_end(time.perf_counter())))

    def __del__(self) -> None:
        note_end(time.time())


def note_end(now: float) -> None:
    Old.ended.append(now)


@dataclass(frozen=True)
class Messy(Lamps):
    """An author who leaves garbage behind."""

    def kind(self, thing: Any) -> str:
        for _ in range(10):
            Old()
        return str(thing)


def test_finalisers_are_nobodys_rule(often: None) -> None:
    check_pure(Spec(Messy(), BOARD, observation="none"))
    gc.collect()
    assert len(Old.ended) >= 2 * 10


@dataclass(frozen=True)
class Called(Lamps):
    """When asked again, which is under a profile function, it calls a function of the test."""

    ask: Callable[[], object] = bool

    def kind(self, thing: Any) -> str:
        if thing == "floor" and sys.getprofile() is not None:
            self.ask()
        return str(thing)


def test_the_check_that_ends_first_does_not_switch_collection_on() -> None:
    begun, ended = threading.Event(), threading.Event()
    collects = []

    def second_ask() -> None:
        begun.set()
        ended.wait(1)
        collects.append(gc.isenabled())

    def first_ask() -> None:
        if not other.is_alive():
            other.start()
        begun.wait(0.2)  # it asks now, or after us

    second = Spec(Called("second", second_ask), BOARD, observation="none")
    other = threading.Thread(target=check_pure, args=(second,))
    compile_rules(second, "numpy")
    check_pure(Spec(Called("first", first_ask), BOARD, observation="none"))
    ended.set()
    other.join()
    assert collects
    assert not any(collects)
    assert gc.isenabled()


def test_a_hook_can_check_another_world() -> None:
    other, checked = Spec(Lamps("other"), BOARD, observation="none"), []

    def ask() -> None:
        check_pure(other)
        checked.append(other)

    check_pure(Spec(Called(ask=ask), BOARD, observation="none"))
    assert checked


@posix
def test_an_interrupt_does_not_wait_for_the_check() -> None:
    release, ended = threading.Event(), []

    def ask() -> None:
        if not release.is_set():
            release.wait(0.1)  # until the main thread waits for us
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            release.wait(3)
        ended.append(threading.current_thread())

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            check_pure(Spec(Called(ask=ask), BOARD, observation="none"))
        assert not ended
        assert gc.isenabled()
    finally:
        signal.signal(signal.SIGINT, before)
        release.set()


def test_what_was_compiled_again_is_freed() -> None:
    spec = Spec(Lamps("freed"), BOARD)
    check_pure(spec)
    gc.collect()
    kept = [one for one in gc.get_objects() if isinstance(one, Rules) and one.spec.game == spec.game]
    assert kept == [compile_rules(spec, "numpy")]


@posix
def test_signal_handlers_are_nobodys_rule() -> None:
    called = []
    before = signal.signal(signal.SIGALRM, lambda *_: called.append(time.time()))
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    try:
        check_pure(Spec(Lamps("signals"), BOARD, observation="none"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert called


def test_a_profiler_is_nobodys_rule_and_stays() -> None:
    called = []

    def profiler(frame: Any, event: str, argument: Any) -> None:
        called.append(clock())

    clock = time.perf_counter
    before = sys.getprofile()
    sys.setprofile(profiler)
    try:
        check_pure(Spec(Lamps("profiler"), BOARD, observation="none"))
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(before)
    assert called


@dataclass(frozen=True)
class Imports(Lamps):
    """An author who imports in a function."""

    def lying(self, thing: Any) -> Any:
        importlib.import_module("module_that_reads_a_clock")
        return None


def test_what_a_module_does_once_is_nobodys_rule(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "module_that_reads_a_clock.py").write_text(
        "import time\nNOW = time.time()\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    check_pure(Spec(Imports(), BOARD, observation="none"))
    assert "module_that_reads_a_clock" in sys.modules


def test_pure_rules_pass() -> None:
    """The world of all hooks is asked again and again; nothing is found."""
    assert check_env(everything.SPEC, ["numpy"], steps=3) is not None
