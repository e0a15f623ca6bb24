"""The parser: the commands in groups, each module of this folder one of them.

A command is a module whose docstring is its description, with an EXAMPLE, `add_arguments(parser)` and
`run(options)`, which returns the exit code, or nothing where it is 0.
"""

from __future__ import annotations

import argparse
import textwrap
from types import ModuleType

from bench.commands import (
    baseline,
    compare,
    diff,
    export,
    gpu,
    peers,
    plot,
    profile,
    report,
    run,
    scaling,
    selfcheck,
    validate,
)
from bench.commands import list as list_
from bench.exit_codes import described

GROUPS: dict[str, tuple[ModuleType, ...]] = {
    "Measure": (run, list_, profile, peers, scaling, gpu),
    "Read results": (diff, compare, report, plot, export),
    "Baselines": (baseline,),
    "Check the checks": (selfcheck, validate),
}


def parse(arguments: list[str] | None) -> tuple[ModuleType, argparse.Namespace]:
    options = parser().parse_args(arguments)
    return options.command, options


def parser() -> argparse.ArgumentParser:
    """With the commands in groups, which argparse itself cannot show."""
    lines = ["Measure cogrid, and read the results.\n"]
    for title, modules in GROUPS.items():
        lines.append(f"{title}:")
        lines += [f"  {name(one):10} {summary(one)}" for one in modules]
    lines.append("\nEach command has --help with its options and an example.")
    whole = argparse.ArgumentParser(
        prog="python -m bench",
        usage="python -m bench COMMAND [OPTION …]",
        description="\n".join(lines),
        epilog=textwrap.fill(f"Exit codes: {described()}.", 100),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = whole.add_subparsers(
        required=True, metavar="COMMAND", prog="python -m bench", help=argparse.SUPPRESS
    )
    for module in (one for modules in GROUPS.values() for one in modules):
        added = commands.add_parser(
            name(module),
            description=module.__doc__,
            epilog=f"example:\n  {module.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(added)
        added.set_defaults(command=module)
    return whole


def name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def summary(module: ModuleType) -> str:
    """The first line of its docstring, as a clause."""
    first = str(module.__doc__).splitlines()[0].rstrip(".")
    return first[0].lower() + first[1:]
