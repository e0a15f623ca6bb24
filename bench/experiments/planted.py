"""Planted: how often `bisect` finds a slowdown that was planted among the commits of a scratch repository.

Each try makes 64 commits on top of HEAD in a clone: one makes the step take longer by an empty loop, another
adds an operation, and some cannot be imported. The same command goes on after the last try that was kept.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path
from typing import Any, NamedTuple

import cogrid
from bench import ROOT
from bench.records import Record, Sha
from bench.storage import results
from bench.storage.evidence import ANSWER, Culprit
from cogrid._io.reading import whole_number

CASE = "CrampedRoom numpy-single ×64 cooperative"
COUNTER = "operations"
BROKEN = 3  # commits that cannot be imported
ENGINE = Path("cogrid/cogrid_env.py")
STEP = Path("cogrid/_core/step.py")
LONGER = """

_alone = CoGridEnv.step


def _longer(self, actions):
    for _ in range({turns}):
        pass
    return _alone(self, actions)


CoGridEnv.step = _longer
"""
BEGINS = "    events = begin(rules, state, actions)\n"


class Planted(NamedTuple):
    """The commits of a try: places from 1."""

    good: str
    commits: list[str]
    slow: int
    counted: int
    broken: frozenset[int]


class Try(Record):
    seed: int
    slowdown: float
    planted: int  # the place of the commit
    found: list[Sha]
    right: bool  # it is the only one that was found
    comparisons: int
    ratio: float | None
    own_ratio: float | None
    probability: float
    seconds: float
    cpu_seconds: float
    load: float
    counter_right: bool
    counted: int  # commits whose counters were counted
    counter_seconds: float


def plant(clone: Path, seed: int, commits: int, turns: int) -> Planted:
    """Commits on a branch of the clone, at random places for this seed; the slowdown is a loop of `turns`."""
    draw = random.Random(seed)
    slow, counted = draw.sample(range(1, commits + 1), 2)
    others = sorted(set(range(1, commits)) - {slow, counted})
    broken = frozenset(draw.sample(others, min(BROKEN, len(others))))
    good = _git(clone, "rev-parse", "origin/HEAD")
    _git(clone, "checkout", "--quiet", "-B", f"try-{seed}", good)
    shas = []
    for place in range(1, commits + 1):
        if place - 1 in broken:
            _edit(clone / ENGINE, "\nthis cannot be imported\n", "")
        if place in broken:
            _append(clone / ENGINE, "\nthis cannot be imported\n")
        if place == slow:
            _append(clone / ENGINE, LONGER.format(turns=turns))
        if place == counted:
            _edit(clone / STEP, BEGINS, BEGINS + "    len(actions.shape)\n")
        (clone / "changes.txt").write_text(f"{place}\n", encoding="utf-8")
        _git(clone, "add", "--all")
        _git(clone, "commit", "--quiet", "--no-verify", "--message", f"Change {place}")
        shas.append(_git(clone, "rev-parse", "HEAD"))
    return Planted(good, shas, slow, counted, broken)


def turns_of(slowdown: float) -> int:
    """The turns of an empty loop that take this share of the time of a step."""
    env = cogrid.make("Overcooked-CrampedRoom-V0")
    env.reset(seed=0)
    actions = dict.fromkeys(env.agents, 0)
    step = _seconds(lambda: env.step(actions), number=25, repeat=12)  # fewer than an episode has
    turn = _seconds("for _ in range(1000): pass", number=10, repeat=100) / 1000
    return round(slowdown * step / turn)


def _seconds(statement: Any, number: int, repeat: int) -> float:
    return min(timeit.repeat(statement, number=number, repeat=repeat, timer=time.process_time)) / number


def _append(file: Path, text: str) -> None:
    file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")


def _edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file} has changed: it has not {old!r}"
    file.write_text(text.replace(old, new), encoding="utf-8")


def _git(clone: Path, *arguments: str) -> str:
    command = ["git", "-C", str(clone), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, encoding="utf-8"
    ).stdout.strip()


def cloned(place: Path) -> Path:
    """A clone of this checkout's commit, in which commits can be made."""
    _git(ROOT, "clone", "--quiet", "--shared", str(ROOT), str(place))
    for name, value in (("user.name", "Planted"), ("user.email", "planted@example.org")):
        _git(place, "config", name, value)
    _git(place, "config", "commit.gpgsign", "false")
    return place


def bisected(clone: Path, planted: Planted, folder: Path, *options: str) -> tuple[Culprit, float, float]:
    """The answer of `python -m bench bisect` in the clone, and its seconds: of the clock, and of the CPU."""
    command = [sys.executable, "-m", "bench", "bisect", planted.good, planted.commits[-1], "--only", CASE]
    start, before = time.monotonic(), os.times()
    done = subprocess.run(
        [*command, "--folder", str(folder), *options],
        cwd=clone,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} exits with {done.returncode}: {done.stderr}")
    after, file = os.times(), folder / ANSWER
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return results.decoded(results.read(file), Culprit, str(file)), time.monotonic() - start, cpu


def tried(clone: Path, seed: int, commits: int, slowdown: float, folder: Path) -> Try:
    planted = plant(clone, seed, commits, turns_of(slowdown))
    found, seconds, cpu = bisected(clone, planted, folder / f"{seed}-time")
    counts, counter_seconds, _ = bisected(clone, planted, folder / f"{seed}-counter", "--counter", COUNTER)
    return Try(
        seed=seed,
        slowdown=slowdown,
        planted=planted.slow,
        found=found.first,
        right=found.certain and is_found(planted, planted.slow, found),
        comparisons=found.comparisons,
        ratio=found.ratio,
        own_ratio=found.own_ratio,
        probability=found.probability,
        seconds=round(seconds, 1),
        cpu_seconds=round(cpu, 1),
        load=round(os.getloadavg()[0], 1),
        counter_right=is_found(planted, planted.counted, counts),
        counted=counts.comparisons,
        counter_seconds=round(counter_seconds, 1),
    )


def is_found(planted: Planted, place: int, found: Culprit) -> bool:
    """Whether the commit was found, together only with those just before it that cannot be imported."""
    first = place
    while first - 1 in planted.broken:
        first -= 1
    return found.first == planted.commits[first - 1 : place]


def in_short(one: Try) -> str:
    outcome = "found" if one.right else "NOT found"
    count = "counter found" if one.counter_right else "counter NOT found"
    return (
        f"try {one.seed}: {outcome} in {one.comparisons} comparisons, {one.seconds:.0f} s "
        f"({one.cpu_seconds:.0f} s of CPU time); {count} at {one.counted} commits, "
        f"{one.counter_seconds:.0f} s; load {one.load}"
    )


def summary(tries: list[Try]) -> str:
    right, counters = (sum(getattr(one, name) for one in tries) for name in ("right", "counter_right"))
    most = max(one.comparisons for one in tries)
    return (
        f"{right} of {len(tries)} slowdowns found, in at most {most} comparisons; "
        f"{counters} of {len(tries)} counters found."
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tries", type=whole_number(1), default=20, help="default: %(default)s")
    parser.add_argument("--commits", type=whole_number(4), default=64, help="default: %(default)s")
    parser.add_argument("--slowdown", type=float, default=0.1, help="default: %(default)s")
    parser.add_argument(
        "--folder", type=Path, default=results.RESULTS / "planted", help="default: in bench/results"
    )
    options: Any = parser.parse_args()
    log = options.folder / "tries.json"
    tries = results.decoded(log.read_bytes(), list[Try], str(log)) if log.exists() else []
    with tempfile.TemporaryDirectory(prefix="cogrid-planted-") as place:
        clone = cloned(Path(place) / "clone")
        for seed in range(len(tries) + 1, options.tries + 1):
            tries.append(tried(clone, seed, options.commits, options.slowdown, options.folder))
            results.write_bytes(log, results.encoded(tries))
            print(in_short(tries[-1]), flush=True)
    print(summary(tries))
    return int(not all(one.right and one.counter_right for one in tries))


if __name__ == "__main__":
    sys.exit(main())
