"""Joint work: strengths of several agents on one cell add up, and each has its event and its share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from cogrid.author import (
    Act,
    Aim,
    Ends,
    Game,
    Hands,
    Joint,
    Looks,
    Meeting,
    Outcome,
    Part,
    Replies,
    Reply,
    Reward,
    Slot,
    Spec,
)
from cogrid.testing.conformance import check_env
from tests._core.worlds import after, drawn, fresh, made, parity
from tests.support import BACKENDS

each_backend = pytest.mark.parametrize("backend", BACKENDS)
BOARD = """
#######
#1 d 2#
#  3  #
#c b  #
#######
"""


@dataclass(frozen=True)
class Forage(Game):
    """Food of level f is loaded by neighbours of levels that add up to it; the points go by level."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "b": ("food", 2), "c": ("food", 3), "d": ("food", 4)}

    def hand(self, agent: int) -> Any:
        return "level", agent + 1

    def level(self, held: Any) -> int:
        return held[1] if held else 0

    def load(self, held: Any, total: int, thing: Any) -> Any:
        match held, thing:
            case (_, level), ("food", food) if total >= food:
                return Outcome(("tired", level), ("bare", food, 6), "load", level * food / total)
            case (_, _), ("food", _):
                return Outcome(held, thing, "fail")
        return None

    def tick(self, thing: Any) -> Any:
        match thing:
            case "bare", food, steps:
                return ("bare", food, steps - 1) if steps else ("food", food)
        return thing

    def rest(self, held: Any) -> Any:
        return ("level", held[1]) if held and held[0] == "tired" else held

    def rested(self, held: Any) -> bool:
        return held is None or held[0] == "level"

    def wake(self, held: Any, other: Any) -> Meeting:
        return Meeting(held, other, "wake")

    def parts(self) -> tuple[Part, ...]:
        around = Aim(adjacent=True)
        return (
            Joint("load", self.load, most=5, strength=self.level, aim=around),
            Act("wake", agent=self.wake, aim=around),
            Hands(tick=self.rest, can_act=self.rested),
        )

    def kind(self, thing: Any) -> str:
        return thing if isinstance(thing, str) else f"{thing[0]} {thing[1]}"

    def looks(self) -> Looks:
        bare = {"floor": "  ", "wall": "##"}
        return Looks(glyph=lambda thing: bare.get(thing) or f"{thing[0][0]}{thing[1]}")

    def item_name(self, item: Any) -> str:
        return f"{item[0]} {item[1]}"

    def rewards(self) -> Any:
        return (Reward("score", lambda event: event.value),)


SPEC = Spec(Forage(), BOARD, num_agents=3, observation="none", max_steps=400)
UP = 3


def placed(backend: str, places: Any) -> Any:
    return made(SPEC, backend).replace(
        fresh(SPEC, backend), agent_pos=np.array(places), agent_dir=np.full(3, UP)
    )


@each_backend
@pytest.mark.parametrize(
    ("places", "who", "verbs", "rewards"),
    [
        ([(1, 2), (2, 3), (1, 5)], (0, 1), ["fail", "fail", ""], [0, 0, 0]),  # 1 + 2 are not 4
        ([(1, 2), (1, 5), (1, 4)], (0, 2), ["load", "", "load"], [1, 0, 3]),  # 1 + 3 are
        ([(1, 2), (2, 3), (1, 4)], (0, 1, 2), ["load", "load", "load"], [0.8, 1.6, 2.4]),  # 6 counts as 5
        ([(1, 2), (2, 3), (1, 4)], (0, 1), ["fail", "fail", ""], [0, 0, 0]),  # the third only stands there
        ([(2, 1), (3, 4), (1, 5)], (0, 1, 2), ["fail", "load", ""], [0, 2, 0]),  # each at its own food
    ],
)
def test_levels_add_up(backend: str, places: Any, who: Any, verbs: Any, rewards: Any) -> None:
    """
    > d <        > b <     agents around the food of level 4; those in `who` load
      ^     ->     ^
    """
    joint = ["load" if agent in who else "noop" for agent in range(3)]
    state, paid, _, infos = after(SPEC, backend, placed(backend, places), *joint)
    assert infos["verbs"] == verbs
    np.testing.assert_array_equal(paid, np.array(rewards, np.float32))
    things = made(SPEC, backend).spec.symbols.things
    assert things[int(state.cells[10])] == (
        ("bare", 4, 5) if "load" in verbs and verbs[0] == "load" else ("food", 4)
    )


@each_backend
def test_the_board_before_and_after(backend: str) -> None:
    state = placed(backend, [(1, 2), (1, 5), (1, 4)])
    first = drawn(SPEC, backend, state)
    state, *_ = after(SPEC, backend, state, "load", "noop", "load")
    assert first == "  ^lf4^l^l\n\nf3  f2"
    assert drawn(SPEC, backend, state) == "  ^lb4^l^l\n\nf3  f2"


@each_backend
def test_who_cannot_act_adds_nothing(backend: str) -> None:
    env = made(SPEC, backend)
    number = env.spec.symbols.item_number
    state = env.replace(
        placed(backend, [(1, 2), (1, 5), (1, 4)]),
        held=np.array([number["tired", 1], number["level", 2], number["level", 3]]),
    )
    _, rewards, _, infos = after(SPEC, backend, state, "load", "noop", "load")
    assert infos["verbs"] == ["", "", "fail"]
    assert not rewards.any()


@dataclass(frozen=True)
class Facing(Forage):
    """The same, on the food that an agent faces."""

    def parts(self) -> tuple[Part, ...]:
        load, _, hands = super().parts()
        return replace(load, aim=Aim()), Act("wake", thing=lambda held, thing: None), hands


@each_backend
def test_only_those_who_face_it_and_can_act_add_up(backend: str) -> None:
    """
    > d <       agents of level 1 and 3, and the one of level 2 looks away
    """
    spec = Spec(Facing(), BOARD, num_agents=3, observation="none")
    env = made(spec, backend)
    number = env.spec.symbols.item_number
    for first, verbs in (("level", ["load", "", "load"]), ("tired", ["", "", "fail"])):
        state = env.replace(
            fresh(spec, backend),
            agent_pos=np.array([(1, 2), (2, 3), (1, 4)]),
            agent_dir=np.array([0, 0, 2]),
            held=np.array([number[first, 1], number["level", 2], number["level", 3]]),
        )
        assert after(spec, backend, state, "load", "load", "load")[3]["verbs"] == verbs


@dataclass(frozen=True)
class Feeble(Forage):
    """Nobody has any strength."""

    def parts(self) -> tuple[Part, ...]:
        load, _, hands = super().parts()
        return replace(load, strength=lambda held: 0), Act("wake", thing=lambda held, thing: None), hands


@each_backend
def test_agents_without_strength_do_nothing_together(backend: str) -> None:
    spec = Spec(Feeble(), BOARD, num_agents=3, observation="none")
    state = fresh(spec, backend)
    then, rewards, _, infos = after(spec, backend, state, "load", "load", "load")
    assert infos["verbs"] == ["", "", ""]
    assert not rewards.any()
    np.testing.assert_array_equal(np.asarray(then.cells), np.asarray(state.cells))


def test_parity() -> None:
    counts, tape = parity(SPEC, BACKENDS, ("load",))
    assert min(counts["load"], counts["fail"], counts["wake"]) >= 50, counts
    load = made(SPEC, "numpy").verbs.index("load")
    together = (tape["verb"] == load).sum(axis=-1) >= 2
    assert together.sum() >= 10


def test_conformance() -> None:
    assert check_env(SPEC, BACKENDS)["fail"] > 0


@dataclass(frozen=True)
class Apprentices(Game):
    """Who does not know how to dig asks somebody, by the same action that digs for those who know."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "g": "gem"}

    def hand(self, agent: int) -> Any:
        return "novice" if agent == 0 else "expert"

    def skill(self, held: Any) -> int:
        return int(held == "expert")

    def dig(self, held: Any, total: int, thing: Any) -> Any:
        return Outcome(held, "hole", f"dig {total}", 4.0) if (held, thing) == ("expert", "gem") else None

    def ask(self, held: Any, other: Any) -> Any:
        return Meeting("expert", other, "ask", 1.0) if (held, other) == ("novice", "expert") else None

    def tick(self, thing: Any) -> Any:
        return {"hole": "rubble", "rubble": "gem"}.get(thing, thing)

    def parts(self) -> tuple[Part, ...]:
        return (
            Joint("work", self.dig, most=2, strength=self.skill, aim=Aim(adjacent=True), agent=self.ask),
            Slot("asked", 0, reply=lambda thing, event: Reply(1, 0.5), to=("ask",)),
            Ends(verbs=("ask",)),
        )

    def rewards(self) -> Any:
        return Reward("score", lambda event: event.value), Replies("replies", team=False)


@each_backend
def test_who_met_does_no_joint_work_in_that_step(backend: str) -> None:
    """
    0 g 2      agent 0 asks agent 1 and then knows how to dig; only agent 2 digs, alone
    1
    """
    spec = Spec(Apprentices(), "#####\n#1g3#\n#2  #\n#####", num_agents=3, observation="none")
    env, state = made(spec, backend), fresh(spec, backend)
    then, rewards, _, infos = after(spec, backend, state, "work", "noop", "work")
    assert infos["verbs"] == ["ask", "", "dig 1"]
    assert rewards.tolist() == [1.5, 0.0, 4.0]
    assert infos["reward replies"].tolist() == [0.5, 0.0, 0.0]
    assert np.asarray(then.ended).tolist() == [True, False, False]
    assert env.rules.slots.things[int(np.asarray(then.slots)[0])] == 1
    assert [spec.symbols.items[k] for k in np.asarray(then.held)] == ["expert"] * 3
    then, rewards, _, infos = after(spec, backend, state, "work", "noop", "noop")
    assert infos["verbs"] == ["ask", "", ""]
    np.testing.assert_array_equal(np.asarray(then.cells), np.asarray(state.cells))


def test_parity_of_joint_actions_that_meet() -> None:
    spec = Spec(Apprentices(), "#####\n#1g3#\n#2  #\n#####", num_agents=3, observation="none")
    counts, _ = parity(spec, BACKENDS, ("work",))
    assert min(counts.values()) > 0, counts


@dataclass(frozen=True)
class Sawmill(Game):
    """Two saw a tree into one log; a bench is worth something while there are more sites than logs."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "t": "tree", "s": "site", "b": "bench"}

    def saw(self, held: Any, total: int, thing: Any) -> Any:
        return Outcome(held, "log", "saw") if (total, thing) == (2, "tree") else None

    def interact(self, held: Any, thing: Any) -> Any:
        return Outcome(held, thing, "build") if thing == "bench" else None

    def parts(self) -> tuple[Part, ...]:
        return (Joint("saw", self.saw, most=2),)

    def rewards(self) -> Any:
        return (
            Reward(
                "useful bench",
                lambda event: float(event.verb == "build"),
                supply=lambda thing, item: int(thing == "log"),
                demand=lambda thing: int(thing == "site"),
            ),
        )


@each_backend
@pytest.mark.parametrize(("sites", "second"), [("ss", 1.0), ("s#", 0.0)])
def test_what_joint_work_leaves_is_supplied_once_and_from_the_next_step_on(
    backend: str, sites: str, second: float
) -> None:
    """
    # s s # # b #      1 and 2 saw the tree between them, and 3 builds at its bench
    # 1 t 2   3 #
    """
    spec = Spec(Sawmill(), f"#{sites}##b#\n#1t2 3#\n#######", num_agents=3, observation="none")
    state = made(spec, backend).replace(fresh(spec, backend), agent_dir=np.array([0, 2, 3]))
    state, rewards, _, infos = after(spec, backend, state, "saw", "saw", "interact")
    assert infos["verbs"] == ["saw", "saw", "build"]
    assert rewards.tolist() == [0.0, 0.0, 1.0]
    _, rewards, _, infos = after(spec, backend, state, "saw", "saw", "interact")
    assert infos["verbs"] == ["", "", "build"]
    assert rewards.tolist() == [0.0, 0.0, second]


@dataclass(frozen=True)
class Greedy(Forage):
    """Each leaves something else."""

    def load(self, held: Any, total: int, thing: Any) -> Any:
        return Outcome(held, ("food", held[1]), "share") if held and thing == ("food", 4) else None


def test_wrong_answers_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"Joint\.work of Greedy leaves .* for another, of \('food', 4\) by strength"
    ):
        made(Spec(Greedy(), BOARD, num_agents=3, observation="none"), "numpy")
    for name in ("interact", "toggle"):
        with pytest.raises(
            ValueError, match=f"Joint has the name '{name}': name an action of the game's own"
        ):
            Joint(name, Forage().load)
