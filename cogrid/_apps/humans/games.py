"""Games of overcooked_ai's human recordings: read, checked transition by transition, made into replays."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from cogrid._apps.humans.pickled_table import read_table
from cogrid._io.reading import strict_json
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.registry import make
from cogrid.replay.recording import Replay, record

# Their directions are (x, y), x to the right and y downwards.
ACTIONS = MappingProxyType({(0, -1): 0, (0, 1): 1, (-1, 0): 2, (1, 0): 3, "INTERACT": 4, (0, 0): 6})
FACINGS = MappingProxyType({(1, 0): 0, (0, 1): 1, (-1, 0): 2, (0, -1): 3})
# Their layout names, where ours differ.
KITCHENS = MappingProxyType(
    {
        "cramped_room": "CrampedRoom",
        "asymmetric_advantages": "AsymmetricAdvantages",
        "coordination_ring": "CoordinationRing",
        "random0": "ForcedCoordination",
        "random3": "CounterCircuit",
    }
)
SOUP = "soup:onion,onion,onion"
COOK_TIME = 20
WORTH = 4  # the people were shown 5 points for a soup; we have 20
FIELDS = ("cells", "pos", "pose")  # everything in a state that a step can change, except the time
MAX_TEXT = 10_000  # characters of a state


class HumanGame(NamedTuple):
    """One episode of two people: T joint actions, and the states before and after each."""

    kitchen: str  # our name for the layout
    rows: tuple[str, ...]
    pair: int  # the number of the pair of people
    actions: Array  # (T, 2) ours
    states: list[dict[str, Any]]  # T, as they were recorded
    next_states: list[dict[str, Any]]
    rewards: Array  # (T,) points of the step, 20 for a soup

    def __len__(self) -> int:
        """Number of transitions."""
        return len(self.states)

    @property
    def id(self) -> str:
        """The id of our environment."""
        return f"Overcooked-{self.kitchen}-V0"

    @property
    def overrides(self) -> dict[str, Any]:
        """The overrides of its spec: this game's starts, and its length."""
        return {"layout": "\n".join(self.rows), "max_steps": len(self), "observation": "lossless"}

    def env(self) -> CoGridEnv:
        """The kitchen of this game."""
        return make(self.id, shadow=False, **self.overrides)


class Check(NamedTuple):
    """How a game compares with the engine."""

    transitions: int
    mismatches: int
    first: str | None  # what differs first


def read_games(path: Path) -> list[HumanGame]:
    """All games of a recording; raises a ValueError of one sentence for anything else."""
    columns = read_table(path)
    try:
        games = list(_games(columns))
        for game in games:  # states are parsed here, where an error can name the file
            env = game.env()
            for states in (game.states, game.next_states):
                _arrays(env, states)
        return games
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError) as error:
        reason = f"a row lacks or misuses {str(error)[:60]!r}"
        raise ValueError(f"{path} holds a table, but not of overcooked_ai's human games: {reason}.") from None


def _games(columns: dict[str, list[Any]]) -> Iterator[HumanGame]:
    fields = ("workerid_num", "run", "layout_name", "cur_gameloop")
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row, key in enumerate(zip(*(columns[name] for name in fields[:3]), strict=True)):
        groups.setdefault(key, []).append(row)
    parse = functools.lru_cache(maxsize=4)(_plain)  # a row's state is also the state after the row before it
    for (pair, _, name), rows in groups.items():
        rows.sort(key=lambda row: columns["cur_gameloop"][row])
        layout = parse(columns["layout"][rows[0]])
        joint = [parse(columns["joint_action"][row]) for row in rows]
        yield HumanGame(
            kitchen=KITCHENS[name],
            rows=tuple(layout),
            pair=int(pair),
            actions=np.array([[_action(one) for one in actions] for actions in joint], np.int32),
            states=[parse(columns["state"][row]) for row in rows],
            next_states=[parse(columns["next_state"][row]) for row in rows],
            rewards=np.array([columns["reward"][row] * WORTH for row in rows], np.float32),
        )


def _plain(text: str) -> Any:
    """The value of a Python literal of lists, dictionaries, text and numbers, which is nearly JSON."""
    if len(text) > MAX_TEXT:
        raise ValueError(f"{text[:20]}…")
    names = text.replace("False", "false").replace("True", "true")
    return strict_json(names.replace("'", '"'))


def _action(recorded: Any) -> int:
    return ACTIONS[recorded if isinstance(recorded, str) else tuple(recorded)]


def check(game: HumanGame) -> Check:
    """Put every recorded state into the engine, take the recorded actions, and compare the next states.

    All transitions are one batch. Positions, facings, hands, counters, pots and points are compared.
    """
    env = game.env()
    keys = np.broadcast_to(rng.key(0), (len(game), 2))
    fresh, _ = env.reset_fn(keys)
    before = env.replace(fresh, **_arrays(env, game.states))
    expected = env.replace(fresh, **_arrays(env, game.next_states))
    after, _, rewards, _, _ = env.step_fn(before, game.actions)
    wrong = {"reward": rewards[:, 0] != game.rewards}
    for name in FIELDS:
        wrong[name] = (getattr(after, name) != getattr(expected, name)).any(axis=-1)
    bad = np.any(list(wrong.values()), axis=0)
    first = None
    if bad.any():
        step = int(bad.argmax())
        names = ", ".join(name for name, one in wrong.items() if one[step])
        first = f"{game.kitchen}, pair {game.pair}, step {step}: {names}"
    return Check(len(game), int(bad.sum()), first)


def _arrays(env: CoGridEnv, states: list[dict[str, Any]]) -> dict[str, Array]:
    """The fields that `env.replace` takes, with a leading axis over the states."""
    ids, count = env.type_ids, len(states)
    first: Any = env.reset_fn(rng.key(0))[0]  # a kitchen's, which has pots
    pots = [tuple(cell) for cell in first.pot_positions.tolist()]
    lying = np.zeros((count, env.spec.height, env.spec.width), np.int32)
    contents = np.full((count, len(pots), 3), -1, np.int32)
    timers = np.full((count, len(pots)), -1, np.int32)
    for number, state in enumerate(states):
        for thing in state["objects"].values():
            column, row = thing["position"]
            if (row, column) in pots:
                pot, (_, onions, cooked) = pots.index((row, column)), thing["state"]
                contents[number, pot, :onions] = ids["onion"]
                timers[number, pot] = max(0, COOK_TIME - cooked) if onions == 3 else -1
            else:
                lying[number, row, column] = ids[_item(thing)]
    players = [state["players"] for state in states]
    return {
        "agent_pos": np.array([[one["position"][::-1] for one in both] for both in players], np.int32),
        "agent_dir": np.array([[FACINGS[tuple(one["orientation"])] for one in both] for both in players]),
        "agent_inv": np.array([[[_held(ids, one)] for one in both] for both in players], np.int32),
        "object_state_map": lying,
        "pot_contents": contents,
        "pot_timer": timers,
    }


def _held(ids: dict[str, int], player: dict[str, Any]) -> int:
    return ids[_item(player["held_object"])] if "held_object" in player else -1


def _item(thing: dict[str, Any]) -> str:
    return SOUP if thing["name"] == "soup" else str(thing["name"])


def replay_of(game: HumanGame) -> Replay:
    """The game as a replay from its first recorded state."""
    env = game.env()
    usual, _ = env.reset_fn(rng.key(0))
    first = {name: array[0] for name, array in _arrays(env, game.states[:1]).items()}
    start = env.replace(usual, **first)
    same = all(np.array_equal(getattr(start, name), getattr(usual, name)) for name in FIELDS)
    about = {"people": [0, 1], "pair": game.pair, "source": "overcooked_ai, 2019"}
    replay = record(env, game.actions, 0 if same else start, metadata=about)
    # Several ids make this board; the game's own id says where it was played.
    return dataclasses.replace(replay, id=game.id, overrides=game.overrides)
