"""Places: which cells a state of an open board remembers, kind by kind."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from cogrid._core.author.game import Game


def counted_kinds(game: Game) -> tuple[str, ...]:
    """The kinds of things that the game's features and the views of its states list one by one."""
    by_features = (getattr(part, "kinds", ()) for part in game.features())
    return tuple(dict.fromkeys(itertools.chain(game.state_type.kinds, *by_features)))


class Places:
    """Slices of `EnvState.places`, by kind: one cell for each thing of that kind that a board can have."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = counts
        ends = list(itertools.accumulate(counts.values(), initial=0))
        self.size = ends[-1]
        self._slices = dict(zip(counts, itertools.starmap(slice, itertools.pairwise(ends)), strict=True))

    def of(self, kind: str) -> slice:
        """The slice with the cells of a kind."""
        if kind not in self._slices:
            raise ValueError(
                f"the cells of {kind!r} are not remembered: on open boards only those of "
                f"{', '.join(self._slices) or 'no kind'} are; name it in a feature or in the state's `kinds`."
            )
        return self._slices[kind]
