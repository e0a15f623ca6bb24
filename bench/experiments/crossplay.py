"""Cross-play of the zoo for docs/training.md: the evidence, the heat maps, and the rows of its table.

python -m bench.experiments.crossplay [KITCHEN …] [--rows]      --rows only prints the existing rows
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench import ROOT
from cogrid.__main__ import main as cogrid
from cogrid._io import files
from cogrid.backend.array import Array

EVIDENCE, IMAGES = ROOT / "bench" / "evidence" / "crossplay", ROOT / "docs" / "images"
KITCHENS = ("CrampedRoom", "AsymmetricAdvantages", "CoordinationRing", "ForcedCoordination", "CounterCircuit")
OTHERS = ("scripted", "random")  # in addition to the trained policies
EPISODES = 10


class Played(NamedTuple):
    """The results of one kitchen."""

    kitchen: str
    players: list[str]
    table: Array  # (a, b) mean returns

    @property
    def trained(self) -> list[int]:
        """The numbers of the trained policies."""
        return [number for number, name in enumerate(self.players) if name not in OTHERS]

    def beside(self, name: str, partners: list[int]) -> float:
        """A player's mean score over its partners and both seats."""
        one = self.players.index(name)
        return float(np.mean([[self.table[one, other], self.table[other, one]] for other in partners]))

    def row(self) -> str:
        """Self-play, cross-play, gap and worst pair of the trained policies; their scores with others."""
        among, same = self.table[np.ix_(self.trained, self.trained)], np.eye(len(self.trained), dtype=bool)
        own, cross = among[same].mean(), among[~same].mean()
        others = [self.beside(name, self.trained) for name in OTHERS]
        numbers = [own, cross, own - cross, among[~same].min(), *others]
        return f"| {' | '.join([self.kitchen, *(f'{number:.0f}' for number in numbers)])} |"


def load(kitchen: str) -> Played:
    """The results of the last run."""
    content = json.loads((EVIDENCE / f"{kitchen}.json").read_text(encoding="utf-8"))
    return Played(kitchen, content["players"], np.array(content["mean"]))


def play(kitchen: str, folder: Path) -> None:
    """Play again, with the command that users have, and keep its files."""
    id, episodes = f"Overcooked-{kitchen}-V0", ("--episodes", str(EPISODES))
    if cogrid(["crossplay", id, "--players", "zoo", *OTHERS, *episodes, "--out", str(folder)]):
        raise RuntimeError(f"{id} cannot be played.")
    keep(kitchen, folder)


def keep(kitchen: str, folder: Path) -> None:
    """Copy the command's files to where the page and its test look for them."""
    EVIDENCE.mkdir(parents=True, exist_ok=True)
    files.write(EVIDENCE / f"{kitchen}.json", (folder / "crossplay.json").read_bytes())
    files.write(IMAGES / f"crossplay-{kitchen}.png", (folder / "crossplay.png").read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kitchens", nargs="*", metavar="KITCHEN", help="all five by default")
    parser.add_argument("--rows", action="store_true", help="play nothing")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "crossplay", help="for intermediate files"
    )
    options = parser.parse_args()
    kitchens = options.kitchens or KITCHENS
    for kitchen in () if options.rows else kitchens:
        play(kitchen, options.folder / kitchen)
    print("\n".join(load(kitchen).row() for kitchen in kitchens))


if __name__ == "__main__":
    main()
