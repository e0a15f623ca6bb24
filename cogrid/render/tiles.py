"""Tiles: the picture of every cell that can occur, each drawn once, when it is first seen."""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np

from cogrid.backend.env_state import EnvState
from cogrid.core.actions import STRIDES
from cogrid.core.look import AGENTS, INK, WHITE, Look, placed, text, turned
from cogrid.core.rules import Rules
from cogrid.render.raster import Pixels, draw

MAX_TILE = 512
LYING, HELD, REACH = 0.72, 0.48, 0.26  # how large an item is on a thing and in a hand, and where the hand is


def views_of(rules: Rules, state: EnvState) -> Pixels:
    """(*B, cells) the *view* of each cell, a number for what it shows: a thing, and who stands there.

    The state is on NumPy. Views below `n_things` are things; then come, for each thing to stand on, each
    agent in each pose.
    """
    views: Pixels = state.cells.reshape(-1, rules.n_cells).astype(np.int64)
    places = state.pos.reshape(len(views), -1)
    env, agent = np.nonzero(places < rules.n_cells)  # who is off the board is not drawn
    pos, pose = places[env, agent], state.pose.reshape(places.shape)[env, agent]
    stood = views[env, pos] * rules.n_agents + agent
    views[env, pos] = rules.n_things + stood * rules.n_poses + pose
    return views.reshape(state.cells.shape)


class Tiles:
    """Pictures of the views of one spec, in one size."""

    def __init__(self, rules: Rules, size: int) -> None:
        self.rules, self.size = rules, size
        people = rules.n_walkable * rules.n_agents * rules.n_poses
        self._place = np.full(rules.n_things + people, -1, np.int32)  # (views,) of its picture, −1 none yet
        self._pictures = np.zeros((16, size, size, 3), np.uint8)
        self._drawn = 0
        self._lock = threading.Lock()

    def pictures(self, views: Pixels) -> Pixels:
        """(*views, size, size, 3) uint8."""
        places = self._place[views]
        if (places < 0).any():
            with self._lock:
                for view in np.unique(views[places < 0]).tolist():
                    self._add(view)
            places = self._place[views]
        return self._pictures[places]

    def _add(self, view: int) -> None:
        """Another thread may be reading: a picture is there before its place is told."""
        if self._place[view] >= 0:
            return
        if self._drawn == len(self._pictures):
            self._pictures = np.concatenate([self._pictures, np.zeros_like(self._pictures)])
        self._pictures[self._drawn] = draw(look_of(self.rules, view), self.size, self.size, self.size)
        self._place[view] = self._drawn
        self._drawn += 1


def look_of(rules: Rules, view: int) -> Look:
    """What a view is drawn of."""
    game, symbols = rules.spec.game, rules.spec.symbols
    if view < rules.n_things:
        thing = symbols.things[view]
        return (*game.look(thing), *_held(rules, game.lying(thing), 0.5, 0.47, LYING))
    stood, pose = divmod(view - rules.n_things, rules.n_poses)
    thing, agent = divmod(stood, rules.n_agents)
    facing, item = int(rules.facing[pose]), symbols.items[int(rules.held[pose])]
    down, right = STRIDES[facing]
    figure = turned(game.look_agent(agent), facing)
    in_hand = _held(rules, item, 0.5 + REACH * right, 0.5 + REACH * down, HELD)
    return (*look_of(rules, thing), *figure, *_number(agent, down, right), *in_hand)


def _number(agent: int, down: int, right: int) -> Look:
    """On the back of agents that share their colour with an earlier one."""
    if agent < len(AGENTS):
        return ()
    x, y, words = 0.5 - 0.19 * right, 0.5 - 0.19 * down, str(agent)
    return (*text(WHITE, words, x, y, 0.22, 0.5), *text(INK, words, x, y, 0.22))


def _held(rules: Rules, item: Any, x: float, y: float, scale: float) -> Look:
    return () if item is None else placed(rules.spec.game.look_item(item), x, y, scale)


@functools.lru_cache(maxsize=32)
def tiles_of(rules: Rules, size: int) -> Tiles:
    """The tiles of a spec in one size; the same object for the same question."""
    return Tiles(rules, size)
