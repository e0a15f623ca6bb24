"""An episode frame by frame: played from its first state and its actions, with running checksums."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.rules import Rules
from cogrid._core.state import snapshot
from cogrid._core.step import functions
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState

#: Hex digits of the running checksum per frame. A wrong step goes unnoticed once in 65,536 times, and then
#: the next one shows it.
WIDTH = 4
#: The digits of actions on the tape.
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

#: The number of the step and the observations -> actions (n,), or None to stop.
Choose = Callable[[int, Array], Array | None]


class Frame(NamedTuple):
    """One moment of an episode; the first is the start, before any action."""

    state: EnvState
    obs: Array  # (n, …)
    rewards: Array  # (n,) float32
    done: Array  # () bool
    actions: Array | None  # (n,) int32 that led here; None at the start


class RunningChecksums:
    """The running checksums over frames."""

    def __init__(self, rules: Rules) -> None:
        self._total = hashlib.sha256(snapshot.fingerprint(rules).encode())
        self._sum = 0

    def add(self, frame: Frame) -> str:
        """Add a frame to the checksums; returns its digits."""
        fields = frame.state.plain()
        parts = [_bytes(fields[name]) for name in sorted(fields)]
        data = b"".join((*parts, np.asarray(frame.obs).tobytes(), np.asarray(frame.rewards).tobytes()))
        self._total.update(data)
        self._sum = zlib.crc32(data, self._sum)
        return f"{self._sum:08x}"[-WIDTH:]

    def checksum(self, tape: str) -> str:
        """The checksum of all frames and the actions between them."""
        total = self._total.copy()
        total.update(tape.encode())
        return total.hexdigest()


def played(rules: Rules, first: EnvState, choose: Choose) -> Iterator[Frame]:
    """The first frame, then that of every step."""
    pure, compiled = functions(rules), rules.backend.compiled
    step, obs, number = compiled(pure.step), compiled(pure.observe)(first), 0
    frame = Frame(first, obs, np.zeros(rules.n_agents, np.float32), first.done, None)
    yield frame
    while (joint := choose(number, frame.obs)) is not None:
        state, obs, rewards, done, _ = step(frame.state, joint)
        frame, number = Frame(state, obs, rewards, done, joint), number + 1
        yield frame


def from_tape(tape: Array) -> Choose:
    """Actions (steps, n), one row after the other."""
    return lambda number, obs: tape[number] if number < len(tape) else None


def from_policy(rules: Rules, policy: Callable[[Array], Array]) -> Choose:
    """What a policy answers to the observations."""
    return lambda number, obs: as_stored(rules, policy(obs), ())


def as_stored(rules: Rules, actions: Array, leading: tuple[str, ...]) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The actions as they are stored, their `leading` axes named; those out of range become noops."""
    joint = np.asarray(actions)
    if joint.dtype.kind not in "iu" or joint.ndim != len(leading) + 1 or joint.shape[-1] != rules.n_agents:
        wanted = ", ".join((*leading, str(rules.n_agents)))
        raise ValueError(
            f"actions are {joint.dtype} of shape {joint.shape}, but must be integers of shape ({wanted})."
        )
    return np.where((joint < 0) | (joint >= rules.n_actions), rules.noop, joint).astype(np.int32)


def joints(tape: str, n_agents: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    """(steps, n) the actions on a tape."""
    numbers = np.zeros(128, np.int32)
    numbers[[ord(digit) for digit in DIGITS]] = np.arange(len(DIGITS))
    return numbers[np.frombuffer(tape.encode(), np.uint8)].reshape(-1, n_agents)


def _bytes(value: np.ndarray[Any, Any]) -> bytes:
    """Bytes that are the same on both backends, whose integers differ in width."""
    return (value.astype("<i8") if value.dtype.kind in "iu" else value).tobytes()
