"""Validation: real training, and both adapters on every environment, all shadowed by the other backend."""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tabulate import tabulate

import cogrid
from bench.exit_codes import Code, UsageError
from bench.experiments.validation_files import PlayedScene, ValidationLog, write
from bench.measure import training
from bench.show.progress import Progress
from bench.storage import results
from bench.storage.machine import version_of
from cogrid._core.compile.spec import OBSERVATIONS, Spec
from cogrid._env.shadow import Shadow, ShadowReport, marks_in
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.registry import script_for, spec_of
from cogrid.vector import AUTORESETS, VectorEnv

SIZES = {"smoke": 20_000, "soak": 250_000}  # comparisons, at least
# The share of each path. The rest is training, the fastest and most varied.
STATEFUL, VECTOR, ROLLOUT = 0.1, 0.3, 0.1
BATCH = 16  # environments of a vector and of a rollout
CHUNK = 32  # steps of a rollout that are replayed together
TRAINED = (("Overcooked-CrampedRoom-V0", "features"), ("Overcooked-CoordinationRing-V0", "lossless"))
ROLLED = (("Overcooked-ForcedCoordination-V0", "lossless"), ("Arena-V0", "window"))
BACKENDS = ("numpy", "jax")  # which shadow each other
COLUMNS = ("path", "backend", "beside", "environments", "comparisons", "mismatches", "time : beside")


class ValidationScene(NamedTuple):
    """What a run plays: an id, with one of its observations."""

    id: str
    kind: str


class PlannedRun(NamedTuple):
    path: str
    scene: str
    play: Callable[[], ShadowReport]


class PlayedRun(NamedTuple):
    path: str
    scene: str
    report: ShadowReport
    failure: BaseException | None = None  # what ended it too early


class Stopped(Exception):
    """A run that ended early, and what had been compared by then."""

    def __init__(self, report: ShadowReport) -> None:
        super().__init__()
        self.report = report


def scenes(everything: bool) -> list[ValidationScene]:
    """Every id with each of its observations; or one id of every game, and every observation once."""
    specs = {id: spec_of(id, {}, ()) for id in cogrid.registered()}
    if everything:
        return [ValidationScene(id, kind) for id, spec in specs.items() for kind in kinds(spec)]
    games: dict[type, str] = {}
    for id, spec in specs.items():
        games.setdefault(type(spec.game), id)
    choices = [(id, kinds(specs[id])) for id in games.values()]
    return [ValidationScene(id, known[number % len(known)]) for number, (id, known) in enumerate(choices)]


def kinds(spec: Spec) -> list[str]:
    has = {"features": bool(spec.game.features()), "none": True}
    return [kind for kind in OBSERVATIONS if has.get(kind, bool(spec.game.planes().names))]


def planned(comparisons: int, everything: bool) -> Iterator[PlannedRun]:
    """The runs that make up this many comparisons, quick ones first."""
    stage, batches = (taking_turns if everything else beside_each_other)(scenes(everything))
    each = math.ceil(comparisons * STATEFUL / len(stage))
    for (id, kind), backend in stage:
        yield PlannedRun("make", f"{id} {kind}", partial(single, id, kind, backend, each))
    each = math.ceil(comparisons * VECTOR / len(batches))
    for (id, kind), backend, mode in batches:
        yield PlannedRun(f"make_vec {mode}", f"{id} {kind}", partial(vector, id, kind, backend, mode, each))
    each = math.ceil(comparisons * ROLLOUT / len(ROLLED))
    for id, kind in ROLLED:
        yield PlannedRun("rollout", f"{id} {kind}", partial(rolled, id, kind, each))
    each = math.ceil(comparisons * (1 - STATEFUL - VECTOR - ROLLOUT) / len(TRAINED))
    for id, kind in TRAINED:
        yield PlannedRun("training", f"{id} {kind}", partial(trained, id, kind, each))


class Stage(NamedTuple):
    """The runs of single environments with their backends, and of batches with their automatic resets too."""

    singles: list[tuple[ValidationScene, str]]
    batches: list[tuple[ValidationScene, str, str]]


def beside_each_other(observed: list[ValidationScene]) -> Stage:
    """Every scene on both backends; the modes of the automatic reset take turns."""
    modes = itertools.cycle(AUTORESETS)
    batches = [
        (scene, backend, mode) for scene, mode in zip(observed, modes, strict=False) for backend in BACKENDS
    ]
    return Stage(list(itertools.product(observed, BACKENDS)), batches)


def taking_turns(observed: list[ValidationScene]) -> Stage:
    """Every scene once through each path, as compiling takes hours otherwise.

    The observations of an id, and the ids of an observation, take turns with both backends and modes.
    """
    ids, ways = [*dict.fromkeys(id for id, _ in observed)], [*itertools.product(BACKENDS, AUTORESETS)]
    turns = [(ids.index(id) + OBSERVATIONS.index(kind)) % len(ways) for id, kind in observed]
    batches = [(scene, *ways[turn]) for scene, turn in zip(observed, turns, strict=True)]
    singles = [(scene, ways[turn - 2][0]) for scene, turn in zip(observed, turns, strict=True)]
    return Stage(singles, batches)


def single(id: str, kind: str, backend: str, comparisons: int) -> ShadowReport:
    """Scripted play, or random agents if there is no script, through PettingZoo's API."""
    spec = spec_of(id, {"observation": kind, "random_start": True, "max_steps": 120}, ())
    env = CoGridEnv(spec, backend, shadow=True, infos=True)
    generator = np.random.default_rng(0)
    with reported(lambda: _report(env)):
        for episode in itertools.count():
            env.reset(seed=episode)
            act = policy(env, episode, generator)
            while env.agents:
                env.step(act())
                if _report(env).comparisons >= comparisons:
                    return _report(env)
            env.set_state(env.get_state())
    raise AssertionError


def policy(env: CoGridEnv, seed: int, generator: Any) -> Callable[[], dict[int, int]]:
    if (script := script_for(env.spec.game)) is not None:
        team = script(env.rules, seed=seed, noise=0.2)
        return lambda: {agent: act for agent, act in team.act(env.env_state).items() if agent in env.agents}
    n_actions = len(env.action_names)
    return lambda: {agent: int(generator.integers(n_actions)) for agent in env.agents}


def vector(id: str, kind: str, backend: str, autoreset: str, comparisons: int) -> ShadowReport:
    """Random agents that often interact, in a batch whose episodes end often."""
    spec = spec_of(id, {"observation": kind, "random_start": True, "max_steps": 15}, ())
    vec = VectorEnv(spec, BATCH, backend, autoreset=autoreset, infos=True, shadow=True)
    shape, generator = (BATCH, spec.num_agents), np.random.default_rng(0)
    names = [action.name for action in spec.actions]
    interact = names.index("interact") if "interact" in names else len(names) - 1
    with reported(lambda: _report(vec)):
        vec.reset(seed=0)
        for _ in range(math.ceil(comparisons / BATCH)):
            actions = generator.integers(vec.rules.n_actions, size=shape)
            vec.step(np.where(generator.random(shape) < 0.4, interact, actions))
    return _report(vec)


def rolled(id: str, kind: str, comparisons: int) -> ShadowReport:
    env = cogrid.make(id, "jax", shadow=True, observation=kind, random_start=True, max_steps=50)
    chunks = math.ceil(
        comparisons / (BATCH * CHUNK)
    )  # whole ones: another length would need a new compilation
    with reported(lambda: _report(env)):
        cogrid.rollout(env, num_envs=BATCH, num_steps=chunks * CHUNK, chunk=CHUNK)
    return _report(env)


def trained(id: str, kind: str, comparisons: int) -> ShadowReport:
    """Training: in every update, a part of the learner's steps is replayed."""
    from cogrid._apps.train.loop import RECORDED, train  # optional: they need the extra `train`
    from cogrid._apps.train.options import Options, environment

    options = Options(id=id, observation=kind, seeds=1, chunk=5)
    updates = math.ceil(comparisons / (RECORDED * options.num_steps))
    options = dataclasses.replace(options, steps=updates * options.num_envs * options.num_steps)
    watch = Shadow(environment(options).spec, "jax")
    with tempfile.TemporaryDirectory() as folder, reported(lambda: watch.report):
        train(options, Path(folder), shadow=watch)
    return watch.report


@contextmanager
def reported(report: Callable[[], ShadowReport]) -> Iterator[None]:
    """Attach the report to whatever ends a run early."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        raise Stopped(report()) from error


def _report(env: Any) -> ShadowReport:
    report: ShadowReport = env.shadow
    return report


def play_all(runs: Sequence[PlannedRun], log: ValidationLog) -> list[PlayedRun]:
    """Play the runs one after the other; progress and mismatches are shown and logged immediately.

    A failed run does not stop the others; Ctrl-C does.
    """
    outcomes: list[PlayedRun] = []
    began, total = time.perf_counter(), 0
    with Progress() as progress:
        for number, run in enumerate(runs):
            progress.start(f"{run.path} of {run.scene}", number, len(runs))
            outcome = outcome_of(run)
            outcomes.append(outcome)
            report = outcome.report
            before, total = total, total + report.comparisons
            played = f"{run.path} of {run.scene} on {report.backend}: {report.comparisons:,} comparisons"
            log.say(f"{played}, {report.mismatches:,} mismatches", shown=False)
            if marks_in(before, total):
                wrong = sum(each.report.mismatches for each in outcomes)
                seconds = time.perf_counter() - began
                log.say(f"{total:,} comparisons, {wrong:,} mismatches, {seconds:.0f} s")
            if report.first:
                log.say(first_mismatch(outcome))
            if isinstance(outcome.failure, KeyboardInterrupt):
                break
    return outcomes


def outcome_of(run: PlannedRun) -> PlayedRun:
    try:
        return PlayedRun(run.path, run.scene, run.play())
    except Stopped as stopped:
        report, failure = stopped.report, stopped.__cause__
    except (Exception, KeyboardInterrupt) as error:  # before anything was compared
        report, failure = ShadowReport("–", "–", 0, 0, None, None), error
    if isinstance(failure, Exception):
        traceback.print_exception(failure)
    return PlayedRun(run.path, run.scene, report, failure)


def first_mismatch(outcome: PlayedRun) -> str:
    """The first mismatch, with what is needed to reproduce it."""
    return f"{outcome.path} of {outcome.scene} on {outcome.report.backend}: {outcome.report.first}."


def table(outcomes: list[PlayedRun]) -> str:
    groups: dict[tuple[str, str], list[ShadowReport]] = {}
    for path, _, report, _ in sorted(outcomes, key=lambda one: (one.path, one.report.backend)):
        groups.setdefault((path, report.backend), []).append(report)
    rows = []
    for (path, backend), reports in groups.items():
        ratios = [report.ratio for report in reports if report.ratio]
        total, wrong = _sums(reports)
        mean = f"1 : {statistics.geometric_mean(ratios):.3g}" if ratios else "–"
        rows.append([path, backend, reports[0].shadow, str(len(reports)), f"{total:,}", f"{wrong:,}", mean])
    total, wrong = _sums([outcome.report for outcome in outcomes])
    firsts = [first_mismatch(one) for one in outcomes if one.report.first]
    ends = [f"{one.path} of {one.scene} ended early: {one.failure!r}." for one in outcomes if one.failure]
    text = tabulate(rows, COLUMNS, disable_numparse=True)
    return "\n".join([text, "", f"{total:,} comparisons, {wrong:,} mismatches.", *firsts, *ends])


def _sums(reports: list[ShadowReport]) -> tuple[int, int]:
    return sum(one.comparisons for one in reports), sum(one.mismatches for one in reports)


def run(size: int) -> Code:
    """Make this many comparisons and print the table; wrong results outrank failures and interruptions."""
    if missing := [*([] if version_of("jax") else ["jax"]), *training.missing()]:
        names = ", ".join(missing)
        raise UsageError(f"validation trains, and {names} cannot be found: pip install '.[train]'.")
    path = results.path_of("validate")
    with ValidationLog(path.with_suffix(".log")) as log:
        outcomes = play_all(list(planned(size, everything=size >= SIZES["soak"])), log)
        log.say(table(outcomes), shown=False)
    comparisons, mismatches = _sums([outcome.report for outcome in outcomes])
    scenes = [PlayedScene.of(*outcome) for outcome in outcomes]
    write(path, size, comparisons, mismatches, scenes)
    print(table(outcomes))
    print(f"bench: results are in {results.short(path)}, the log is beside them", file=sys.stderr)
    if any(outcome.report.mismatches for outcome in outcomes):
        return Code.MISMATCH
    if any(isinstance(outcome.failure, KeyboardInterrupt) for outcome in outcomes):
        return Code.INTERRUPTED
    return Code.FAILED if any(outcome.failure for outcome in outcomes) else Code.FINE
