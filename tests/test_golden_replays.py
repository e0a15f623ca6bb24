"""Recorded episodes of every family play again bit for bit on both backends."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

import cogrid
from cogrid.envs.registry import family_of
from cogrid.replay.recording import Replay
from tests.golden.replays import FOLDER, IDS, file_of
from tests.support import BACKENDS


def test_every_id_is_recorded() -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == {file_of(id).name for id in IDS}


@pytest.mark.parametrize("id", IDS)
def test_recorded_episodes_replay(id: str) -> None:
    replay = Replay.load(file_of(id))
    assert replay.id == id
    replay.verify("numpy")
    rewards = sum(frame.rewards.sum() for frame in replay.play("numpy"))
    assert rewards != 0
    if len(BACKENDS) > 1 and id == next(one for one in IDS if family_of(one) == family_of(id)):
        replay.verify(BACKENDS[1])  # one of each family: every one of them compiles


@pytest.mark.parametrize("family", sorted({family_of(id) for id in IDS}))
def test_recordings_meet_every_verb(family: str) -> None:
    """What never happens in a recording could change without being noticed."""
    seen, known = Counter[str](), set[str]()
    for id in (id for id in IDS if family_of(id) == family):
        env = cogrid.make(id, infos=True)
        known |= {*env.verbs[1:]}
        for before, after in itertools.pairwise(Replay.load(file_of(id)).play("numpy")):
            infos = env.step_fn(before.state, after.actions)[4]
            seen.update(env.verbs[verb] for verb in infos["verb"].tolist() if verb)
    assert seen.keys() == known, seen
