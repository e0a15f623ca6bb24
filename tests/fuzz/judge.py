"""Judging one input: accepted with a right result, refused in a sentence, or one of three kinds of fault."""

from __future__ import annotations

import contextlib
import dataclasses
import linecache
import re
import reprlib
import signal
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
#: Where the sentences come from: a `raise` of these folders, not a library's error that nobody caught.
OURS = tuple(f"{ROOT / name}/" for name in ("cogrid", "bench", "examples"))
LONGEST = 600  # characters of a refusal
KEPT = 5  # faults of each target that are shown
SECONDS = 20.0  # that one input may take


class Wrong(Exception):
    """An input was accepted, and what came of it is not right."""


class Refused(ValueError):
    """An input was refused by an answer and not by an error; its text is the answer's."""


class Hang(BaseException):
    """An input took too long; no `except Exception` on its way stops it."""


@dataclasses.dataclass
class Tally:
    """What became of the inputs of one target."""

    target: str
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    tracebacks: int = 0
    hangs: int = 0
    wrong: int = 0
    examples: list[str] = dataclasses.field(default_factory=list)  # of what must not be

    @property
    def faults(self) -> int:
        """What must be 0."""
        return self.tracebacks + self.hangs + self.wrong

    def note(self, text: str) -> None:
        """Keep the first examples."""
        if len(self.examples) < KEPT:
            self.examples.append(text)


def judge(tally: Tally, attempt: Callable[[Any], None], given: Any, seconds: float = SECONDS) -> None:
    """Try one input. The attempt raises what refuses it, and `Wrong` for a wrong result."""
    tally.inputs += 1
    number = f"input {tally.inputs}"
    try:
        with within(seconds):
            attempt(given)
    except Hang:
        tally.hangs += 1
        tally.note(f"{number}: no answer in {seconds:g} s: {shown(given)}")
    except Wrong as error:
        tally.wrong += 1
        tally.note(f"{number}: {error}: {shown(given)}")
    except Exception as error:
        if fault := no_sentence(error):
            tally.tracebacks += 1
            tally.note(f"{number}: {fault}: {where(error)}: {shown(given)}")
        else:
            tally.refused += 1
    else:
        tally.accepted += 1


def no_sentence(error: Exception) -> str | None:
    """Why an error is no refusal of ours in one sentence; None if it is one."""
    text = str(error)
    named = f"{type(error).__name__}: {text[:160]!r}"
    if not isinstance(error, (ValueError, TypeError)):
        return f"raised {named}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    raised = linecache.getline(last.filename, last.lineno or 0).strip()
    if isinstance(error, Refused):
        return None
    if not last.filename.startswith(OURS) or not raised.startswith("raise"):
        return f"an error that is not ours, {named}"
    if len(text) > LONGEST or not re.fullmatch(r"[^\n]*[.?]", text):
        return f"{len(text)} characters that are no sentence, {named}"
    return None


def where(error: Exception) -> str:
    """The place that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def shown(given: Any) -> str:
    """An input in short."""
    short = reprlib.Repr()
    short.maxother = short.maxstring = 200
    short.maxdict = 12
    return short.repr(given)[:600]


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `Hang` after so many seconds; code that never comes back to Python is the runner's to notice."""

    def stop(number: int, frame: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def agreed(*calls: Callable[[], Any]) -> list[Any]:
    """What the calls give; they must all accept or all refuse, and a refusal is raised on."""
    given, refused = [], []
    for call in calls:
        try:
            given.append(call())
        except (ValueError, TypeError) as error:
            if no_sentence(error):
                raise
            refused.append(error)
    if given and refused:
        raise Wrong(f"one of {len(calls)} calls refused what another accepted: {refused[0]}")
    if refused:
        raise refused[0]
    return given
