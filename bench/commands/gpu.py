"""Compile for NVIDIA GPUs without one, and compare kernels and bytes with the baselines.

Nothing is run: the speeds are modelled from what was counted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import runner, suites
from bench.commands.options import add_file, add_strict, cogrid_errors, new_result, short
from bench.commands.run import judged
from bench.exit_codes import UsageError
from bench.measure.gpu import targets
from bench.measure.plan import Plan
from bench.show import tables
from bench.show.progress import Progress
from bench.storage import baselines

EXAMPLE = "python -m bench gpu --only rollout"
# The plugin then asks for no driver, and says nothing about there being none.
COMPILE_ONLY = {
    "JAX_PLATFORMS": "cpu",
    "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--full", action="store_true", help="all ids, eight devices, and an H100 too")
    parser.add_argument("--only", metavar="TEXT", help="programs whose name contains this")
    parser.add_argument("--baseline", type=Path, nargs="+", metavar="FILE", help="default: those committed")
    add_file(parser)
    add_strict(parser)


def run(options: argparse.Namespace) -> int:
    variant = targets.installed()
    earlier = baselines.committed(options.baseline)
    with cogrid_errors():
        chosen = suites.select(suites.checked(suites.gpu(variant, options.full)), options.only)
    if not chosen:
        raise UsageError(f"no program's name contains {options.only!r}.")
    path, result = new_result("gpu", chosen, Plan(samples=1), options)
    with Progress() as progress, runner.OneProcess(COMPILE_ONLY) as process:
        runner.run(result, path, progress, process.measure)
    print(f"bench: results are in {short(path)}", file=sys.stderr)
    print(tables.summary(result))
    return judged(result, earlier, options.strict)
