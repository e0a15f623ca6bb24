"""Goals: who may reach which, what it pays, when it ends, and where the walls are."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.author.layout import Layout
from cogrid._core.compile.spec import Spec
from cogrid.envs.goals.game import Goal, Goals
from cogrid.envs.goals.policies import ScriptedWalkers
from tests._core.worlds import after, bounds, drawn, fresh, made
from tests.support import BACKENDS, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)
SPEC = Spec(
    Goals(own_goals=1, shared_goals=1),
    (Layout("hall", "#######\n#1   2#\n#     #\n#######"),),
    action_set="moves",
    max_steps=20,
)
STEP = np.float32(-0.01)


def hall(backend: str, **goals: tuple[int, int]) -> Any:
    """The first state with the goals where they are wanted, by row and column inside of the border."""
    env = made(SPEC, backend)
    state, number = fresh(SPEC, backend), env.spec.symbols.number
    cells = np.where(np.asarray(state.cells) == number["wall"], number["wall"], number["floor"])
    for colour, (row, column) in goals.items():
        cells[(row + 1) * 7 + column + 1] = number[Goal(colour)]
    return env.replace(state, cells=cells)


@each_backend
def test_own_goals_pay_their_agent_and_shared_ones_all(backend: str) -> None:
    state = hall(backend, sky=(0, 1), orange=(0, 2), shared=(0, 3))
    assert drawn(SPEC, backend, state) == "^sGsGoGs^o\n"
    state, paid, done, infos = after(SPEC, backend, state, "right", "left")
    assert drawn(SPEC, backend, state) == "  >sGo<o\n"
    assert infos["verbs"] == ["reach", "share"]
    np.testing.assert_array_equal(paid, np.array([1 + 1, 1], np.float32) + STEP)
    assert not done
    state, paid, done, infos = after(SPEC, backend, state, "noop", "left")
    assert drawn(SPEC, backend, state) == "  >s<o\n"
    np.testing.assert_array_equal(paid, np.array([0, 1], np.float32) + STEP)
    assert done


@each_backend
def test_others_goals_are_walked_over(backend: str) -> None:
    state = hall(backend, orange=(0, 1))
    state, paid, _, infos = after(SPEC, backend, state, "right", "noop")
    assert infos["verbs"] == ["", ""]
    np.testing.assert_array_equal(paid, [STEP, STEP])
    state, *_ = after(SPEC, backend, state, "right", "noop")
    assert drawn(SPEC, backend, state) == "  Go>s  ^o\n"


def test_walls_are_drawn_and_close_nothing_off() -> None:
    env = cogrid.make("Goals-V0")
    state, _ = env.reset_fn(keys(0, 400))
    number = env.spec.symbols.number
    board = np.asarray(state.cells).reshape(400, 11, 11)
    sites = (board == number["wall"])[:, 2:-1:2, 2:-1:2]
    low, high = bounds(sites.size, 2**23)
    assert low <= sites.sum() <= high
    assert not (board == number["site"]).any()
    for one in board[:50]:
        reached, todo = {(1, 1)}, deque([(1, 1)])
        while todo:
            r, c = todo.popleft()
            near = {(r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)} - reached
            new = {place for place in near if one[place] < env.rules.n_walkable}
            reached |= new
            todo += new
        assert len(reached) == (one < env.rules.n_walkable).sum()
    for colour, count in (("sky", 1), ("orange", 1), ("shared", 2)):
        assert (board == number[Goal(colour)]).sum(axis=(1, 2)).tolist() == [count] * 400


@pytest.mark.parametrize("options", [{}, {"num_agents": 4, "colours": 4}, {"density": 1.0, "map_size": 7}])
def test_scripted_walkers_reach_all(options: dict[str, Any]) -> None:
    env = cogrid.make("Goals-V0", infos=True, **options)
    verbs, ended = Counter[str](), 0
    for seed in range(10):
        env.reset(seed=seed)
        script = ScriptedWalkers(env.rules, seed=seed, noise=0.05)
        while env.agents:
            _, _, terminated, _, infos = env.step(script.act(env.env_state))
            verbs.update(info["event"]["verb"] for info in infos.values())
        ended += all(terminated.values())
    assert ended >= 9
    assert min(verbs["reach"], verbs["share"]) >= 9


def test_wrong_options_are_named() -> None:
    for options, words in (
        ({"map_size": 10}, "map_size=10 is even"),
        ({"colours": 5}, "colours=5 is out of range"),
        ({"own_goals": 0, "shared_goals": 0}, "shared_goals=0 is out of range: it must be from 1"),
        ({"density": 2.0}, "density=2"),
    ):
        with pytest.raises(ValueError, match=words):
            cogrid.make("Goals-V0", **options)
