"""Boards as data: given to reset, drawn by a game, repaired if traced; and pools to begin from."""

from __future__ import annotations

import functools
import json
import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid._core.state.boards import letters_of, read
from cogrid._core.state.reset import reset
from cogrid.author import (
    Agents,
    Chance,
    Each,
    Faced,
    Game,
    Generated,
    Near,
    NearestLying,
    OneCell,
    Outcome,
    Part,
    Place,
    Planes,
    Reward,
    Sketch,
    Spec,
)
from cogrid.backend import rng
from cogrid.replay import recording as replay
from cogrid.testing.conformance import check_env
from tests._core.worlds import after, bounds, drawn, made, parity, picture
from tests.support import BACKENDS, HAS_JAX, assert_same, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)
KITCHEN = "Overcooked-CrampedRoom-V0"
KITCHENS = ["CrampedRoom", "AsymmetricAdvantages", "CoordinationRing", "ForcedCoordination"]
BOUNDS = """
##########
#1.t.t  2#
#..wbb...#
#..w.b.s #
##########
"""


@dataclass(frozen=True)
class Orchard(Game):
    """Trees bear by chance and by what is near, weeds spread, apples go to a basket or lie on a stump."""

    legend: ClassVar[Any] = {
        **{
            " ": "floor",
            "#": "wall",
            ".": "grass",
            "t": "tree",
            "w": "well",
            "b": "basket",
            "s": ("stump", None),
        }
    }

    def walkable(self, thing: Any) -> bool:
        return thing in ("floor", "grass", "weed")

    def lying(self, thing: Any) -> Any:
        return thing[1] if isinstance(thing, tuple) and thing[0] == "stump" else None

    def start(self, thing: Any) -> Any:
        return Chance(("grass", 3), ("weed", 1)) if thing == "grass" else thing

    def grow(self, thing: Any, wells: int) -> Any:
        match thing:
            case "well", steps:
                return "well" if steps == 3 else ("well", steps + 1)
            case "tree":
                return Chance(("ripe", 3 + wells), ("tree", 7 - wells))
        return thing

    def parts(self) -> tuple[Part, ...]:
        return (
            Near(lambda thing: thing == "well", self.grow, most=2),
            OneCell(lambda thing: thing == "grass", lambda thing: "weed", 1, 9),
        )

    def interact(self, held: Any, thing: Any) -> Any:
        match held, thing:
            case None, "ripe":
                return Outcome("apple", "tree", "pick")
            case "apple", "basket":
                return Outcome(None, thing, "store", 1.0)
            case "apple", ("stump", None):
                return Outcome(None, ("stump", "apple"), "lay")
            case None, ("stump", "apple"):
                return Outcome("apple", ("stump", None), "lift")
            case _, "well":
                return Outcome(held, ("well", 0), "draw water")
        return None

    def rewards(self) -> Any:
        return (
            Reward("score", lambda event: event.value),
            Reward(
                "scarce",
                lambda event: float(event.verb == "pick"),
                supply=lambda thing, item: int(item == "apple" or thing == ("stump", "apple")),
                demand=lambda thing: int(thing == "basket"),
            ),
        )

    def features(self) -> Any:
        return (
            Agents(("apple",), lambda item: (float(item == "apple"),)),
            Place(nearest=("basket", "tree"), each=("well",)),
            Faced(("ripe",), lambda thing: (float(thing == "ripe"),)),
            Each("well", ("filling",), lambda thing: (float(thing != "well"),)),
            NearestLying(("apple",), lambda item: 0),
        )

    def planes(self) -> Planes:
        return Planes(
            ("tree", "agent"),
            thing=lambda thing: {"tree": int(thing in ("tree", "ripe"))},
            agent=lambda own, facing, held: {"agent": 1 + own},
        )


@dataclass(frozen=True)
class Grown(Orchard):
    """An orchard of every key's own: grass, one or two trees, a basket, a stump and a well."""

    def parts(self) -> tuple[Part, ...]:
        return *super().parts(), Generated(self.plant)

    def plant(self, sketch: Sketch) -> Any:
        xp, inside = sketch.xp, (sketch.rows > 0) & (sketch.rows < sketch.height - 1)
        inside = inside & (sketch.columns > 0) & (sketch.columns < sketch.width - 1 - sketch.below(3))
        board = xp.where(inside, sketch.code("."), sketch.full("#"))
        for letter in "12tbsw":
            board = xp.where(sketch.pick(board == sketch.code(".")), sketch.code(letter), board)
        more = (sketch.below(2) == 1) & sketch.pick(board == sketch.code("."))
        return xp.where(more, sketch.code("t"), board).reshape(*board.shape[:-1], sketch.height, sketch.width)


@dataclass(frozen=True)
class Broken(Orchard):
    """Draws a tree where agents may stand on the edge, for about half of the keys."""

    def parts(self) -> tuple[Part, ...]:
        return *super().parts(), Generated(self.plant)

    def plant(self, sketch: Sketch) -> Any:
        first = (sketch.rows == 0) & (sketch.columns == 1) & (sketch.below(2) == 0)
        inside = (sketch.rows > 0) & (sketch.rows < sketch.height - 1) & (sketch.columns == 2)
        board = sketch.xp.where(inside, sketch.code(" "), sketch.full("#"))
        return sketch.xp.where(first, sketch.code("."), board)


@dataclass(frozen=True)
class Drawn(Orchard):
    """Draws whatever it is given."""

    draw: Any = None

    def parts(self) -> tuple[Part, ...]:
        return *super().parts(), Generated(self.draw)


OPEN = Spec(Orchard(), BOUNDS, max_steps=400, any_board=True)
GROWN = Spec(Grown(), BOUNDS, max_steps=400)


@pytest.mark.parametrize(
    ("board", "words"),
    [
        (None, "None"),
        ((3,), r"\(3,\)"),
        (np.int32(3), r"an array of int32 and shape \(\)"),
        (np.zeros(3), r"an array of float64 and shape \(3,\)"),
    ],
    ids=repr,
)
def test_what_is_no_board(board: Any, words: str) -> None:
    drew = (
        rf"^Generated\.draw of Drawn returned {words}: return an array of codes, whole numbers, of shape \("
    )
    with pytest.raises(TypeError, match=drew):
        cogrid.CoGridEnv(Spec(Drawn(lambda sketch: board), BOUNDS, max_steps=400)).reset(seed=0)


def begun(env: Any, *arguments: Any, **keywords: Any) -> Any:
    """The first state, compiled where the backend compiles."""
    return env.rules.backend.compiled(env.reset_fn)(*arguments, **keywords)[0]


@each_backend
def test_a_board_of_ones_own(backend: str) -> None:
    env = made(OPEN, backend)
    board = env.encode_board("#######\n#2s1 w#\n#     #\n###b###")
    assert (board.shape, board.dtype) == ((5, 10), np.int8)
    state = env.reset_fn(rng.key(0), board)[0]
    assert drawn(OPEN, backend, state) == picture(
        """
        ^ s ^   w # # #
                  # # #
        # # b # # # # #
        """
    )
    assert np.asarray(state.agent_pos).tolist() == [[1, 3], [1, 1]]
    assert np.asarray(state.positions_of("well")).tolist() == [[1, 5], [-1, -1]]
    assert np.asarray(state.positions_of("basket")).tolist() == [[3, 3], [-1, -1], [-1, -1]]
    assert not bool(state.repaired)
    for joint in (("right", "down"), ("interact", "right"), ("noop", "right")):
        state, _, _, told = after(OPEN, backend, state, *joint)
        assert told["verbs"] == ["draw water" if joint[0] == "interact" else "", ""]
    assert drawn(OPEN, backend, state) == picture(
        """
          s   > w # # #
            >     # # #
        # # b # # # # #
        """
    )
    state, _, _, _ = after(OPEN, backend, state, "noop", "down")
    seen = dict(zip(env.feature_names, np.asarray(observed(env, state))[1].tolist(), strict=True))
    assert seen["basket exists"] == 1.0
    assert seen["basket rows"] == 0.25
    assert seen["basket columns"] == 0.0
    assert seen["free down"] == 0.0
    assert seen["free right"] == 1.0
    assert (seen["well 0 exists"], seen["well 1 exists"]) == (1.0, 0.0)
    assert (seen["well 0 filling"], seen["well 1 filling"]) == (1.0, 0.0)
    with pytest.raises(ValueError, match="the cells of 'grass' are not remembered"):
        state.positions_of("grass")


def observed(env: Any, state: Any) -> Any:
    """What the agents see of a state."""
    return env.rules.backend.compiled(env._functions.observe)(state)


WRONG = {
    "###\n#1#\n###\n###\n###\n###": "has 6 × 3 cells, but the layouts of this spec leave room for 5 × 10",
    "####\n#1q#\n####": "has the unknown character 'q' at row 1, column 2",
    "#.##\n#12#\n####": "has a floor cell on the outer edge at row 0, column 1",
    "####\n#1 1\n####": "has a floor cell on the outer edge at row 1, column 3",
    "#####\n#1 1#\n#####": "has start 1 twice",
    "####\n#1t#\n####": "board has too few spawn cells for 2 agents: leave more floor",
    "######\n#12  #\nwwwtt#\n######": "has 'w' at row 2, column 2, but at most 2 of 'well' fit",
}


@each_backend
@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_text_is_an_error(backend: str, text: str) -> None:
    with pytest.raises(ValueError, match=WRONG[text]):
        made(OPEN, backend).encode_board(text)


@each_backend
def test_wrong_codes_are_an_error(backend: str) -> None:
    env = made(OPEN, backend)
    good = env.encode_board(["####\n#12#\n####", "#####\n#2t1#\n#####"])

    def refused(place: tuple[int, ...], code: int, match: str) -> None:
        wrong = good.copy()
        wrong[place] = code
        with pytest.raises(ValueError, match=match):
            env.reset_fn(keys(0, 2), wrong)
        with pytest.raises(ValueError, match=match):
            env.reset(seed=0, options={"board": wrong[place[0]]})

    code = {letter: number for number, letter in enumerate(letters_of(env.rules).letters)}
    refused(
        (1, 1, 2), 99, "board( 1)? has code 99 .None. at row 1, column 2, which no layout of this spec has"
    )
    refused((0, 1, 2), -1, "board( 0)? has code -1 .None. at row 1, column 2")
    refused((1, 0, 2), code["."], "board( 1)? has '.' at row 0, column 2, on the outer edge")
    refused((0, 0, 0), code["3"], "board( 0)? has '3' at row 0, column 0, on the outer edge")
    refused((1, 1, 2), code["2"], "board( 1)? has '2' at row 1, column 2, a start that occurs twice")
    with pytest.raises(ValueError, match=r"board has shape \(5, 9\), but a board of this spec has 5 × 10"):
        env.reset_fn(rng.key(0), good[0, :, :9])
    with pytest.raises(ValueError, match="give one board, or one for each key"):
        env.reset_fn(keys(0, 3), good)
    with pytest.raises(TypeError, match="board must be integers, codes of letters, not float64"):
        env.reset_fn(rng.key(0), good[0].astype(float))
    fixed = made(Spec(Orchard(), BOUNDS), backend)
    with pytest.raises(ValueError, match="the boards of this spec are fixed: make it with any_board=True"):
        fixed.reset_fn(rng.key(0), good[0])
    with pytest.raises(ValueError, match=r"fixed: make it with any_board=True, or give a pool of states\."):
        fixed.reset_fn(rng.key(0), pool=good)
    with pytest.raises(ValueError, match="a board and a pool: leave one of them out"):
        env.reset(options={"board": good[0], "pool": good})
    with pytest.raises(TypeError, match="any_board=1 is neither True nor False"):
        OPEN.override(any_board=1)


def repaired(backend: str, codes: Any, count: int = 2) -> Any:
    """The first states of boards that nobody has looked at."""
    spec = OPEN.override(num_agents=count)
    rules = made(spec, backend).rules
    words = keys(0, len(codes))
    return rules.backend.compiled(functools.partial(reset, rules))(words, codes)


@each_backend
def test_a_board_that_cannot_be_is_repaired(backend: str) -> None:
    env = made(OPEN, backend)
    good = env.encode_board("########\n#2t1 t #\n#      #\n########".replace(" #\n", "##\n"))
    letter = {one: number for number, one in enumerate(letters_of(env.rules).letters)}
    wrong = good.copy()
    wrong[0, 2], wrong[1, 4], wrong[1, 5] = letter["."], 77, letter["1"]
    wrong[3, 1:5] = letter["w"]
    states = repaired(backend, np.stack([good, wrong]))
    assert np.asarray(states.repaired).tolist() == [False, True]
    one = states.evolve(**{name: value[1] for name, value in states.stored().items()})
    assert drawn(OPEN, backend, one) == picture(
        """
        ^ t ^ # # # # #
                  # # #
        w w # # # # # #
        """
    )
    assert np.asarray(one.positions_of("well")).tolist() == [[3, 1], [3, 2]]
    assert_same(repaired("numpy", np.stack([good, wrong])), states)


@each_backend
def test_a_board_without_room_is_opened(backend: str) -> None:
    full = np.full((1, 5, 10), letters_of(made(OPEN, backend).rules).letters.index("w"))
    states = repaired(backend, full, 5)
    assert bool(states.repaired[0])
    assert np.asarray(states.pos).tolist() == [[11, 12, 13, 14, 15]]
    assert np.asarray(states.positions_of("well")).tolist() == [[[0, 0], [0, 1]]]


@each_backend
def test_whatever_codes_make_a_board(backend: str) -> None:
    """Of noise too: nobody shares a cell, the edge stays closed, places are where the things are."""
    env, generator = made(OPEN, backend), np.random.default_rng(5)
    noise = generator.integers(-3, 20, (3000, 5, 10))
    states = repaired(backend, noise, 4)
    pos, cells = np.asarray(states.pos), np.asarray(states.cells)
    assert (np.diff(np.sort(pos), axis=-1) > 0).all()
    things = np.array([env.rules.spec.game.kind(thing) for thing in env.rules.spec.symbols.things])[cells]
    open_ = np.isin(things, ("floor", "grass", "weed"))
    assert np.take_along_axis(open_, pos, -1).all()
    assert not open_.reshape(-1, 5, 10)[:, [0, -1]].any()
    assert not open_.reshape(-1, 5, 10)[:, :, [0, -1]].any()
    for kind, most in (("well", 2), ("basket", 3), ("tree", 2)):
        found = np.asarray(states.cells_of(kind))
        for index in range(0, 3000, 50):
            there = np.flatnonzero(np.isin(things[index], (kind, "ripe" if kind == "tree" else kind)))
            assert found[index].tolist() == [*there, *[-1] * (most - len(there))]
    assert np.asarray(states.repaired).all()
    assert_same(repaired("numpy", noise, 4), states)


#: Each is another program on JAX, where one stands for all by day.
SEVERAL = ({}, {"observation": "lossless"}, {"random_start": True, "num_agents": 4})


@pytest.mark.parametrize(
    ("backend", "options"),
    [
        pytest.param(backend, options, marks=[pytest.mark.slow] * (backend != "numpy" and number > 0))
        for backend in BACKENDS
        for number, options in enumerate(SEVERAL)
    ],
)
def test_a_pool_of_boards_is_a_spec_of_several_layouts(backend: str, options: Any) -> None:
    """The same draw chooses, so all that is seen and paid is the same: layouts are the oracle."""
    fixed, open_ = (
        cogrid.make(KITCHEN, backend, layout=KITCHENS, shaping=1.0, any_board=any_, **options)
        for any_ in (False, True)
    )
    codes, words = open_.encode_board(KITCHENS), keys(3, 16)
    steps = [env.rules.backend.compiled(env.step_fn) for env in (fixed, open_)]
    theirs, obs = fixed.rules.backend.compiled(fixed.reset_fn)(words)
    ours = {"pool": begun(open_, words, pool=codes), "own": begun(open_, words)}
    ours["board"] = begun(open_, words, codes[np.asarray(theirs.layout)])
    assert np.unique(np.asarray(theirs.layout)).size == len(KITCHENS)
    generator, paid = np.random.default_rng(1), 0.0
    compared = ("cells", "pos", "pose", "clock", "words", "pot_timer", "pot_contents", "pot_positions")
    for _ in range(400):
        for name, state in ours.items():
            np.testing.assert_array_equal(np.asarray(observed(open_, state)), np.asarray(obs), err_msg=name)
            for field in compared:
                left, right = (np.asarray(getattr(one, field)) for one in (state, theirs))
                np.testing.assert_array_equal(left, right, err_msg=f"{name} {field}")
        actions = generator.integers(0, 7, theirs.pos.shape).astype(np.int32)
        actions = np.where(generator.random(actions.shape) < 0.4, 4, actions).astype(np.int32)
        theirs, obs, rewards, *_ = steps[0](theirs, actions)
        for name, state in ours.items():
            ours[name], _, points, *_ = steps[1](state, actions)
            np.testing.assert_array_equal(np.asarray(points), np.asarray(rewards))
        paid += float(np.asarray(rewards).sum())
    assert paid > 20  # shaping of potted onions and of dishes that are wanted


def test_parity_of_boards_that_the_game_draws() -> None:
    for observation in ("features", "window"):
        counts, seen = parity(GROWN.override(observation=observation), BACKENDS)
        assert min(counts.values()) >= 5, counts
        assert counts["pick"] > 40
        assert (seen["reward scarce"] > 0).sum() > 20
        assert (seen["reward scarce"] > 0).sum() < counts["pick"]
    first = made(GROWN, "numpy").reset_fn(keys(0, 500))[0]
    assert len(np.unique(first.cells, axis=0)) == 500
    assert not first.repaired.any()


def test_draws_of_a_sketch_are_even() -> None:
    """Two trees or one, by one draw: within the exact bounds; and every cell of the mask is picked."""
    state = made(GROWN, "numpy").reset_fn(keys(8, 4000))[0]
    trees = (state.cells_of("tree") >= 0).sum(axis=-1)
    low, high = bounds(4000, 2**23)
    assert low <= (trees == 2).sum() <= high
    narrow = (state.wall_map[:, 1:-1, -3:-1].all(axis=-2)).sum(axis=-1)  # columns that were left out, 0 to 2
    for count in range(3):
        low, high = bounds(4000, 2**24 // 3)
        assert low <= (narrow == count).sum() <= high
    assert len(np.unique(state.pos[:, 0])) == 3 * 8


@each_backend
def test_generated_boards_are_drawn_by_every_reset(backend: str) -> None:
    vec = cogrid.VectorEnv(GROWN.override(max_steps=3), 5, backend)
    vec.reset(seed=1)
    boards = set()
    for _ in range(9):
        boards |= {bytes(one) for one in np.asarray(vec.env_state.places)}
        vec.step(np.full((5, 2), 6))
    assert len(boards) > 13  # 15 episodes were begun


def test_conformance_of_open_boards() -> None:
    counts = check_env(GROWN, BACKENDS, steps=200)
    assert counts["pick"] > 0
    assert check_env(OPEN, BACKENDS, steps=100)["draw water"] > 0
    with pytest.raises(
        AssertionError, match=r"Generated\.draw of Broken drew a board that is no board of this spec"
    ):
        check_env(Spec(Broken(), BOUNDS, num_agents=2), ["numpy"])
    with pytest.raises(ValueError, match="has no wall, which open boards are padded with"):
        Spec(Wallless(), "tt tt\nt1 2t\ntt tt".replace("t tt", "tttt"), any_board=True)


class Wallless(Orchard):
    """Hedges instead of walls."""

    legend: ClassVar[Any] = {" ": "floor", "t": "tree", "w": "well", "b": "basket"}


@each_backend
def test_episodes_begin_with_the_states_of_a_pool(backend: str) -> None:
    env = made(OPEN.override(shaping=0.5), backend)
    step = env.rules.backend.compiled(env.step_fn)
    state = begun(env, keys(4, 6))
    for joint in np.random.default_rng(2).integers(0, 7, (30, 6, 2)).astype(np.int32):
        state, *_ = step(state, joint)
    pool = env.replace(state, shaping_weight=0.25)
    fresh = begun(env, keys(9, 600), pool=pool)
    words = [bytes(one) for one in np.asarray(pool.cells)]
    which = np.array([words.index(bytes(one)) for one in np.asarray(fresh.cells)])
    low, high = bounds(600, 2**24 // 6)
    assert all(low <= (which == k).sum() <= high for k in range(6))
    for name in ("pos", "pose", "clock", "places"):
        left, right = np.asarray(getattr(fresh, name)), np.asarray(getattr(pool, name))[which]
        np.testing.assert_array_equal(left, right)
    assert len(np.unique(np.asarray(fresh.words), axis=0)) == 600  # chance of their own
    assert (np.asarray(fresh.shaping_weight) == 0.5).all()
    index = rng.bits(rng.split_words(np, keys(9, 600), 4)[:, 1], 1)[:, 0] % 6
    np.testing.assert_array_equal(which, index)


@each_backend
def test_wrong_pools_are_an_error(backend: str) -> None:
    env = made(OPEN, backend)
    states = begun(env, keys(4, 3))
    over = env.replace(states, time=np.array([0, 5, 400]), done=np.array([False, False, True]))
    alone = states.evolve(**{name: value[0] for name, value in states.stored().items()})
    other = begun(made(OPEN.override(max_steps=9), backend), keys(4, 3))
    codes = env.encode_board(BOUNDS)
    for pool, match in (
        (over, "state 2 of the pool is over: give states of running episodes"),
        (alone, r"pool holds states of shape \(\): give a batch"),
        (other, "pool holds states of another environment"),
        (codes, r"pool has shape \(5, 10\): give at least one board"),
        (codes[None][:0], r"pool has shape \(0, 5, 10\)"),
        (["####\n#t1#\n####"], "pool 0 has too few spawn cells"),
    ):
        with pytest.raises(ValueError, match=match):
            env.reset_fn(rng.key(0), pool=pool)
        with pytest.raises(ValueError, match=match):
            cogrid.VectorEnv(OPEN, 4, backend, pool=pool)


@each_backend
@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_vectors_draw_from_their_pool(backend: str, autoreset: str) -> None:
    texts = ["####\n#12#\n####", "#####\n#2t1#\n#####", "####\n#2.#\n#1w#\n####"]
    spec = OPEN.override(max_steps=4)
    vec = cogrid.VectorEnv(spec, 6, backend, pool=texts, autoreset=autoreset, shadow=HAS_JAX)
    starts, seen, ends = [{11, 12}, {13, 11}, {21, 11}], set(), 0
    vec.reset(seed=2)
    for step in range(24):
        state = vec.env_state.host()
        begun = state.time == 0
        seen |= {starts.index(set(pos)) for pos in state.pos[begun].tolist()}
        _, _, _, truncated, _ = vec.step(np.full((6, 2), 6))
        ends += int(np.asarray(truncated).sum())
        if step == 12:
            assert seen == {0, 1, 2}
            vec.reset(options={"pool": texts[1:2]})
            seen = set()
    assert seen == {1}
    assert ends >= 24
    copied = pickle.loads(pickle.dumps(vec))
    for _ in range(5):
        (ours, *_), (theirs, *_) = (each.step(np.full((6, 2), 6)) for each in (vec, copied))
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    vec.reset(seed=3, options={"board": texts[2]})
    assert {frozenset(pos) for pos in np.asarray(vec.env_state.pos).tolist()} == {frozenset({11, 21})}
    assert vec.shadow is None or (vec.shadow.mismatches, vec.shadow.comparisons > 100) == (0, True)


@each_backend
def test_snapshots_replays_and_copies(backend: str) -> None:
    env = cogrid.CoGridEnv(OPEN, backend, infos=True, shadow=HAS_JAX)
    taped = replay.Recorder(env)
    taped.reset(seed=2, options={"board": "########\n#2t1 tw#\n# s  b #\n########"})
    joints = np.random.default_rng(3).integers(0, 7, (40, 2)).tolist()
    for joint in joints[:20]:
        taped.step(dict(enumerate(joint)))
    snapshot = json.loads(json.dumps(env.get_state()))
    other = made(OPEN, BACKENDS[-1])
    other.set_state(snapshot)
    for joint in joints[20:]:
        taped.step(dict(enumerate(joint)))
        other.step(dict(enumerate(joint)))
    assert_same(env.env_state, other.env_state)
    for each in BACKENDS:
        taped.replay().verify(each, env=env)
    assert env.shadow is None or (env.shadow.mismatches, env.shadow.comparisons) == (0, 41)
    moved = env.replace(env.env_state, object_state_map=np.zeros((5, 10), int))
    assert np.asarray(moved.places).tolist() == np.asarray(env.env_state.places).tolist()
    ids, types = env.type_ids, np.array(env.env_state.object_type_map)
    for place, kind, match in (
        ((0, 1), "grass", "'grass' at row 0, column 1 can open the outer edge"),
        ((2, 3), "well", "'well' at row 2, column 3 does not match the state's places of 'well'"),
        ((1, 6), "basket", "'basket' at row 1, column 6 does not match the state's places of 'basket'"),
    ):
        changed = types.copy()
        changed[place] = ids[kind]
        with pytest.raises(ValueError, match=match):
            env.replace(env.env_state, object_type_map=changed)
    for places in ([-2, -1, -1, -1, -1, -1, -1, 0], [16, 50, -1, -1, -1, -1, -1, 0]):
        broken = json.loads(json.dumps(snapshot))
        broken["state"]["places"] = places[: len(broken["state"]["places"])]
        with pytest.raises(ValueError, match="place"):
            other.set_state(broken)
    with pytest.raises(ValueError, match="the snapshot is of another spec"):
        made(Spec(Orchard(), BOUNDS, max_steps=400), backend).set_state(snapshot)


def test_the_fingerprint_of_fixed_boards_has_no_word_of_them() -> None:
    assert "any_board" not in repr(OPEN)
    assert Spec(Orchard(), BOUNDS) != Spec(Orchard(), BOUNDS, any_board=True)


if HAS_JAX:
    import jax

    def test_4096_boards_on_jax_are_drawn_and_given_without_compiling_again() -> None:
        env = made(GROWN.override(observation="none"), "jax")
        traced = []

        def fresh(keys: Any) -> Any:
            traced.append(1)
            return env.jax_reset(keys)[0]

        draw = jax.jit(jax.vmap(fresh))
        for seed in range(3):
            state = draw(keys(seed, 2**12))
        assert len(traced) == 1
        assert not np.asarray(state.repaired).any()
        assert len(np.unique(np.asarray(state.cells), axis=0)) > 4_050
        some = np.arange(0, 2**12, 64)
        alone = made(GROWN.override(observation="none"), "numpy").reset_fn(keys(2, 2**12)[some])[0]
        np.testing.assert_array_equal(np.asarray(state.cells)[some], alone.cells)

        given = jax.jit(jax.vmap(made(OPEN, "jax").jax_reset))
        boards = made(OPEN, "jax").encode_board([BOUNDS, "####\n#12#\n####"])
        for order in ([0, 1, 1], [1, 1, 0]):
            state, _ = given(keys(0, 3), boards[order])
        assert given._cache_size() == 1
        assert np.asarray(state.pos)[:, 1].tolist() == [12, 12, 18]

    def test_rollouts_on_jax_draw_from_their_pool() -> None:
        """On one device and on two, with a shadow; another pool of the same size compiles nothing again."""
        env = cogrid.CoGridEnv(OPEN.override(max_steps=7), "jax", shadow=True)
        boards = env.encode_board(["####\n#12#\n####", "#####\n#2t1#\n#####", "####\n#2.#\n#1w#\n####"])
        runs = [
            cogrid.rollout(
                env, key=4, num_envs=6, num_steps=30, chunk=10, devices=jax.devices()[:count], pool=boards
            )
            for count in (1, 2)
        ]
        assert_same(runs[0].state, runs[1].state)
        assert env.shadow is not None
        assert (env.shadow.mismatches, env.shadow.comparisons) == (0, 360)
        wells = (np.asarray(runs[0].state.cells_of("well")) >= 0).sum()
        assert 0 < wells < 6
        states = begun(env, keys(1, 4), pool=boards[1:2])
        only = cogrid.rollout(env, key=4, num_envs=6, num_steps=30, chunk=10, pool=states)
        assert (np.asarray(only.state.cells_of("tree"))[:, 0] == 12).all()
        with pytest.raises(ValueError, match="pool has shape"):
            cogrid.rollout(env, num_envs=2, num_steps=2, pool=boards[0])

    def test_a_traced_board_on_jax_is_not_looked_at() -> None:
        env = made(OPEN, "jax")
        board = np.full((5, 10), 99)
        with pytest.raises(ValueError, match="has code 99"):
            env.jax_reset(rng.key(0), board)
        state, _ = jax.jit(env.jax_reset)(rng.key(0), board)
        assert bool(state.repaired)


def test_flaws_are_told_by_cell() -> None:
    rules = made(OPEN, "numpy").rules
    flaws = read(rules, np.full((5, 10), 99)).flaws
    assert {name: int(mask.sum()) for name, mask in flaws.items()} == {
        **{"letter": 50, "edge": 0, "twice": 0, "room": 1, "count": 0}
    }
