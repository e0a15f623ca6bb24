"""Purity: a game's functions must depend on their arguments alone; they are called again and compared."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from cogrid.core.game import Game
from cogrid.core.observation import observer
from cogrid.core.rewards import terms
from cogrid.core.rules import compile_rules
from cogrid.core.spec import Spec
from cogrid.core.symbols import Symbols, close

RULE = "a rule depends on its arguments alone; for chance, return a Chance."


class ImpureError(ValueError):
    """A function of a game that depends on more than its arguments."""


@functools.lru_cache(maxsize=256)
def check_pure(spec: Spec, times: int = 1) -> None:
    """Raise an error that names the first function that reads a clock, draws, or changes its answer.

    Everything is called `times` more times. Rules are compared by all that they return, the functions of
    `rewards()`, `features()` and `paint` by the tables that they become.
    """
    watched = _Watch(spec.game)
    answers = [watched.run(_answers, spec, True) for _ in range(times)]
    used = _answers(spec, False)
    for again in answers:
        for hook, one in used.items():
            if again[hook] != one:
                name = f"{type(spec.game).__name__}.{hook}"
                raise ImpureError(f"{name} returned two different results for the same arguments: {RULE}")


def _answers(spec: Spec, fresh: bool) -> dict[str, Any]:
    """Everything that the game returns, by hook: asked again, or as environments use it."""
    asked: Any = spec.game, spec.letters, spec.num_agents
    answers = _rule_answers(close.__wrapped__(*asked) if fresh else close(*asked))
    rules = compile_rules(spec, "numpy")
    pays = terms.__wrapped__(rules) if fresh else terms(rules)
    paid = [(term.reward.name, term.points.tolist()) for term in pays]
    see = (observer.__wrapped__(rules) if fresh else observer(rules)).see
    shown = "features" if spec.observation == "features" else "paint"
    return answers | {"rewards": paid, shown: [table.tobytes() for table in _tables(see, set())]}


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


def _rule_answers(symbols: Symbols) -> dict[str, Any]:
    ticks = "tick" if symbols.game.near() is None else "tick_near"
    return {
        ticks: (symbols.ticks.values, [bound.tolist() for bound in symbols.ticks.bounds]),
        "interact": (symbols.outcomes.values, [bound.tolist() for bound in symbols.outcomes.bounds]),
        "tick_hand": symbols.hand_ticks.values,
        "start": symbols.starts.values,
        "hand": symbols.hands,
        "meet": symbols.meet_rows,
        "join": symbols.joint_rows,
        "walkable": (symbols.things, symbols.items),
    }


class _Watch:
    """A profile function that raises an error when a function of the game reads a clock or draws."""

    forbidden = frozenset({"time", "datetime", "random", "_random"})

    def __init__(self, game: Game) -> None:
        self.game = game
        classes = type(game).__mro__[: type(game).__mro__.index(Game) + 1]
        named = [(name, f) for one in classes for name, f in vars(one).items() if isinstance(f, FunctionType)]
        hooks = ((name, f) for name, f in named if hasattr(Game, name) and not name.startswith("_"))
        # By code, since a lambda has no name; with the functions that a hook makes, such as those of a Price.
        self.hooks = {code: name for name, function in hooks for code in _codes(function.__code__)}

    def run(self, function: Any, *arguments: Any) -> Any:
        """Call a function and watch what the game's functions call."""
        before = sys.getprofile()
        sys.setprofile(self)
        try:
            return function(*arguments)
        finally:
            sys.setprofile(before)

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        if event != "c_call":
            return
        owner = getattr(called, "__self__", None)
        owners = (called, owner, type(owner))
        homes = {str(getattr(one, "__module__", "")).split(".")[0] for one in owners}
        homes.add(getattr(owner, "__name__", ""))  # of a module's own functions
        if homes & self.forbidden:
            hook: FrameType | None = frame
            while hook is not None and hook.f_code not in self.hooks:
                hook = hook.f_back
            if hook is not None:
                name = f"{type(self.game).__name__}.{self.hooks[hook.f_code]}"
                raise ImpureError(f"{name} calls {called.__qualname__}: {RULE}")


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of the functions inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)
