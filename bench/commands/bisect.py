"""Find the commit that made a case slower, or one of its counters grow.

Compares commits between GOOD and BAD in pairs of processes, as `run --against` does, until one of them is the
first slow one with a probability of 99 %. All evidence is kept in a folder: the same command goes on where it
was stopped. A counter has no noise, so --counter takes seconds for each commit. Merges count as one commit.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from bench import bisect, suites
from bench.bisect import ROUNDS
from bench.commands.options import at_least, cogrid_errors, installed, refuse_shadow
from bench.exit_codes import Code, UsageError, worst
from bench.measure import counting
from bench.measure.plan import Plan
from bench.processes.checkout import commits_between, described, sha_of
from bench.records import Parameters
from bench.show import answer
from bench.show.progress import Progress
from bench.storage import machine
from bench.storage.evidence import Folder, Sought
from bench.storage.identity import identity
from bench.storage.results import RESULTS, short
from cogrid._io.messages import several
from cogrid.benchmarks.case import Case

EXAMPLE = 'python -m bench bisect v0.1.0 HEAD --only "CrampedRoom numpy-single"'
COMPARISONS = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("good", metavar="GOOD", help="a commit that is fast enough")
    parser.add_argument("bad", metavar="BAD", help="a later one that is too slow")
    parser.add_argument("--only", metavar="TEXT", required=True, help="the one case whose name contains this")
    text = "the first commit at which this counter is larger than at GOOD: operations, fusions, flops …"
    parser.add_argument("--counter", metavar="NAME", help=text)
    text = "at most this many, with those of earlier runs; default: %(default)s"
    parser.add_argument("--comparisons", type=at_least(2), default=COMPARISONS, metavar="N", help=text)
    text = "where the evidence is kept; default: one for each search in bench/results/bisect"
    parser.add_argument("--folder", type=Path, help=text)
    parser.add_argument("--strict", action="store_true", help="exit with 21 if the answer is uncertain")


def run(options: argparse.Namespace) -> int:
    refuse_shadow("bisect")
    case = _case(options.only, bool(options.counter))
    good, bad = sha_of(options.good, "GOOD"), sha_of(options.bad, "BAD")
    commits = commits_between(good, bad)
    if not commits:
        raise UsageError(f"GOOD and BAD are the same commit, {good[:10]}.")
    sought = Sought(
        good=good,
        commits=commits,
        case=Parameters.of(case),
        counter=options.counter,
        fingerprint=machine.fingerprint(machine.system()),
        identity=identity(case, Plan(ROUNDS)),
    )
    folder = Folder(options.folder or RESULTS / "bisect" / _name(sought, case), sought)
    print(f"bench: {several(len(commits), 'commit')}, evidence in {short(folder.place)}", file=sys.stderr)
    try:
        with Progress() as progress:
            if options.counter:
                found = bisect.by_counter(folder, sought, progress)
            else:
                found = bisect.by_time(folder, sought, options.comparisons, progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("; the same command goes on") from None
    print(answer.text(found, sought, described))
    print(f"bench: the answer is in {short(folder.answer(found))}", file=sys.stderr)
    return worst({Code.FINE if found.certain else Code.INCONCLUSIVE}, options.strict)


def _case(only: str, is_counted: bool) -> Case:
    """The case of the A/B suite with this name, or the only one whose name contains it."""
    known = suites.standard()
    if is_counted:
        known += [case for case in suites.full() if case.measure in counting.MEASURES]
    with cogrid_errors():
        known = suites.checked(known)
    found = suites.select(known, only)
    found = [case for case in found if case.name.lower() == only.lower()] or found
    found = installed(found)
    if len(found) != 1:
        what = "matches several cases" if found else "matches no case"
        names = "".join(f"\n  {case.name}" for case in found or known)
        raise UsageError(f"--only {only!r} {what}, and a search is for one. Choose of:{names}")
    return found[0]


def _name(sought: Sought, case: Case) -> str:
    words = [sought.good[:10], sought.commits[-1][:10], case.name, sought.counter or ""]
    return re.sub(r"[^\w.=@-]+", "-", " ".join(words)).strip("-")
