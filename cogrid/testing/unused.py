"""Unused methods: public ones of an author's game that nothing calls, such as a part that was forgotten."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

from cogrid._core.author.game import Game
from cogrid._core.compile.memory import memory_of


def unused_methods(game: Game) -> tuple[str, ...]:
    """Their names, as far as the text of the game's package tells."""
    classes = type(game).__mro__[: type(game).__mro__.index(Game)]
    public = {
        name: method.__code__
        for one in reversed(classes)
        for name, method in inspect.getmembers_static(one, inspect.isfunction)
        if not name.startswith("_") and not hasattr(Game, name)
    }
    if not public:
        return ()
    in_parts = {getattr(function, "__code__", None) for _, function in memory_of(game).functions()}
    packages = {one.__module__.rpartition(".")[0] or one.__module__ for one in classes}
    named = {name for package in packages for code in _codes_in(package) for name in code.co_names}
    return tuple(sorted(name for name, code in public.items() if code not in in_parts and name not in named))


def _codes_in(package: str) -> Iterator[CodeType]:
    """The code of all functions of a package's modules that are loaded."""
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            for value in list(vars(module).values()):
                if getattr(value, "__module__", None) == name:
                    yield from _codes(value)


def _codes(value: Any) -> Iterator[CodeType]:
    """The code of a function or of a class's methods, with the functions inside."""
    if inspect.isclass(value):
        for one in vars(value).values():
            yield from _codes(one)
    elif isinstance(value, property):
        yield from _codes(value.fget)
    else:
        code = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
        todo = [code] if isinstance(code, CodeType) else []
        for one in todo:  # grows during the loop
            todo += [inner for inner in one.co_consts if isinstance(inner, CodeType)]
            yield one
