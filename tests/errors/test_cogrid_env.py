"""Mistakes in playing one environment."""

from __future__ import annotations

import re

import numpy as np
import pytest

import cogrid
from tests.errors.support import ROOM, assert_names, complaint
from tests.support import BACKENDS, NOOP


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("agent", [0, 1])
@pytest.mark.parametrize("action", [-1, 7, 2**31, 10**30, np.int64(9), np.int8(-3)])
def test_action_out_of_range(unharmed, agent, action) -> None:
    text = complaint(lambda: unharmed.step({0: NOOP, 1: NOOP, agent: action}))
    assert_names(text, f"action {action} ", f"agent {agent} ", "out of range", "from 0 to 6")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("agent", [0, 1])
@pytest.mark.parametrize(
    "action",
    [True, np.bool_(False), 1.0, np.float32(2), "up", None, np.array([1]), np.array(1.0), [1], (1,), {}],
    ids=repr,
)
def test_action_that_is_no_integer(unharmed, agent, action) -> None:
    text = complaint(lambda: unharmed.step({0: NOOP, 1: NOOP, agent: action}), TypeError)
    assert_names(text, f"action {action!r} ", f"agent {agent} ", "integer")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("actions", "parts"),
    [
        ({0: NOOP}, ("agent 1", "missing", "[0, 1]")),
        ({1: NOOP}, ("agent 0", "missing", "[0, 1]")),
        ({}, ("agent 0", "missing", "[0, 1]")),
        ({0: NOOP, 1: NOOP, 2: NOOP}, ("agent 2", "[0, 1]")),
        ({0: NOOP, 1: NOOP, "chef": NOOP}, ("agent 'chef'", "[0, 1]")),
        ({0: NOOP, "1": NOOP}, ("agent 1", "missing", "active agents are [0, 1], and '1' (str) is not one")),
    ],
)
def test_missing_or_unknown_agent(unharmed, actions, parts) -> None:
    assert_names(complaint(lambda: unharmed.step(actions)), *parts)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("actions", [None, 6, [0, 1], np.array([0, 1])], ids=repr)
def test_actions_that_are_no_dict(unharmed, actions) -> None:
    text = complaint(lambda: unharmed.step(actions), ValueError, TypeError)
    assert re.search(r"agent|dict|mapping", text), text


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("seed", "kind", "parts"),
    [
        ("one", TypeError, ("'one'",)),
        (1.5, TypeError, ("1.5",)),
        (2**64, ValueError, (str(2**64), "64 bits")),
    ],
)
def test_bad_seed(unharmed, seed, kind, parts) -> None:
    assert_names(complaint(lambda: unharmed.reset(seed=seed), kind), "seed", *parts)


@pytest.mark.parametrize("backend", BACKENDS)
def test_before_reset(backend) -> None:
    env = cogrid.make(ROOM, backend=backend, render_mode="ansi")
    calls = (
        lambda: env.step({0: NOOP, 1: NOOP}),
        env.state,
        env.get_state,
        env.render,
        lambda: env.env_state,
    )
    for call in calls:
        assert_names(complaint(call), "before reset", "env.reset()")
    assert env.agents == []
    env.reset(seed=0)
    env.step({0: NOOP, 1: NOOP})


@pytest.mark.parametrize("backend", BACKENDS)
def test_step_after_the_end(backend) -> None:
    env = cogrid.make(ROOM, backend=backend, max_steps=2)
    env.reset(seed=0)
    for _ in range(2):
        env.step({0: NOOP, 1: NOOP})
    before = env.get_state()
    for actions in ({0: NOOP, 1: NOOP}, {}):
        assert_names(complaint(lambda actions=actions: env.step(actions)), "over", "env.reset()")
    assert env.get_state() == before
    env.reset()
    env.step({0: NOOP, 1: NOOP})


@pytest.mark.parametrize("options", [["board"], "board", 5])
@pytest.mark.parametrize("make", [cogrid.make, lambda id: cogrid.make_vec(id, 2)])
def test_options_of_a_reset_that_are_no_dict(make, options) -> None:
    text = complaint(lambda: make(ROOM).reset(seed=0, options=options), TypeError)
    assert_names(text, "options", "dict", type(options).__name__)


@pytest.mark.parametrize(("name", "meant"), [("pol", "pool"), ("boards", "board"), ("Pool", "pool")])
@pytest.mark.parametrize("make", [cogrid.make, lambda id: cogrid.make_vec(id, 2)])
def test_misspelt_options_of_a_reset(make, name, meant) -> None:
    text = complaint(lambda: make(ROOM).reset(seed=0, options={name: 1}))
    assert_names(text, repr(name), f"did you mean {meant!r}")
    make(ROOM).reset(seed=0, options={"options": 1, 5: 1})  # PettingZoo's own tests pass such ones


@pytest.mark.parametrize("ask", ["action_space", "observation_space"])
@pytest.mark.parametrize("agent", ["zzz", 2, None])
def test_spaces_of_an_unknown_agent(ask, agent) -> None:
    text = complaint(lambda: getattr(cogrid.make(ROOM), ask)(agent))
    assert_names(text, f"no agent {agent!r}", "[0, 1]")


@pytest.mark.parametrize("backend", BACKENDS)
def test_observing_what_is_not_a_state(unharmed) -> None:
    assert_names(complaint(lambda: unharmed.observe(None), TypeError), "None is not a state", "env.env_state")
