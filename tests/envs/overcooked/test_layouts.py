"""Boards and where agents start on them: many agents, random starts, own layouts, mixed batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cogrid
from tests.envs.overcooked.boards import ROOM, draw, each_backend, picture, read, start
from tests.episodes import jitted, shared
from tests.support import DOWN, INTERACT, LEFT, RIGHT, UP, keys


@each_backend
@pytest.mark.parametrize("agents", [1, 2, 3, 4, 5, 6])
def test_one_to_six_agents(backend, agents) -> None:
    env = cogrid.make(ROOM, backend=backend, num_agents=agents)
    obs, _ = env.reset(seed=0)
    assert list(obs) == env.agents == list(range(agents))
    state = env.env_state
    cells = read(env, state).agent_pos.tolist()
    assert cells[: min(agents, 2)] == [[2, 1], [1, 3]][:agents]
    assert len({tuple(cell) for cell in cells}) == agents
    # the first agents' digits, then the free floor in reading order
    assert cells[2:] == [[1, 1], [1, 2], [2, 2], [2, 3]][: max(0, agents - 2)]
    assert all(env.observation_space(agent).contains(obs[agent]) for agent in env.agents)
    obs, rewards, _, _, _ = env.step(dict.fromkeys(env.agents, LEFT))
    assert list(obs) == list(rewards) == env.agents


def floor_of_rooms(env) -> list[set[tuple[int, int]]]:
    """The floor cells that each agent can reach from its start, by a search of our own."""
    letters = env.spec.boards[0]
    rooms = []
    for first in env.spec.layout[0].starts:
        room, todo = set(), [first]
        while todo:
            r, c = todo.pop()
            if letters[r][c] == " " and (r, c) not in room:
                room.add((r, c))
                todo += [(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)]
        rooms.append(room)
    return rooms


@each_backend
@pytest.mark.parametrize("layout", ["ForcedCoordination", "AsymmetricAdvantages", "CrampedRoom"])
def test_random_start_within_the_own_room(backend, layout) -> None:
    env = shared(ROOM, backend, layout=layout, random_start=True)
    state = start(env, keys(1, 1000))
    where, facing = read(env, state).agent_pos, np.asarray(state.agent_dir)
    rooms = floor_of_rooms(env)
    assert (rooms[0] == rooms[1]) == (layout == "CrampedRoom")
    for agent in (0, 1):
        assert {tuple(cell) for cell in where[:, agent].tolist()} == rooms[agent]
        assert set(facing[:, agent].tolist()) == {0, 1, 2, 3}
        counts = np.unique(where[:, agent], axis=0, return_counts=True)[1]
        assert counts.min() > 0.5 * 1000 / len(rooms[agent])
    assert (where[:, 0] != where[:, 1]).any(axis=-1).all()
    assert not (read(env, state).agent_inv != -1).any()


@each_backend
def test_random_start_of_six_in_a_room_of_six(backend) -> None:
    env = shared(ROOM, backend, num_agents=6, random_start=True)
    state = start(env, keys(2, 200))
    orders = read(env, state).agent_pos.reshape(200, 6, 2)
    for cells in orders.tolist():
        assert len({tuple(cell) for cell in cells}) == 6
    assert len(np.unique(orders.reshape(200, -1), axis=0)) > 100


@each_backend
def test_own_layout(backend) -> None:
    board = """
        XXXXTXX
        O2    P
        X #1  D
        XXSXXXX
    """
    env = cogrid.make(ROOM, backend=backend, layout=board, num_agents=3)
    env.reset(seed=0)
    state = env.env_state
    assert draw(env, state) == picture(
        """
        X X X X T X X
        O ^ ^       P
        X   # ^     D
        X X S X X X X
        """
    )
    assert read(env, state).agent_pos.tolist() == [[2, 3], [1, 1], [1, 2]]
    assert read(env, state).pot_positions.tolist() == [[1, 6]]
    assert env.config["layout"] == "own-0"
    walls = read(env, state).wall_map
    letters = ["XXXXTXX", "O     P", "X #   D", "XXSXXXX"]
    assert walls.tolist() == [[int(letter != " ") for letter in row] for row in letters]
    names = {
        "X": "counter",
        "O": "onion_pile",
        "T": "tomato_pile",
        "D": "dish_pile",
        "P": "pot",
        "S": "serving",
    }
    names |= {"#": "wall", " ": "floor"}
    types = [[env.type_ids[names[letter]] for letter in row] for row in letters]
    assert read(env, state).object_type_map.tolist() == types


@each_backend
def test_layout_by_name_equals_the_registered_kitchen(backend) -> None:
    named = shared(ROOM, backend, layout="CounterCircuit")
    assert named.spec == shared("Overcooked-CounterCircuit-V0", backend).spec


MIXES = ("CrampedRoom", "CoordinationRing", "CounterCircuit")


def mixed(backend, n):
    env = shared(ROOM, backend, layout=MIXES, shaping=1.0)
    return env, start(env, keys(5, n))


@each_backend
def test_a_batch_mixes_layouts(backend) -> None:
    env, state = mixed(backend, 300)
    assert (state.height, state.width) == (5, 8)
    assert env.config["layout"] == MIXES
    numbers = np.asarray(state.layout)
    assert set(numbers.tolist()) == {0, 1, 2}
    assert np.bincount(numbers).min() > 60
    pots, timers = read(env, state).pot_positions, read(env, state).pot_timer
    types = read(env, state).object_type_map
    for number, positions in enumerate(([[0, 2], [-1, -1]], [[0, 3], [1, 4]], [[0, 3], [0, 4]])):
        some = numbers == number
        assert (pots[some] == positions).all()
    assert (timers == -1).all()
    assert (read(env, state).pot_contents == -1).all()
    assert (types[numbers == 0][:, 4, :] == env.type_ids["wall"]).all()  # padded below
    assert (types[numbers == 0][:, :, 5:] == env.type_ids["wall"]).all()  # and to the right
    assert read(env, state).wall_map[numbers == 0][:, 4, :].all()


def with_onions(env, state):
    """Every hand full, so that something happens soon."""
    onion = list(env.spec.symbols.items).index("onion")
    return env.replace(state, held=onion)


@each_backend
def test_mixed_layouts_play_like_each_alone(backend) -> None:
    env, state = mixed(backend, 24)
    numbers, state = np.asarray(state.layout), with_onions(env, state)
    generator = np.random.default_rng(0)
    choices = [UP, DOWN, LEFT, RIGHT, INTERACT, INTERACT, INTERACT]
    actions = generator.choice(choices, (80, 24, 2)).astype(np.int32)
    track = []
    for joint in actions:
        state, _, rewards, _, _ = jitted(env)(state, joint)
        track.append((read(env, state), np.asarray(rewards)))
    acted = 0
    for number, layout in enumerate(MIXES):
        alone, some = shared(ROOM, backend, layout=layout, shaping=1.0), numbers == number
        single = with_onions(alone, start(alone, keys(0, int(some.sum()))))
        for joint, (both, rewards) in zip(actions, track, strict=True):
            single, _, paid, _, _ = jitted(alone)(single, joint[some])
            plain = read(alone, single)
            for name in ("agent_pos", "agent_dir", "time"):
                np.testing.assert_array_equal(getattr(both, name)[some], getattr(plain, name))
            n_pots = plain.pot_timer.shape[-1]
            np.testing.assert_array_equal(both.pot_timer[some][:, :n_pots], plain.pot_timer)
            np.testing.assert_array_equal(rewards[some], paid)
            acted += np.count_nonzero(paid)
    assert acted > 20  # enough was potted for the comparison to mean something


@each_backend
def test_absent_pots_are_zeros_in_the_features(backend) -> None:
    env, _ = mixed(backend, 1)
    state, obs = env.rules.backend.compiled(env.reset_fn)(env.rules.backend.key(keys(5, 300)))
    names = env.feature_names
    second = [k for k, name in enumerate(names) if name.startswith("pot 1 ")]
    assert len(second) == 8  # exists, rows, columns; onions, tomatoes, cooking, ready, time left
    lacks = np.asarray(state.layout) == 0
    seen = np.asarray(obs)
    assert not seen[lacks][..., second].any()
    assert (seen[~lacks][..., names.index("pot 1 exists")] == 1).all()


@each_backend
def test_replace_leaves_absent_pots_alone(backend) -> None:
    env, state = mixed(backend, 30)
    onion = env.type_ids["onion"]
    state = env.replace(state, pot_contents=np.array([[onion, -1, -1], [onion, onion, -1]]))
    lacks = np.asarray(state.layout) == 0
    contents = read(env, state).pot_contents
    assert (contents[lacks] == [[onion, -1, -1], [-1, -1, -1]]).all()
    assert (contents[~lacks] == [[onion, -1, -1], [onion, onion, -1]]).all()


@pytest.mark.parametrize(
    ("hands", "words"),
    [
        ("onion", "hands='onion' is not a list"),
        (["leek"], "hands hold 'leek': an agent can start with onion, tomato, dish or None"),
        ([["onion"]], "an agent can start with onion, tomato, dish or None"),
    ],
)
def test_first_hands_are_checked(hands: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        cogrid.make("OvercookedAI-Tutorial1-V0", hands=hands)


def test_first_hands_may_be_a_list() -> None:
    env = cogrid.make("OvercookedAI-Tutorial1-V0", hands=["dish", None])
    env.reset(seed=0)
    assert env.env_state.held[0] == env.spec.symbols.item_number["dish"]
