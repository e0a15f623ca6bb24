"""Families: what the registry knows of each package of environments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from cogrid.author import Game, Spec
from cogrid.backend.env_state import EnvState


class Script(Protocol):
    """A policy written by hand, made as `script(rules, agents, seed=…, noise=…)`."""

    def act(self, state: EnvState) -> dict[int, int]:
        """The actions of its agents."""


def no_other_ids(id: str) -> Spec | None:
    """None: all ids of the family are registered."""
    return None


@dataclass(frozen=True)
class Family:
    """A kind of game with its ids, its script, and ids that are not registered but can be made by name."""

    game: type[Game]  # the base of all its games
    specs: Mapping[str, Spec]  # by id
    script: Callable[..., Script] | None = None
    named: Callable[[str], Spec | None] = no_other_ids
