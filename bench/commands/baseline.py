"""Show, accept or check the committed baselines."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from msgspec.structs import asdict
from tabulate import tabulate

from bench.exit_codes import Code
from bench.storage import accepting, baselines, machine
from bench.storage.results import short

EXAMPLE = 'python -m bench baseline accept bench/results/FILE.json --reason "ticks are masks now"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="show | accept | check")

    def command(name: str, function: object, text: str) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = commands.add_parser(
            name, help=text, description=f"{text}.", epilog=f"example:\n  {EXAMPLE}"
        )
        added.set_defaults(action=function)
        return added

    command("show", _show, "this machine's fingerprint, and which committed baselines fit it")
    accept = command("accept", _accept, "put the rows of result files into the committed baselines")
    accept.add_argument("files", type=Path, nargs="+", metavar="FILE", help="result files")
    accept.add_argument("--reason", required=True, help="why these numbers are right; kept in the file")
    accept.add_argument(
        "--allow-dirty", action="store_true", help="accept results from a checkout with changes"
    )
    command("check", _check, "whether every committed baseline is valid and up to date")


def run(options: argparse.Namespace) -> int:
    code: int = options.action(options)
    return code


def _show(options: argparse.Namespace) -> int:
    here = machine.system()
    for name, value in asdict(here).items():
        note = "  (not part of the fingerprint)" if name in machine.UNCOMPARED else ""
        print(f"{name:13} {value}{note}")
    print(f"fingerprint   {machine.fingerprint(here)}\n")
    lines = [baselines.described(path, here) for path in baselines.files()]
    print(tabulate(lines, baselines.COLUMNS, disable_numparse=True) if lines else "No baseline is committed.")
    return Code.FINE


def _accept(options: argparse.Namespace) -> int:
    accepted = accepting.accept(options.files, options.reason, options.allow_dirty)
    for why in accepted.left_out:
        print(f"bench: skipped: {why}", file=sys.stderr)
    for path in accepted.written:
        print(short(path))
    return Code.FINE


def _check(options: argparse.Namespace) -> int:
    found = {path: baselines.troubles(path) for path in baselines.files()}
    for path, troubles in found.items():
        print("\n".join(troubles or [f"{path.name} is fine."]))
    return Code.NOT_COMPARABLE if any(found.values()) else Code.FINE
