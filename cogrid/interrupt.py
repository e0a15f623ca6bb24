"""How a command ends early: Ctrl-C is one line and exit code 130, a reader that has gone is none."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

# Exit codes as shells have them, 128 and the number of the signal: Ctrl-C, a closed pipe.
INTERRUPTED, CLOSED = 130, 141
LINE = b"\nInterrupted.\n"


def at_once() -> None:
    """Let Ctrl-C end the process on the spot, as long as there is nothing to clean up."""
    _handle(_leave)


def run(main: Callable[[], int]) -> int:
    """The exit code of a command. It can clean up after Ctrl-C; a second one ends it on the spot."""
    _handle(_raise)
    try:
        try:
            return main()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # here, and not when the interpreter ends, which would complain
    except KeyboardInterrupt:
        _say()
        return INTERRUPTED
    except BrokenPipeError as error:
        if not is_closed_output(error):
            raise
        _forget_output()
        return CLOSED
    finally:
        at_once()


def is_closed_output(error: BaseException) -> bool:
    """Whether the reader of what is printed has gone; a pipe with a name is a file of the command's."""
    return isinstance(error, BrokenPipeError) and error.filename is None


def _handle(handler: Callable[[int, FrameType | None], None]) -> None:
    """A handler for Ctrl-C; not where it is ignored, as behind nohup, nor where somebody else handles it."""
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _leave, _raise):
        signal.signal(signal.SIGINT, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    _say()
    os._exit(INTERRUPTED)


def _raise(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, _leave)
    raise KeyboardInterrupt


def _say() -> None:
    """Whatever Python is doing."""
    with contextlib.suppress(OSError):
        os.write(2, LINE)


def _forget_output() -> None:
    """What is left in Python's buffers goes nowhere."""
    with contextlib.suppress(OSError), open(os.devnull, "wb") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
