"""Record golden games from the `overcooked` package: `python -m tests.golden.record`."""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from tests.golden.trajectory import (
    FOLDER,
    READY_TICK,
    RECORDED,
    Episode,
    Recording,
    counts_of,
    fields_of,
    file_of,
    to_text,
)
from tests.oracles.canonical import (
    HORIZON,
    KITCHENS,
    Kitchen,
    KitchenState,
    Outcome,
    start_state,
)
from tests.oracles.overcooked_oracle import OvercookedOracle
from tests.oracles.play import play
from tests.oracles.states import (
    Case,
    dish_cases,
    random_cases,
    random_state,
    shared_cells,
    stands_at,
    telling_cases,
    together_cases,
)

LONG, SHORT = 140, 40  # steps of the game from the start, and of each game from the middle
MIDDLE_GAMES = 7
RANDOM_CASES, AIMED_CASES, TELLING_CASES = 25, 30, 10
TRIES = 2000

# A file is only kept if everything happened at least this often.
LEAST = {"potting": 10, "plating": 4, "delivery": 4, "contest": 2, "swap": 2, "follow": 2, "bump": 2}
LEAST |= {"early plating": 3, "take dish": 4, "put down": 4, "pick up": 4, READY_TICK: 1}
LEAST_SHARED_POT = {"both at one pot": 6, "race for the last slot": 1}

Played = tuple[Episode, list[KitchenState]]


def record(kitchen: Kitchen, cook_start: str) -> Recording:
    """The first games, of many tries with numbered seeds, in which enough happens."""
    is_file = kitchen.name not in KITCHENS
    oracle = OvercookedOracle.of_file(kitchen) if is_file else OvercookedOracle(kitchen, cook_start)
    cases = _cases(oracle, kitchen, cook_start)
    for seed in range(TRIES):
        played = _games(oracle, kitchen, cook_start, seed) + cases
        counts = sum((counts_of(kitchen, episode, states) for episode, states in played), Counter[str]())
        if all(counts[name] >= least for name, least in _least(kitchen, cook_start).items()):
            return Recording(kitchen, cook_start, dict(counts), tuple(episode for episode, _ in played))
    raise RuntimeError(f"{kitchen.name} under {cook_start}: nothing good in {TRIES} tries.")


def _games(oracle: OvercookedOracle, kitchen: Kitchen, cook_start: str, seed: int) -> list[Played]:
    """One game from the start and some from the middle, one of which runs into the horizon."""
    rng = random.Random(f"{kitchen.name} {cook_start} {seed}")
    times = [HORIZON - SHORT, *(rng.randrange(HORIZON - SHORT) for _ in range(MIDDLE_GAMES - 1))]
    middle = [replace(random_state(kitchen, cook_start, rng), time=time) for time in times]
    noises = [0.1 + 0.05 * i for i in range(MIDDLE_GAMES)]
    long = _play(oracle, kitchen, [start_state(kitchen)], LONG, [0.1], rng)
    return long + _play(oracle, kitchen, middle, SHORT, noises, rng)


def _play(
    oracle: OvercookedOracle,
    kitchen: Kitchen,
    starts: Sequence[KitchenState],
    steps: int,
    noises: Sequence[float],
    rng: random.Random,
) -> list[Played]:
    actions, outcomes = play(oracle, kitchen, starts, steps, noises, rng)
    games = zip(starts, zip(*actions, strict=True), zip(*outcomes, strict=True), strict=True)
    return [_episode(start, joints, afters) for start, joints, afters in games]


def _cases(oracle: OvercookedOracle, kitchen: Kitchen, cook_start: str) -> list[Played]:
    """Single steps: random ones, and some aimed at the dish shaping and at two agents at one pot."""
    rng = random.Random(f"{kitchen.name} {cook_start} cases")
    dishes = list(dish_cases(kitchen, cook_start, rng))
    together = list(together_cases(kitchen, cook_start, rng))
    aimed: list[Case] = rng.sample(dishes, AIMED_CASES)
    aimed += rng.sample(telling_cases(oracle, dishes), TELLING_CASES)
    aimed += rng.sample(together, min(AIMED_CASES, len(together)))
    cases = random_cases(kitchen, cook_start, RANDOM_CASES, rng) + aimed
    outcomes = oracle.step([state for state, _ in cases], [joint for _, joint in cases])
    return [_episode(state, [joint], [after]) for (state, joint), after in zip(cases, outcomes, strict=True)]


def _episode(start: KitchenState, joints: Sequence[tuple[int, ...]], outcomes: Sequence[Outcome]) -> Played:
    expected = tuple(fields_of(outcome) for outcome in outcomes)
    return Episode(start, tuple(joints), expected), [outcome.state for outcome in outcomes]


def _least(kitchen: Kitchen, cook_start: str) -> dict[str, int]:
    least = LEAST | (LEAST_SHARED_POT if shared_cells(kitchen, "P") else {})
    least |= {"double delivery": 1} if len({cell for cell, _ in stands_at(kitchen, "S")}) > 1 else {}
    return least | ({"start": 4} if cook_start == "interact" else {})


def recorded_text(kitchen: Kitchen, cook_start: str) -> str:
    return to_text(record(kitchen, cook_start), source=f"overcooked {version('overcooked')}")


def main() -> None:
    names = {kitchen.name for kitchen, _ in RECORDED}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to write (default: %(default)s)")
    parser.add_argument(
        "--kitchen", choices=sorted(names), action="append", help="only this kitchen; repeatable"
    )
    arguments = parser.parse_args()
    for kitchen, cook_start in RECORDED:
        if kitchen.name in (arguments.kitchen or names):
            path = arguments.folder / file_of(kitchen, cook_start).name
            path.write_text(recorded_text(kitchen, cook_start), encoding="utf-8")
            print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
