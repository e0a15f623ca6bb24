"""Guards: raise an error if two threads use an environment at once, or a fork of a process with JAX does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import get_ident
from typing import Any, Concatenate, ParamSpec, TypeVar

from cogrid.backend.array import get_backend

P = ParamSpec("P")
R = TypeVar("R")


class Guard:
    """Tracks which thread is inside; costs half a microsecond per call."""

    def __init__(self, what: str, backend: str) -> None:
        self._what, self._backend = what, get_backend(backend)
        self._thread: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """In a copy, no thread is inside."""
        return Guard, (self._what, self._backend.name)

    def enter(self) -> None:
        """Raise if another thread is inside. This one may be: an interrupt can skip its `leave`."""
        self._backend.check_process()
        thread = get_ident()
        if self._thread is not None and self._thread != thread:
            raise RuntimeError(self._two_threads())
        self._thread = thread

    def leave(self) -> None:
        """Raise if another thread entered meanwhile."""
        thread, self._thread = self._thread, None
        if thread != get_ident():
            raise RuntimeError(self._two_threads())

    def _two_threads(self) -> str:
        return (
            f"this {self._what} is used by two threads at the same time, which loses steps: "
            "make one for each thread, or protect it with a lock."
        )


def alone(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """The method of an object with a `_guard`, run by one thread at a time."""

    @functools.wraps(method)
    def guarded(self: Any, /, *arguments: P.args, **options: P.kwargs) -> R:
        guard: Guard = self._guard
        guard.enter()
        try:
            return method(self, *arguments, **options)
        finally:
            guard.leave()

    return guarded
