"""Self-check: how often this machine's A/B cries wolf, and what it misses, beside what older rules would say.

A campaign is a log of real A/B runs of a checkout against itself, some with a case that is really slowed; it
can be interrupted and continued. From the pairs of processes in the log any number of suites is drawn again.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from tabulate import tabulate

import cogrid
from bench import ab, cases, counts, results, verdicts
from bench.progress import Progress
from bench.results import ROOT, ResultError
from bench.trees import clean_sha, tree_of
from bench.verdicts import FIRST_PAIRS, SECOND_PAIRS, Estimate, Evidence, Pair
from bench.words import percent
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.counters import counters

Run = dict[str, Any]  # a line of the log


class Kind(NamedTuple):
    """A kind of run: how much slower one case is made, beside how busy a neighbour."""

    factor: float
    hog: float
    runs: int

    @property
    def name(self) -> str:
        """For people."""
        what = "A/A" if self.factor == 1.0 else f"{percent(self.factor - 1)} slower"
        return f"{what}, {f'{percent(self.hog)} CPU hog' if self.hog else 'no hog'}"


CAMPAIGN = (Kind(1.0, 0.5, 20), Kind(1.1, 0.5, 2), Kind(1.2, 0.5, 1), Kind(1.0, 0.0, 1), Kind(1.1, 0.0, 1))
BURST = 0.05  # seconds: the hog's mean time at work, and at rest times its share
HOG = f"""
import os, random, sys, time
share, draw, parent = float(sys.argv[1]), random.Random(0).expovariate, os.getppid()
while os.getppid() == parent:
    end = time.perf_counter() + draw(1 / {BURST})
    while time.perf_counter() < end:
        pass
    time.sleep(draw(share / (1 - share) / {BURST}))
"""


@contextlib.contextmanager
def hog(share: float) -> Iterator[None]:
    """A neighbour that uses a share of one core, in bursts."""
    if not share:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", HOG, str(share)])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def campaign(log: Path, kinds: Sequence[Kind], chosen: Sequence[Case], progress: Progress) -> None:
    """Do the runs that the log has not got yet; each is a line as soon as it is over."""
    sha, machine = clean_sha(), results.fingerprint(results.system())
    done = load(log) if log.exists() else []
    if any(run["fingerprint"] != machine for run in done):
        raise ResultError(f"{log} was begun on another machine or with other versions: choose another file.")
    todo = [
        (kind, number)
        for kind in kinds
        for number in range(sum(run["kind"] == kind.name for run in done), kind.runs)
    ]
    if not todo:
        return
    with tree_of(sha) as base:
        for place, (kind, number) in enumerate(todo):
            # Every run slows another case.
            slowed = chosen[number % len(chosen)].name if kind.factor != 1.0 else None
            progress.start(f"{kind.name} {number + 1} of {kind.runs}", place, len(todo))
            start = time.monotonic()
            with hog(kind.hog):
                slow = {slowed: kind.factor} if slowed else {}
                found = ab.compare({"base": base, "head": ROOT}, chosen, Silent(), slow)
            judged = {taken.case.name: _line(taken, len(chosen)) for taken in found}
            run = {
                "kind": kind.name,
                **kind._asdict(),
                "slowed": slowed,
                "sha": sha,
                "fingerprint": machine,
                "seconds": round(time.monotonic() - start, 1),
                "cases": judged,
            }
            _append(log, run)
            progress.finish(_told(run))


class Silent(Progress):
    """The steps of a run within a campaign are not told."""

    def start(self, name: str, number: int, total: int) -> None:
        """Nothing."""


def _line(taken: ab.Taken, cases: int) -> Run:
    judged = taken.judged(cases)
    if judged is None:
        status, reason = taken.failure or ("new", str(taken.new))
        raise ResultError(f"{taken.case.name} cannot be judged against itself ({status}): {reason}")
    return {**judged._asdict(), "first": _rounded(taken.first), "second": _rounded(taken.second)}


def _rounded(pairs: Sequence[Pair]) -> list[Any]:
    """Whole microseconds of base and head, a thousandth of a turn: the log is committed."""
    return [[[round(value * 1e6) for value in one] for one in pair] for pair in pairs]


def _append(log: Path, run: Run) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        file.write(json.dumps(run) + "\n")


def judged_again(run: Run) -> Run:
    """The run with the verdicts of today's rule on its recorded turns."""
    cases = {}
    for name, line in run["cases"].items():
        second = verdicts.evidence(line["second"]) if line["second"] else None
        now = verdicts.judge(verdicts.evidence(line["first"]), second, len(run["cases"]))
        cases[name] = {**line, **now._asdict()}
    return {**run, "cases": cases}


def load(log: Path) -> list[Run]:
    """The runs of a log; a last line that was cut off by a crash does not count."""
    try:
        lines = log.read_text().splitlines()
    except OSError as error:
        raise ResultError(f"{log} cannot be read: {error.strerror}.") from None
    runs = []
    for number, line in enumerate(lines):
        try:
            runs.append(dict(json.loads(line)))
        except ValueError:
            if number != len(lines) - 1:
                raise ResultError(f"{log} is damaged in line {number + 1}.") from None
    return runs


def _told(run: Run) -> dict[str, Any]:
    """A run as the progress tells it."""
    verdicts_ = [line["verdict"] for line in run["cases"].values()]
    counts = ", ".join(f"{verdicts_.count(word)} {word}" for word in dict.fromkeys(verdicts_))
    return {"name": run["kind"], "status": counts, "error": f"{run['seconds']:.0f} s"}


# Suites drawn again from the log.

Names = list[str]
Turns = Sequence[float]  # seconds of one side's turns, in the order in which they were taken


class Recorded(NamedTuple):
    """A pair of processes: its rounds of every case, and what they come to."""

    rounds: Mapping[str, Pair]
    estimates: Mapping[str, Estimate]


def pool(runs: Sequence[Run]) -> list[Recorded]:
    """Every pair of processes in which no case was slowed and the hog was at work."""
    calm = [run for run in runs if run["factor"] == 1.0 and run["hog"]]
    pairs = [
        {name: line["first"][number] for name, line in run["cases"].items()}
        for run in calm
        for number in range(FIRST_PAIRS)
    ]
    return [Recorded(pair, {name: verdicts.estimate(pair[name]) for name in pair}) for pair in pairs]


def ours(recorded: Sequence[Recorded], factors: Mapping[str, float], draw: random.Random) -> Names:
    """The cases of one drawn suite that our rule calls slower."""
    first, second = (draw.choices(recorded, k=count) for count in (FIRST_PAIRS, SECOND_PAIRS))
    found = []
    for name in recorded[0].estimates:
        shift = math.log(factors.get(name, 1.0))
        looks = [
            Evidence(tuple(_shifted(pair.estimates[name], shift) for pair in pairs))
            for pairs in (first, second)
        ]
        again = looks[1] if verdicts.is_suspect(looks[0]) else None
        if verdicts.judge(looks[0], again, len(recorded[0].estimates)).verdict == "slower":
            found.append(name)
    return found


def _shifted(estimate: Estimate, shift: float) -> Estimate:
    """As if every turn of head had taken longer by a factor."""
    return estimate._replace(center=estimate.center + shift)


def older(rule: Callable[[Turns, Turns], bool]) -> Callable[..., Names]:
    """An older rule as one that judges a drawn suite: base from one process, head from a later one."""

    def slower(recorded: Sequence[Recorded], factors: Mapping[str, float], draw: random.Random) -> Names:
        before, after = (pair.rounds for pair in draw.sample(recorded, k=2))
        return [
            name
            for name in before
            if rule(
                [base for base, _ in before[name]],
                [head * factors.get(name, 1.0) for _, head in after[name]],
            )
        ]

    return slower


def _samples(turns: Turns, count: int) -> list[float]:
    """Longer samples, as the older rules take them: means of turns that followed each other."""
    return [float(np.mean(block)) for block in np.array_split(turns, count)]


def median_of_three(before: Turns, after: Turns) -> bool:
    """Slower by more than 10 %, each side the median of three."""
    return statistics.median(_samples(after, 3)) > 1.1 * statistics.median(_samples(before, 3))


def means(before: Turns, after: Turns) -> bool:
    """First all of A, then all of B: means that differ by more than 5 %."""
    return statistics.fmean(after) > 1.05 * statistics.fmean(before)


def asv(before: Turns, after: Turns) -> bool:
    """As `asv continuous` decides: Mann and Whitney's test at 0.002 over ten samples, and a factor of 1.1."""
    one, two = _samples(before, 10), _samples(after, 10)
    factor = statistics.median(two) / statistics.median(one)
    return factor > 1.1 and bool(stats.mannwhitneyu(one, two).pvalue < 0.002)


RULES: Mapping[str, Callable[..., Names]] = MappingProxyType(
    {
        "this A/B": ours,
        "median of 3, 10 %": older(median_of_three),
        "A then B, means, 5 %": older(means),
        "asv: Mann–Whitney, 10 %": older(asv),
    }
)
FACTORS = (1.0, 1.1, 1.2)
BATCH = 64
KINDS = ("none", "features", "lossless", "window")


class Drawn(NamedTuple):
    """How a rule did in the suites that were drawn."""

    rule: str
    factor: float
    suites: int
    hits: int  # A/A: suites with an alarm; else: suites in which the slowed case was found

    def words(self) -> str:
        """The share, and the bound that follows with 95 % confidence."""
        exact = stats.binomtest(self.hits, self.suites).proportion_ci(0.9, "exact")  # one-sided 95 %
        bound = f"≤ {100 * exact.high:.2f}" if self.factor == 1.0 else f"≥ {100 * exact.low:.1f}"
        return f"{100 * self.hits / self.suites:.1f} % ({bound} %)"


def redraw(runs: Sequence[Run], suites: int, seed: int = 0) -> list[Drawn]:
    """Judge drawn suites by every rule, without and with a slowed case; each case is slowed in its turn."""
    recorded = pool(runs)
    if len(recorded) < 2:
        raise ResultError("the log holds no A/A run with a hog yet, so no suite can be drawn from it.")
    names = list(recorded[0].rounds)
    found = []
    for (rule, judge), factor in itertools.product(RULES.items(), FACTORS):
        draw = random.Random(seed)
        hits = 0
        for number in range(suites):
            slowed = names[number % len(names)]
            slower = judge(recorded, {slowed: factor}, draw)
            hits += bool(slower) if factor == 1.0 else slowed in slower
        found.append(Drawn(rule, factor, suites, hits))
    return found


# Counters, which have no noise: compiled again and again they must not change.


def recompile(times: int, progress: Progress) -> tuple[str, int]:
    """Compile the vmapped step of every kind of observation anew, in turns; the words, and the alarms."""
    import jax

    envs = {kind: cogrid.make(cases.CRAMPED, "jax", observation=kind) for kind in KINDS}
    keys = jax.random.split(jax.random.key(0), BATCH)
    states = {kind: jax.vmap(env.jax_reset)(keys)[0] for kind, env in envs.items()}
    actions = np.zeros((BATCH, envs[KINDS[0]].spec.num_agents), np.int8)
    seen: dict[str, dict[str, int]] = {}
    alarms = changed = 0
    for number in range(times):
        kind = KINDS[number % len(KINDS)]
        progress.start(f"compiling with observation={kind}", number, times)
        jax.clear_caches()
        found = counters(jax.vmap(envs[kind].jax_step), states[kind], actions)
        changes = counts.changes(seen.setdefault(kind, found), found)
        changed += bool(changes)
        alarms += any(change.grew for change in changes)
    return (
        f"{times} compilations of the step with {len(KINDS)} kinds of observation: "
        f"the counters changed in {changed}, {alarms} alarms.",
        alarms,
    )


# What people read.


def summary(runs: Sequence[Run], suites: int, style: str = "simple") -> str:
    """The real runs, the noise of every case, and the drawn suites beside the older rules."""
    runs = [judged_again(run) for run in runs]
    parts = [_real(runs, style), _noise(runs, style), _rules(redraw(runs, suites), suites, style)]
    return "\n\n".join(parts)


def _real(runs: Sequence[Run], style: str) -> str:
    lines = []
    for kind in dict.fromkeys(run["kind"] for run in runs):
        chosen = [run for run in runs if run["kind"] == kind]
        alarms = [
            [name for name, line in run["cases"].items() if line["verdict"] == "slower"] for run in chosen
        ]
        found = sum(run["slowed"] in slower for run, slower in zip(chosen, alarms, strict=True))
        false = sum(bool(set(slower) - {run["slowed"]}) for run, slower in zip(chosen, alarms, strict=True))
        seconds = [run["seconds"] for run in chosen]
        longest = f"{statistics.median(seconds):.0f} s, at most {max(seconds):.0f} s"
        open_ = sum(any(map(_is_open, run["cases"].values())) for run in chosen)
        lines.append([kind, len(chosen), found if chosen[0]["slowed"] else "–", false, open_, longest])
    columns = ("real runs", "runs", "slowed case found", "with a false alarm", "left open", "time of a run")
    return str(tabulate(lines, columns, style, disable_numparse=True))


def _is_open(line: Mapping[str, Any]) -> bool:
    """Whether today's rule would look again, and the rule of the day of the run did not."""
    return verdicts.is_suspect(verdicts.evidence(line["first"])) and not line["second"]


def _noise(runs: Sequence[Run], style: str) -> str:
    recorded = pool(runs)
    lines = []
    for name in recorded[0].rounds:
        centers = [pair.estimates[name].center for pair in recorded]
        rounds = [math.log(head / base) for pair in recorded for base, head in pair.rounds[name]]
        smallest = [run["cases"][name]["smallest"] for run in runs if run["factor"] == 1.0 and run["hog"]]
        lines.append(
            [
                name,
                percent(float(np.std(rounds))),
                percent(float(np.std(centers))),
                percent(statistics.median(smallest)),
            ]
        )
    columns = ("case, beside a hog", "rounds differ by", "pairs of processes by", "smallest effect (median)")
    return str(tabulate(lines, columns, style, disable_numparse=True))


def _rules(drawn: Sequence[Drawn], suites: int, style: str) -> str:
    by_rule = {rule: [one.words() for one in drawn if one.rule == rule] for rule in RULES}
    lines = [[rule, *cells] for rule, cells in by_rule.items()]
    columns = (f"{suites} drawn suites each", "A/A suites with an alarm", "10 % found", "20 % found")
    return str(tabulate(lines, columns, style, disable_numparse=True))
