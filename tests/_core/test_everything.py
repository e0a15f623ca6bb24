"""One world that uses every hook at once, through everything that plays worlds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid._core.author.answers import (
    Aim,
    BySlot,
    Counted,
    Meeting,
    Near,
    OneCell,
    Outcome,
    Placed,
    Price,
    Replies,
    Reply,
    Reward,
    Tally,
    View,
)
from cogrid._core.author.chance import Chance
from cogrid._core.author.game import Game
from cogrid._core.author.hooks import written
from cogrid._core.compile.spec import Spec
from cogrid._core.see.features import Agents, Faced, Place, SlotFeature
from cogrid.replay import recording as replay
from cogrid.testing.conformance import check_env
from tests._core.worlds import BATCH, STEPS, busy, made, parity, tape
from tests.support import BACKENDS, HAS_JAX, assert_same, keys

BOARD = """
##########
#1a.a..a2#
# ..BB.w.#
#.a..3.wE#
#a.   .w.#
##########
"""


@dataclass(frozen=True)
class Everything(Game):
    """Apples, boulders for two, a river that gets dirty, snowballs, an exit, customers and odd glasses."""

    legend: ClassVar[Any] = {
        **{" ": "floor", "#": "wall", "a": "apple", ".": "grass", "B": "boulder", "w": "water", "E": "exit"}
    }
    planes: ClassVar[tuple[str, ...]] = ("apple", "agent", "cold", "customer", "late")
    countdown: ClassVar[Any] = ("late", 20)
    timed: ClassVar[tuple[str, ...]] = ("eat",)
    final_verbs: ClassVar[frozenset[str]] = frozenset({"retire"})
    actions: ClassVar[tuple[str, ...]] = ("throw", "push")
    joint: ClassVar[str] = "push"
    most_strength: ClassVar[int] = 3
    moves_first: ClassVar[bool] = True
    swaps: ClassVar[bool] = True

    def walkable(self, thing: Any) -> bool:
        return thing in ("floor", "apple", "grass", "rubble")

    def start(self, thing: Any) -> Any:
        return Chance(("grass", 2), ("apple", 1)) if thing == "grass" else thing

    def generate(self, sketch: Any) -> Any:
        xp, grass, board = sketch.xp, sketch.code("."), sketch.layout()
        board = xp.where(board == sketch.code("B"), grass, board)
        for letter in "BBa":
            board = xp.where(sketch.pick(board == grass), sketch.code(letter), board)
        return board

    def placed(self) -> Any:
        return (Placed(2, lambda strength: Chance(("apple", 1), ("rubble", 1)), apart=2),)

    def scattered(self) -> Any:
        return "rubble", 0.1

    def near(self) -> Any:
        return Near(lambda thing: thing == "apple", most=3, radius=2)

    def tick_near(self, thing: Any, count: int) -> Any:
        if thing == "rubble":
            return Chance(("grass", 1), ("rubble", 9))
        if thing != "grass" or not count:
            return thing
        return Chance(("apple", count), ("grass", 60 - count))

    def one_cell(self) -> Any:
        return (OneCell(lambda thing: thing == "water", lambda thing: "dirt", 1, 4, since=5),)

    def hand(self, agent: int) -> Any:
        return Chance(("strong", 1), ("weak", 1)) if agent else "weak"

    def tick_hand(self, held: Any) -> Any:
        if not isinstance(held, tuple):
            return held
        role, steps = held  # below zero, it is off the board
        return (role, steps - (1 if steps > 0 else -1)) if steps else role

    def away(self, held: Any) -> bool:
        return isinstance(held, tuple) and held[1] < 0

    def spawn(self, thing: Any) -> bool:
        return bool(thing == "grass")

    def can_move(self, held: Any) -> bool:
        return not isinstance(held, tuple)

    def can_act(self, held: Any) -> bool:
        return not isinstance(held, tuple)

    def strength(self, held: Any) -> int:
        return {"weak": 1, "strong": 2}.get(held, 0)

    def enter(self, held: Any, thing: Any) -> Any:
        return Outcome(held, "grass", "eat", 1.0) if thing == "apple" else None

    def interact(self, held: Any, thing: Any) -> Any:
        if thing == "dirt":
            return Chance((Outcome(held, "water", "clean"), 3), (None, 1))
        return Outcome("out", thing, "leave") if thing == "exit" else None

    def toggle(self, held: Any, thing: Any) -> Any:
        if thing != "exit":
            return None
        return Outcome(held, thing, "retire" if held == "strong" else "ring", 0.125)

    def aim(self, action: str) -> Aim:
        return Aim(reach=3, width=1) if action == "throw" else Aim(adjacent=True)

    def act(self, action: str, held: Any, thing: Any) -> Any:
        return Outcome(held, "dirt", "splash") if thing == "water" else None

    def meet(self, action: str, held: Any, other: Any) -> Any:
        if action != "throw" or other not in ("weak", "strong"):
            return None
        out = Meeting(held, (other, -5), "send off", 0.25)
        return Chance((Meeting(held, (other, 4), "hit", 0.5), 1), (Meeting(held, other, "miss"), 1), (out, 2))

    def join(self, held: Any, total: int, thing: Any) -> Any:
        if thing != "boulder":
            return None
        return Outcome(held, "rubble", "push", 2.0 / total) if total >= 2 else Outcome(held, thing, "strain")

    def slots(self) -> Mapping[str, Any]:
        customer = Chance((("eat", 9), 1), (("clean", 9), 1))
        return {"crop": Counted(lambda t: int(t == "apple"), 6), "customer": customer, "guest": customer}

    def own_slots(self) -> Mapping[str, Any]:
        return {"glasses": Chance(("clear", 1), ("swapped", 1))}

    def sees(self, thing: Any) -> Mapping[str, str]:
        return {"apple": "cold", "cold": "apple"} if thing == "swapped" else {}

    def reply(self, slot: str, thing: Any, event: Any) -> Any:
        if slot == "crop":
            return Reply(max(0, thing - 1)) if event.verb == "eat" else None
        return Reply(("wait", 5), 3.0) if event.verb == thing[0] else None  # no glasses are called so

    def rank(self, slot: str, thing: Any) -> int:
        return thing[1] if slot in ("customer", "guest") else 99

    def tick_slot(self, slot: str, thing: Any) -> Any:
        if slot not in ("customer", "guest"):
            return thing
        wish, steps = thing
        if steps:
            return wish, steps - 1
        return Chance((("eat", 9), 1), (("clean", 9), 1)) if wish == "wait" else Reply(("wait", 5), -1.0)

    def finished(self, held: Any) -> bool:
        return bool(held == "out")

    def remaining(self, thing: Any) -> int:
        return int(thing in ("apple", "boulder"))

    def rewards(self) -> Any:
        return (
            Reward("score", lambda event: event.value),
            Reward("team", lambda event: float(event.verb == "push"), team=True, shaping=True),
            Price("price", lambda action, held: -0.125 if action == "throw" else 0.0),
            Tally("dirt", lambda thing: thing == "dirt", lambda count: -count / 8, 3),
            Replies("customers"),
            BySlot("wish", "customer", lambda event, thing: 0.25 * (event.verb == thing[0])),
        )

    def features(self) -> Any:
        cold = Agents(("cold",), lambda item: (float(isinstance(item, tuple)),))
        faced = Faced(("dirt",), lambda thing: (float(thing == "dirt"),))
        places = Place(nearest=("exit",), each=("boulder",))
        return cold, faced, places, SlotFeature("customer", ("steps",), lambda thing: (thing[1] / 9,))

    def paint(self, thing: Any) -> Mapping[str, int]:
        return {"apple": int(thing == "apple")}

    def paint_agent(self, own: bool, facing: int, held: Any) -> Mapping[str, int]:
        return {"agent": 1 + own, "cold": int(isinstance(held, tuple))}

    def paint_away(self, own: bool, held: Any) -> Mapping[str, int]:
        return {"agent": 64 * (1 + own)}

    def shows(self, thing: Any) -> bool:
        return bool(thing == "exit")

    def paint_slot(self, slot: str, thing: Any) -> Mapping[str, int]:
        return {"customer": 1 + thing[1]} if slot == "customer" else {}

    def view(self) -> View:
        return View(ahead=3, behind=1, side=2)

    def item_name(self, item: Any) -> str:
        return item if isinstance(item, str) else f"cold {item[0]} {item[1]}"


SPEC = Spec(Everything(), BOARD, num_agents=3, observation="window", window=5, shaping=0.5, max_steps=STEPS)
OFTEN = ("interact", "toggle", "throw", "push")
VERBS = ("eat", "clean", "splash", "hit", "miss", "send off", "push", "strain", "leave", "ring", "retire")
#: Hooks of names, looks and layouts, and the one whose place `tick_near` takes.
OTHERS = {
    *("kind", "lying", "glyph", "look", "look_slot", "look_item", "look_agent"),
    *("layouts", "default_layouts", "state_type", "tick"),
}


def test_it_writes_every_hook() -> None:
    every = {name for name in vars(Game) if not name.startswith("_")}
    assert every - set(written(SPEC.game)) == OTHERS


def test_both_backends_alone_and_in_a_batch() -> None:
    counts, seen = parity(SPEC, BACKENDS, OFTEN)
    assert min(counts[verb] for verb in VERBS) >= 5, counts
    assert min((seen["reward customers"] == value).sum() for value in (3.0, -1.0)) >= 5
    assert (seen["reward dirt"] < 0).sum() > 100
    assert seen["ended"].any(axis=-1).sum() > 20
    away = seen["away"]
    assert min((away[1:] & ~away[:-1]).sum(), (away[:-1] & ~away[1:]).sum()) >= 5
    assert len(np.unique(seen["cells"][0], axis=0)) == BATCH  # everyone a board of its own


def test_features() -> None:
    spec = SPEC.override(observation="features")
    actions = busy(spec, OFTEN)[:40]
    ours = tape(spec, "numpy", actions)
    for backend in BACKENDS[1:]:
        np.testing.assert_array_equal(ours["obs"], tape(spec, backend, actions)["obs"])
    assert len(np.unique(ours["obs"])) > 3


def test_conformance() -> None:
    counts = check_env(SPEC, BACKENDS)
    assert counts["eat"] > 0


def test_snapshot_replay_and_shadow() -> None:
    env = cogrid.CoGridEnv(SPEC, "numpy", infos=True, shadow=HAS_JAX)
    env.reset(seed=2)
    joints = busy(SPEC, OFTEN)[:24, 0].clip(0, 8)
    for joint in joints[:12].tolist():
        env.step({agent: joint[agent] for agent in env.agents})
    other = made(SPEC, BACKENDS[-1])
    other.set_state(env.get_state())
    for joint in joints[12:].tolist():
        for each in (env, other):
            each.step({agent: joint[agent] for agent in each.agents})
    assert_same(env.env_state, other.env_state)
    assert env.shadow is None or (env.shadow.mismatches, env.shadow.comparisons > 20) == (0, True)
    taped = replay.record(env, joints, 2)
    for backend in BACKENDS:
        taped.verify(backend, env=env)


@pytest.mark.parametrize("backend", BACKENDS)
def test_vectors(backend: str) -> None:
    """A vector's environments are those of its keys alone, and begin their next episodes by themselves.

    First on boards that the game draws, then with states of a pool.
    """
    short = SPEC.override(max_steps=9)
    pool = made(short, backend).reset_fn(keys(5, 2))[0]
    vec = cogrid.VectorEnv(short, 3, backend, shadow=HAS_JAX)
    obs, _ = vec.reset(seed=4)
    for joint in busy(SPEC, OFTEN)[:20, :3].clip(0, 8):
        obs, *_ = vec.step(joint)
    assert np.asarray(obs).shape == (3, 3, 5, 5, 5)
    vec.reset(options={"pool": pool})
    known = {bytes(one) for one in np.asarray(pool.places)}
    for joint in busy(SPEC, OFTEN)[:20, :3].clip(0, 8):
        vec.step(joint)
        assert {bytes(one) for one in np.asarray(vec.env_state.places)} <= known
    assert vec.shadow is None or (vec.shadow.mismatches, vec.shadow.comparisons) == (0, 126)


if HAS_JAX:
    import jax

    def test_rollout_on_two_devices() -> None:
        env = made(SPEC, "jax")

        def policy(params: Any, obs: Any, key: Any) -> Any:
            return jax.random.randint(key, obs.shape[:1], 0, 9)

        runs = [
            cogrid.rollout(env, policy, jax.random.key(0), 8, 24, chunk=12, devices=jax.devices()[:count])
            for count in (1, 2)
        ]
        assert_same(runs[0].state, runs[1].state)
        np.testing.assert_array_equal(runs[0].sums.rewards, runs[1].sums.rewards)
        assert np.asarray(runs[0].sums.rewards).any()


def test_a_batch_of_many_is_its_slices() -> None:
    env = made(SPEC, "numpy")
    actions = busy(SPEC, OFTEN)[:30]
    many, _ = env.reset_fn(keys(11, BATCH))
    alone = [env.reset_fn(key)[0] for key in keys(11, BATCH)]
    for joint in actions:
        many = env.step_fn(many, joint)[0]
        alone = [env.step_fn(state, one)[0] for state, one in zip(alone, joint, strict=True)]
    for index, state in enumerate(alone):
        for name, value in state.stored().items():
            np.testing.assert_array_equal(np.asarray(many.stored()[name])[index], value)
