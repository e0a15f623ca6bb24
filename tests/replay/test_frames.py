"""Frames: the actions that led to them, and checksums that every changed bit changes."""

from __future__ import annotations

import numpy as np
import pytest

from cogrid.backend import rng
from cogrid.replay.frames import (
    DIGITS,
    WIDTH,
    RunningChecksums,
    as_stored,
    from_policy,
    from_tape,
    joints,
    played,
)
from tests.episodes import shared
from tests.support import BACKENDS, INTERACT, NOOP, UP

ROOM = "Overcooked-CrampedRoom-V0"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_policy_and_its_tape_lead_to_the_same_frames(backend) -> None:
    env = shared(ROOM, backend)
    first, _ = env.rules.backend.compiled(env.reset_fn)(rng.key(3))
    seen = []

    def policy(obs):
        seen.append(np.asarray(obs))
        return [UP, 99] if len(seen) % 2 else [INTERACT, -1]  # 99 and -1 are no actions

    chosen = from_policy(env.rules, policy)
    asked = list(played(env.rules, first, lambda number, obs: chosen(number, obs) if number < 6 else None))
    assert asked[0].actions is None
    tape = np.array([frame.actions for frame in asked[1:]])
    np.testing.assert_array_equal(tape, [[UP, NOOP], [INTERACT, NOOP]] * 3)
    np.testing.assert_array_equal(seen, [frame.obs for frame in asked[:-1]])
    first_digests, digests = RunningChecksums(env.rules), RunningChecksums(env.rules)
    again = list(played(env.rules, first, from_tape(tape)))
    assert [first_digests.add(frame) for frame in asked] == [digests.add(frame) for frame in again]
    assert first_digests.checksum("") == digests.checksum("") != digests.checksum("0")


def test_the_digits_of_a_frame_depend_on_every_part() -> None:
    env = shared(ROOM, "numpy")
    state, obs = env.reset_fn(rng.key(3))
    frame = next(played(env.rules, state, from_tape(np.zeros((0, 2), np.int32))))
    others = [
        frame._replace(obs=obs + np.eye(*obs.shape, dtype=obs.dtype)),
        frame._replace(rewards=frame.rewards + np.float32(1e-6)),
        frame._replace(state=state.evolve(pos=state.pos[::-1])),
    ]
    digits = [RunningChecksums(env.rules).add(one) for one in (frame, *others)]
    assert all(len(text) == WIDTH for text in digits)
    assert len(set(digits)) == len(digits)


def test_actions_from_the_tape() -> None:
    np.testing.assert_array_equal(joints("01az", 2), [[0, 1], [10, DIGITS.index("z")]])
    assert joints("", 3).shape == (0, 3)


def test_out_of_range_actions_are_stored_as_noops() -> None:
    rules = shared(ROOM, "numpy").rules
    stored = as_stored(rules, np.array([[-1, 0], [rules.n_actions - 1, rules.n_actions]]), ("steps",))
    np.testing.assert_array_equal(stored, [[rules.noop, 0], [rules.n_actions - 1, rules.noop]])
    assert stored.dtype == np.int32
