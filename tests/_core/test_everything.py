"""One world that uses every hook and every part at once, through everything that plays worlds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid._core.author.kinds import KINDS, written
from cogrid.author import (
    ORANGE,
    SKY,
    Act,
    Agents,
    Aim,
    Away,
    BySlot,
    Chance,
    Counted,
    Ends,
    Event,
    Faced,
    Game,
    Generated,
    Hands,
    Joint,
    Look,
    Looks,
    Meeting,
    Moving,
    Near,
    OneCell,
    Outcome,
    Paint,
    Part,
    Place,
    Placed,
    Planes,
    Price,
    Replies,
    Reply,
    Reward,
    Scattered,
    Slot,
    SlotFeature,
    Spec,
    Tally,
    View,
    disk,
    figure,
    text,
    token,
)
from cogrid.replay import recording as replay
from cogrid.testing.conformance import check_env
from tests._core.worlds import BATCH, STEPS, busy, made, parity, tape
from tests.support import BACKENDS, HAS_JAX, assert_same, keys

BOARD = """
##########
#1a.a..a2#
# ..BB.w.#
#.a. 3.wE#
#a.   .w.#
##########
"""
CUSTOMER = Chance((("eat", 9), 1), (("clean", 9), 1))


@dataclass(frozen=True)
class Everything(Game):
    """Apples, boulders for two, a river that gets dirty, snowballs, an exit, customers and odd glasses."""

    legend: ClassVar[Any] = {
        **{" ": "floor", "#": "wall", "a": "apple", ".": "grass", "B": "boulder", "w": "water", "E": "exit"}
    }
    timed: ClassVar[tuple[str, ...]] = ("eat",)

    def walkable(self, thing: Any) -> bool:
        return thing in ("floor", "apple", "grass", "rubble")

    def start(self, thing: Any) -> Any:
        return Chance(("grass", 2), ("apple", 1)) if thing == "grass" else thing

    def hand(self, agent: int) -> Any:
        return Chance(("strong", 1), ("weak", 1)) if agent else "weak"

    def enter(self, held: Any, thing: Any) -> Any:
        return Outcome(held, "grass", "eat", 1.0) if thing == "apple" else None

    def interact(self, held: Any, thing: Any) -> Any:
        if thing == "dirt":
            return Chance((Outcome(held, "water", "clean"), 3), (None, 1))
        return Chance((Outcome("out", thing, "leave"), 1), (None, 2)) if thing == "exit" else None

    def ring(self, held: Any, thing: Any) -> Any:
        if thing != "exit":
            return None
        return Outcome(held, thing, "retire" if held == "strong" else "ring", 0.125)

    def splash(self, held: Any, thing: Any) -> Any:
        return Outcome(held, "dirt", "splash") if thing == "water" else None

    def throw(self, held: Any, other: Any) -> Any:
        if other not in ("weak", "strong"):
            return None
        out = Meeting(held, (other, -5), "send off", 0.25)
        return Chance((Meeting(held, (other, 4), "hit", 0.5), 1), (Meeting(held, other, "miss"), 1), (out, 2))

    def push(self, held: Any, total: int, thing: Any) -> Any:
        if thing != "boulder":
            return None
        return Outcome(held, "rubble", "push", 2.0 / total) if total >= 2 else Outcome(held, thing, "strain")

    def warm(self, held: Any, other: Any) -> Any:
        return Meeting(held, other[0], "warm") if isinstance(other, tuple) else None

    def strong(self, held: Any) -> int:
        return {"weak": 1, "strong": 2}.get(held, 0)

    def is_warm(self, held: Any) -> bool:
        return not isinstance(held, tuple)

    def recover(self, held: Any) -> Any:
        if not isinstance(held, tuple):
            return held
        role, steps = held  # below zero, it is off the board
        return (role, steps - (1 if steps > 0 else -1)) if steps else role

    def is_out(self, held: Any) -> bool:
        return isinstance(held, tuple) and held[1] < 0

    def grow(self, thing: Any, count: int) -> Any:
        if thing == "rubble":
            return Chance(("grass", 1), ("rubble", 9))
        if thing != "grass" or not count:
            return thing
        return Chance(("apple", count), ("grass", 60 - count))

    def draw(self, sketch: Any) -> Any:
        xp, grass, board = sketch.xp, sketch.code("."), sketch.layout()
        board = xp.where(board == sketch.code("B"), grass, board)
        for letter in "BBa":
            board = xp.where(sketch.pick(board == grass), sketch.code(letter), board)
        return board

    def harvest(self, thing: Any, event: Event) -> Any:
        return Reply(max(0, thing - 1))

    def serve(self, thing: Any, event: Event) -> Any:
        return Reply(("wait", 5), 3.0) if event.verb == thing[0] else None

    def wait(self, thing: Any) -> Any:
        wish, steps = thing
        if steps:
            return wish, steps - 1
        return CUSTOMER if wish == "wait" else Reply(("wait", 5), -1.0)

    def harvested(self, slot: str, thing: Any) -> int:
        return -11 if slot == "crop" and thing == 0 else 0

    def parts(self) -> tuple[Part, ...]:
        beside, served = Aim(adjacent=True), {"reply": self.serve, "tick": self.wait}
        return (
            Act("interact", aim=beside),
            Act("toggle", thing=self.ring, aim=beside),
            Act("throw", thing=self.splash, agent=self.throw, aim=Aim(reach=3, width=1)),
            Joint("push", self.push, most=3, strength=self.strong, aim=beside, agent=self.warm),
            Moving(first=True, swaps=True, when=self.is_warm),
            Hands(tick=self.recover, can_act=self.is_warm),
            Away(when=self.is_out, back=lambda thing: thing == "grass"),
            Near(lambda thing: int(thing == "apple"), self.grow, most=3, radius=2, shape="diamond"),
            OneCell(lambda thing: thing == "water", lambda thing: "dirt", 2, 8, since=5),
            Slot(
                "crop",
                Counted(lambda thing: int(thing == "apple"), 6),
                reply=self.harvest,
                rank=lambda thing: 99,
                to=("eat",),
            ),
            Slot("customer", CUSTOMER, rank=lambda thing: thing[1], **served),
            Slot("guest", CUSTOMER, rank=lambda thing: thing[1], **served),
            Slot("glasses", Chance(("clear", 1), ("swapped", 1)), own=True),
            Placed(2, lambda strength: Chance(("apple", 1), ("rubble", 1)), apart=2),
            Placed(
                1,
                lambda strength: "apple" if strength > 2 else "rubble",
                weakest=2,
                margin=2,
                strength=self.strong,
            ),
            Scattered("rubble", 0.1),
            Generated(self.draw),
            Ends(
                verbs=("retire",),
                hand=lambda held: held == "out",
                remaining=lambda thing: int(thing in ("apple", "boulder")),
                in_hands=lambda held: int(isinstance(held, tuple)),
                in_slots=self.harvested,
            ),
        )

    def rewards(self) -> Any:
        return (
            Reward("score", lambda event: event.value),
            Reward("team", lambda event: float(event.verb == "push"), team=True, shaping=True),
            Reward("hurt", lambda event: -0.5 * (event.verb in ("hit", "send off")), other=True),
            Reward(
                "shelter",
                lambda event: 0.25 * (event.verb == "push"),
                supply=lambda thing, item: int(thing == "rubble") + int(item == "out"),
                demand=lambda thing: 2 * int(thing == "boulder"),
                hands_at_start=True,
                demand_at_start=False,
            ),
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

    def show_agent(self, own: bool, facing: int, held: Any) -> Paint:
        return {"agent": 1 + own, "cold": int(isinstance(held, tuple))}

    def show_slot(self, slot: str, thing: Any) -> Paint:
        return {"customer": 1 + thing[1]} if slot == "customer" else {}

    def see(self, thing: Any) -> Mapping[str, str]:
        return {"apple": "cold", "cold": "apple"} if thing == "swapped" else {}

    def planes(self) -> Planes:
        return Planes(
            ("apple", "agent", "cold", "customer", "late"),
            thing=lambda thing: {"apple": int(thing == "apple")},
            agent=self.show_agent,
            away=lambda own, held: {"agent": 64 * (1 + own)},
            slot=self.show_slot,
            shows=lambda thing: thing == "exit",
            sees=self.see,
            countdown=("late", 20),
            view=View(ahead=3, behind=1, side=2),
        )

    def draw_slot(self, thing: Any, name: str, inside: Any) -> Look | None:
        return text(ORANGE, inside[0], 0.5, 0.5, 0.3) if name == "customer" else None

    def looks(self) -> Looks:
        return Looks(
            thing=lambda thing: (disk(SKY, 0.5, 0.5, 0.4),) if thing == "water" else None,
            item=lambda item: token("cold") if isinstance(item, tuple) else None,
            agent=lambda agent: figure(agent + 1),
            slot=self.draw_slot,
            glyph=lambda thing: "~~" if thing == "water" else None,
        )

    def item_name(self, item: Any) -> str:
        return item if isinstance(item, str) else f"cold {item[0]} {item[1]}"


SPEC = Spec(Everything(), BOARD, num_agents=3, observation="window", window=5, shaping=0.5, max_steps=STEPS)
OFTEN = ("interact", "toggle", "throw", "push")
VERBS = (
    *("eat", "clean", "splash", "hit", "miss", "send off", "warm", "push", "strain"),
    *("leave", "ring", "retire"),
)
#: Hooks of names, layouts and texts, and the one whose place `Near` takes.
OTHERS = {"kind", "lying", "layouts", "default_layouts", "how_to_play", "state_type", "tick"}


def test_it_writes_every_hook() -> None:
    every = {name for name in vars(Game) if not name.startswith("_")}
    assert every - set(written(SPEC.game)) == OTHERS


def test_it_uses_every_field_of_every_part() -> None:
    game = SPEC.game
    parts = (*game.parts(), *game.rewards(), game.planes(), game.looks())
    for kind in (*KINDS, Planes, Looks, Reward):
        mine = [part for part in parts if type(part) is kind]
        assert mine, f"{kind.__name__}: use it in the world above"
        for field in dataclasses.fields(kind):
            assert any(getattr(part, field.name) != field.default for part in mine), (kind, field.name)
    assert {type(term) for term in game.rewards()} == {Reward, Price, Tally, Replies, BySlot}


def test_both_backends_alone_and_in_a_batch() -> None:
    counts, seen = parity(SPEC, BACKENDS, OFTEN)
    assert min(counts[verb] for verb in VERBS) >= 5, counts
    assert min((seen["reward customers"] == value).sum() for value in (3.0, -1.0)) >= 5
    assert (seen["reward dirt"] < 0).sum() > 100
    assert min((seen["reward hurt"] < 0).sum(), (seen["reward shelter"] > 0).sum()) >= 5
    assert seen["ended"].any(axis=-1).sum() > 20
    assert seen["done"][:-1].any()  # nothing remained
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
