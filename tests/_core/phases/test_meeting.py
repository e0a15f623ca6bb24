"""Agents that act on each other, beams that find the first one in reach, and acting on adjacent things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from cogrid.author import (
    Act,
    Aim,
    Chance,
    Game,
    Hands,
    Looks,
    Meeting,
    Moving,
    Outcome,
    Part,
    Price,
    Reward,
    Spec,
)
from cogrid.testing.conformance import check_env
from tests._core.worlds import after, drawn, fresh, initials, made, parity
from tests.support import BACKENDS

each_backend = pytest.mark.parametrize("backend", BACKENDS)
BOARD = """
#########
#1  2  3#
#f     f#
# f p   #
#f     f#
#########
"""


@dataclass(frozen=True)
class Tag(Game):
    """Balls are handed over, a zap stuns whoever it finds, and food next to an agent is eaten."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "f": "food", "p": "pillar"}

    def hand(self, agent: int) -> Any:
        return "ball" if agent == 0 else None

    def give(self, held: Any, other: Any) -> Any:
        return Meeting(None, "ball", "give", 1.0) if (held, other) == ("ball", None) else None

    def zap(self, held: Any, other: Any) -> Any:
        if not self.awake(other):
            return None
        return Chance((Meeting(held, ("stun", 3), "hit", 0.5), 3), (Meeting(held, other, "graze"), 1))

    def eat(self, held: Any, thing: Any) -> Any:
        return Outcome(held, ("bare", 5), "eat", 2.0) if thing == "food" else None

    def interact(self, held: Any, thing: Any) -> Any:
        return Outcome("ball", "pillar", "fetch") if held is None and thing == "pillar" else None

    def tick(self, thing: Any) -> Any:
        match thing:
            case "bare", steps:
                return ("bare", steps - 1) if steps else "food"
        return thing

    def awake(self, held: Any) -> bool:
        return held in (None, "ball")

    def wake(self, held: Any) -> Any:
        return held if self.awake(held) else ("stun", held[1] - 1) if held[1] else None

    def parts(self) -> tuple[Part, ...]:
        return (
            Act("interact", agent=self.give),
            Act("zap", agent=self.zap, aim=Aim(reach=3, width=1)),
            Act("eat", thing=self.eat, aim=Aim(adjacent=True)),
            Moving(when=self.awake),
            Hands(tick=self.wake, can_act=self.awake),
        )

    def item_name(self, item: Any) -> str:
        return item if isinstance(item, str) else f"stun {item[1]}"

    def looks(self) -> Looks:
        return Looks(glyph=initials)

    def rewards(self) -> Any:
        zaps = Price("zaps", lambda name, held: -0.25 * (name == "zap"))
        return Reward("score", lambda event: event.value), zaps


SPEC = Spec(Tag(), BOARD, num_agents=3, observation="none", max_steps=400)
RIGHT, DOWN, LEFT, UP = range(4)
SEED = 0  # the first zap of it hits
STUN = ("stun", 2)  # of three, after the tick of the same step


def placed(backend: str, places: Any, facing: Any, hands: Any = ("ball", None, None), seed: int = 0) -> Any:
    env = made(SPEC, backend)
    held = np.array([env.spec.symbols.item_number[hand] for hand in hands])
    state = fresh(SPEC, backend, seed)
    return env.replace(state, agent_pos=np.array(places), agent_dir=np.array(facing), held=held)


def hands(backend: str, state: Any) -> list[Any]:
    return [made(SPEC, backend).spec.symbols.items[k] for k in np.asarray(state.held)]


@each_backend
def test_a_ball_is_handed_over_and_on(backend: str) -> None:
    """All three interact: the ball goes from the first to the second, and in the same step to the third.

    >b> ^    ->    > > ^b
    """
    state = placed(backend, [(1, 1), (1, 2), (1, 3)], [RIGHT, RIGHT, UP])
    assert drawn(SPEC, backend, state).split("\n")[0] == ">b> ^"
    state, rewards, _, infos = after(SPEC, backend, state, "interact", "interact", "interact")
    assert drawn(SPEC, backend, state).split("\n")[0] == "> > ^b"
    assert infos["verbs"] == ["give", "give", ""]
    assert rewards.tolist() == [1.0, 1.0, 0.0]
    assert infos["item"].tolist() == [made(SPEC, backend).type_ids["ball"]] * 2 + [-1]


@each_backend
def test_a_zap_finds_the_first_in_reach(backend: str) -> None:
    """Reach 3, one cell to either side; who is nearer hides nobody in another lane, but goes first.

    >   .   x    x is three cells away; the pillar, or another agent, hides what is behind it
    """
    cases = [
        ([(1, 1), (1, 4), (4, 6)], RIGHT, 1),  # three cells ahead
        ([(1, 1), (1, 5), (4, 6)], RIGHT, None),  # four are too many
        ([(1, 1), (2, 4), (4, 6)], RIGHT, 1),  # in the lane to the right
        ([(1, 1), (3, 3), (4, 6)], RIGHT, None),  # two lanes away
        ([(1, 1), (1, 3), (1, 2)], RIGHT, 2),  # the nearer one hides the other
        ([(2, 2), (2, 5), (1, 4)], RIGHT, 2),  # nearer goes first, though it is beside
        ([(2, 2), (2, 4), (1, 4)], RIGHT, 1),  # at one distance, the middle lane
        ([(2, 2), (3, 3), (1, 3)], RIGHT, 2),  # then left before right
        ([(3, 3), (3, 5), (1, 7)], RIGHT, None),  # behind the pillar
        ([(4, 4), (2, 4), (4, 6)], UP, None),  # the same, upwards
        ([(4, 4), (2, 5), (4, 6)], UP, 1),
        ([(3, 7), (3, 5), (4, 2)], LEFT, 1),
        ([(1, 4), (2, 3), (4, 6)], DOWN, 1),
    ]
    for places, facing, expected in cases:
        state = placed(backend, places, [facing, UP, UP], seed=SEED)
        state, rewards, _, infos = after(SPEC, backend, state, "zap", "noop", "noop")
        found = [k for k, hand in enumerate(hands(backend, state)) if hand == STUN]
        verb = infos["verbs"][0]
        assert verb == ("" if expected is None else "hit"), (places, facing, verb)
        assert found == ([] if expected is None else [expected]), (places, facing)
        assert rewards.tolist() == [0.25 if expected else -0.25, 0.0, 0.0]


@each_backend
def test_who_does_not_answer_still_hides(backend: str) -> None:
    """The stunned agent cannot be hit again, and covers the one behind it."""
    for nearer, verb in ((("stun", 3), ""), (None, "hit")):
        state = placed(backend, [(1, 1), (1, 2), (1, 3)], [RIGHT, UP, UP], ("ball", nearer, None), SEED)
        _, _, _, infos = after(SPEC, backend, state, "zap", "noop", "noop")
        assert infos["verbs"] == [verb, "", ""]


@each_backend
def test_who_was_zapped_earlier_in_the_step_does_nothing(backend: str) -> None:
    """Agents 0 and 1 zap each other: the first one is faster, and the second one's turn is lost."""
    state = placed(backend, [(1, 1), (1, 3), (4, 6)], [RIGHT, LEFT, UP], seed=SEED)
    state, _, _, infos = after(SPEC, backend, state, "zap", "zap", "noop")
    assert infos["verbs"] == ["hit", "", ""]
    assert hands(backend, state) == ["ball", STUN, None]
    _, _, _, infos = after(SPEC, backend, state, "noop", "zap", "noop")
    assert infos["verbs"] == ["", "", ""]
    mask = dict(zip(made(SPEC, backend).action_names, infos["action_mask"].T, strict=True))
    assert mask["zap"].tolist() == [False, False, False]  # the stunned one cannot be hit again, or act


@each_backend
def test_adjacent_food_is_eaten_without_facing_it(backend: str) -> None:
    """
    f         b         b         b
    ^ f   ->  ^ f   ->  ^ f   ->  ^ b     up and down come before left and right, whatever is faced
    f         f         b         b
    """
    state = placed(backend, [(3, 1), (1, 4), (4, 6)], [UP, UP, LEFT])
    assert drawn(SPEC, backend, state).split("\n")[1:] == ["f           f", "^bf   p", "f         < f"]
    state, _, _, infos = after(SPEC, backend, state, "eat", "eat", "eat")
    assert infos["verbs"] == ["eat", "", "eat"]
    assert drawn(SPEC, backend, state).split("\n")[1:] == ["b           f", "^bf   p", "f         < b"]
    state, _, _, infos = after(SPEC, backend, state, "eat", "noop", "eat")
    assert infos["verbs"] == ["eat", "", ""]
    assert drawn(SPEC, backend, state).split("\n")[1:] == ["b           f", "^bf   p", "b         < b"]
    state, _, _, infos = after(SPEC, backend, state, "eat", "noop", "noop")
    assert drawn(SPEC, backend, state).split("\n")[1:] == ["b           f", "^bb   p", "b         < b"]


@each_backend
def test_two_that_eat_one_food(backend: str) -> None:
    """The food between them is gone for the second one."""
    state = placed(backend, [(1, 1), (3, 1), (4, 4)], [UP, UP, UP])
    _, rewards, _, infos = after(SPEC, backend, state, "eat", "eat", "noop")
    assert infos["verbs"] == ["eat", "", ""]
    assert rewards.tolist() == [2.0, 0.0, 0.0]


def test_parity() -> None:
    counts, _ = parity(SPEC, BACKENDS, ("interact", "zap", "zap", "eat"))
    assert min(counts[verb] for verb in ("give", "hit", "graze", "eat", "fetch")) >= 15, counts


def test_conformance() -> None:
    assert check_env(SPEC, BACKENDS)["hit"] > 0


def test_wrong_answers_are_refused() -> None:
    @dataclass(frozen=True)
    class Rude(Tag):
        def give(self, held: Any, other: Any) -> Any:
            return Outcome(held, other, "shove")

    with pytest.raises(
        TypeError, match=r'^Act\("interact"\)\.agent of Rude returned Outcome.* for .*, hand .* and other'
    ):
        made(Spec(Rude(), BOARD, observation="none"), "numpy")
    with pytest.raises(ValueError, match="leave reach and width out"):
        Aim(reach=2, adjacent=True)
    with pytest.raises(ValueError, match="Aim's reach=0 is out of range"):
        Aim(reach=0)
