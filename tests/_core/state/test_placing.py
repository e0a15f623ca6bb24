"""Things that reset places, slots that count them, and the action set of games in which agents only walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from cogrid._core.phases.replying import Replying
from cogrid.author import (
    BySlot,
    Chance,
    Counted,
    Ends,
    Game,
    Looks,
    Outcome,
    Part,
    Placed,
    Scattered,
    Slot,
    Spec,
)
from cogrid.testing.conformance import check_env
from tests._core.worlds import after, bounds, drawn, fresh, made, parity
from tests.support import BACKENDS, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)
BOARD = """
########
#1     #
#      #
#   ## #
#2     #
########
"""


@dataclass(frozen=True)
class Gold(Game):
    """Nuggets lie about; who walks onto one has it, for its share of all that there was."""

    count: int = 3
    apart: int = 3
    margin: int = 1

    def hand(self, agent: int) -> Any:
        return Chance((1, 1), (4, 3)) if agent else 2

    def nugget(self, weakest: int) -> Any:
        return ("gold", 5) if weakest == 1 else Chance((("gold", 1), 1), (("gold", 2), 3))

    def level(self, held: Any) -> int:
        return held or 0

    def parts(self) -> tuple[Part, ...]:
        return (
            Placed(
                self.count,
                self.nugget,
                weakest=1,
                apart=self.apart,
                margin=self.margin,
                strength=self.level,
            ),
            Slot("worth", Counted(self.worth, 12)),
            Ends(remaining=self.worth),
        )

    def worth(self, thing: Any) -> int:
        return thing[1] if isinstance(thing, tuple) else 0

    def enter(self, held: Any, thing: Any) -> Any:
        return Outcome(held, "floor", "find", self.worth(thing)) if isinstance(thing, tuple) else None

    def walkable(self, thing: Any) -> bool:
        return thing != "wall"

    def looks(self) -> Looks:
        bare = {"floor": "  ", "wall": "##"}
        return Looks(glyph=lambda thing: bare.get(thing) or f"g{thing[1]}")

    def rewards(self) -> Any:
        return (BySlot("share", "worth", lambda event, worth: event.value / max(1, worth)),)


def spec(**options: Any) -> Spec:
    return Spec(Gold(**options), BOARD, observation="none", action_set="moves", max_steps=30)


def worths(env: Any, state: Any) -> np.ndarray[Any, Any]:
    return env.rules.symbols(env.spec.game.worth)[state.cells]


@each_backend
def test_a_drawn_start(backend: str) -> None:
    state = fresh(spec(), backend, 3)
    board = drawn(spec(), backend, state)
    assert board.count("g") == 3
    again = drawn(spec(), backend, fresh(spec(), backend, 4))
    assert board != again


def test_where_and_how_many() -> None:
    for apart, margin in ((1, 1), (2, 2), (4, 1)):
        env = made(spec(apart=apart, margin=margin), "numpy")
        state, _ = env.reset_fn(keys(0, 600))
        gold = worths(env, state).reshape(600, 6, 8) > 0
        assert not gold[:, 3, 4:6].any()  # the wall
        assert not (gold.reshape(600, -1) & (np.arange(48) == state.pos[..., None]).any(axis=-2)).any()
        if margin == 2:
            assert not gold[:, [0, 1, 4, 5]].any()
        assert gold[:, 2].sum() > 100
        for one in gold:
            places = np.argwhere(one)
            steps = abs(places[:, None] - places).sum(axis=-1) + 9 * np.eye(len(places), dtype=int)
            assert steps.min() >= apart
    crowd = made(spec(count=40), "numpy")
    state, _ = crowd.reset_fn(keys(0, 50))
    assert (worths(crowd, state) > 0).sum(axis=-1).max() < 12  # until there is no room


def test_what_is_placed_goes_by_the_weakest_and_by_chance() -> None:
    env = made(spec(), "numpy")
    state, _ = env.reset_fn(keys(1, 4000))
    second = np.array([item or 0 for item in env.spec.symbols.items])[state.held[:, 1]]
    low, high = bounds(4000, 2**22)
    assert low <= (second == 1).sum() <= high
    worth = worths(env, state)
    assert set(np.unique(worth[second == 1])) == {0, 5}
    nuggets = worth[second == 4]
    low, high = bounds(int((nuggets > 0).sum()), 2**22)
    assert low <= (nuggets == 1).sum() <= high
    total = np.array(env.rules.slots.things)[state.slots[:, 0]]
    np.testing.assert_array_equal(total, np.minimum(worth.sum(axis=-1), 12))
    assert (worth.sum(axis=-1) > 12).any()


@each_backend
def test_a_slot_that_only_begins_stays(backend: str) -> None:
    env = made(spec(), backend)
    assert env.rules.phase(Replying) is None
    state = fresh(spec(), backend, 3)
    first = np.asarray(state.slots)
    cells = np.array(state.host().cells)
    gold = next(k for k in np.flatnonzero(worths(env, state.host())) if cells[k - 1] < env.rules.n_walkable)
    state = env.replace(state, pos=np.array([gold - 1, 33 if gold != 33 and gold != 34 else 9]))
    state, paid, _, infos = after(spec(), backend, state, "right", "noop")
    assert infos["verbs"] == ["find", ""]
    worth = env.rules.slots.things[int(first[0])]
    value = worths(env, fresh(spec(), backend, 3).host())[gold]
    assert paid[0] == np.float32(value / worth)
    np.testing.assert_array_equal(state.slots, first)


@dataclass(frozen=True)
class Heath(Game):
    """Rocks lie all over the heath; the rocks and the heath of the map begin as something else."""

    legend: ClassVar[Any] = {" ": "floor", "#": "rock"}

    def parts(self) -> tuple[Part, ...]:
        return (Scattered("rock", 1.0),)

    def start(self, thing: Any) -> Any:
        return {"rock": "wall", "floor": "heather"}[thing]

    def tick(self, thing: Any) -> Any:
        return "ruin" if thing == "wall" else thing


@each_backend
def test_what_is_scattered_does_not_begin_as_a_letters_thing(backend: str) -> None:
    """
    # # # #      w w w w      u u u u
    # 1   #  ->  w ^ r w  ->  u ^ r u     r a rock, w a wall, u a ruin
    # # # #      w w w w      u u u u
    """
    spec = Spec(Heath(), "####\n#1 #\n####", num_agents=1, observation="none")
    things, state = spec.symbols.things, fresh(spec, backend)
    assert [things[k] for k in np.asarray(state.cells)[4:8]] == ["wall", "floor", "rock", "wall"]
    state, *_ = after(spec, backend, state, "noop")
    assert [things[k] for k in np.asarray(state.cells)[4:8]] == ["ruin", "floor", "rock", "ruin"]


@dataclass(frozen=True)
class Clearing(Game):
    """Eggs lie on floor, which a dot is too, but not where a site has become floor."""

    count: int = 9
    margin: int = 1
    density: float = 0.0

    legend: ClassVar[Any] = {" ": "floor", ".": "floor", "#": "wall", "s": "site"}

    def start(self, thing: Any) -> Any:
        return {"site": "floor", "floor": "grass" if self.density else "floor"}.get(thing, thing)

    def parts(self) -> tuple[Part | None, ...]:
        floor = Scattered("floor", self.density) if self.density else None
        return Placed(self.count, "egg", margin=self.margin) if self.count else None, floor

    def tick(self, thing: Any) -> Any:
        return Chance(("chick", 1), ("bird", 1)) if thing == "egg" else thing


SITES = """
######
#1. s#
#ss 2#
######
"""
each_kind = pytest.mark.parametrize("any_board", [False, True])


@each_kind
@each_backend
def test_things_lie_on_floor_of_the_board_however_it_is_given(backend: str, any_board: bool) -> None:
    """
    # # # # # #      w w w w w w
    # 1 .   s #  ->  w f e e f w     e an egg
    # s s   2 #      w f f e f w
    # # # # # #      w w w w w w
    """
    spec = Spec(Clearing(), SITES, observation="none", any_board=any_board)
    state = fresh(spec, backend)
    letters = "".join(spec.symbols.things[k][0] for k in np.asarray(state.cells))
    assert letters == "wwwwwwwfeefwwffefwwwwwww"


@each_kind
@each_backend
def test_rooms_are_floor_of_the_board_however_it_is_given(backend: str, any_board: bool) -> None:
    spec = Spec(Clearing(count=0), SITES, observation="none", any_board=any_board, random_start=True)
    env = made(spec, backend)
    state, _ = env.rules.backend.compiled(env.reset_fn)(keys(0, 100))
    assert {*np.asarray(state.pos).ravel().tolist()} == {7, 8, 9, 15, 16}


@each_kind
@each_backend
def test_scattered_floor_does_not_begin_as_the_letters_floor(backend: str, any_board: bool) -> None:
    spec = Spec(Clearing(count=0, density=1.0), SITES, observation="none", any_board=any_board)
    things = [spec.symbols.things[k] for k in np.asarray(fresh(spec, backend).cells)]
    assert "grass" not in things
    assert things.count("floor") == 8


def test_nothing_placed_is_possible_outside_the_margin() -> None:
    field = "######\n#1   #\n#    #\n#    #\n#   2#\n######"
    env = made(Spec(Clearing(1, margin=2), field, observation="none"), "numpy")
    state, _ = env.reset_fn(keys(0, 1)[0])
    (egg,) = np.flatnonzero(state.cells == env.spec.symbols.number["egg"])
    cells = state.cells.copy()
    cells[[egg, 14]] = cells[[14, egg]]
    assert env.replace(state, cells=cells).cells[14] == cells[14]
    cells[[14, 9]] = cells[[9, 14]]
    with pytest.raises(ValueError, match="row 1, column 3 starts as 'floor' and can never become 'egg'"):
        env.replace(state, cells=cells)


def test_moves() -> None:
    env = made(spec(), "numpy")
    assert env.action_names == ("up", "down", "left", "right", "noop")
    assert env.rules.noop == 4


def test_parity() -> None:
    counts, tape = parity(spec(), BACKENDS, ("up", "right"))
    assert counts["find"] > 20
    assert tape["done"][-1].all()


def test_conformance() -> None:
    assert check_env(spec(), BACKENDS)["find"] > 0


def test_wrong_numbers_are_refused() -> None:
    for options, words in (({"count": -1}, "Placed.count=-1"), ({"apart": 0}, "Placed.apart=0")):
        with pytest.raises(ValueError, match=words):
            made(spec(**options), "numpy")
