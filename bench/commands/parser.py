"""The parser: commands in groups, one per module of this folder.

A command is a module whose docstring is its description, with an EXAMPLE, `add_arguments(parser)` and
`run(options)`, which returns the exit code, or None for 0. Only the requested command is imported: all of
them together take seconds.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import textwrap
from pathlib import Path
from types import ModuleType

from bench.exit_codes import described

GROUPS = {
    "Measure": ("run", "list", "profile", "count", "peers", "scaling", "gpu"),
    "Find the commit": ("bisect", "history"),
    "Results and baselines": ("diff", "compare", "report", "plot", "export", "publish", "baseline"),
    "Check the checks": ("selfcheck", "validate"),
}


def parse(arguments: list[str] | None) -> tuple[ModuleType, argparse.Namespace]:
    asked = parser().parse_args(arguments)
    module = importlib.import_module(f"bench.commands.{asked.command}")
    return module, command_parser(asked.command, module).parse_args(asked.options)


def parser() -> argparse.ArgumentParser:
    """The parser of the command's name; its help shows the commands in groups, which argparse cannot do."""
    lines = ["Measure cogrid, and read the results.\n"]
    for title, names in GROUPS.items():
        lines.append(f"{title}:")
        lines += [f"  {name:10} {summary(name)}" for name in names]
    lines.append("\nEach command has --help with its options and an example.")
    whole = argparse.ArgumentParser(
        prog="python -m bench",
        usage="python -m bench COMMAND [OPTION …]",
        description="\n".join(lines),
        epilog=textwrap.fill(f"Exit codes: {described()}.", 100),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    whole.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)  # no need to list it
    choices = [name for names in GROUPS.values() for name in names]
    whole.add_argument("command", choices=choices, metavar="COMMAND", help=argparse.SUPPRESS)
    rest = whole.add_argument("options", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    rest.required = False  # usage does not mention it
    return whole


def command_parser(name: str, module: ModuleType) -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog=f"python -m bench {name}",
        description=module.__doc__,
        epilog=f"example:\n  {module.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(found)
    return found


def summary(name: str) -> str:
    """The first line of its docstring, without the period; read without importing the module."""
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    first = str(ast.get_docstring(ast.parse(source))).splitlines()[0].rstrip(".")
    return first[0].lower() + first[1:]
