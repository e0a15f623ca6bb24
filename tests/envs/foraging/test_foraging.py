"""Foraging: loads alone and together, rewards, the order of moving, what reset draws and foragers see."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._apps.play.session import Session
from cogrid._core.compile.spec import Spec
from cogrid.envs.foraging.objects import Food, Skill
from cogrid.envs.foraging.policies import ScriptedForagers
from cogrid.replay.recording import Recorder
from tests._core.worlds import after, bounds, drawn, fresh, made
from tests.support import BACKENDS, EVERY_ID, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)
BASE = cogrid.make("Foraging-8x8-2p-3f-V0").spec
SMALL = BASE.override(field_size=5, num_agents=3, max_player_level=3)
FIELDS = tuple(id for id in EVERY_ID if id.startswith("Foraging"))


def placed(spec: Spec, backend: str, board: str) -> Any:
    """A state from a drawing: a digit is a forager of that level, in reading order, f and a digit is food."""
    rows = [line.strip() for line in board.strip().split("\n")]
    cells = [[row[k : k + 2] for k in range(0, len(row), 2)] for row in rows]
    field, people = np.zeros((len(cells), len(cells[0])), int), []
    for r, row in enumerate(cells):
        for c, cell in enumerate(row):
            if cell[0] == "f":
                field[r, c] = int(cell[1])
            elif cell[0] == "a":
                people.append((r + 1, c + 1, int(cell[1])))
    env = made(spec, backend)
    state = fresh(spec, backend)
    # The walls take no food away, so that the old one goes first.
    clear = env.replace(state, field=np.zeros_like(field), agent_pos=[place[:2] for place in people])
    held = [env.spec.symbols.item_number[Skill(place[2])] for place in people]
    slots = {} if env.rules.slots is None else {"slots": np.array([env.rules.slots.number[int(field.sum())]])}
    return env.replace(clear, field=field, held=np.array(held), agent_dir=np.full(len(people), 3), **slots)


@each_backend
@pytest.mark.parametrize(
    ("joint", "verbs", "rewards"),
    [
        (("load", "noop", "noop"), ["fail", "", ""], [0, 0, 0]),  # 1 is not 4
        (("load", "load", "noop"), ["load", "load", ""], [1 / 4, 3 / 4, 0]),
        (("load", "load", "load"), ["load", "load", "load"], [1 / 6, 3 / 6, 2 / 6]),
        (("noop", "noop", "load"), ["", "", "fail"], [0, 0, 0]),
    ],
)
def test_levels_add_up_and_share(backend: str, joint: Any, verbs: Any, rewards: Any) -> None:
    state = placed(
        SMALL,
        backend,
        """
        ..........
        ..a1......
        ..f4a3....
        ..a2......
        ..........
        """,
    )
    state, paid, done, infos = after(SMALL, backend, state, *joint)
    assert infos["verbs"] == verbs
    np.testing.assert_array_equal(paid, np.array(rewards, np.float32))
    assert done == ("load" in verbs)
    assert (np.asarray(state.field).sum() == 0) == done


@each_backend
def test_the_field_before_and_after(backend: str) -> None:
    board = """
        ..........
        ..a1f1....
        ..........
        ..f3a2..a3
        ..........
        """
    state = placed(SMALL, backend, board)
    assert drawn(SMALL, backend, state) == "\n  ^lf1\n\n  f3^l  ^l\n"
    state, paid, *_ = after(SMALL, backend, state, "load", "load", "left")
    assert drawn(SMALL, backend, state) == "\n  ^l\n\n  f3^l<l\n"
    np.testing.assert_array_equal(paid, np.array([1 / 4, 0, 0], np.float32))
    state, paid, *_ = after(
        SMALL, backend, state, "noop", "left", "load"
    )  # food is no floor; 3 is not beside
    assert drawn(SMALL, backend, state) == "\n  ^l\n\n  f3<l<l\n"
    assert not paid.any()


@each_backend
def test_food_that_is_loaded_was_in_the_way(backend: str) -> None:
    state = placed(SMALL, backend, "..........\n..a2f2a1..\n..........\n..f1....a3\n..........")
    state, paid, *_ = after(SMALL, backend, state, "load", "left", "noop")
    assert drawn(SMALL, backend, state) == "\n  ^l  <l\n\n  f1    ^l\n"
    assert paid[0] > 0


@each_backend
def test_a_failed_load_has_its_price_and_rewards_may_be_plain(backend: str) -> None:
    spec = SMALL.override(penalty=0.1, normalize_reward=False)
    state = placed(spec, backend, "..........\n..a1f3a2..\n..........\n......f2a1\n..........")
    assert state.slots is None
    _, paid, *_ = after(spec, backend, state, "load", "noop", "load")
    np.testing.assert_array_equal(paid, np.array([-0.1, 0, -0.1], np.float32))
    _, paid, *_ = after(spec, backend, state, "load", "load", "up")
    np.testing.assert_array_equal(paid, np.array([3, 6, 0], np.float32))


@each_backend
@pytest.mark.parametrize(
    ("joint", "row", "columns"),
    [
        (("right", "left", "noop"), "  <l>l  ^l", [2, 1, 4]),  # they change places
        (("right", "right", "left"), "  >l>l  <l", [1, 2, 4]),  # a contest, and who follows stays too
        (("right", "right", "noop"), "    >l>l^l", [2, 3, 4]),  # a row moves on
    ],
)
def test_moving(backend: str, joint: Any, row: str, columns: Any) -> None:
    state = placed(SMALL, backend, "..........\n..........\n..a1a2..a3\n......f2..\n..........")
    state, *_ = after(SMALL, backend, state, *joint)
    assert (np.asarray(state.agent_pos)[:, 1] - 1).tolist() == columns
    assert drawn(SMALL, backend, state).split("\n")[2] == row


@pytest.mark.parametrize("id", FIELDS)
def test_what_reset_draws(id: str) -> None:
    env = cogrid.make(id)
    state, _ = env.reset_fn(keys(2, 4000))
    field, game, levels = np.asarray(state.field), env.spec.game, np.asarray(state.agent_level)
    assert field[:, 1:-1, 1:-1].sum() == field.sum() > 0  # none at the edge
    for one in field[:300]:
        foods = np.argwhere(one)
        apart = abs(foods[:, None] - foods).sum(axis=-1) + 9 * np.eye(len(foods), dtype=int)
        assert apart.min() >= 3
        assert 1 <= len(foods) <= game.max_num_food
    most = np.sort(levels, axis=-1)[:, :3].sum(axis=-1)
    assert (field.max(axis=(1, 2)) <= most).all()
    if game.force_coop:
        assert ((field == 0) | (field == most[:, None, None])).all()
    low, high = bounds(levels.size, 2**23)
    assert low <= (levels == 1).sum() <= high
    assert len({state.pos[k].tobytes() for k in range(100)}) > 90
    spawned = np.array(env.rules.slots.things)[state.slots[:, 0]]
    np.testing.assert_array_equal(spawned, field.sum(axis=(1, 2)))


def test_every_free_cell_is_as_likely() -> None:
    env = cogrid.make("Foraging-8x8-2p-3f-V0", max_num_food=1, num_agents=1)
    state, _ = env.reset_fn(keys(4, 20_000))
    hits = (np.asarray(state.field) > 0).sum(axis=0)[1:-1, 1:-1]
    low, high = bounds(20_000, round(2**24 / 36), 1e-7)
    assert low <= hits.min() <= hits.max() <= high


def test_a_small_field_holds_less_food() -> None:
    env = cogrid.make("Foraging-8x8-2p-3f-V0", field_size=5, max_num_food=4)
    state, obs = env.reset_fn(keys(1, 500))
    counts = Counter((np.asarray(state.field) > 0).sum(axis=(1, 2)).tolist())
    assert set(counts) == {1, 2}, counts  # the middle closes all the rest
    assert (obs[:, :, 9:12] == [-1, -1, 0]).all()


@each_backend
def test_what_is_seen(backend: str) -> None:
    spec = SMALL.override(sight=1, window=3)
    board = "..........\n..a1f1....\n..........\n..f3a2..a3\n.........."
    env = made(spec, backend)
    state = placed(spec, backend, board)
    see = env.rules.backend.compiled(env.step_fn)(state, np.full(3, env.rules.noop))[1]
    vectors = np.asarray(see)
    assert vectors[0].tolist() == [1, 2, 1, -1, -1, 0, -1, -1, 0, 1, 1, 1, -1, -1, 0, -1, -1, 0]
    assert vectors[1].tolist() == [1, 0, 3, -1, -1, 0, -1, -1, 0, 1, 1, 2, -1, -1, 0, -1, -1, 0]
    corner = placed(spec, backend, "a1........\n..f1..a2..\n..........\n..........\n........a3")
    vectors = np.asarray(env.rules.backend.compiled(env.step_fn)(corner, np.full(3, env.rules.noop))[1])
    assert vectors[0].tolist()[:3] == [1, 1, 1]
    assert vectors[0].tolist()[9:12] == [0, 0, 1]  # counted from the field's corner
    whole = made(SMALL, backend)
    vectors = np.asarray(
        whole.rules.backend.compiled(whole.step_fn)(placed(SMALL, backend, board), np.full(3, 4))[1]
    )
    assert vectors[2].tolist() == [1, 2, 1, 3, 1, 3, -1, -1, 0, 3, 4, 3, 1, 1, 1, 3, 2, 2]


def listed(env: Any, state: Any, agent: int) -> list[float]:
    """The food in an agent's sight in reading order, by a plain search."""
    game, (row, column) = env.spec.game, np.asarray(state.agent_pos)[agent] - 1
    sight = game.field_size if game.sight is None else game.sight
    corner = max(row - sight, 0), max(column - sight, 0)
    found = []
    for r, c in np.argwhere(np.asarray(state.field)):
        if max(abs(r - row), abs(c - column)) <= sight:
            found += [r - corner[0], c - corner[1], int(state.field[r, c])]
    return (found + [-1, -1, 0] * game.max_num_food)[: 3 * game.max_num_food]


SMALLER = (
    {"field_size": 12, "max_num_food": 6},  # a few words of bits hold where food is
    {"field_size": 20, "max_num_food": 10, "sight": 6},
)
#: The same text as on the smaller ones, and long to compile.
LARGER = (
    {"field_size": 100, "max_num_food": 5, "num_agents": 3, "sight": 40},
    {"field_size": 100, "max_num_food": 25, "num_agents": 127},
)


@pytest.mark.parametrize(
    ("backend", "options"),
    [*((backend, options) for backend in BACKENDS for options in SMALLER), *(("numpy", o) for o in LARGER)],
)
def test_food_is_listed_on_fields_of_every_size(backend: str, options: dict[str, Any]) -> None:
    env = cogrid.make("Foraging-8x8-2p-3f-V0", backend, **options)
    obs, _ = env.reset(seed=1)
    foods = options["max_num_food"]
    assert (np.asarray(env.env_state.field) > 0).sum() == foods
    for agent in env.agents[:5]:
        assert np.asarray(obs[agent])[: 3 * foods].tolist() == listed(env, env.env_state, agent)


def test_strong_foragers_and_their_food() -> None:
    """Levels of two digits fit into a cell of the drawing, and four of the strongest add up."""
    spec = BASE.override(field_size=5, num_agents=4, max_player_level=4, max_food_level=16)
    env, state = made(spec, "numpy"), fresh(spec, "numpy")
    field = np.zeros((5, 5), int)
    field[2, 2] = 16
    held = np.full(4, env.spec.symbols.item_number[Skill(4)])
    state = env.replace(state, field=np.zeros_like(field), agent_pos=[(2, 3), (3, 2), (3, 4), (4, 3)])
    state = env.replace(state, field=field, held=held)
    assert "16" in drawn(spec, "numpy", state)
    _, paid, done, infos = after(spec, "numpy", state, "load", "load", "load", "load")
    assert infos["verbs"] == ["load"] * 4
    assert done
    assert paid.min() > 0


@pytest.mark.parametrize("id", FIELDS)
def test_scripted_foragers_load_nearly_all(id: str) -> None:
    env = cogrid.make(id, infos=True)
    paid, verbs = [], Counter[str]()
    for seed in range(3):
        env.reset(seed=seed)
        script, total = ScriptedForagers(env.rules, seed=seed), 0.0
        while env.agents:
            _, rewards, _, _, infos = env.step(script.act(env.env_state))
            total += sum(rewards.values())
            verbs.update(info["event"]["verb"] for info in infos.values())
        paid.append(total)
    assert np.mean(paid) > 0.9, paid
    assert min(verbs["load"], verbs["fail"]) > 0, verbs


def test_every_id_of_lbforaging_is_made_by_name() -> None:
    env = cogrid.make("Foraging-grid-4s-12x12-5p-6f-coop-V0", penalty=0.1)
    game = env.spec.game
    assert (game.field_size, env.spec.num_agents, game.max_num_food, game.sight) == (12, 5, 6, 4)
    assert game.force_coop
    assert game.penalty == 0.1
    assert env.reset(seed=0)[0][0].shape == (9, 9, 3)
    assert cogrid.options("Foraging-5x5-4p-1f-V0")["observation"] == "features"
    assert "Foraging-5x5-4p-1f-V0" not in cogrid.registered()
    recorder = Recorder(cogrid.make("Foraging-2s-5x5-4p-1f-V0"))
    recorder.reset(seed=0)
    recorder.step(dict.fromkeys(range(4), 5))
    recorder.replay().verify("numpy")
    session = Session("Foraging-5x5-4p-1f-V0")
    assert session.id in session.greet()[0]["ids"]
    for id in ("Foraging-5x6-4p-1f-V0", "Foraging-5x5-4p-1f-V1", "Foraging-05x05-4p-1f-V0"):
        with pytest.raises(ValueError, match=f"unknown environment id '{id}': did you mean"):
            cogrid.make(id)
    with pytest.raises(ValueError, match="field_size=200 is out of range: it must be from 3 to 100"):
        cogrid.make("Foraging-200x200-2p-3f-V0")


def test_wrong_options_are_named() -> None:
    for options, words in (
        ({"field_size": 2}, "field_size=2 is out of range"),
        ({"min_player_level": 3}, "min_player_level=3 is out of range: it must be from 1 to 2"),
        ({"sight": 0}, "sight=0"),
        ({"penalty": -1}, "penalty=-1"),
        ({"food": 3}, "has no option 'food'"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            cogrid.make("Foraging-8x8-2p-3f-V0", **options)
    with pytest.raises(
        ValueError, match=r"layout 'own-0' has no room for what reset places: .* 2 or more cells"
    ):
        cogrid.make("Foraging-8x8-2p-3f-V0", layout="#####\n#1 2#\n#   #\n#####")
    env = made(SMALL, "numpy")
    with pytest.raises(ValueError, match="no food of level 99: levels are"):
        env.replace(fresh(SMALL, "numpy"), field=np.full((5, 5), 99))
    with pytest.raises(TypeError, match="ScriptedForagers plays Foraging, not Kitchen"):
        ScriptedForagers(cogrid.make("Overcooked-CrampedRoom-V0").rules)


def test_food_shows_its_level_in_two_characters() -> None:
    glyph = cogrid.make("Foraging-8x8-2p-3f-V0").spec.game.looks().glyph
    assert glyph is not None
    assert [glyph(Food(level)) for level in (1, 9, 10, 12)] == ["f1", "f9", "10", "12"]
