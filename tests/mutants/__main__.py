"""Plant wrong rules in copies of the project, one at a time, and check that the tests catch each."""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from . import (
    backends,
    chance,
    ends,
    families,
    kitchens,
    kitchens_v2,
    meeting,
    moving,
    sights,
    starts,
)
from .planting import run_tests, wrong_text

MODULES = (kitchens, kitchens_v2, families, starts, moving, chance, ends, meeting, sights, backends)
TOPICS = tuple(topic for module in MODULES for topic in module.TOPICS)


def main() -> int:
    """0 if every mutant was caught, 1 if one survived or the unchanged project fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="only mutants whose name contains TEXT")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many copies at once")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    options = parser.parse_args()
    chosen = [(mutant, topic) for topic in TOPICS for mutant in topic.mutants if options.only in mutant.name]
    for mutant, _ in chosen:
        wrong_text(mutant)  # reports a line that was edited since now, not after an hour
    if options.list:
        for mutant, topic in chosen:
            print(f"{'one backend' if topic.one_backend else 'both backends'}: {mutant.name}")
        return 0
    with ThreadPoolExecutor(options.jobs) as pool:
        right = list(dict.fromkeys(topic for _, topic in chosen))
        for passed, last in pool.map(lambda topic: run_tests(None, topic), right):
            print(f"as it is: {last}", flush=True)
            if not passed:
                return 1
        survivors = 0
        for (mutant, _), (survived, last) in zip(
            chosen, pool.map(lambda one: run_tests(*one), chosen), strict=True
        ):
            survivors += survived
            print(f"{'SURVIVED' if survived else 'caught'}: {mutant.name} ({last[:150]})", flush=True)
    print(f"{len(chosen) - survivors} caught, {survivors} survived")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
