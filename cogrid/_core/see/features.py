"""Features: the parts of a flat observation, gathered from tables over symbols, items and places."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from cogrid._core.author.game import Game
from cogrid._core.author.values import Item, Thing
from cogrid._core.compile.actions import FACINGS, STRIDES
from cogrid._core.compile.checking import labelled
from cogrid._core.see.offsets import OffsetTable, closest, distance, offset_to, scaled
from cogrid._io.messages import brief
from cogrid.backend.array import Array, lift
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules

Numbers = Sequence[float]


class Feature(Protocol):
    """A part of the flat observation: named numbers within [−1, 1], or within the bounds of a `Bounded`."""

    def names(self, rules: Rules) -> list[str]:
        """The name of each number."""

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """A function of a state that returns (*B, n, numbers) float32."""


@runtime_checkable
class Bounded(Protocol):
    """A part whose numbers are not within [−1, 1]."""

    def bounds(self, rules: Rules) -> tuple[float, float]:
        """The lowest and the highest."""


@dataclass(frozen=True)
class Agents:
    """Facing and held item of the agent itself, then offset, facing and held item of each of the others.

    Other 1 is the next agent by number, cyclically. If agents can leave the board, one more number says
    whether an agent is away, and the offsets from and to it are 0.
    """

    labels: tuple[str, ...]
    of_item: Callable[[Item], Numbers]
    _asks: ClassVar[tuple[str, ...]] = ("of_item",)

    def names(self, rules: Rules) -> list[str]:
        """The agent's own numbers, then a block for each other agent."""
        own = [f"facing {name}" for name in FACINGS] + [f"holds {label}" for label in self.labels]
        own += ["is away"] if rules.leaves else []
        block = ["rows", "columns", *own]
        return own + [f"other {k} {name}" for k in range(1, rules.n_agents) for name in block]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """One table over facing and item, one over the offset between two cells."""
        n, xp = rules.n_agents, rules.xp
        who = (np.arange(n)[:, None] + np.arange(1, n)) % n  # (n, n − 1)
        symbols = rules.spec.symbols
        known = dict(zip(symbols.items, symbols.of_hands(self.of_item), strict=True))
        items = labelled(self, known.__getitem__, symbols.items)
        facings = np.eye(4, dtype=np.float32)
        table = np.array([np.concatenate((facing, item)) for facing in facings for item in items], np.float32)
        offsets = OffsetTable(rules)

        def agents(state: EnvState) -> Array:
            own = rules.lookup(table, state.pose)  # (*B, n, 4 + labels)
            if rules.leaves:
                own = xp.concatenate((own, state.away[..., None].astype(np.float32)), axis=-1)
            if n == 1:
                return own
            block = xp.concatenate((offsets.between(state.pos, who), rules.pick(own, who, axis=-2)), axis=-1)
            return xp.concatenate((own, block.reshape(*state.pos.shape, -1)), axis=-1)

        return agents


@dataclass(frozen=True)
class Faced:
    """Numbers of the thing in the cell ahead; 0 off the board."""

    labels: tuple[str, ...]
    of_thing: Callable[[Thing], Numbers]
    _asks: ClassVar[tuple[str, ...]] = ("of_thing",)

    def names(self, rules: Rules) -> list[str]:
        """The labels of what the agent faces."""
        return [f"faces {label}" for label in self.labels]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """One table over the symbols."""
        table = labelled(self, self.of_thing, rules.spec.symbols.things)

        def faced(state: EnvState) -> Array:
            ahead = state.pos + rules.lookup(rules.front, state.pose)
            inside = rules.on_board(ahead) if rules.leaves else ahead
            seen = rules.lookup(table, rules.at(state.cells, inside))
            return rules.xp.where(state.away[..., None], np.float32(0), seen) if rules.leaves else seen

        return faced


@dataclass(frozen=True)
class Place:
    """What follows from where the agent stands: position, free directions, offsets to fixed things.

    `nearest` kinds give the offset to the closest one and whether there is any, `each` kinds give the same
    for every one. A direction is free if it has no thing; another agent may still stand there.
    """

    nearest: tuple[str, ...] = ()
    each: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """What a state of an open board remembers the cells of."""
        return (*self.nearest, *self.each)

    def names(self, rules: Rules) -> list[str]:
        """Position, directions, nearest, each."""
        names = ["row", "column"] + [f"free {name}" for name in FACINGS]
        targets = list(self.nearest)
        for kind in self.each:
            targets += [f"{kind} {k}" for k in range(rules.cells_of(kind).shape[1])]
        return names + [f"{target} {part}" for target in targets for part in ("exists", "rows", "columns")]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """One table over layout and cell."""
        _check_kinds(rules, self)
        targets = {kind: rules.cells_of(kind) for kind in self.kinds}
        if rules.open:
            return self._from_places(rules)
        size = len(self.names(rules)) * len(rules.boards) * rules.n_spots
        rules.check_table("the observation 'features'", size)
        numbers = [self._numbers(rules, layout, targets) for layout in range(len(rules.boards))]
        table = np.array(numbers, np.float32).reshape(len(rules.boards) * rules.n_spots, -1)

        def place(state: EnvState) -> Array:
            if state.layout is None:
                return rules.lookup(table, state.pos)
            first = state.layout.astype(np.int32)[..., None] * rules.n_spots
            return rules.lookup(table, first + state.pos.astype(np.int32))

        if not _opens_or_closes(rules):
            return place

        def place_now(state: EnvState) -> Array:
            numbers = place(state)
            return rules.xp.concatenate((numbers[..., :2], _free(rules, state), numbers[..., 6:]), axis=-1)

        return place_now

    def _from_places(self, rules: Rules) -> Callable[[EnvState], Array]:
        """On open boards: free directions of the cells as they are, offsets to the cells that reset found."""
        xp, lookup, offsets = rules.xp, rules.lookup, OffsetTable(rules)
        row, column = np.divmod(np.arange(rules.n_cells), rules.width)
        where = np.stack((scaled(row, rules.height), scaled(column, rules.width)), axis=-1, dtype=np.float32)

        def place(state: EnvState) -> Array:
            pos, shape = rules.on_board(state.pos), state.pos.shape
            nearest = [state.cells_of(kind) for kind in self.nearest]
            each = xp.concatenate([state.places[..., :0], *map(state.cells_of, self.each)], axis=-1)
            to = offsets.to(pos, nearest, each).reshape(*shape, -1)
            numbers = xp.concatenate((lookup(where, pos), _free(rules, state), to), axis=-1)
            return xp.where(state.away[..., None], np.float32(0), numbers) if rules.leaves else numbers

        return place

    def _numbers(
        self, rules: Rules, layout: int, targets: dict[str, np.ndarray[Any, Any]]
    ) -> np.ndarray[Any, Any]:
        """(places, numbers), all 0 off the board."""
        cells = np.arange(rules.n_cells)
        row, column = np.divmod(cells, rules.width)
        numbers = [scaled(row, rules.height), scaled(column, rules.width)]
        open_ = np.zeros((rules.height + 2, rules.width + 2))  # nothing outside of the map is open
        open_[1:-1, 1:-1] = (rules.boards[layout] < rules.n_walkable).reshape(rules.height, rules.width)
        numbers += [open_[row + 1 + r, column + 1 + c] for r, c in STRIDES]
        for kind in self.nearest:
            numbers += offset_to(rules, cells, closest(rules, cells, targets[kind][layout]))
        for kind in self.each:
            for target in targets[kind][layout]:
                numbers += offset_to(rules, cells, np.full_like(cells, target))
        return _with_parking(rules, np.stack(numbers, axis=-1))


def _check_kinds(rules: Rules, part: Place | Each) -> None:
    known = {rules.game.kind(thing) for thing in rules.game.legend.values()}
    for kind in part.kinds:
        if kind not in known:
            raise ValueError(
                f"{type(part).__name__} names the kind {kind!r}, but the legend has "
                f"{', '.join(sorted(known))}."
            )


def _opens_or_closes(rules: Rules) -> bool:
    """Whether a cell of a layout can later become walkable, or stop being so."""
    walkable, symbols = rules.game.walkable, rules.spec.symbols
    changes = (len({*map(walkable, rules.reachable(symbol))}) > 1 for symbol in np.unique(rules.boards))
    return any(changes) or not all(map(walkable, symbols.placed_things))


def _free(rules: Rules, state: EnvState) -> Array:
    """(*B, n, 4) float32 the directions without a thing now; none for agents off the board."""
    ahead = (state.pos[..., None] + lift(rules.ahead, state.pos.ndim + 1)).reshape(*state.pos.shape[:-1], -1)
    free = (rules.at(state.cells, rules.on_board(ahead)) < rules.n_walkable).astype(np.float32)
    return free.reshape(*state.pos.shape, 4)


@dataclass(frozen=True)
class Each:
    """Numbers of every thing of one kind, wherever the agent is."""

    kind: str
    labels: tuple[str, ...]
    of_thing: Callable[[Thing], Numbers]
    _asks: ClassVar[tuple[str, ...]] = ("of_thing",)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What a state of an open board remembers the cells of."""
        return (self.kind,)

    def names(self, rules: Rules) -> list[str]:
        """One block for each thing."""
        count = rules.cells_of(self.kind).shape[1]
        return [f"{self.kind} {k} {label}" for k in range(count) for label in self.labels]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """A table over the symbols; one more row, of zeros, for things that a layout does not have."""
        _check_kinds(rules, self)
        xp, cells = rules.xp, rules.cells_of(self.kind)  # (layouts, k)
        values = labelled(self, self.of_thing, rules.spec.symbols.things)  # (things, labels)
        table = np.concatenate((values, np.zeros_like(values[:1])))
        exists = cells >= 0
        where = np.where(exists, cells, 0).astype(rules.pos_dtype)
        everyone = np.tile(where[0], (rules.n_agents, 1))  # (n, k)

        def each(state: EnvState) -> Array:
            if rules.open:
                cells_now = state.cells_of(self.kind)  # (*B, k)
                seen = rules.at(state.cells, xp.maximum(cells_now, cells_now.dtype.type(0)))
                seen = xp.where(cells_now >= 0, seen.astype(np.int32), np.int32(len(values)))
                seen = seen[..., None, :].repeat(rules.n_agents, axis=-2)
            elif state.layout is None:
                seen = rules.pick(state.cells, everyone)  # (*B, n, k)
            else:
                seen = rules.at(state.cells, rules.lookup(where, state.layout))  # (*B, k)
                seen = xp.where(rules.lookup(exists, state.layout), seen.astype(np.int32), len(values))
                seen = seen[..., None, :].repeat(rules.n_agents, axis=-2)
            return rules.lookup(table, seen).reshape(*state.pos.shape, -1)

        return each


@dataclass(frozen=True)
class NearestLying:
    """For each label, whether such an item lies anywhere, and the offset to the closest one."""

    labels: tuple[str, ...]
    of_item: Callable[[Item], int]  # the number of its label, −1 none
    _asks: ClassVar[tuple[str, ...]] = ("of_item",)

    def names(self, rules: Rules) -> list[str]:
        """One block for each label."""
        return [f"lying {label} {part}" for label in self.labels for part in ("exists", "rows", "columns")]

    def label(self, game: Game, thing: Thing) -> int:
        """The number of the label of what lies on a thing, −1 none."""
        if (item := game.lying(thing)) is None:
            return -1
        label = self.of_item(item)
        if label not in range(-1, len(self.labels)):
            raise TypeError(
                f"NearestLying of features() has the labels {self.labels!r}, but its function returns "
                f"{brief(label)} for {brief(item)}: return the number of a label, or -1 for none."
            )
        return label

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """Cells where items can lie are ranked by distance once; a step takes the smallest rank per label."""
        xp, label_of = rules.xp, functools.partial(self.label, rules.game)
        cells = rules.cells_where(lambda thing: label_of(thing) >= 0)
        far = len(cells)
        dtype = np.min_scalar_type(
            -1 - far
        )  # narrow on NumPy too: most of the bytes are here, and it is not used as an index
        labels = rules.symbols(label_of, np.int8)
        rules.check_table("the observation 'features'", rules.n_cells * (far + 1) * 4)
        wanted = np.arange(len(self.labels), dtype=np.int8)[:, None]
        ranks = np.zeros((rules.n_cells, far), dtype)  # (cells, far) rank of each lying cell seen from a cell
        offsets = np.zeros((rules.n_cells, far + 1, 3), np.float32)  # by cell and rank
        for cell in range(rules.n_cells):
            order = np.argsort(distance(rules, cell, cells), kind="stable")
            ranks[cell, order] = np.arange(far)
            offsets[cell, :far] = np.stack(offset_to(rules, cell, cells[order]), axis=-1)
        flat = offsets.reshape(-1, 3)
        ranks = _with_parking(rules, ranks, far)  # an agent off the board sees nothing lying
        first = _with_parking(rules, np.arange(rules.n_cells) * (far + 1)).astype(np.int32)

        def nearest(state: EnvState) -> Array:
            lies = rules.lookup(labels, rules.pick(state.cells, cells))  # (*B, far)
            match = lies[..., None, None, :] == lift(wanted, lies.ndim + 2)  # (*B, 1, labels, far)
            rank = rules.lookup(ranks, state.pos)[..., None, :]  # (*B, n, 1, far)
            best = rules.backend.least(xp.where(match, rank, dtype.type(far)), far)  # (*B, n, labels)
            index = rules.lookup(first, state.pos)[..., None] + best.astype(np.int32)
            return rules.lookup(flat, index).reshape(*state.pos.shape, -1)

        return nearest


@dataclass(frozen=True)
class SlotFeature:
    """Numbers of what a slot is, for the flat observation; all agents see the same."""

    slot: str
    labels: tuple[str, ...]
    of_thing: Callable[[Thing], Numbers]
    _asks: ClassVar[tuple[str, ...]] = ("of_thing",)

    def names(self, rules: Rules) -> list[str]:
        """The labels, after the name of the slot."""
        return [f"{self.slot} {label}" for label in self.labels]

    def compile(self, rules: Rules) -> Callable[[EnvState], Array]:
        """One table over the slots' things."""
        if rules.slots is None or self.slot not in rules.slots.names:
            names = () if rules.slots is None else rules.slots.names
            raise ValueError(f"SlotFeature names the slot {self.slot!r}, but the game has {names}.")
        things, index = rules.slots.things, rules.slots.names.index(self.slot)
        can_be = [k for k, thing in enumerate(things) if (self.slot, thing) in rules.slots.can_be]
        table = np.zeros((len(things), len(self.labels)), np.float32)
        table[can_be] = labelled(self, self.of_thing, [things[k] for k in can_be])

        def feature(state: EnvState) -> Array:
            numbers = rules.lookup(table, state.slots[..., index : index + 1])  # (*B, 1, labels)
            return rules.xp.broadcast_to(numbers, (*state.pos.shape, len(self.labels)))

        return feature


def _with_parking(rules: Rules, values: np.ndarray[Any, Any], off: int = 0) -> np.ndarray[Any, Any]:
    """(cells, …) -> (places, …) with the number `off` for places off the board."""
    away = np.full((rules.n_spots - rules.n_cells, *values.shape[1:]), off, values.dtype)
    return np.concatenate((values, away))
