"""Exit codes, which of several takes precedence, and the errors that end a command early."""

from __future__ import annotations

import enum
from collections.abc import Iterable


class UsageError(ValueError):
    """Something cannot be used or done; its message gives the reason in one sentence."""


class NoDevice(UsageError):
    """JAX cannot use the requested device."""


class Code(enum.IntEnum):
    FINE = 0
    FAILED = 1
    USAGE = 2
    REGRESSION = 20
    INCONCLUSIVE = 21
    MISMATCH = 22
    NOT_COMPARABLE = 23
    NO_DEVICE = 69
    INTERRUPTED = 130  # as in shells: 128 + SIGINT
    CLOSED = 141  # 128 + SIGPIPE: the reader of the output is gone


MEANING = {
    Code.FINE: "fine",
    Code.FAILED: "a case failed",
    Code.USAGE: "usage, or a file that cannot be used",
    Code.REGRESSION: "confirmed regression",
    Code.INCONCLUSIVE: "inconclusive or unstable (only with --strict)",
    Code.MISMATCH: "wrong results",
    Code.NOT_COMPARABLE: "baseline missing or not comparable (only with --strict)",
    Code.NO_DEVICE: "required device absent",
}

# Worst first. Wrong results outrank everything: the speed of the wrong game means nothing. A failed case is
# certain, so no doubt hides it; a regression is certain too, and more informative. Usage errors and
# interruptions end a command before it has any other result.
PRECEDENCE = (
    Code.MISMATCH,
    Code.NO_DEVICE,
    Code.REGRESSION,
    Code.FAILED,
    Code.NOT_COMPARABLE,
    Code.INCONCLUSIVE,
)
DOUBTS = (Code.NOT_COMPARABLE, Code.INCONCLUSIVE)


def worst(codes: Iterable[Code], strict: bool = False) -> Code:
    """The code that outranks the others; doubtful ones count only if strict."""
    found = set(codes) - (set() if strict else set(DOUBTS))
    return next((code for code in PRECEDENCE if code in found), Code.FINE)


def described() -> str:
    return ", ".join(f"{code:d} {meaning}" for code, meaning in MEANING.items())
