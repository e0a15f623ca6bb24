"""Tiles: the picture of every cell that can occur, each drawn once, on first use."""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np

from cogrid._core.author.look import AGENTS, INK, WHITE, Look, placed, text, turned
from cogrid._core.compile.actions import STRIDES
from cogrid._core.rules import Rules
from cogrid.backend.env_state import EnvState
from cogrid.render.looks import look_of_agent, look_of_item, look_of_thing
from cogrid.render.raster import Pixels, draw
from cogrid.render.shown import shown_of

MAX_TILE = 512
LYING, HELD, REACH = (
    0.72,
    0.48,
    0.26,
)  # the size of an item on a thing and in a hand, and the distance of the hand


def views_of(rules: Rules, state: EnvState) -> Pixels:
    """(*B, cells) the *view* of each cell, a number for what it shows: a thing, and who stands there.

    The state is on NumPy. Views below `n_things` are things; then come, for each thing to stand on, each
    agent in each pose; and then all of these again for every code of what slots add (`Shown`).
    """
    views: Pixels = state.cells.reshape(-1, rules.n_cells).astype(np.int64)
    if (shown := shown_of(rules)) is not None:
        views += _plain(rules) * shown.code(views, state.slots.reshape(len(views), -1))
    places = state.pos.reshape(len(views), -1)
    env, agent = np.nonzero(places < rules.n_cells)  # agents off the board are not drawn
    pos, pose = places[env, agent], state.pose.reshape(places.shape)[env, agent]
    stood = views[env, pos] % _plain(rules) * rules.n_agents + agent
    views[env, pos] = rules.n_things + stood * rules.n_poses + pose
    return views.reshape(state.cells.shape)


def _plain(rules: Rules) -> int:
    """The number of views without slots."""
    return rules.n_things + rules.n_walkable * rules.n_agents * rules.n_poses


class Tiles:
    """Pictures of the views of one spec, in one size."""

    def __init__(self, rules: Rules, size: int) -> None:
        self.rules, self.size = rules, size
        self._place = np.full(
            _plain(rules), -1, np.int32
        )  # (views,) the index of its picture, −1 if not drawn yet
        self._with_slots: dict[int, int] = {}  # the same for the views with slots that were seen
        self._pictures = np.zeros((16, size, size, 3), np.uint8)
        self._drawn = 0
        self._lock = threading.Lock()

    def pictures(self, views: Pixels) -> Pixels:
        """(*views, size, size, 3) uint8."""
        places = self._places(views)
        if (places < 0).any():
            with self._lock:
                for view in np.unique(views[places < 0]).tolist():
                    self._add(view)
            places = self._places(views)
        return self._pictures[places]

    def _places(self, views: Pixels) -> Pixels:
        """(*views) where the pictures are, −1 for those that are not drawn yet."""
        slotted = views >= len(self._place)
        if not slotted.any():
            return self._place[views]
        numbers, which = np.unique(views[slotted], return_inverse=True)
        known = [self._with_slots.get(view, -1) for view in numbers.tolist()]
        places = self._place[np.where(slotted, 0, views)]
        places[slotted] = np.array(known, np.int32)[which]
        return places

    def _add(self, view: int) -> None:
        """Another thread may be reading, so a picture is stored before its index."""
        if self._places(np.array([view]))[0] >= 0:
            return
        if self._drawn == len(self._pictures):
            self._pictures = np.concatenate([self._pictures, np.zeros_like(self._pictures)])
        self._pictures[self._drawn] = draw(look_of(self.rules, view), self.size, self.size, self.size)
        known: Any = self._place if view < len(self._place) else self._with_slots
        known[view] = self._drawn
        self._drawn += 1


def look_of(rules: Rules, view: int) -> Look:
    """The drawing of a view."""
    game, symbols = rules.game, rules.spec.symbols
    code, view = divmod(view, _plain(rules))
    if view < rules.n_things:
        thing, shown = symbols.things[view], shown_of(rules)
        added = shown.look(view, code) if shown is not None else ()
        return (*look_of_thing(rules, thing), *_held(rules, game.lying(thing), 0.5, 0.47, LYING), *added)
    stood, pose = divmod(view - rules.n_things, rules.n_poses)
    thing, agent = divmod(stood, rules.n_agents)
    facing, item = int(rules.facing[pose]), symbols.items[int(rules.held[pose])]
    down, right = STRIDES[facing]
    figure = turned(look_of_agent(rules, agent), facing)
    in_hand = _held(rules, item, 0.5 + REACH * right, 0.5 + REACH * down, HELD)
    return (*look_of(rules, thing), *figure, *_number(agent, down, right), *in_hand)


def _number(agent: int, down: int, right: int) -> Look:
    """A number on the back of agents that share their colour with an earlier one."""
    if agent < len(AGENTS):
        return ()
    x, y, words = 0.5 - 0.19 * right, 0.5 - 0.19 * down, str(agent)
    return (*text(WHITE, words, x, y, 0.22, 0.5), *text(INK, words, x, y, 0.22))


def _held(rules: Rules, item: Any, x: float, y: float, scale: float) -> Look:
    return () if item is None else placed(look_of_item(rules, item), x, y, scale)


@functools.lru_cache(maxsize=32)
def tiles_of(rules: Rules, size: int) -> Tiles:
    """The tiles of a spec in one size; the same object for the same arguments."""
    return Tiles(rules, size)
