"""Measure a suite and compare it with the baselines, or with a revision.

Writes a result file, and prints a table and what changed. Comparing times measured at different hours only
raises a suspicion; --against REV measures both revisions now.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from bench import ab, runner, suites
from bench.commands.options import (
    add_file,
    add_sampling,
    add_selection,
    add_strict,
    at_least,
    cogrid_errors,
    new_result,
    plan_of,
    refuse_shadow,
    selected,
)
from bench.compare import findings
from bench.compare.ab_statistics import ROUNDS
from bench.exit_codes import Code, NoDevice, UsageError, worst
from bench.measure.plan import Plan
from bench.processes import checkout
from bench.processes.setting import NONE, Setting
from bench.records import Against, Result
from bench.show import diff, tables
from bench.show.progress import Progress
from bench.storage import baselines, machine, results
from bench.storage.baselines import Baselines
from bench.storage.results import short
from cogrid._env.shadow import VARIABLE as SHADOW
from cogrid._env.shadow import is_asked_for
from cogrid._io.reading import setting
from cogrid.benchmarks.case import Case
from cogrid.envs.registry import is_own

INTENDED = (
    f"If that is intended: commit the change, accept it with the reason (`{diff.ACCEPT}`), and commit "
    "bench/baselines/. FILE is this result for a slowdown, that of `python -m bench count --full` for "
    "counters, and that of `python -m bench run` for other results."
)
EXAMPLE = "python -m bench run --layout CrampedRoom --backend jax --tag before"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    ab = parser.add_mutually_exclusive_group()
    ab.add_argument("--against", metavar="REV", help="compare with this revision, alternating (A/B)")
    text = "compare this checkout with and without a setting: NPROC=2, xla_cpu_…=true, cook_time=5"
    ab.add_argument("--setting", type=setting_of, metavar="NAME=VALUE", help=text)
    parser.add_argument(
        "--seed", type=at_least(0), default=42, help="seed of the tapes; default: %(default)s"
    )
    add_sampling(parser)
    add_file(parser)
    parser.add_argument("--resume", action="store_true", help="finish the newest incomplete result file")
    parser.add_argument("--require-platform", metavar="NAME", help="exit 69 unless JAX runs on it")
    parser.add_argument("--baseline", type=Path, nargs="+", metavar="FILE", help="default: those committed")
    add_strict(parser)


def run(options: argparse.Namespace) -> int:
    if options.require_platform and (found := machine.system().platform) != options.require_platform:
        raise NoDevice(f"the platform is {found}, and {options.require_platform} was required.")
    if options.against or options.setting:
        return _against(options)
    with cogrid_errors():
        if is_asked_for() and machine.version_of("jax") is None:
            raise UsageError(f"{SHADOW}=1 needs JAX, which is not installed: run pip install '.[jax]' here.")
    earlier = baselines.committed(options.baseline)  # fails before any work is done
    path, result = _unfinished(options) if options.resume else _planned(options)
    measure(path, result)
    if result.configuration.suite == "profile":
        print(tables.profile(result))
        return exit_code(result)
    print(tables.summary(result, not earlier.is_empty))
    return worst(judged(result, earlier), options.strict)


def _planned(options: argparse.Namespace) -> tuple[Path, Result]:
    suite = suites.full if options.full else suites.quick
    chosen = [dataclasses.replace(case, seed=options.seed) for case in selected(options, suite)]
    return new_result("full" if options.full else "quick", chosen, plan_of(options), options)


def measure(path: Path, result: Result) -> None:
    try:
        with Progress() as progress:
            runner.run(result, path, progress)
    except KeyboardInterrupt:
        named = "" if path.parent == results.RESULTS else f" -o {short(path)}"
        raise KeyboardInterrupt(f"; `python -m bench run --resume{named}` continues") from None
    print(f"bench: results are in {short(path)}", file=sys.stderr)


def exit_code(result: Result) -> Code:
    """The exit code from the rows alone; running out of memory is a finding, not a failure."""
    meaning = {"mismatch": Code.MISMATCH, "failed": Code.FAILED}
    return worst(meaning.get(row.status, Code.FINE) for row in result.rows)


def judged(result: Result, earlier: Baselines) -> set[Code]:
    """Print what changed; the exit codes that it calls for."""
    found = findings.judge(result, earlier)
    if result.is_ab or not earlier.is_empty:
        print(f"\n{diff.text(found)}")
    else:
        print("\nThere is no baseline to compare with: `python -m bench baseline accept FILE` makes one.")
    diff.publish(found)
    return findings.codes(found)


# Against a revision


def _against(options: argparse.Namespace) -> int:
    own: Setting = options.setting or NONE
    asked, base = ("--setting", f"without {own.text}") if own.text else ("--against", options.against)
    refuse_shadow(asked)
    if own_worlds := [name for name in options.layout or () if is_own(name)]:
        raise UsageError(f"{asked} compares registered environments, and {own_worlds[0]} is one of your own.")
    if other := sorted(_given(options) & {"resume", "full", "baseline", *SAMPLING}):
        raise UsageError(f"{asked} runs to completion with its own sampling: leave out --{other[0]}.")
    head = machine.git_state()
    now = head.sha if head else None
    sha = (now or "") if own.text else checkout.sha_of(base)
    chosen = selected(options, lambda arena: _ab_suite(arena, bool(options.only)), is_ab=True)
    with cogrid_errors():
        suites.checked([own.applied(case) for case in chosen])
    path, result = new_result("ab", chosen, Plan(ROUNDS), options, Against(base, sha, now, own.text))
    with Progress() as progress:
        ab.run(result, path, sha, progress, own)
    if machine.git_state() != result.git:
        raise UsageError(f"the checkout changed during the comparison, so {short(path)} mixes revisions.")
    comparisons = [row.ab for row in result.rows if row.ab]
    if all(one.verdict == "new" for one in comparisons):
        raise UsageError(f"{base} runs none of the cases: {comparisons[0].why_new}")
    print(f"bench: results are in {short(path)}", file=sys.stderr)
    print(tables.machine(result))
    if own.text:
        print(f"Slower or faster with {own.text} than without it:")
    # What a setting costs is a result, not a failure; a failed case still is one.
    harmless = {Code.REGRESSION} if own.text else set()
    found = judged(result, Baselines()) - harmless
    if found & {Code.REGRESSION, Code.MISMATCH}:
        print(f"\n{INTENDED}")
    return worst(found, options.strict)


def setting_of(text: str) -> Setting:
    name, value = setting(text)
    if name == "NPROC" and not (type(value) is int and value > 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not more than the one core that it is compared with")
    if name.endswith("_NUM_THREADS"):
        raise argparse.ArgumentTypeError(f"{text!r} has no effect on one core: NPROC=N gives N cores")
    return Setting(name, value, text)


def _ab_suite(arena: suites.Options, with_training: bool) -> list[Case]:
    """The cases of an A/B, with training only on request: the self-check covers only the gate's own cases."""
    return suites.standard(arena) + (suites.training(short=True) if with_training else [])


# Resuming


def _unfinished(options: argparse.Namespace) -> tuple[Path, Result]:
    """The named file, or the newest incomplete one; it must be from this machine and revision."""
    if other := sorted(_given(options) - {"resume", "output", "require_platform", "baseline", "strict"}):
        raise UsageError(f"--resume finishes what was planned, so leave out --{other[0].replace('_', '-')}.")
    folder = results.RESULTS
    found = sorted(folder.glob("benchmark_*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    for path in [options.output] if options.output else found:
        try:
            result = results.load(path)
            with cogrid_errors():  # a planned case that the current code does not know
                lacks = result.configuration.suite not in ("ab", "peers") and runner.missing(result)
        except UsageError as error:
            if options.output:
                raise
            print(f"bench: not resumed: {error}", file=sys.stderr)
            continue
        if lacks:
            return path, _same_place(path, result)
    place = short(options.output or folder)
    raise UsageError(f"there is nothing to resume in {place}: every planned case has its row.")


def _same_place(path: Path, result: Result) -> Result:
    """The result, if new rows would be measured on the same machine, with the same versions and revision."""
    now = machine.fingerprint(machine.system())
    if now != result.fingerprint:
        raise UsageError(
            f"{short(path)} was measured on another machine or with other versions "
            f"(fingerprint {result.fingerprint}, now {now}): start over."
        )
    if machine.git_state() != result.git:
        raise UsageError(f"{short(path)} was measured at another state of the checkout: start over.")
    return result


def _given(options: argparse.Namespace) -> set[str]:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    defaults = vars(parser.parse_args([]))
    return {name for name, value in defaults.items() if getattr(options, name) != value}


SAMPLING = ("rounds", "iterations", "warmup", "seed")
