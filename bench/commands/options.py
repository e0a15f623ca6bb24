"""Options that several commands share, and the cases that they select."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cogrid
from bench import suites
from bench.exit_codes import UsageError
from bench.measure import training
from bench.measure.plan import Plan
from bench.records import Against, Configuration, Result
from bench.storage import results
from bench.storage.machine import version_of
from cogrid._core.compile.spec import OBSERVATIONS
from cogrid._env.shadow import VARIABLE as SHADOW
from cogrid._io.reading import setting, whole_number
from cogrid.backend.backends import BACKENDS
from cogrid.benchmarks.case import Case
from cogrid.envs.registry import adopt, is_own

LARGEST = 2**63 - 1  # that a result file can store


def at_least(least: int) -> Callable[[str], int]:
    """The parser of a whole number, also written as 1e6 or 1_000_000."""
    read = whole_number(least)

    def number(text: str) -> int:
        if (found := read(text)) > LARGEST:
            raise argparse.ArgumentTypeError(
                f"{text!r:.40} is too large: a result file stores at most {LARGEST:,}"
            )
        return found

    return number


def add_selection(parser: argparse.ArgumentParser) -> None:
    suite = parser.add_mutually_exclusive_group()
    suite.add_argument("--quick", action="store_true", help="CrampedRoom and the toy arena (default)")
    suite.add_argument("--full", action="store_true", help="everything, up to 5,000,000 environments")
    parser.add_argument("--only", metavar="TEXT", help="cases whose name contains this")
    add_layout(parser)
    parser.add_argument("--backend", choices=tuple(BACKENDS))
    sizes: dict[str, Any] = {"type": at_least(1), "action": "append", "metavar": "N", "default": []}
    parser.add_argument("--batch", **sizes, help="batch size of the batched cases; repeatable")
    parser.add_argument("--chunk", **sizes, help="only scans, of this many steps; repeatable")
    add_overrides(parser)


def add_layout(parser: argparse.ArgumentParser) -> None:
    text = "only this environment, any id or one of your own as module:Name or file.py:Name; repeatable"
    parser.add_argument("--layout", action="append", metavar="NAME", help=text)


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """Options that change the environments themselves."""
    parser.add_argument("--observation", choices=OBSERVATIONS, help="observation of all environments")
    text = "any option of the environments: cook_time=5, observation=lossless; repeatable"
    parser.add_argument("--set", type=setting, action="append", metavar="NAME=VALUE", default=[], help=text)
    toy, arena = suites.TOY, parser.add_argument_group("the toy arena")
    arena.add_argument("--agents", type=at_least(1), default=toy["num_agents"], help="default: %(default)s")
    arena.add_argument("--map-size", type=at_least(1), default=toy["map_size"], help="default: %(default)s")
    arena.add_argument("--density", type=float, default=toy["density"], help="default: %(default)s")


def add_sampling(parser: argparse.ArgumentParser) -> None:
    plan, default = Plan(), "default: %(default)s"
    group = parser.add_argument_group(
        "sampling, in steps of one environment (default: enough to fill the time)"
    )
    group.add_argument("--rounds", type=at_least(1), default=plan.samples, help=f"samples; {default}")
    group.add_argument(
        "--iterations", type=at_least(0), default=plan.iterations, help="at least this many per sample"
    )
    group.add_argument(
        "--warmup", type=at_least(0), default=plan.warmup_iterations, help="before the samples"
    )


def plan_of(options: argparse.Namespace) -> Plan:
    return Plan(options.rounds, iterations=options.iterations, warmup_iterations=options.warmup)


def arena_of(options: argparse.Namespace) -> dict[str, Any]:
    return {"num_agents": options.agents, "map_size": options.map_size, "density": options.density}


def overrides_of(options: argparse.Namespace) -> dict[str, Any]:
    """The overrides of --observation and --set."""
    seen = {"observation": options.observation} if options.observation else {}
    return {**seen, **dict(options.set)}


def add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tag", "-t", "--phase", default="", help="a word in the file's name")
    parser.add_argument("--description", "-d", default="", help="a sentence kept in the file")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help="default: in bench/results")


def add_strict(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strict", action="store_true", help="exit with 21 or 23 for doubtful rows")


def new_result(
    suite: str,
    chosen: Sequence[Case],
    plan: Plan,
    options: argparse.Namespace,
    against: Against | None = None,
) -> tuple[Path, Result]:
    refuse_existing(options.output)
    if not re.fullmatch(r"[\w.-]*", options.tag):
        raise UsageError(
            f"--tag {options.tag!r} becomes part of a file's name: use letters, digits, - and _."
        )
    configuration = Configuration.of(suite, plan, chosen, against)
    result = results.new(configuration, options.tag, options.description)
    return options.output or results.default_path(result), result


def refuse_existing(path: Path | None) -> None:
    if path and path.exists():
        raise UsageError(f"{path} already exists: choose another name.")


def selected(options: argparse.Namespace, suite: suites.Suite, is_ab: bool = False) -> list[Case]:
    """The cases of the suite that the options select; an error names the cases if `list` does not."""
    arena = arena_of(options)
    refuse_unknown_layouts(options)
    if options.backend == "jax" and version_of("jax") is None:
        raise UsageError("--backend jax needs JAX, which is not installed: run pip install '.[jax]' here.")
    with cogrid_errors():
        for name in filter(is_own, options.layout or ()):
            adopt(name)
        cases = suites.with_layouts(suite(arena), options.layout or ())
        cases = suites.overridden(cases, overrides_of(options))
        asked = (options.only, options.layout, options.backend, options.batch, options.chunk)
        chosen = suites.select(cases, *asked)
        chosen = suites.checked(trainable(chosen) if options.backend else installed(chosen))
    refuse_unused_arena(options, chosen)
    if not chosen and is_ab:
        names = "".join(f"\n  {case.name}" for case in cases)
        raise UsageError(f"no case matches these options. An A/B has cases of its own:{names}")
    if not chosen:
        raise UsageError("no case matches these options: `python -m bench list --full` shows their names.")
    return chosen


def refuse_unused_arena(options: argparse.Namespace, chosen: Sequence[Case]) -> None:
    if arena_of(options) != suites.TOY and not any(case.id == suites.ARENA for case in chosen):
        raise UsageError("--agents, --map-size and --density are for the toy arena, which is not selected.")


def refuse_unknown_layouts(options: argparse.Namespace) -> None:
    for name in options.layout or ():
        if not is_own(name) and not suites.matching(name):
            known = {re.sub(r"^overcooked-|-v\d+$", "", id.lower()): id for id in cogrid.registered()}
            close = difflib.get_close_matches(name.lower(), known, 1)
            hint = f"did you mean {known[close[0]]}? " if close else ""
            raise UsageError(
                f"--layout {name!r} matches no id: {hint}`python -m cogrid list` shows all of them."
            )


@contextlib.contextmanager
def cogrid_errors() -> Iterator[None]:
    """Turn cogrid's errors in this block into usage errors: the user caused them."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None


def installed(chosen: Sequence[Case]) -> list[Case]:
    """All cases, or without JAX only the NumPy cases."""
    if version_of("jax") is not None:
        return trainable(chosen)
    print("bench: JAX is not installed, so only NumPy is measured: pip install '.[jax]'.", file=sys.stderr)
    return [case for case in chosen if case.backend == "numpy"]


def trainable(chosen: Sequence[Case]) -> list[Case]:
    """All cases, or without the learner's libraries only those that do not train."""
    missing, kept = training.missing(), [case for case in chosen if case.measure != "train"]
    if not missing or len(kept) == len(chosen):
        return list(chosen)
    names = " and ".join(missing)
    print(f"bench: without {names} training is skipped: pip install '.[train]'.", file=sys.stderr)
    return kept


def refuse_shadow(command: str) -> None:
    """Raise an error for a shadow in commands that time the environments in other processes."""
    if os.environ.get(SHADOW, "0") not in ("", "0"):
        raise UsageError(f"{command} compares speeds, and a shadow would be timed with them: unset {SHADOW}.")
