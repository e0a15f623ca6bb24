"""Compile for NVIDIA GPUs without one, and compare kernels and bytes with the baselines.

Speeds are modelled from the counters; with --measure, the same programs are also run on a GPU.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import runner, suites
from bench.commands.options import add_file, add_strict, cogrid_errors, new_result
from bench.commands.run import judged
from bench.exit_codes import NoDevice, UsageError, worst
from bench.measure.gpu import compiled, targets
from bench.measure.plan import Plan
from bench.records import Measurement
from bench.show import tables
from bench.show.progress import Progress
from bench.storage import baselines, machine
from bench.storage.results import short
from cogrid.benchmarks.case import Case

EXAMPLE = "python -m bench gpu --only rollout"
MEASURED_ON = "gpu"  # JAX's name of the platform


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--full", action="store_true", help="all ids, eight devices, and an H100 too")
    parser.add_argument("--measure", action="store_true", help="run the programs too, on this machine's GPU")
    parser.add_argument("--only", metavar="TEXT", help="programs whose name contains this")
    parser.add_argument("--baseline", type=Path, nargs="+", metavar="FILE", help="default: those committed")
    add_file(parser)
    add_strict(parser)


def run(options: argparse.Namespace) -> int:
    if options.full and options.measure:
        raise UsageError("--measure runs the programs of one GPU: leave out --full.")
    device = _device() if options.measure else "a100"
    variant = targets.installed()
    earlier = baselines.committed(options.baseline)
    with cogrid_errors():
        chosen = suites.select(suites.checked(suites.gpu(variant, options.full, device)), options.only)
    if not chosen:
        raise UsageError(f"no program's name contains {options.only!r}.")
    if options.measure:
        chosen += suites.on_device(chosen)
    path, result = new_result("gpu", chosen, Plan(samples=5 if options.measure else 1), options)
    with Progress() as progress, runner.OneProcess(targets.COMPILE_ONLY) as compiler:

        def measure(case: Case, plan: Plan) -> Measurement:
            is_compiled = compiled.target_of(case.measure) is not None
            return compiler.measure(case, plan) if is_compiled else runner.in_own_process(case, plan)

        runner.run(result, path, progress, measure)
    print(f"bench: results are in {short(path)}", file=sys.stderr)
    print(tables.summary(result, not earlier.is_empty))
    return worst(judged(result, earlier), options.strict)


def _device() -> str:
    """The model's name for JAX's GPU here."""
    system = machine.system()
    if system.platform != MEASURED_ON:
        raise NoDevice(f"--measure needs a GPU, and JAX's platform here is {system.platform}.")
    return targets.named_by(system.device)
