"""What these tests share: errors are one sentence that names the value, the place and the way out."""

from __future__ import annotations

import re

import pytest

from cogrid.backend import rng

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"


def complaint(call, *kinds) -> str:
    """What the call says when it refuses: one sentence, in an error of one of the kinds (ValueError)."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    text = str(caught.value)
    assert type(caught.value) in (kinds or (ValueError,)), text
    assert re.fullmatch(r"[^\n]*[^\n.?][.?]", text), f"not one line with one mark at its end: {text!r}"
    assert not re.search(r"[.!?] [A-Z]", text), f"more than one sentence: {text!r}"
    return text


def assert_names(text: str, *parts: str) -> None:
    missing = [part for part in parts if part not in text]
    assert not missing, f"{missing} not in {text!r}"


def batch_of(env, n):
    reset = env.rules.backend.compiled(env.reset_fn)
    return reset(env.rules.backend.key(rng.split(rng.key(0), n)))[0]
