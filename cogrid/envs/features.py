"""Features that several families share: what is around an agent, and the nearest thing of a kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cogrid._core.compile.actions import FACINGS
from cogrid._core.rules import Rules
from cogrid.author import Game, NearestLying, Thing
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState


@dataclass(frozen=True)
class Around:
    """Numbers of the things in the four cells around the agent, whichever way it faces."""

    labels: tuple[str, ...]
    of_thing: Callable[[Thing], Sequence[float]]
    _asks: ClassVar[tuple[str, ...]] = ("of_thing",)

    def names(self, rules: Rules) -> list[str]:
        """One block for each direction."""
        return [f"{facing}: {label}" for facing in FACINGS for label in self.labels]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """One table over the symbols."""
        table = rules.symbols(self.of_thing, np.float32)

        def around(state: EnvState) -> Array:
            cells = state.pos[..., None] + lift(rules.ahead, state.pos.ndim + 1)  # (*B, n, 4)
            seen = rules.at(state.cells, cells.reshape(*state.pos.shape[:-1], -1))
            return rules.lookup(table, seen).reshape(*state.pos.shape, -1)

        return around


class Nearest(NearestLying):
    """For each label, whether there is such a thing, and the offset to the closest one."""

    def names(self, rules: Rules) -> list[str]:
        """One block for each label."""
        return [f"{label} {part}" for label in self.labels for part in ("exists", "rows", "columns")]

    def label(self, game: Game, thing: Thing) -> int:
        """The number of the thing's own label, −1 none."""
        return self.of_item(thing)
