"""The state: everything that can differ between two environments of a batch, and how to read it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from cogrid.backend.array import Array, Backend

__all__ = ("EnvState",)


class Tables(Protocol):
    """The part of the rules that a state needs to be read."""

    backend: Backend
    spec: Any
    n_agents: int
    height: int
    width: int
    action_set: str
    type_ids: dict[str, int]
    types: Array  # (symbols,) type id of the thing
    lying: Array  # (symbols,) type id of the item that lies on it, 0 none
    item_types: Array  # (items,) type id of a held item, −1 for the empty hand
    facing: Array  # (poses,)
    held: Array  # (poses,) number of the item
    n_walkable: int
    leaves: bool
    slots: Any  # things without a cell, None if the spec has none
    places: Any  # on open boards, `of(kind)` selects the cells of that kind

    def symbols(self, function: Callable[[Any], Any]) -> Array:
        """A table over the symbols of a plain function of a thing."""

    def cells_of(self, kind: str) -> Array:
        """(layouts, k) the cells with that kind of thing, −1 where a layout has fewer."""


class Evolving:
    """A frozen dataclass of which changed copies are made."""

    def evolve(self, **changes: Any) -> Self:
        """A copy with fields changed: a faster `dataclasses.replace`."""
        new = object.__new__(self.__class__)
        object.__setattr__(new, "__dict__", {**self.__dict__, **changes})
        return new


@dataclasses.dataclass(frozen=True)
class EnvState(Evolving):
    """One environment, or a batch of them (*B leads every shape). Fields are stored, properties are views.

    A cell is one symbol: the number of the thing in it, including that thing's state. Fields are few because
    JAX passes each as an array in every call, which for a single environment is most of a step's time.
    """

    cells: Array  # (*B, H·W) symbol of each cell
    pos: Array  # (*B, n) cell of each agent, row · W + column; off the board, H · W + its own number
    pose: Array  # (*B, n) facing and held item of each agent, facing · items + item
    clock: Array  # (*B,) int32 steps since reset; ~steps, so below zero, when the episode is over
    words: Array  # (*B, 2) uint32 of the key
    weight: Array | None  # (*B,) float32 of the shaping terms, where the spec has them
    layout: Array | None  # (*B,) number of the layout, where the spec has several
    ended: Array | None  # (*B, n) bool the agent has ended, where the spec ends agents one by one
    slots: Array  # (*B, slots) number of the thing in each slot; None where the spec has none
    places: Array  # (*B, k + 1) cells of counted things on open boards, and whether the board was repaired
    rules: Tables = dataclasses.field(metadata={"static": True}, repr=False)

    #: The attributes that, with the key, determine a state, however it is stored.
    plain_attributes: ClassVar[tuple[str, ...]] = (
        *("cells", "pos", "agent_dir", "held", "time", "done", "shaping_weight", "layout", "ended", "slots"),
        "places",
    )

    def plain(self) -> dict[str, np.ndarray[Any, Any]]:
        """The whole state as NumPy arrays by attribute, the key as its words."""
        host = self.host()
        values = {"rng_key": host.words} | {name: getattr(host, name) for name in self.plain_attributes}
        return {name: np.asarray(value) for name, value in values.items() if value is not None}

    def stored(self) -> dict[str, Array]:
        """The stored fields that this spec has."""
        fields = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self) if f.name != "rules")
        return {name: value for name, value in fields if value is not None}

    def host(self) -> Self:
        """The state with NumPy arrays."""
        return self.evolve(**{name: np.asarray(value) for name, value in self.stored().items()})

    #: Kinds of things that the family's views list one by one.
    kinds: ClassVar[tuple[str, ...]] = ()
    #: Views that a family's `write` can turn back into cells.
    writers: ClassVar[tuple[str, ...]] = ()

    def write(self, views: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        """The cells with the family's own views changed; values are concrete NumPy arrays."""
        raise NotImplementedError

    @property
    def n_agents(self) -> int:
        """Number of agents; static."""
        return self.rules.n_agents

    @property
    def height(self) -> int:
        """Rows of the map; static."""
        return self.rules.height

    @property
    def width(self) -> int:
        """Columns of the map; static."""
        return self.rules.width

    @property
    def action_set(self) -> str:
        """Name of the action set; static."""
        return self.rules.action_set

    @property
    def time(self) -> Array:
        """(*B,) int32 steps since reset."""
        return self.clock ^ (self.clock >> 31)

    @property
    def done(self) -> Array:
        """(*B,) bool the episode is over."""
        return self.clock < 0

    @property
    def shaping_weight(self) -> Array:
        """(*B,) float32 weight of the shaping terms."""
        if self.weight is None:
            return self.rules.backend.xp.zeros(self.clock.shape, np.float32)
        return self.weight

    @property
    def repaired(self) -> Array:
        """(*B,) bool the board given to reset had invalid cells, which were replaced by walls."""
        if self.places is None:
            return self.rules.backend.xp.zeros(self.clock.shape, bool)
        return self.places[..., -1] > 0

    @property
    def rng_key(self) -> Array:
        """(*B,) key on JAX, (*B, 2) uint32 on NumPy."""
        return self.rules.backend.key(self.words)

    @property
    def agent_pos(self) -> Array:
        """(*B, n, 2) row and column; −1 off the board."""
        xp, width = self.rules.backend.xp, self.width
        places = xp.stack((self.pos // width, self.pos % width), axis=-1)
        return xp.where(self.away[..., None], -1, places) if self.rules.leaves else places

    @property
    def away(self) -> Array:
        """(*B, n) bool the agent is off the board."""
        return self.pos >= self.height * self.width

    @property
    def agent_dir(self) -> Array:
        """(*B, n) 0 right, 1 down, 2 left, 3 up."""
        return self.rules.backend.lookup(self.rules.facing, self.pose)

    @property
    def held(self) -> Array:
        """(*B, n) number of the held item, 0 nothing."""
        return self.rules.backend.lookup(self.rules.held, self.pose)

    @property
    def agent_inv(self) -> Array:
        """(*B, n, 1) type id of the held item, −1 empty."""
        return self.rules.backend.lookup(self.rules.item_types, self.held)[..., None]

    @property
    def wall_map(self) -> Array:
        """(*B, H, W) 1 where an agent can never stand."""
        return self._map((self.cells >= self.rules.n_walkable).astype(np.int8))

    @property
    def object_type_map(self) -> Array:
        """(*B, H, W) type id of the object in each cell, 0 none."""
        return self._map(self.rules.backend.lookup(self.rules.types, self.cells))

    @property
    def object_state_map(self) -> Array:
        """(*B, H, W) type id of the item that lies in each cell, 0 none."""
        return self._map(self.rules.backend.lookup(self.rules.lying, self.cells))

    def _map(self, flat: Array) -> Array:
        return flat.reshape(*flat.shape[:-1], self.height, self.width)

    def positions_of(self, kind: str) -> Array:
        """(*B, k, 2) row and column of every thing of a kind, −1 where this layout has fewer."""
        xp, cells = self.rules.backend.xp, self.cells_of(kind)
        width = self.width
        return xp.where(cells[..., None] < 0, -1, xp.stack((cells // width, cells % width), axis=-1))

    def read(self, kind: str, function: Callable[[Any], Any], absent: int) -> Array:
        """(*B, k, …) the function's number, or tuple of numbers, for every thing of a kind."""
        backend, cells = self.rules.backend, self.cells_of(kind)
        exists = cells >= 0
        seen = backend.at(self.cells, backend.xp.where(exists, cells, 0))  # (*B, k)
        values = backend.lookup(self.rules.symbols(function), seen)
        return backend.xp.where(
            exists.reshape(exists.shape + (1,) * (values.ndim - exists.ndim)), values, absent
        )

    def cells_of(self, kind: str) -> Array:
        """(*B, k) the cell of every thing of a kind in reading order, −1 where this board has fewer."""
        if self.places is not None:
            return self.places[..., self.rules.places.of(kind)]
        xp, table = self.rules.backend.xp, self.rules.cells_of(kind)
        if self.layout is None:
            return xp.broadcast_to(xp.asarray(table[0]), (*self.clock.shape, table.shape[1]))
        return self.rules.backend.lookup(table, self.layout)


def clock_of(time: Array, done: Array) -> Array:
    """Time and end in one number, as stored: ~time where done."""
    return time ^ -done.astype(np.int32)
