"""What `check_env` exercises: the hooks of a game, its draws beside their odds, episode after episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid._core.compile import odds
from cogrid.author import (
    Act,
    Aim,
    Chance,
    Game,
    Hands,
    Joint,
    Meeting,
    OneCell,
    Outcome,
    Part,
    Reward,
    Slot,
    Spec,
)
from cogrid.backend import rng
from cogrid.testing.conformance import check_env
from cogrid.testing.draws import tail_of
from cogrid.testing.exercise import RULES, exercise
from tests._core.phases.test_leaving import SPEC as LEAVING
from tests._core.phases.test_slots import SPEC as SLOTS
from tests._core.test_everything import SPEC as EVERYTHING


@dataclass(frozen=True)
class Lamp(Game):
    """A lamp that is lit by chance, and goes out after a while."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "l": "lamp"}

    def interact(self, held: Any, thing: Any) -> Any:
        if thing == "lamp":
            return Chance((Outcome(held, "lit", "light", 1.0), 1), (Outcome(held, "lamp", "fail"), 3))
        return None

    def tick(self, thing: Any) -> Any:
        return Chance(("lamp", 1), ("lit", 1)) if thing == "lit" else thing

    def parts(self) -> tuple[Part, ...]:
        return (Act("toggle", thing=self.mine),)

    def mine(self, held: Any, thing: Any) -> Any:
        return Outcome(held, "gold", "mine") if thing == "silver" else None  # there is none


LAMP = Spec(Lamp(), "#####\n#1l2#\n#####", observation="none", max_steps=20)


def test_hooks_and_draws_of_a_lamp() -> None:
    report = check_env(LAMP, ["numpy"], steps=300)
    assert report["light"] > 0
    assert report["fail"] > report["light"]
    assert sorted(report.hooks) == ["Act.thing", "interact", "tick"]
    assert report.hooks["Act.thing"] == 0
    assert min(report.hooks["interact"], report.hooks["tick"]) > 50
    drawn = {(one.hook, one.value if one.hook == "tick" else one.value.verb): one for one in report.draws}
    assert set(drawn) == {("interact", "light"), ("interact", "fail"), ("tick", "lamp"), ("tick", "lit")}
    assert drawn["interact", "light"].share == 2**22
    assert drawn["interact", "light"].draws == drawn["interact", "fail"].draws > 50
    assert "rule Act.thing: never tried" in str(report).split("\n")
    assert "drawn tick('lit') -> 'lamp':" in str(report)


class Wick(Lamp):
    """A lamp with a clock, whose every moment is a case of its own with the same odds."""

    legend: ClassVar = {" ": "floor", "#": "wall", "l": 0}

    def interact(self, held: Any, thing: Any) -> Any:
        if isinstance(thing, int):
            return Chance((Outcome(held, 0, "light"), 1), (Outcome(held, 0, "fail"), 3))

    def tick(self, thing: Any) -> Any:
        return (thing + 1) % 40 if isinstance(thing, int) else thing

    def kind(self, thing: Any) -> str:
        return "wick" if isinstance(thing, int) else thing


def test_cases_with_the_same_odds_are_added_up() -> None:
    wick = Spec(Wick(), "#####\n#1l2#\n#####", observation="none", max_steps=200)
    drawn = exercise(wick, 300, 0).draws
    together = [one for one in drawn if one.about.startswith("all ")]
    assert [one.share for one in together] == [2**22, 3 * 2**22]
    assert {one.draws for one in together} == {sum(one.hits for one in drawn if one not in together)}
    assert together[0].draws > 3 * max(one.draws for one in drawn if one not in together)


def test_every_hook_of_a_world_that_has_them_all() -> None:
    tried, leaving = (exercise(spec, 120, 0).hooks for spec in (EVERYTHING, LEAVING))
    assert {*tried} == {*RULES} - {"tick"}  # `Near` takes its place
    assert {*leaving} == {
        *("interact", "enter", "tick", "hand"),
        *("Act.agent", "Act.aim", "Hands.tick", "Away.when", "Away.back"),
    }
    assert [hook for hooks in (tried, leaving) for hook, times in hooks.items() if not times] == []


def test_all_that_a_step_draws_is_counted() -> None:
    """Starts and ticks of hands and slots, one cell of many, and the points of return."""
    drawn = {one.hook: one for spec in (EVERYTHING, LEAVING, SLOTS) for one in exercise(spec, 200, 0).draws}
    assert {"hand", "Slot.start", "tick", "Near.tick", "Slot.tick", "OneCell", "Away.back"} <= set(drawn)
    assert (drawn["Away.back"].value, drawn["Away.back"].share) == ("second half", 2**23)
    assert drawn["Away.back"].draws > 20


@pytest.mark.parametrize(
    ("purpose", "spec"), [("return", LEAVING), ("one cell", EVERYTHING), ("tick slot", SLOTS)]
)
def test_each_of_them_is_judged(purpose: str, spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws of one purpose that are always the same are too far from their odds."""
    honest = odds.Draws.of

    def of(self: Any, name: str, drawn: Any) -> Any:
        found = honest(self, name, drawn)
        return found * np.uint32(0) if name == purpose else found

    monkeypatch.setattr(odds.Draws, "of", of)
    with pytest.raises(AssertionError, match=r"is too far from it"):
        exercise(spec, 400, 0)


def test_steps_go_on_into_the_next_episodes() -> None:
    """Twenty steps are an episode: a lamp that is lit once for good is lit in each of them."""

    @dataclass(frozen=True)
    class Once(Lamp):
        def interact(self, held: Any, thing: Any) -> Any:
            return Outcome(held, "lit", "light") if thing == "lamp" else None

        def tick(self, thing: Any) -> Any:
            return thing

    spec = Spec(Once(), "#####\n#1l2#\n#####", observation="none", max_steps=20)
    short, long = (check_env(spec, ["numpy"], steps=steps)["light"] for steps in (20, 200))
    assert short <= 4  # environments
    assert long > 20


def test_draws_that_are_too_far_from_their_odds(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = rng.draws
    monkeypatch.setattr(rng, "draws", lambda *about: honest(*about) // np.uint32(2))
    with pytest.raises(AssertionError, match=r"Lamp\.(interact|tick)\(.*odds 0\.\d+ is too far from it"):
        exercise(LAMP, 300, 0)


def test_one_cell_that_never_changes_is_told() -> None:
    @dataclass(frozen=True)
    class Late(Lamp):
        def parts(self) -> tuple[Part, ...]:
            late = OneCell(lambda thing: thing == "lit", lambda thing: "lamp", since=1000)
            return (*super().parts(), late)

    spec = Spec(Late(), "#####\n#1l2#\n#####", observation="none")
    assert exercise(spec, 60, 0).hooks["OneCell"] == 0


@dataclass(frozen=True)
class Shy(Lamp):
    """A slot that never changes, an action that works on agents, and joint work that never does."""

    def parts(self) -> tuple[Part, ...]:
        beside = Aim(adjacent=True)
        return (
            Act("zap", agent=lambda held, other: Meeting(held, other, "zap"), aim=beside),
            Joint("lift", lambda held, total, thing: None, aim=beside, agent=lambda held, other: None),
            Slot("bell", 0),
        )


def test_rules_that_were_asked_in_vain() -> None:
    """Every step asks what hands and slots become."""

    @dataclass(frozen=True)
    class Idle(Lamp):
        def parts(self) -> tuple[Part, ...]:
            return Hands(tick=lambda held: held), Slot("bell", 0, tick=lambda thing: thing)

    lines = str(check_env(Spec(Idle(), "#####\n#1l2#\n#####", observation="none"), ["numpy"], steps=40))
    assert {"rule Hands.tick: changed nothing", "rule Slot.tick: changed nothing"} <= {*lines.split("\n")}


def test_a_term_that_never_pays_is_a_warning() -> None:
    @dataclass(frozen=True)
    class Sung(Lamp):
        def rewards(self) -> tuple[Reward, ...]:
            sung = Reward("sung", lambda event: float(event.verb == "sing"))
            return Reward("lit", lambda event: event.value), sung

    with pytest.warns(UserWarning, match="the reward term 'sung' of Sung can never be paid") as caught:
        check_env(Spec(Sung(), "#####\n#1l2#\n#####", observation="none"), ["numpy"], steps=3)
    assert [warning.filename for warning in caught] == [__file__]


def test_one_action_is_not_counted_for_another() -> None:
    tried = exercise(Spec(Shy(), "#####\n#1l2#\n#   #\n#####", observation="none"), 100, 0).hooks
    assert min(tried["Act.agent"], tried["Act.aim"], tried["Slot"]) > 0
    assert {name: tried[name] for name in ("Joint.work", "Joint.agent", "Joint.aim")} == {
        "Joint.work": 0,
        "Joint.agent": 0,
        "Joint.aim": 0,
    }


def test_tails() -> None:
    """Of four fair coins: none with 1/16, at most one with 5/16; certainties are certain."""
    half = 2**23
    assert [tail_of(4, half, hits) for hits in range(5)] == pytest.approx(
        [1 / 16, 5 / 16, 11 / 16, 5 / 16, 1 / 16]
    )
    assert (tail_of(9, 0, 0), tail_of(9, 0, 1), tail_of(9, 2**24, 9)) == (1.0, 0.0, 1.0)


def test_the_registered_ids() -> None:
    for id in ("Overcooked-CrampedRoom-V0", "CleanUp-V0"):
        tried = exercise(cogrid.make(id).spec, 60, 0).hooks
        assert min(tried.values()) > 0, tried
