"""A pytest plugin, `-p tests.only_jax`: leaves out what is the same without JAX: `tests(numpy)` runs it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

#: Words that say that JAX can change a test: it asks for JAX or all backends, or has one follow another.
SIGNS = ("jax", "backends", "shadow", "check_env")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = {item for item in items if not differs(item)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def differs(item: Any) -> bool:
    """Whether such a word is in the test, its parameters and fixtures, or in what they use of the tests.

    What is used by a function that says "numpy" does not count: it is asked for NumPy alone.
    """
    parameters = list(item.callspec.params.values()) if hasattr(item, "callspec") else []
    numpy = any(isinstance(one, str) and one == "numpy" for one in parameters)
    fixtures = [one.func for found in item._fixtureinfo.name2fixturedefs.values() for one in found]
    things = [item.function.__code__] if numpy else [item.function, *fixtures]
    reasons = [mark.kwargs.get("reason", "") for mark in item.iter_markers("skipif")]
    words = _words([item.name, *reasons, *things, *parameters])
    return any(sign in word.lower() for word in words for sign in SIGNS)


def _words(things: list[Any]) -> Iterator[str]:
    """All names and texts that are reached from these."""
    seen: dict[int, Any] = {}  # which keeps them, so that no other takes the place of one
    while things:
        thing = things.pop()
        if isinstance(thing, str):
            yield thing
        elif isinstance(thing, ModuleType):
            yield thing.__name__
        elif id(thing) not in seen:
            seen[id(thing)] = thing
            things += _parts(thing)


def _parts(thing: Any) -> list[Any]:
    """What a function says and uses, what a class of the tests or another container has in it."""
    if isinstance(thing, dict):
        return [*thing, *thing.values()]
    if isinstance(thing, list | tuple | set | frozenset):
        return list(thing)
    if isinstance(thing, functools.partial):
        return [thing.func, thing.args, thing.keywords]
    if isinstance(thing, CodeType):
        return list(_said(thing))
    if isinstance(thing, FunctionType) and _ours(thing):
        names, texts = _said(thing.__code__)
        if "numpy" in texts:
            return names + texts
        used = {name: thing.__globals__.get(name) for name in names}
        for module in [one for one in used.values() if isinstance(one, ModuleType) and _ours(one)]:
            used |= {name: vars(module).get(name) for name in used if name in vars(module)}
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        return [names, texts, used, cells, thing.__defaults__, thing.__kwdefaults__]
    if isinstance(thing, type) and _ours(thing):
        return list(vars(thing).values())
    wrapped = [getattr(thing, name, None) for name in ("__wrapped__", "__func__", "fget", "func")]
    return [one for one in wrapped if isinstance(one, FunctionType)]


def _said(code: CodeType) -> tuple[list[str], list[str]]:
    """The names and the texts in a function, and in those inside of it."""
    names, texts = list(code.co_names), [one for one in code.co_consts if isinstance(one, str)]
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more = _said(inner)
            names, texts = names + more[0], texts + more[1]
    return names, texts


def _ours(thing: Any) -> bool:
    return (getattr(thing, "__module__", None) or thing.__name__).startswith("tests")
