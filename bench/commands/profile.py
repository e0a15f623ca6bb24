"""Measure the phases of a step and the parts of the flat observation.

Without --layout: a kitchen, the toy arena, and an arena of 16 agents with window observations, side by side.
"""

from __future__ import annotations

import argparse

from bench import suites
from bench.commands.options import (
    add_file,
    add_layout,
    add_overrides,
    add_sampling,
    arena_of,
    at_least,
    cogrid_errors,
    installed,
    new_result,
    overrides_of,
    plan_of,
    refuse_unknown_layouts,
    refuse_unused_arena,
)
from bench.commands.run import exit_code, measure
from bench.show import tables
from cogrid.envs.registry import adopt, is_own

EXAMPLE = "python -m bench profile --layout Arena --agents 20 --map-size 40 --observation window"
BATCH = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_layout(parser)
    text = f"batch size of the batched modes; repeatable; default: {BATCH}"
    parser.add_argument("--batch", type=at_least(1), action="append", metavar="N", help=text)
    add_overrides(parser)
    add_sampling(parser)
    add_file(parser)


def run(options: argparse.Namespace) -> int:
    refuse_unknown_layouts(options)
    with cogrid_errors():
        cases = suites.profile(configurations(options), options.batch or [BATCH])
        chosen = suites.checked(installed(suites.overridden(cases, overrides_of(options))))
    refuse_unused_arena(options, chosen)
    path, result = new_result("profile", chosen, plan_of(options), options)
    measure(path, result)
    print(tables.profile(result))
    return exit_code(result)


def configurations(options: argparse.Namespace) -> list[suites.Configuration]:
    """The environments named by --layout, else the usual ones; the toy arena in the given sizes."""
    arena = arena_of(options)
    if not options.layout:
        return [(id, arena if overrides is suites.TOY else overrides) for id, overrides in suites.PROFILED]
    ids = [id for name in options.layout for id in ([adopt(name)] if is_own(name) else suites.matching(name))]
    return [(id, arena if id == suites.ARENA else {}) for id in ids]
