"""The worker's half of the protocol: a line of JSON in, a line of JSON out, and one way to fail.

Imports only the standard library: it also runs with the older cogrid, which has the same import name.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1

Handler = Callable[[Any], dict[str, Any]]


def serve(handle: Handler) -> None:
    """Answer every line of stdin with the result of `handle`, until stdin ends.

    An exception becomes an answer too, so that the row gives the reason and the other rows continue. All
    printed output goes to stderr: stdout has only the answers.
    """
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers, contextlib.suppress(KeyboardInterrupt):
        os.dup2(2, 1)
        die_first()
        for line in sys.stdin:
            try:
                answer = handle(json.loads(line))
            except Exception as failure:  # any library may raise anything
                status, error = failure_of(failure)
                answer = {"failed": status, "error": error}
            print(json.dumps(answer), file=answers, flush=True)


def die_first() -> None:
    """If memory runs out, this process is killed first, and also if its parent is killed (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def failure_of(failure: Exception) -> tuple[str, str]:
    if type(failure).__name__ == "Mismatch":
        return "mismatch", str(failure)
    out_of_memory = isinstance(failure, MemoryError) or "RESOURCE_EXHAUSTED" in str(failure)
    said = _first_sentence(str(failure)).encode(errors="replace").decode()  # of any path
    return "out of memory" if out_of_memory else "failed", f"{type(failure).__name__}: {said}"


def _first_sentence(text: str) -> str:
    """The first line; if it ends in a colon, also what follows, where JAX names the array that it means."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    opening = itertools.takewhile(lambda line: line.endswith(":"), lines)
    return " ".join(lines[: len(list(opening)) + 1])
