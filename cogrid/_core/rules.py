"""The rules: a spec compiled for one backend; it owns the array namespace, the symbols and the tables."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cogrid._core.author.cells import Generated
from cogrid._core.author.layout import FLOOR, check_border, start_cells
from cogrid._core.author.values import Event, Item, Thing
from cogrid._core.compile.actions import ACTION_SETS, STRIDES
from cogrid._core.compile.asking import starts_of
from cogrid._core.compile.checking import check_answers, naming_author
from cogrid._core.compile.odds import Draws
from cogrid._core.compile.places import Places, counted_kinds
from cogrid._core.compile.placing import placing_cells
from cogrid._core.compile.slots import slots_of
from cogrid._core.compile.spec import Spec
from cogrid._core.compile.starting import starting_of
from cogrid._core.phases.clock import Clock
from cogrid._core.phases.phase import Events, Phase
from cogrid._core.phases.phases import phases_of
from cogrid._core.phases.rewards import Rewards
from cogrid._core.phases.tables.aiming import Aiming
from cogrid._core.phases.tables.rows import rows_of
from cogrid._core.see.observation import observe, observer_of
from cogrid._io.messages import brief
from cogrid.backend.array import Array, Backend, get_backend
from cogrid.backend.env_state import EnvState

P = TypeVar("P", bound=Phase)
MAX_TABLE = 2**25  # numbers


class Parts(NamedTuple):
    """The parts of a step."""

    phases: tuple[Callable[[Rules, EnvState, Events], tuple[EnvState, Events]], ...]
    observe: Callable[[Rules, EnvState], Array]


class Rules:
    """Immutable; two of the same spec and backend are equal, and usually the same object.

    The tables are NumPy constants on every backend. What belongs to one phase is in that phase.
    """

    def __init__(self, spec: Spec, backend: Backend) -> None:
        memory = spec.symbols.memory
        self.spec, self.answers = spec, memory.open
        self.game = self.answers.game
        self.backend = backend
        self.xp: Any = backend.xp
        self.lookup, self.pick = backend.lookup, backend.pick
        self.at, self.put = backend.at, backend.put
        self.n_agents, self.height, self.width = spec.num_agents, spec.height, spec.width
        self.n_cells = self.height * self.width
        self.action_set = spec.action_set
        self.n_things, self.n_items = len(spec.symbols.things), len(spec.symbols.items)
        self.n_walkable = spec.symbols.n_walkable
        self.leaves = any(spec.symbols.of_hands(self.answers.away))  # some hand is off the board
        self.n_spots = self.n_cells + self.leaves * self.n_agents  # where agents can be: cells, and parking
        self.cell_dtype = backend.index_dtype(self.n_things)
        self.pos_dtype = backend.index_dtype(self.n_spots + (self.width if self.leaves else 0))
        self.row_dtype = backend.index_dtype(len(spec.symbols.lines))
        self._hash = hash((spec, backend.name))
        self._compile_poses()
        self._compile_symbols()
        self._compile_boards()
        self.slots = slots_of(spec)
        if self.slots is not None:
            self.slot_dtype = backend.index_dtype(len(self.slots.things))
        self.rows = rows_of(self)
        self.verbs = self.rows.verbs
        #: Agents can act alone; always true in games without joint work.
        self.acts_alone = not spec.symbols.joint_rows or self.rows.acts_alone
        #: Where actions look for targets; None if all are for the thing in the cell ahead.
        self.aiming = Aiming.compile(self)
        self.phases = phases_of(self)
        rewards, clock = self.phase(Rewards), self.phase(Clock)
        assert rewards is not None
        assert clock is not None
        self.rewards, self.clock = rewards, clock
        #: Agents can end one by one.
        self.ends = bool(self.answers.ends.verbs or clock.conditions)
        #: The random draws of a step, and whether there are any.
        self.draws = Draws.of_all(phase.draws for phase in self.phases)
        self.chance = bool(self.draws.numbers.size)
        self.start = starting_of(self)
        self.observer = observer_of(self)
        phases = tuple(backend.part(phase.name, phase) for phase in self.phases)
        #: What a step calls, in order.
        self.parts = Parts(phases, backend.part("observe", observe))
        self.answers = memory.sealed  # from here on, a question that was not asked before is an error
        self.game = self.answers.game

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Rules) and self.backend.name == other.backend.name and self.spec == other.spec
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle contains the spec and the backend; the tables are recompiled when it is loaded."""
        return compile_rules, (self.spec, self.backend.name)

    def _compile_poses(self) -> None:
        """Tables over poses; those over choices, an action and a pose in which it is taken, are the phases'.

        A *pose* is the number `facing · items + item`, a *choice* is `action · poses + pose`.
        """
        actions = self.spec.actions
        self.n_actions, self.noop = len(actions), len(ACTION_SETS[self.action_set]) - 1
        if self.answers.actions:  # after the last comes one more that does nothing
            actions = (*actions, actions[self.noop])
        self.table_actions = actions
        #: What an action out of range becomes: the noop, or its copy after the game's own actions.
        self.out_of_range = len(actions) - 1
        self.n_poses = 4 * self.n_items
        self.agent_dtype = self.backend.index_dtype(self.n_poses)
        self.choice_dtype = self.backend.index_dtype(len(actions) * self.n_poses)
        #: Numbers as arrays, which take NumPy half the time; the last action by the item size of its type.
        self.last_actions = {size: np.array(self.out_of_range, f"u{size}") for size in (1, 2, 4, 8)}
        self.pose_count = np.array(self.n_poses, self.choice_dtype)
        facing, held = np.divmod(np.arange(self.n_poses), self.n_items)
        self.facing, self.held = facing.astype(self.agent_dtype), held.astype(self.agent_dtype)  # (poses,)
        self.ahead = np.array([r * self.width + c for r, c in STRIDES], self.pos_dtype)  # (4,) by facing
        self.front = self.ahead[facing]  # (poses,)

    def _compile_symbols(self) -> None:
        game, symbols, ids = self.game, self.spec.symbols, self.spec.type_ids
        lying = [game.lying(thing) for thing in symbols.things]
        for thing, item in zip(symbols.things, lying, strict=True):
            if item is not None and game.item_name(item) not in ids:
                raise ValueError(
                    f"{type(game).__name__}.lying returned {brief(item)} for thing {brief(thing)}, which no "
                    "hand can hold: return an item or None."
                )
        self.types = np.array([ids[game.kind(thing)] for thing in symbols.things], np.int16)
        self.lying = np.array([0 if i is None else ids[game.item_name(i)] for i in lying], np.int16)
        self.item_types = np.array([-1, *(ids[game.item_name(i)] for i in symbols.items[1:])], np.int16)
        self.type_ids = ids

    def _compile_boards(self) -> None:
        game, number = self.game, self.spec.symbols.number
        boards = [[number[game.legend[c]] for row in board for c in row] for board in self.spec.boards]
        self.boards = np.array(boards, self.cell_dtype)  # (layouts, cells)
        check_border(self.height, self.width, self._holding(game.walkable))
        #: Boards are data: any cell can hold what any letter can become, and states store where things are.
        self.open, self.generates = self.spec.open, self.answers.parts.one(Generated)
        kinds = counted_kinds(game) if self.open else ()
        self.places = Places({kind: self.cells_of(kind).shape[1] for kind in kinds})
        starts = [start_cells(one, self.width, self.n_agents) for one in self.spec.layout]
        self.starts = np.array(starts, self.pos_dtype)  # (layouts, n)

    def phase(self, kind: type[P]) -> P | None:
        """The phase of a kind, None if this game has no such phase."""
        return next((phase for phase in self.phases if isinstance(phase, kind)), None)

    def on_board(self, places: Array) -> Array:
        """Cells to read: for places off the board, the last cell, a closed corner that nobody can reach."""
        return self.xp.minimum(places, self.pos_dtype.type(self.n_cells - 1)) if self.leaves else places

    def symbols(self, function: Callable[[Thing], Any], dtype: Any = None) -> Array:
        """A plain function of a thing as a table over the symbols, (things, …)."""
        return np.array([function(thing) for thing in self.spec.symbols.things], dtype)

    def items(self, function: Callable[[Item], Any], dtype: Any = None) -> Array:
        """A plain function of an item as a table, (items, …)."""
        return np.array(self.spec.symbols.of_hands(function), dtype)

    def events(self, function: Callable[[Event], Any], dtype: Any = None) -> Array:
        """A plain function of an event as a table over the rows; 0 where nothing happens."""
        symbols = self.spec.symbols
        lines = symbols.lines
        return np.array([symbols.of_event(function, h, t, o) if o.verb else 0 for h, t, o in lines], dtype)

    def check_table(
        self, what: str, numbers: int, remedy: str = "use a smaller board or another observation"
    ) -> None:
        """Raise a ValueError, before it is built, if a table would have too many numbers."""
        if numbers > MAX_TABLE:
            raise ValueError(
                f"{what} for a board of {self.height} × {self.width} cells takes {numbers:,} numbers, but at "
                f"most {MAX_TABLE:,} fit: {remedy}."
            )

    def cells_where(self, test: Callable[[Thing], bool]) -> np.ndarray[Any, Any]:
        """The cells that can ever hold a thing that passes the test, in any of the layouts."""
        cells = self._holding(test)
        return np.arange(self.n_cells) if self.open and cells.size else cells

    def _holding(self, test: Callable[[Thing], bool]) -> np.ndarray[Any, Any]:
        passing = np.zeros(self.n_things, bool)
        for symbol in np.unique(self.boards):
            passing[symbol] = any(map(test, self.reachable(symbol)))
        holding = passing[self.boards].any(axis=0)
        if any(map(test, self.spec.symbols.placed_things)):
            holding |= placing_cells(self.spec).any(axis=0)
        return np.flatnonzero(holding)

    def reachable(self, symbol: int) -> frozenset[Thing]:
        """Everything that a cell can become if its layout has this symbol there and nothing is placed."""
        symbols, scattered = self.spec.symbols, self.answers.scattered
        thing = symbols.things[symbol]
        begins = [thing]
        begins += [begun for begun, _ in starts_of(self.answers, thing)] if thing in symbols.begins else []
        if scattered is not None and thing == self.game.legend[FLOOR]:
            begins.append(scattered.thing)
        return frozenset().union(*map(symbols.reachable, begins))

    def cells_of(self, kind: str) -> np.ndarray[Any, Any]:
        """(layouts, k) the cells of one kind of thing in reading order, −1 where a layout has fewer."""
        of_kind = self.symbols(lambda thing: self.game.kind(thing) == kind, bool)
        by_layout = [np.flatnonzero(of_kind[board]) for board in self.boards]
        cells = np.full((len(by_layout), max(map(len, by_layout))), -1, np.int32)
        for row, some in zip(cells, by_layout, strict=True):
            row[: len(some)] = some
        return cells


def compile_rules(spec: Spec, backend: str) -> Rules:
    """The rules of a spec on a backend; the same object for the same arguments."""
    if not isinstance(spec, Spec):
        raise TypeError(f"an environment needs a Spec, not {brief(spec)}: cogrid.make takes an id.")
    return _compiled(spec, get_backend(backend).name)


@functools.lru_cache(maxsize=256)
@naming_author
def _compiled(spec: Spec, backend: str) -> Rules:
    check_answers(spec)
    rules = Rules(spec, get_backend(backend))
    rules.backend.register(spec.game.state_type)
    return rules
