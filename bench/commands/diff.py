"""Print what changed from one result to another, or from the baselines to one."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.commands.options import add_strict
from bench.compare import findings
from bench.exit_codes import UsageError, worst
from bench.show import diff
from bench.storage import baselines, results

EXAMPLE = "python -m bench diff before.json after.json --format github"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="[before] after")
    parser.add_argument("--format", choices=diff.FORMATS, default="terminal", help="default: %(default)s")
    add_strict(parser)


def run(options: argparse.Namespace) -> int:
    *before, path = options.files
    if len(before) > 1:
        raise UsageError(f"a diff takes one or two files, not {len(options.files)}.")
    head = results.load(path)
    found = findings.judge(head, baselines.committed(before or None), whole=bool(before))
    print(diff.text(found, options.format))
    diff.publish(found)
    return worst(findings.codes(found), options.strict)
