"""The best possible return in a small kitchen where nothing is put down, by exact search.

python -m bench.experiments.optimum Overcooked-CrampedRoom-V0
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
from typing import NamedTuple

import numpy as np

import cogrid
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState

FORBIDDEN = -1e9  # points of a step that puts something down


class Moves(NamedTuple):
    """All reachable states, the start first, and what joint actions do there."""

    after: Array  # (states, joint actions) int32 the state that follows
    points: Array  # (states, joint actions) mean over the agents


def moves(env: cogrid.CoGridEnv) -> Moves:
    """Breadth-first from the start, with the environment's own step; states are numbered in that order."""
    useful = [number for number, name in enumerate(env.action_names) if name != "toggle"]
    joint = np.array(list(itertools.product(useful, repeat=env.spec.num_agents)), np.int32)
    start, _ = env.reset_fn(np.stack([rng.key(0)]))
    front = _rows(start)
    numbers, after, points = {front[0].tobytes(): 0}, [], []
    while len(front):
        led = [env.step_fn(_states(start, front), np.tile(actions, (len(front), 1))) for actions in joint]
        paid = np.stack([rewards.mean(axis=-1) for _, _, rewards, *_ in led], axis=-1)
        laid = np.stack([(env.rules.lying[state.cells] > 0).any(axis=-1) for state, *_ in led], axis=-1)
        reached = np.stack([_rows(state) for state, *_ in led], axis=1)  # (front, joint actions, row)
        distinct, where = np.unique(reached.reshape(-1, front.shape[1]), axis=0, return_inverse=True)
        where, index, new = where.reshape(laid.shape), np.zeros(len(distinct), np.int32), []
        for k in np.unique(where[~laid]).tolist():
            if (name := distinct[k].tobytes()) not in numbers:
                numbers[name] = len(numbers)
                new.append(k)
            index[k] = numbers[name]
        after.append(index[where])
        points.append(np.where(laid, FORBIDDEN, paid).astype(np.float32))
        front = distinct[new]
    return Moves(np.concatenate(after), np.concatenate(points))


def _rows(state: EnvState) -> Array:
    """(B, numbers) what distinguishes states here: things, places, facings and hands."""
    return np.concatenate([state.cells, state.pos, state.pose], axis=-1).astype(np.int16)


def _states(start: EnvState, rows: Array) -> EnvState:
    """The states of these rows, everything else as at the start."""
    names = ("cells", "pos", "pose")
    sizes = [getattr(start, name).shape[-1] for name in names]
    parts = dict(zip(names, np.split(rows, np.cumsum(sizes)[:-1], axis=-1), strict=True))
    fields = [field.name for field in dataclasses.fields(start) if field.name != "rules"]
    stored = {name: value for name in fields if (value := getattr(start, name)) is not None}
    return start.evolve(
        **{
            name: parts[name].astype(value.dtype) if name in parts else np.repeat(value, len(rows), axis=0)
            for name, value in stored.items()
        }
    )


def best_returns(known: Moves, steps: int) -> Array:
    """(steps,) the best return in 1, 2, … steps from the start."""
    value, best = np.zeros(len(known.after), np.float32), []
    for _ in range(steps):
        value = (known.points + value[known.after]).max(axis=1)
        best.append(value[0])
    return np.array(best)


def main(id: str) -> None:
    """Print the optimum, and the earliest step of each of its deliveries."""
    env = cogrid.make(id, observation="none", shadow=False)
    known = moves(env)
    best = best_returns(known, env.spec.max_steps)
    when = (np.flatnonzero(np.diff(best, prepend=0)) + 1).tolist()
    print(f"{id}: {len(known.after):,} states; at most {best[-1]:g} points in {len(best)} steps, with points")
    print(f"at the earliest in the steps {', '.join(map(str, when))}")


if __name__ == "__main__":
    main(*sys.argv[1:])
