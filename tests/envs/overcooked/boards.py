"""Boards drawn in tests: a picture becomes a state, and a state a picture.

A cell is two characters, as `env.render()` draws it: `X ` a free counter, `Xo` one with an onion, `P2` a pot
with two onions, `P~` one that cooks, `P*` one that is ready, `^d` an agent that faces up and holds a dish.
"""

from __future__ import annotations

import dataclasses
import functools
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid.backend import rng
from cogrid.render import ansi
from tests.episodes import jitted
from tests.support import BACKENDS

ROOM = "Overcooked-CrampedRoom-V0"
#: Two rooms that share a counter and a pot.
SHARED = """
    X X X P X
    O > X < S
    X   P   X
    X D X D X
"""
#: The same board with a soup to deliver and an onion to pot.
POTTING = """
    X X X P X
    O   X >sS
    X >oP1  X
    X D X D X
"""

ARROWS = ">v<^"
ITEMS = {"o": "onion", "t": "tomato", "d": "dish"}

each_backend = pytest.mark.parametrize(  # tests of one backend share a worker, and so its compiled functions
    "backend", [pytest.param(b, marks=pytest.mark.xdist_group(f"kitchen rules:{b}")) for b in BACKENDS]
)


def cells_of(drawing: str) -> list[list[str]]:
    """The two characters of every cell, row by row."""
    lines = textwrap.dedent(drawing.strip("\n")).rstrip().split("\n")
    width = max(len(line) + 1 for line in lines) // 2
    return [[line.ljust(2 * width)[2 * k : 2 * k + 2] for k in range(width)] for line in lines]


def picture(drawing: str) -> str:
    """The drawing as `ansi.text` would print it."""
    return "\n".join("".join(row).rstrip() for row in cells_of(drawing))


@functools.cache
def _kitchen(layout: str, num_agents: int, backend: str, options: tuple[Any, ...]) -> cogrid.CoGridEnv:
    return cogrid.make(ROOM, backend=backend, layout=layout, num_agents=num_agents, **dict(options))


def kitchen(drawing: str, backend: str, **options: Any) -> cogrid.CoGridEnv:
    """The environment of a drawing's board and number of agents; one for all that is drawn on that board."""
    cells = [cell[0] for row in cells_of(drawing) for cell in row]
    rows = ["".join(" " if cell[0] in ARROWS else cell[0] for cell in row) for row in cells_of(drawing)]
    agents = sum(cell in ARROWS for cell in cells)
    return _kitchen("\n".join(rows) + "\n", agents, backend, tuple(sorted(options.items())))


def state_of(
    env: Any,
    drawing: str,
    *,
    order: Sequence[int] | None = None,
    soup: str = "onion,onion,onion",
    pots: Sequence[Sequence[str]] | None = None,
    timers: Sequence[int] | None = None,
) -> Any:
    """The state that a drawing shows.

    The k-th arrow in reading order is agent `order[k]`. `pots` and `timers` tell, in reading order, what the
    picture does not: ingredients other than onions, and how long a pot has still to cook.
    """
    ids, cells = env.type_ids, cells_of(drawing)

    def item(letter: str, none: int) -> int:
        return none if letter == " " else ids[f"soup:{soup}" if letter == "s" else ITEMS[letter]]

    agents = [(r, c) for r, row in enumerate(cells) for c, cell in enumerate(row) if cell[0] in ARROWS]
    agents = [agents[list(order).index(k)] for k in range(len(agents))] if order else agents
    lying = [[item(cell[1], 0) if cell[0] == "X" else 0 for cell in row] for row in cells]
    marks = [cell[1] for row in cells for cell in row if cell[0] == "P"]
    full = [["onion"] * (3 if mark in "~*" else int(mark.strip() or 0)) for mark in marks]
    contents = [[ids[name] for name in some] + [-1] * (3 - len(some)) for some in (pots or full)]
    clock = timers or [{"*": 0, "~": 7}.get(mark, -1) for mark in marks]
    plain = on_numpy(env)
    state = plain.replace(
        plain.reset_fn(rng.key(0))[0],
        agent_pos=np.array(agents),
        agent_dir=np.array([ARROWS.index(cells[r][c][0]) for r, c in agents]),
        agent_inv=np.array([[item(cells[r][c][1], -1)] for r, c in agents]),
        object_state_map=np.array(lying),
        **({"pot_contents": np.array(contents), "pot_timer": np.array(clock)} if marks else {}),
    )
    assert draw(plain, state) == picture(drawing), "the drawing is not what it shows"
    return state if env.backend == "numpy" else _moved(state, env, start(env))


def start(env: Any, keys: Any = None) -> Any:
    """The first state of an episode, or of as many as there are keys."""
    reset = env.rules.backend.compiled(env.reset_fn)
    return reset(env.rules.backend.key(rng.key(0) if keys is None else keys))[0]


@functools.cache
def on_numpy(env: Any) -> cogrid.CoGridEnv:
    """The same environment on NumPy: JAX would compile every single operation of `replace` and the views."""
    return env if env.backend == "numpy" else cogrid.CoGridEnv(env.spec, "numpy")


def read(env: Any, state: Any) -> Any:
    """The state on NumPy, to be read or replaced cheaply."""
    if env.backend == "numpy":
        return state
    plain = on_numpy(env)
    return _moved(state, plain, plain.reset_fn(np.asarray(state.words))[0])


def _moved(state: Any, env: Any, like: Any) -> Any:
    """The stored fields of a state as those of another backend's."""
    names = [f.name for f in dataclasses.fields(state) if f.name not in ("rules", "words")]
    stored = {name: np.asarray(getattr(state, name)) for name in names if getattr(state, name) is not None}
    return dataclasses.replace(
        like, **{k: env.rules.xp.asarray(v, getattr(like, k).dtype) for k, v in stored.items()}
    )


def draw(env: Any, state: Any) -> str:
    """The picture of a state."""
    return ansi.text(env.rules, state)


def step(env: Any, state: Any, actions: Sequence[int]) -> tuple[Any, list[float]]:
    """The state after one step, and what it paid to each agent."""
    state, _, rewards, _, _ = jitted(env)(state, np.array(actions, np.int32))
    return state, np.asarray(rewards).tolist()


def check(env: Any, before: str, actions: Sequence[int], after: str, paid: list[float], **more: Any) -> None:
    """One step from picture to picture, and what it pays to each agent."""
    state, rewards = step(env, state_of(env, before, **more), actions)
    assert draw(env, state) == picture(after)
    assert rewards == paid
