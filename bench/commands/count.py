"""Count what a step takes, without timing it, and compare with the committed counters.

JAX's programs are compiled, a NumPy step is run twice. Counters have no noise, so a busy machine is fine.
Exits with 20 if a counter grew.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import runner, suites
from bench.commands.options import add_file, add_selection, add_strict, new_result, selected
from bench.commands.run import judged
from bench.exit_codes import UsageError, worst
from bench.measure import counting
from bench.measure.plan import Plan
from bench.show import tables
from bench.show.progress import Progress
from bench.storage import baselines, results
from bench.storage.results import short

EXAMPLE = "python -m bench count --full --only jax-scan"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument("--baseline", type=Path, nargs="+", metavar="FILE", help="default: those committed")
    add_file(parser)
    add_strict(parser)


def run(options: argparse.Namespace) -> int:
    earlier = baselines.committed(options.baseline)
    found = selected(options, suites.full if options.full else suites.quick)
    chosen = [case for case in found if case.measure in counting.MEASURES]
    if not chosen:
        raise UsageError("none of these cases has counters: only cases of speed, resets and training do.")
    options.output = options.output or results.path_of("counters")
    path, result = new_result("counters", chosen, Plan(), options)
    with Progress() as progress, runner.OneProcess({}, runner.COUNTING) as worker:
        runner.run(result, path, progress, worker.measure)
    print(f"bench: results are in {short(path)}", file=sys.stderr)
    print(tables.machine(result))
    return worst(judged(result, earlier), options.strict)
