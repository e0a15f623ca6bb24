"""Search and rescue: tools, rubble, doors, the three kinds of victims, and the end."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.author.layout import Layout
from cogrid._core.compile.spec import Spec
from cogrid.envs.search_rescue.game import SearchRescue
from cogrid.envs.search_rescue.objects import Rescuer, Victim
from cogrid.envs.search_rescue.policies import ScriptedRescuers
from tests._core.worlds import after, bounds, drawn, fresh, made
from tests.support import BACKENDS, EVERY_ID, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)
SITES = tuple(id for id in EVERY_ID if id.startswith("SearchRescue"))


def site(board: str, num_agents: int = 2, wait: int = 3) -> Spec:
    text = "\n".join(line.strip() for line in board.strip().split("\n"))
    return Spec(SearchRescue(wait=wait), (Layout("site", text),), num_agents=num_agents, max_steps=50)


def played(spec: Spec, backend: str, *joints: str) -> tuple[Any, list[Any], list[list[str]], bool]:
    """The last state, all rewards, all verbs and whether it is over; actions are one word for each agent."""
    state, paid, verbs, done = fresh(spec, backend), [], [], False
    for joint in joints:
        state, rewards, done, infos = after(spec, backend, state, *joint.split())
        paid.append(rewards.tolist())
        verbs.append(infos["verbs"])
    return state, paid, verbs, done


ROOM = """
    ######
    #1g  #
    #2r  #
    #3y  #
    ######
"""


@each_backend
def test_green_needs_a_hand_and_yellow_a_medkit(backend: str) -> None:
    spec = site(ROOM, 3)
    assert drawn(spec, backend, fresh(spec, backend)) == "^mg\n^pr\n^ny"
    state, paid, verbs, _ = played(spec, backend, "right noop right", "interact noop interact")
    assert verbs == [["", "", ""], ["rescue", "", ""]]
    assert paid[1] == [1, 1, 1]
    assert drawn(spec, backend, state) == ">m\n^pr\n>ny"


@each_backend
def test_red_needs_a_medkit_and_then_another_agent_in_time(backend: str) -> None:
    board = """
        #####
        #1r2#
        #####
    """
    spec = site(board)
    steps = ["right left", "noop interact", "interact noop"]
    state, paid, verbs, done = played(spec, backend, *steps)
    assert verbs == [["", ""], ["", ""], ["treat", ""]]  # a pickaxe does not help
    assert drawn(spec, backend, state) == ">mr+<p"
    assert not done
    again = played(spec, backend, *steps, "interact noop")[2]
    assert again[-1] == ["", ""]  # oneself is not another
    _, paid, verbs, done = played(spec, backend, *steps, "noop interact")
    assert (verbs[-1], paid[-1], done) == (["", "rescue"], [3, 3], True)
    state, _, verbs, _ = played(spec, backend, *steps, *["noop noop"] * 3, "noop interact")
    assert verbs[-1] == ["", ""]  # it waited for three steps, and must be treated again
    assert drawn(spec, backend, state) == ">mr <p"


@each_backend
def test_the_second_agent_can_come_in_the_last_moment(backend: str) -> None:
    """In the last of the `wait` steps after the one in which it was treated."""
    for wait in (1, 3):
        spec = site("#####\n#1r2#\n#####", wait=wait)
        steps = ["right left", "interact noop", *["noop noop"] * (wait - 1), "noop interact"]
        assert played(spec, backend, *steps)[2][-1] == ["", "rescue"]


@each_backend
def test_rubble_and_doors(backend: str) -> None:
    spec = site("#######\n#1k dg#\n#2xg  #\n#######")
    joint = ("noop right", "noop interact", "right noop", "toggle noop")
    state, paid, verbs, _ = played(spec, backend, *joint)
    assert verbs == [["", ""], ["", "clear"], ["", ""], ["drop", ""]]  # with full hands nothing is taken
    assert not np.any(paid)
    assert drawn(spec, backend, state) == "  >nm d g\n>p  g"
    # The key is under the medic: it goes away and comes back.
    verbs = played(spec, backend, *joint, "left noop", "right noop")[2]
    assert verbs[-1] == ["take", ""]


@each_backend
def test_a_medkit_clears_no_rubble(backend: str) -> None:
    verbs = played(site("#####\n#1xg#\n#2  #\n#####"), backend, "right noop", "interact noop")[2]
    assert verbs[-1] == ["", ""]


@each_backend
def test_a_key_unlocks(backend: str) -> None:
    spec = site("######\n#1kdg#\n#2   #\n######", num_agents=2)
    env = made(spec, backend)
    item = env.spec.symbols.item_number
    free = env.replace(fresh(spec, backend), held=np.array([item[Rescuer(0)], item[Rescuer(1, "pickaxe")]]))
    state, _, _, infos = after(spec, backend, free, "right", "noop")
    assert infos["verbs"] == ["take", ""]
    state, _, _, infos = after(spec, backend, state, "interact", "noop")
    assert infos["verbs"] == ["unlock", ""]
    assert drawn(spec, backend, state) == "  >k' g\n^p"
    state, *_ = after(spec, backend, state, "right", "noop")
    _, paid, _, infos = after(spec, backend, state, "interact", "noop")
    assert infos["verbs"] == ["rescue", ""]
    assert paid.tolist() == [1, 1]


@each_backend
def test_it_ends_when_nobody_is_left(backend: str) -> None:
    spec = site("####\n#1g#\n#2 #\n####")
    _, _, verbs, done = played(spec, backend, "right noop", "interact noop")
    assert done
    assert verbs[-1] == ["rescue", ""]


def test_shaping_rewards_what_makes_rescues_possible() -> None:
    spec = site("#####\n#2xg#\n#1  #\n#####").override(shaping=1.0)
    _, paid, verbs, _ = played(spec, "numpy", "noop right", "noop interact")
    assert verbs[-1] == ["", "clear"]
    assert paid[-1] == [0, 1]


def test_a_generated_site() -> None:
    env = cogrid.make("SearchRescue-Ruins-V0")
    state, _ = env.reset_fn(keys(3, 500))
    number, cells = env.spec.symbols.number, np.asarray(state.cells)
    for colour, count in zip(("green", "yellow", "red"), env.spec.game.victims, strict=True):
        assert (cells == number[Victim(colour)]).sum(axis=1).tolist() == [count] * 500
    debris = sum(row.count("?") for row in env.spec.layout[0].letters)
    low, high = bounds(500 * debris, 2**23)
    assert low <= (cells == number["rubble"]).sum() <= high
    assert len({row.tobytes() for row in cells}) == 500


@pytest.mark.parametrize("id", SITES)
def test_scripted_rescuers_save_all(id: str) -> None:
    env = cogrid.make(id, infos=True)
    verbs = Counter[str]()
    for seed in range(8):
        env.reset(seed=seed)
        script = ScriptedRescuers(env.rules, seed=seed, noise=0.05)
        while env.agents:
            _, _, terminated, _, infos = env.step(script.act(env.env_state))
            verbs.update(info["event"]["verb"] for info in infos.values())
        assert all(terminated.values()), f"somebody is left with seed {seed}"
    wanted = ["rescue", "treat", "clear", "take", "drop"] + ["unlock"] * ("Ruins" not in id)
    assert min(verbs[verb] for verb in wanted) >= 2, verbs


def test_wrong_options_are_named() -> None:
    for options, words in (
        ({"victims": (1, 2)}, r"victims=\(1, 2\) is not three numbers"),
        ({"victims": 5}, "victims=5 is not three numbers: give green, yellow and red ones"),
        ({"victims": (1, 2, 99)}, "the number of red victims=99"),
        ({"wait": 0}, "wait=0"),
        ({"rubble": 2.0}, "rubble=2"),
    ):
        with pytest.raises(ValueError, match=words):
            cogrid.make("SearchRescue-Office-V0", **options)
