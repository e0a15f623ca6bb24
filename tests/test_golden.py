"""Recorded games of overcooked_ai replay exactly, with none of the reference implementations installed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden.trajectory import (
    FOLDER,
    RECORDED,
    Episode,
    Fields,
    Recording,
    counts_of,
    fields_of,
    file_of,
    load,
    state_fields,
)
from tests.oracles.canonical import Outcome, start_state
from tests.oracles.engine import Engine
from tests.support import on_backends

FILES = tuple(sorted(FOLDER.glob("*.json")))
#: These are replayed on JAX too: both rules of cooking, and two ingredients.
SAMPLE = (FOLDER / "CrampedRoom-interact.json", FOLDER / "TomatoIsland-auto.json")


def test_every_kitchen_and_cook_rule_is_recorded() -> None:
    assert set(FILES) == {file_of(kitchen, rule) for kitchen, rule in RECORDED}


@pytest.mark.parametrize(("path", "backend"), on_backends(FILES, SAMPLE))
def test_recorded_games_replay(path: Path, backend: str) -> None:
    recording = load(path)
    engine = Engine(recording.kitchen, recording.cook_start, backend)
    counts = Counter[str]()
    for number, episode, outcomes in _replayed(engine, recording):
        for step, (expected, outcome) in enumerate(zip(episode.expected, outcomes, strict=True)):
            where = f"{path.name} on {backend}, episode {number}, step {step}"
            _assert_same(where, episode, step, expected, outcome)
        counts += counts_of(recording.kitchen, episode, [outcome.state for outcome in outcomes])
    assert +counts == Counter(recording.counts)


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_recorded_games_mean_something(path: Path) -> None:
    recording = load(path)
    rare = {name for name in ("potting", "plating", "delivery") if recording.counts.get(name, 0) < 4}
    rare |= {name for name in ("contest", "swap", "follow") if recording.counts.get(name, 0) < 2}
    assert not rare, f"{path.name} has too few of {rare}"
    assert recording.episodes[0].start == start_state(recording.kitchen)


def _replayed(engine: Engine, recording: Recording) -> Iterator[tuple[int, Episode, list[Outcome]]]:
    """Each episode with its number and the engine's outcomes; episodes of one length run as one batch.

    All batches are filled up to one size, so that JAX compiles once.
    """
    by_length = defaultdict(list)
    for number, episode in enumerate(recording.episodes):
        by_length[len(episode.actions)].append((number, episode))
    size = max(len(group) for group in by_length.values())
    for group in by_length.values():
        batch = [episode for _, episode in group] + [group[0][1]] * (size - len(group))
        actions = list(zip(*(episode.actions for episode in batch), strict=True))  # by step, then by episode
        outcomes = engine.run([episode.start for episode in batch], actions)
        for i, (number, episode) in enumerate(group):
            yield number, episode, [row[i] for row in outcomes]


def _assert_same(where: str, episode: Episode, step: int, expected: Fields, outcome: Outcome) -> None:
    got = fields_of(outcome)
    wrong = [name for name in expected if expected[name] != got[name]]
    if wrong:
        told = [f"{name}: expected {expected[name]}, got {got[name]}" for name in wrong]
        before = episode.expected[step - 1] if step else state_fields(episode.start)
        told += [f"before: {before}", f"actions: {episode.actions[step]}"]
        pytest.fail("\n".join((f"{where} differs in {', '.join(wrong)}", *told)), pytrace=False)
