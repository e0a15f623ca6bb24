"""How a command ends early: Ctrl-C prints one line and exits with 130; a closed pipe prints nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

# Exit codes as in shells, 128 plus the number of the signal: Ctrl-C, a closed pipe.
INTERRUPTED, CLOSED = 130, 141
LINE = b"\nInterrupted.\n"


def is_command() -> bool:
    """Whether Python imports the package for `python -m cogrid`; `__main__` itself does not run yet."""
    return sys.argv[:1] == ["-m"] and not {"cogrid", "-mcogrid"}.isdisjoint(sys.orig_argv)


def at_once() -> None:
    """Let Ctrl-C end the process immediately, as long as there is nothing to clean up."""
    _handle(_leave)


def run(main: Callable[[], int]) -> int:
    """The exit code of a command. It can clean up after Ctrl-C; a second one ends it immediately."""
    _handle(_raise)
    try:
        try:
            return main()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # here, because at exit the interpreter would complain
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
    """Whether the reader of our output is gone; a named pipe counts as the command's own file."""
    return isinstance(error, BrokenPipeError) and error.filename is None


def _handle(handler: Callable[[int, FrameType | None], None]) -> None:
    """Set a handler for Ctrl-C, unless it is ignored, as under nohup, or handled by other code."""
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _leave, _raise):
        signal.signal(signal.SIGINT, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    _say()
    os._exit(INTERRUPTED)


def _raise(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, _leave)
    raise KeyboardInterrupt


def _say() -> None:
    """Print the line, whatever Python is doing."""
    with contextlib.suppress(OSError):
        os.write(2, LINE)


def _forget_output() -> None:
    """Discard what is left in Python's buffers."""
    with contextlib.suppress(OSError), open(os.devnull, "wb") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
