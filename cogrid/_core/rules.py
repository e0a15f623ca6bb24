"""The rules: a spec compiled for one backend; it owns the array namespace, the symbols and the tables."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from cogrid._core.author.actions import ACTION_SETS, ENTER, STRIDES
from cogrid._core.author.answers import Aim, Event, Item, Thing
from cogrid._core.author.chance import Draws, branches, odds
from cogrid._core.author.hooks import writes
from cogrid._core.author.layout import FLOOR, check_border, start_cells
from cogrid._core.compile.asking import acts, joint_intent, starts_of, ticks_of
from cogrid._core.compile.checking import check_answers, naming_author
from cogrid._core.compile.places import Places, counted_kinds
from cogrid._core.compile.placing import placing_cells, placing_draws
from cogrid._core.compile.slots import slots_of
from cogrid._core.compile.spec import Spec
from cogrid.backend.array import Array, Backend, brief, get_backend

MAX_TABLE = 2**25  # numbers


class Rules:
    """Immutable; two of the same spec and backend are equal, and usually the same object.

    The tables are NumPy constants on every backend. A *row* of the rule tables is the number
    `((branch · intents + intent) · items + item) · things + thing`, where only chance has several branches.
    """

    def __init__(self, spec: Spec, backend: Backend) -> None:
        self.spec, self.game = spec, spec.game
        self.backend = backend
        self.xp: Any = backend.xp
        self.lookup, self.pick = backend.lookup, backend.pick
        self.at, self.put = backend.at, backend.put
        self.n_agents, self.height, self.width = spec.num_agents, spec.height, spec.width
        self.n_cells = self.height * self.width
        self.action_set = spec.action_set
        self.n_things, self.n_items = len(spec.symbols.things), len(spec.symbols.items)
        self.n_walkable = spec.symbols.n_walkable
        self.leaves = any(map(spec.game.away, spec.symbols.items))  # some hand is off the board
        self.n_spots = self.n_cells + self.leaves * self.n_agents  # where agents can be: cells, and parking
        self.cell_dtype = backend.index_dtype(self.n_things)
        self.pos_dtype = backend.index_dtype(self.n_spots + (self.width if self.leaves else 0))
        self.row_dtype = backend.index_dtype(len(spec.symbols.lines))
        self._hash = hash((spec, backend.name))
        self._compile_actions()
        self._compile_rows()
        self._compile_symbols()
        self._compile_boards()
        self._compile_chance()

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Rules) and self.backend.name == other.backend.name and self.spec == other.spec
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle contains the spec and the backend; the tables are recompiled when it is loaded."""
        return compile_rules, (self.spec, self.backend.name)

    def _compile_actions(self) -> None:
        """Tables over poses, and over choices: an action and the pose in which it is taken.

        A *pose* is the number `facing · items + item`, a *choice* is `action · poses + pose`.
        """
        game, strides = self.game, [r * self.width + c for r, c in STRIDES]
        actions = self.spec.actions
        self.n_actions, self.noop = len(actions), len(ACTION_SETS[self.action_set]) - 1
        if game.actions:  # after the last comes one more that does nothing
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
        self.first_solid = np.array(self.n_walkable, self.cell_dtype)
        facing, held = np.divmod(np.arange(self.n_poses), self.n_items)
        self.facing, self.held = facing.astype(self.agent_dtype), held.astype(self.agent_dtype)  # (poses,)
        self.ahead = np.array(strides, self.pos_dtype)  # (4,) by facing
        self.front = self.ahead[facing]  # (poses,)
        after = np.array([[a.facing_after(d) for d in facing] for a in actions])  # (actions, poses)
        can_act = self.items(lambda item: acts(game, item), bool)[held]
        can_move = self.items(lambda item: game.can_move(item) and not game.away(item), bool)[held]
        after = np.where(can_move, after, facing)
        walks = np.array([a.walks for a in actions])[:, None] & can_move
        self.stride = np.where(walks, self.ahead[after], 0).astype(self.pos_dtype).reshape(-1)  # (choices,)
        self.turn = ((after - facing) * self.n_items).astype(self.agent_dtype).reshape(-1)  # (choices,)
        intents, block = self.spec.symbols.intents, self.n_items * self.n_things
        rows = np.array([intents.index(a.intent) * block if a.intent in intents else 0 for a in actions])
        hand = np.where(can_act, rows[:, None], 0) + held * self.n_things
        self.hand = hand.astype(self.row_dtype).reshape(-1)  # (choices,) the row; the thing is added later
        self.nothing = np.zeros(self.n_agents, np.float32)  # (n,) what all are paid after the end
        self.agents = np.arange(self.n_agents, dtype=np.int32)  # (n,)

    def _compile_rows(self) -> None:
        symbols = self.spec.symbols
        rows, lines = symbols.rows, symbols.lines
        self.verbs = tuple(dict.fromkeys(["", *(outcome.verb for _, _, outcome in lines)]))
        self.left = np.array([symbols.number[o.thing] for _, _, o in rows], self.row_dtype)  # (rows,)
        number = symbols.item_number
        swap = [number[o.held] - number[held] for held, _, o in lines]
        self.swap = np.array(swap, self.agent_dtype)  # (rows,) the change of the hand, and so of the pose
        self.verb = np.array([self.verbs.index(o.verb) for _, _, o in lines], np.int16)  # (rows,)
        happens = self.verb[: len(rows)].reshape(symbols.outcomes.n_branches, -1) > 0
        self.useful: Array = happens.any(axis=0)  # (rows of one branch,) whether anything can happen
        self._compile_meetings()
        self._compile_joints()
        game = self.game
        self.enters = ENTER in symbols.intents
        #: Agents can end for reasons other than a final verb; agents can end at all.
        self.conditions = writes(game, "finished") or writes(game, "remaining")
        self.ends = bool(game.final_verbs) or self.conditions
        self.moves_first, self.swaps = game.moves_first, game.swaps
        self.final = np.array([o.verb in game.final_verbs for _, _, o in lines])  # (rows,) ends the agent
        row = np.arange(len(rows))
        closes = (row % self.n_things < self.n_walkable) & (self.left >= self.n_walkable)
        #: (rows,) what is applied to a cell in which an agent stands: an action that would close it does
        #: nothing. None in games in which no action closes a walkable thing.
        self.guard = None
        if closes.any():
            idle = row % (self.n_items * self.n_things)
            self.guard = np.where(closes, idle, row).astype(self.row_dtype)

    def _compile_meetings(self) -> None:
        """Tables of games in which agents act on each other, or look further than one cell."""
        game, symbols = self.game, self.spec.symbols
        met, number, block = symbols.meet_rows, symbols.item_number, self.n_items**2
        #: Actions look for a target.
        self.aims = bool(met) or any(game.aim(action.name) != Aim() for action in self.table_actions)
        self.first_meeting = len(symbols.rows) + len(symbols.joint_rows)
        if not met:
            return
        swap = [number[meeting.other] - number[other] for _, other, meeting in met]
        self.swap_other = np.array(swap, self.agent_dtype)  # (rows of meetings,)
        intent, held = np.divmod(self.hand // self.n_things, self.n_items)  # (choices,)
        self.meet_hand = (intent * block + held * self.n_items).astype(np.int32)  # but for the other's item
        happens = self.verb[self.first_meeting :].reshape(len(met) // (len(symbols.intents) * block), -1) > 0
        self.meet_useful: Array = happens.any(axis=0)

    def _compile_joints(self) -> None:
        """Tables of games in which the strengths of several agents add up."""
        game, symbols, rows = self.game, self.spec.symbols, self.spec.symbols.joint_rows
        self.joins, self.first_joint, self.most_strength = bool(rows), len(symbols.rows), game.most_strength
        #: Agents can act alone; always true in games without joint work.
        self.acts = not rows or bool(self.verb[: self.first_joint].any() or symbols.meet_rows)
        if not rows:
            return
        self.joint_swaps = bool(self.swap[self.first_joint : self.first_meeting].any())  # hands change
        self.joint_left = np.array([symbols.number[o.thing] for _, _, o in rows], self.cell_dtype)
        own = self.items(lambda item: game.strength(item) if acts(game, item) else 0, np.int32)
        joint = np.array([action.name == game.joint for action in self.table_actions])
        self.strength = np.where(joint[:, None], own[self.held], 0).astype(np.int32).reshape(-1)  # (choices,)
        block, intent = self.n_items * self.n_things, symbols.intents.index(joint_intent(game))
        happens = (self.verb[self.first_joint : self.first_meeting].reshape(-1, block) > 0).any(axis=0)
        self.useful[intent * block : (intent + 1) * block] |= happens
        met, pairs = bool(symbols.meet_rows), self.n_items**2
        #: The joint action can also meet an agent.
        self.joint_meets = met and bool(self.meet_useful[intent * pairs : (intent + 1) * pairs].any())

    def _compile_symbols(self) -> None:
        game, symbols, ids = self.game, self.spec.symbols, self.spec.type_ids
        lying = [game.lying(thing) for thing in symbols.things]
        self.types = np.array([ids[game.kind(thing)] for thing in symbols.things], np.int16)
        self.lying = np.array([0 if i is None else ids[game.item_name(i)] for i in lying], np.int16)
        self.item_types = np.array([-1, *(ids[game.item_name(i)] for i in symbols.items[1:])], np.int16)
        self.type_ids = ids
        after = symbols.ticks.values[: self.n_things]  # of the first branch, which is usually the only one
        self.ticked = np.array([symbols.number[thing] for thing in after], self.cell_dtype)

    def _compile_boards(self) -> None:
        game, number = self.game, self.spec.symbols.number
        boards = [[number[game.legend[c]] for row in board for c in row] for board in self.spec.boards]
        self.boards = np.array(boards, self.cell_dtype)  # (layouts, cells)
        check_border(self.height, self.width, self._holding(game.walkable))
        #: Boards are data: any cell can hold what any letter can become, and states store where things are.
        self.open, self.generates = self.spec.open, writes(game, "generate")
        kinds = counted_kinds(game) if self.open else ()
        self.places = Places({kind: self.cells_of(kind).shape[1] for kind in kinds})
        self.ticking = self.cells_where(lambda thing: ticks_of(game, thing)[0][0][0] != thing)  # (k,) cells
        starts = [start_cells(one, self.width, self.n_agents) for one in self.spec.layout]
        self.starts = np.array(starts, self.pos_dtype)  # (layouts, n)

    def _compile_chance(self) -> None:
        """The random draws of a step, and of a reset."""
        game, symbols, n = self.game, self.spec.symbols, self.n_agents
        #: (k,) the cells whose tick depends on a draw or on what is near.
        self.chancy = self.cells_where(lambda thing: len({*itertools.chain(*ticks_of(game, thing))}) > 1)
        self.picks = len(game.one_cell())
        meetings = 1 if symbols.meetings is None else symbols.meetings.n_branches
        acts = np.arange(n if max(symbols.outcomes.n_branches, meetings) > 1 else 0)
        ticking = symbols.hand_ticks
        self.live_hands = ticking.values != symbols.items
        self.slots = slots_of(self.spec)
        #: Slots reply, pay or change; if not, they keep their first value.
        self.replies = self.slots is not None and self.slots.changes
        n_slots, replies, ticks = 0, 0, 0
        if self.slots is not None:
            n_slots = len(self.slots.names)
            self.slot_dtype = self.backend.index_dtype(len(self.slots.things))
            replies = n * n_slots if self.slots.replies.n_branches > 1 else 0
            ticks = n_slots if self.slots.ticks.n_branches > 1 else 0
        self.draws = Draws(
            {
                "interact": acts,
                "reply": np.arange(replies),
                "tick slot": np.arange(ticks),
                "tick": self.chancy if symbols.ticks.n_branches > 1 else self.chancy[:0],
                "one cell": np.arange(2 * self.picks),
                "tick hand": np.arange(n if ticking.n_branches > 1 else 0),
                "return": np.arange(n if self.leaves else 0),
            }
        )
        self.chance = bool(self.draws.numbers.size)
        #: More happens at the end of a step than plain ticks.
        self.lively = bool(self.chancy.size or self.picks or self.live_hands)
        self.drawn_outcomes = bool(acts.size)
        begins = [symbols.number[t] for t in symbols.begins if starts_of(game, t) != branches(t)]
        somewhere = np.isin(self.boards, begins).any(axis=0) | (self.open and bool(begins))
        self.starting = np.flatnonzero(somewhere)  # (k,) cells
        self.first_hands = odds(symbols.hands)
        self.handed = any(item is not None for item in self.first_hands.values)
        hands = np.arange(n if self.first_hands.n_branches > 1 else 0)
        begun = {"start": self.starting, "hand": hands, "slot": np.arange(n_slots)}
        self.start_draws = Draws(begun | {"placed": placing_draws(game)})

    def on_board(self, places: Array) -> Array:
        """Cells to read: for places off the board, the last cell, a closed corner that nobody can reach."""
        return self.xp.minimum(places, self.pos_dtype.type(self.n_cells - 1)) if self.leaves else places

    def symbols(self, function: Callable[[Thing], Any], dtype: Any = None) -> Array:
        """A plain function of a thing as a table over the symbols, (things, …)."""
        return np.array([function(thing) for thing in self.spec.symbols.things], dtype)

    def items(self, function: Callable[[Item], Any], dtype: Any = None) -> Array:
        """A plain function of an item as a table, (items, …)."""
        return np.array([function(item) for item in self.spec.symbols.items], dtype)

    def events(self, function: Callable[[Event], Any], dtype: Any = None) -> Array:
        """A plain function of an event as a table over the rows; 0 where nothing happens."""
        lines = self.spec.symbols.lines
        return np.array([function(Event(o.verb, h, t, o.value)) if o.verb else 0 for h, t, o in lines], dtype)

    def check_table(self, what: str, numbers: int) -> None:
        """Raise a ValueError, before it is built, if a table would have too many numbers."""
        if numbers > MAX_TABLE:
            raise ValueError(
                f"{what} of a board of {self.height} × {self.width} cells takes a table of {numbers:,} "
                f"numbers, but at most {MAX_TABLE:,} fit: use a smaller board or another observation."
            )

    def cells_where(self, test: Callable[[Thing], bool]) -> np.ndarray[Any, Any]:
        """The cells that can ever hold a thing that passes the test, in any of the layouts."""
        found = self._holding(test)
        return np.arange(self.n_cells) if self.open and found.size else found

    def _holding(self, test: Callable[[Thing], bool]) -> np.ndarray[Any, Any]:
        passing = np.zeros(self.n_things, bool)
        for symbol in np.unique(self.boards):
            passing[symbol] = any(map(test, self.reachable(symbol)))
        found = passing[self.boards].any(axis=0)
        if any(map(test, self.spec.symbols.placed_things)):
            found |= placing_cells(self.spec).any(axis=0)
        return np.flatnonzero(found)

    def reachable(self, symbol: int) -> frozenset[Thing]:
        """Everything that a cell can become if its layout has this symbol there and nothing is placed."""
        symbols, game = self.spec.symbols, self.game
        thing = symbols.things[symbol]
        begins = [thing]
        begins += [begun for begun, _ in starts_of(game, thing)] if thing in symbols.begins else []
        if (scattered := game.scattered()) is not None and thing == game.legend[FLOOR]:
            begins.append(scattered[0])
        return frozenset().union(*map(symbols.reachable, begins))

    def cells_of(self, kind: str) -> np.ndarray[Any, Any]:
        """(layouts, k) the cells of one kind of thing in reading order, −1 where a layout has fewer."""
        of_kind = self.symbols(lambda thing: self.game.kind(thing) == kind, bool)
        found = [np.flatnonzero(of_kind[board]) for board in self.boards]
        cells = np.full((len(found), max(map(len, found))), -1, np.int32)
        for row, some in zip(cells, found, strict=True):
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
