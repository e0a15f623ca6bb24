"""Ends by condition, for one agent and for all; prices of steps and actions; terms that look at the board."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid.author import Ends, Game, Looks, Outcome, Part, Price, Reward, Slot, Spec, Tally
from cogrid.testing.conformance import check_env
from tests._core.worlds import after, drawn, fresh, initials, made, parity, picture
from tests.support import BACKENDS, INTERACT, NOOP, TOGGLE

each_backend = pytest.mark.parametrize("backend", BACKENDS)
BOARD = """
#######
#1v e2#
# v   #
#######
"""


@dataclass(frozen=True)
class Rescue(Game):
    """Victims are saved one by one; who goes to the exit has left; every step and call costs something."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "v": "victim", "e": "exit"}

    def interact(self, held: Any, thing: Any) -> Any:
        if thing == "victim":
            return Outcome(held, ("saved", 9), "save", 4.0)
        return Outcome("ticket", "exit", "leave") if thing == "exit" else None

    def tick(self, thing: Any) -> Any:
        match thing:
            case "saved", steps:
                return ("saved", steps - 1) if steps else "victim"
        return thing

    def parts(self) -> tuple[Part, ...]:
        return (Ends(hand=lambda held: held == "ticket", remaining=lambda thing: int(thing == "victim")),)

    def rewards(self) -> Any:
        return (
            Reward("score", lambda event: event.value, team=True),
            Price("calls", lambda action, held: -0.5 if action == "toggle" else 0.0, team=True),
            Price("steps", lambda action, held: -0.25),
            Tally("victims", lambda thing: thing == "victim", lambda count: -float(count), 2, now=True),
            Tally(
                "victims before", lambda thing: thing == "victim", lambda count: float(count), 2, now=False
            ),
        )

    def looks(self) -> Looks:
        return Looks(glyph=initials)


SPEC = Spec(Rescue(), BOARD, observation="none", max_steps=400)
STARTS = {"agent_pos": np.array([(1, 1), (2, 3)]), "agent_dir": np.array([0, 2])}


@each_backend
def test_the_episode_ends_when_nothing_remains(backend: str) -> None:
    """
    > v   e          > s   e
      v <       ->     s <       and all have ended
    """
    state = made(SPEC, backend).replace(fresh(SPEC, backend), **STARTS)
    one, rewards, done, _ = after(SPEC, backend, state, "interact", "noop")
    assert drawn(SPEC, backend, one) == picture("> s   e\n  v <")
    assert not done
    assert rewards.tolist() == [4.75, 4.75]  # one victim fewer, and a step
    two, rewards, done, _ = after(SPEC, backend, one, "noop", "interact")
    assert drawn(SPEC, backend, two) == picture("> s   e\n  s <")
    assert done
    assert np.asarray(two.ended).all()
    later, rewards, done, _ = after(SPEC, backend, two, "noop", "noop")
    assert (done, rewards.tolist()) == (True, [0.0, 0.0])
    assert int(later.time) == int(two.time) == 2


@each_backend
def test_an_agent_ends_by_its_hand_and_pays_no_more(backend: str) -> None:
    """Agent 1 leaves through the exit, agent 0 goes on.

    > v   e <        > v   e <t
      v         ->     v
    """
    env = made(SPEC, backend)
    state = env.replace(
        fresh(SPEC, backend), agent_pos=np.array([(1, 1), (1, 5)]), agent_dir=np.array([0, 2])
    )
    state, rewards, done, infos = after(SPEC, backend, state, "noop", "interact")
    assert drawn(SPEC, backend, state) == picture("> v   e <t\n  v")
    assert np.asarray(state.ended).tolist() == [False, True]
    assert not done
    assert rewards.tolist() == [-0.25, -0.25]
    state, rewards, _, infos = after(SPEC, backend, state, "toggle", "toggle")
    assert rewards.tolist() == [-0.75, 0.0]  # the team pays one call; who has ended pays nothing
    assert infos["reward calls"].tolist() == [-0.5, 0.0]
    assert infos["action_mask"][1].tolist() == [k == NOOP for k in range(7)]


@dataclass(frozen=True)
class Tolls(Rescue):
    """Every step has a price, and nothing else pays."""

    team: bool = False

    def rewards(self) -> Any:
        return (Price("steps", lambda action, held: -0.25, team=self.team),)


@each_backend
@pytest.mark.parametrize("team", [False, True])
def test_nobody_pays_the_price_of_who_has_ended(backend: str, team: bool) -> None:
    """Agent 1 leaves through the exit, as above; then there is one price less to pay, by one or by all."""
    spec = Spec(Tolls(team), BOARD, observation="none")
    state = made(spec, backend).replace(
        fresh(spec, backend), agent_pos=np.array([(1, 1), (1, 5)]), agent_dir=np.array([0, 2])
    )
    state, rewards, _, _ = after(spec, backend, state, "noop", "interact")
    assert rewards.tolist() == ([-0.5, -0.5] if team else [-0.25, -0.25])
    _, rewards, _, infos = after(spec, backend, state, "noop", "noop")
    assert rewards.tolist() == infos["reward steps"].tolist() == [-0.25, 0.0]


def test_termination_in_pettingzoo() -> None:
    env = cogrid.CoGridEnv(SPEC)
    env.reset(seed=0)
    env.set_state(env.replace(env.env_state, **STARTS))
    *_, terminations, truncations, _ = env.step({0: INTERACT, 1: TOGGLE})
    assert terminations == truncations == {0: False, 1: False}
    *_, terminations, truncations, _ = env.step({0: NOOP, 1: INTERACT})
    assert (terminations, truncations) == ({0: True, 1: True}, {0: False, 1: False})
    assert env.agents == []


def test_prices_of_both_signs_add_up() -> None:
    """The components of the infos are the terms, and their sum is the reward."""
    _, tape = parity(SPEC, BACKENDS)
    names = [name for name in tape if name.startswith("reward ")]
    assert len(names) == 5
    np.testing.assert_array_equal(sum(tape[name] for name in names), tape["rewards"])
    going = ~np.concatenate((np.zeros_like(tape["done"][:1]), tape["done"][:-1]))
    assert (tape["reward steps"] == -0.25).sum() > 100
    assert (tape["reward calls"][going] != 0).sum() > 20
    ended_first = tape["ended"].any(axis=-1) & ~tape["ended"].all(axis=-1)
    assert ended_first.sum() > 20
    assert tape["ended"][-1].all(axis=-1).sum() >= 4
    had_ended = np.concatenate((np.zeros_like(tape["ended"][:1]), tape["ended"][:-1]))
    assert (tape["rewards"][had_ended] == 0).all()
    before, now = tape["reward victims before"][1:], tape["reward victims"][:-1]
    np.testing.assert_array_equal(before[~had_ended[1:]], -now[~had_ended[1:]])


def test_conformance() -> None:
    assert check_env(SPEC, BACKENDS)["save"] > 0


@dataclass(frozen=True)
class Errands(Game):
    """Parcels go onto the bus, and who boards it with one has ended; a load costs; debts meet credits."""

    legend: ClassVar[Any] = {
        **{" ": "floor", "#": "wall", "p": "parcel", "B": "bus", "d": "debt", "c": "credit"}
    }

    def interact(self, held: Any, thing: Any) -> Any:
        match held, thing:
            case None, "parcel":
                return Outcome("parcel", "gone", "fetch")
            case "parcel", "bus":
                return Outcome(held, "bus", "board", 3.0)
            case _, "debt":
                return Outcome(held, "paid", "pay")
        return None

    def tick(self, thing: Any) -> Any:
        return "parcel" if thing == "gone" else thing

    def parts(self) -> tuple[Part, ...]:
        owed = {"debt": 2, "paid": 1, "credit": -1}
        return (Ends(verbs=("board",), remaining=lambda thing: owed.get(thing, 0)),)

    def rewards(self) -> Any:
        load = Price("load", lambda action, held: -0.5 if held and action != "noop" else 0.0)
        return Reward("score", lambda event: event.value), load

    def looks(self) -> Looks:
        return Looks(glyph=initials)


ERRANDS = Spec(Errands(), "#######\n#1pBdc#\n#2    #\n#c  cd#\n#######", observation="none", max_steps=400)


@each_backend
def test_final_verbs_prices_by_hand_and_what_makes_up_for_something(backend: str) -> None:
    """Agent 0 takes a parcel, then boards the bus; agent 1 pays one of two debts, and the credits the rest.

    > p b d c          >pp b d c              p b d c              p b p c
    ^           ->     ^           …        ^p          …        ^p^         all have ended
    c     c d          c     c d          c     c d          c     c d
    """
    env = made(ERRANDS, backend)
    state = env.replace(fresh(ERRANDS, backend), agent_dir=np.array([0, 3]))
    assert drawn(ERRANDS, backend, state) == picture("> p b d c\n^\nc     c d")
    state, rewards, done, infos = after(ERRANDS, backend, state, "interact", "noop")
    assert (infos["verbs"], rewards.tolist()) == (["fetch", ""], [0.0, 0.0])  # the hand was empty before
    assert not done  # 1 remains
    assert drawn(ERRANDS, backend, state) == picture(">pp b d c\n^\nc     c d")
    _, rewards, _, _ = after(ERRANDS, backend, state, "left", "noop")
    assert rewards.tolist() == [-0.5, 0.0]
    _, rewards, _, _ = after(ERRANDS, backend, state, 99, "noop")  # out of range is the noop
    assert rewards.tolist() == [0.0, 0.0]
    state = env.replace(state, agent_pos=np.array([(2, 3), (2, 4)]), agent_dir=np.array([3, 3]))
    state, rewards, done, infos = after(ERRANDS, backend, state, "interact", "noop")
    assert (infos["verbs"], rewards.tolist(), done) == (["board", ""], [2.5, 0.0], False)
    assert np.asarray(state.ended).tolist() == [True, False]
    state, rewards, done, infos = after(ERRANDS, backend, state, "interact", "interact")
    assert (infos["verbs"], rewards.tolist(), done) == (["", "pay"], [0.0, 0.0], True)
    assert drawn(ERRANDS, backend, state) == picture("  p b p c\n    ^p^\nc     c d")


def test_errands_parity_and_conformance() -> None:
    """On a board where the credit is never met, so that only the final verb ends anybody."""
    endless = Spec(Errands(), "#######\n#1pBpc#\n#2    #\n#######", observation="none", max_steps=400)
    counts, tape = parity(endless, BACKENDS)
    assert min(counts["fetch"], counts["board"]) >= 8, counts
    alone = tape["ended"].any(axis=-1) & ~tape["ended"].all(axis=-1)
    assert alone.sum() > 100
    assert (tape["reward load"] < 0).sum() > 50
    assert check_env(ERRANDS, BACKENDS, steps=120).hooks["Ends.verbs"] > 0


@dataclass(frozen=True)
class Post(Game):
    """A parcel goes into a chute; the van leaves after some steps."""

    ends: Ends
    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "p": "parcel", "c": "chute"}

    def interact(self, held: Any, thing: Any) -> Any:
        match held, thing:
            case None, "parcel":
                return Outcome("parcel", "shelf", "fetch")
            case "parcel", "chute":
                return Outcome(None, "chute", "drop")
        return None

    def parts(self) -> tuple[Part, ...]:
        return Slot("van", 5, tick=lambda steps: max(0, steps - 1)), Slot("name", "post"), self.ends


def is_parcel(thing: Any) -> int:
    return int(thing == "parcel")


def steps_left(slot: str, thing: Any) -> int:
    return thing if slot == "van" else 0


@each_backend
@pytest.mark.parametrize(
    ("ends", "last"),
    [
        (Ends(remaining=is_parcel), 2),
        (Ends(in_hands=is_parcel), 1),
        (Ends(remaining=is_parcel, in_hands=is_parcel), 4),
        (Ends(in_slots=steps_left), 5),
        (Ends(remaining=is_parcel, in_hands=is_parcel, in_slots=steps_left), 5),
        (Ends(hand=lambda held: False), None),
    ],
    ids=["board", "hands", "both", "slots", "all", "none"],
)
def test_what_remains_on_the_board_in_hands_and_in_slots(backend: str, ends: Ends, last: int | None) -> None:
    """
    ^ p        the parcel is fetched in the second step and dropped in the fourth;
    c          the van leaves in the fifth
    """
    spec = Spec(Post(ends), "####\n#1p#\n#c##\n####", num_agents=1, observation="none")
    state, over = fresh(spec, backend), []
    for number, action in enumerate(("right", "interact", "down", "interact", "noop", "noop"), 1):
        state, _, done, _ = after(spec, backend, state, action)
        over += [number] if done else []
    assert over == ([] if last is None else list(range(last, 7)))


def test_wrong_terms_are_refused() -> None:
    @dataclass(frozen=True)
    class Dear(Rescue):
        def rewards(self) -> Any:
            return (Price("dear", lambda action, held: float("inf")),)

    @dataclass(frozen=True)
    class Halves(Rescue):
        def rewards(self) -> Any:
            return (Price("half", lambda action, held: 0.5, shaping=True),)

    with pytest.raises(ValueError, match=r"the term 'dear' pays inf"):
        made(Spec(Dear(), BOARD, observation="none"), "numpy")
    with pytest.raises(ValueError, match="must be whole numbers"):
        made(Spec(Halves(), BOARD, observation="none", shaping=1.0), "numpy")
    with pytest.raises(ValueError, match="most of the tally 'none'=0 is out of range"):
        Tally("none", int, float, 0)
