"""The cases that the options ask for, and what this machine can measure of them."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence

import cogrid
from bench import suites
from bench.exit_codes import UsageError
from bench.measure import training
from bench.storage.machine import version_of
from cogrid.benchmarks.case import Case
from cogrid.shadow import VARIABLE as SHADOW


def selected(options: argparse.Namespace, suite: suites.Suite) -> list[Case]:
    arena = {"num_agents": options.agents, "map_size": options.map_size, "density": options.density}
    _refuse_unknown(options)
    with cogrid_errors():
        chosen = suites.select(suite(arena), options.only, options.layout, options.backend, options.batch)
        chosen = suites.checked(trainable(chosen) if options.backend else installed(chosen))
    if arena != suites.TOY and not any(case.id == suites.ARENA for case in chosen):
        raise UsageError("--agents, --map-size and --density are for the toy arena, which is not selected.")
    if not chosen:
        raise UsageError("no case fits what was asked for: `python -m bench list --full` shows their names.")
    return chosen


def _refuse_unknown(options: argparse.Namespace) -> None:
    known = cogrid.registered()
    for name in options.layout or ():
        if not any(name.lower() in id.lower() for id in known):
            raise UsageError(f"--layout {name!r} is unknown: known are {', '.join(known)}.")
    if options.backend == "jax" and version_of("jax") is None:
        raise UsageError("--backend jax needs JAX, which is not installed: run pip install '.[jax]' here.")


@contextlib.contextmanager
def cogrid_errors() -> Iterator[None]:
    """What cogrid refuses in here was asked for by the person at the keyboard."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None


def installed(chosen: Sequence[Case]) -> list[Case]:
    """Without JAX, the NumPy cases."""
    if version_of("jax") is not None:
        return trainable(chosen)
    print("bench: JAX is not installed, so only NumPy is measured: pip install '.[jax]'.", file=sys.stderr)
    return [case for case in chosen if case.backend == "numpy"]


def trainable(chosen: Sequence[Case]) -> list[Case]:
    """Without the learner's libraries, the other cases."""
    missing, kept = training.missing(), [case for case in chosen if case.measure != "train"]
    if not missing or len(kept) == len(chosen):
        return list(chosen)
    names = " and ".join(missing)
    print(f"bench: without {names} training is left out: pip install '.[train]'.", file=sys.stderr)
    return kept


def refuse_shadow(command: str) -> None:
    """Where the environments themselves are timed in other processes."""
    if os.environ.get(SHADOW, "0") not in ("", "0"):
        raise UsageError(f"{command} compares speeds, and a shadow would be timed with them: unset {SHADOW}.")
