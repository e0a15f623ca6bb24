"""Every registered id keeps every promise of `check_env`, and the check notices broken ones."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.author.game import Game
from cogrid._core.author.layout import Layout
from cogrid._core.compile.actions import RIGHT
from cogrid._core.compile.spec import Spec
from cogrid._core.phases.movement import Movement
from cogrid._core.rules import compile_rules
from cogrid._core.see.features import Agents
from cogrid.author import Ends, Outcome
from cogrid.testing.conformance import check_env
from tests.support import BACKENDS, EVERY_ID, marks, plant

ROOM = "Overcooked-CrampedRoom-V0"
VARIANTS = [pytest.param(id, {}, marks=marks(id), id=id) for id in EVERY_ID]
VARIANTS += [("Foraging-2s-10x10-3p-3f-V0", {"penalty": 0.1, "normalize_reward": False})]
VARIANTS += [(ROOM, {"observation": kind, "random_start": True}) for kind in ("lossless", "window", "none")]
VARIANTS += [
    (ROOM, {"cook_start": "interact", "shaping": 0.3, "layout": [ROOM.split("-")[1], "CounterCircuit"]})
]
#: Corridors that random play gets through only after a while.
LONG = ("OvercookedAI-LongCookTime-V0", "OvercookedV2-LongRoom-V0")


@pytest.mark.parametrize(("id", "options"), VARIANTS)
def test_registered(id: str, options: dict[str, Any]) -> None:
    verbs = check_env(cogrid.make(id, **options).spec, BACKENDS, steps=400 if id in LONG else 60)
    assert sum(verbs.values()) > 0 or id == "Arena-V0"  # where there is nothing to do


@pytest.mark.parametrize(("num_agents", "action_set"), [(1, "cardinal"), (3, "rotation"), (6, "rotation")])
def test_many_agents_and_action_sets(num_agents: int, action_set: str) -> None:
    check_env(
        cogrid.make(
            "Overcooked-CounterCircuit-V0", num_agents=num_agents, action_set=action_set, random_start=True
        ).spec,
        BACKENDS,
    )


class Flawed(Game):
    """A world whose rules or numbers go wrong on purpose."""


@dataclasses.dataclass(frozen=True)
class Blinding(Flawed):
    """An observation that is out of its range."""

    def features(self) -> Any:
        return (Agents(("much",), lambda item: (7.0,)),)


BOARD = Layout("board", "####\n#12#\n####")


def test_a_number_out_of_its_space_is_noticed() -> None:
    with pytest.raises(ValueError, match=r"Agents of features\(\) returns 7\.0: stay within -1 and 1"):
        check_env(Spec(Blinding(), (BOARD,)), ("numpy",))


@dataclasses.dataclass(frozen=True)
class Over(Flawed):
    """A world that has ended when it begins."""

    ends: Ends

    def parts(self) -> Any:
        return (self.ends,)

    def interact(self, held: Any, thing: Any) -> Any:
        return Outcome(held, thing, "knock") if thing == "wall" else None


def test_a_world_that_is_over_at_once() -> None:
    for ends, reason in (
        (Ends(in_hands=lambda held: 0), "by Ends of Over nothing remains at the start"),
        (Ends(hand=lambda held: True), r"Ends\.hand of Over is true for all agents at the start"),
    ):
        with pytest.raises(AssertionError, match=rf"an episode of noops ended after step 1, since {reason}$"):
            check_env(Spec(Over(ends), (BOARD,), observation="none"), ("numpy",))


@dataclasses.dataclass(frozen=True)
class Told(Flawed):
    """A world that tells how to play it."""

    text: Any

    def how_to_play(self, things: Any, items: Any) -> Any:
        assert "wall" in things
        assert items == (None,)
        return self.text

    def interact(self, held: Any, thing: Any) -> Any:
        return Outcome(held, thing, "knock") if thing == "wall" else None


def test_only_actions_stand_in_backticks() -> None:
    check_env(Spec(Told("Knock with `interact`."), (BOARD,), observation="none"), ("numpy",))
    why = r"Told\.how_to_play has 'knock' in backticks, which is no action: choose one of up, .*, noop, or"
    with pytest.raises(AssertionError, match=why):
        check_env(Spec(Told("Just `knock`."), (BOARD,), observation="none"), ("numpy",))
    with pytest.raises(TypeError, match=r"Told\.how_to_play returned None: return a text\."):
        check_env(Spec(Told(None), (BOARD,), observation="none"), ("numpy",))


def test_a_check_of_nothing_is_an_error() -> None:
    spec = Spec(Over(Ends(verbs=("knock",))), (BOARD,), observation="none")
    with pytest.raises(ValueError, match="steps=0 is out of range"):
        check_env(spec, ("numpy",), steps=0)
    for backends in ((), [], "numpy"):
        with pytest.raises(ValueError, match=r"^backends=.* names no backends: give some of numpy, jax"):
            check_env(spec, backends)


if len(BACKENDS) > 1:

    def test_backends_that_differ_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
        spec = cogrid.make("Overcooked-CrampedRoom-V0").spec
        plant(monkeypatch, compile_rules(spec, "numpy"), Movement, turn=np.zeros_like)
        with pytest.raises(AssertionError, match=f"numpy and {BACKENDS[1]} differ (in the infos )?at step"):
            check_env(spec, BACKENDS)


def test_facing_is_named() -> None:
    env = cogrid.make("Overcooked-CrampedRoom-V0")
    obs, _ = env.reset(seed=0)
    assert obs[0][env.feature_names.index("facing up")] == 1
    assert obs[0][env.feature_names.index("facing right")] == 0
    obs, *_ = env.step({0: 3, 1: 6})
    assert obs[0][env.feature_names.index("facing right")] == 1
    assert int(env.env_state.agent_dir[0]) == RIGHT
