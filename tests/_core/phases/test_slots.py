"""Things without a place: they start by chance, answer events in order, tick, pay and are seen."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid.author import (
    BySlot,
    Chance,
    Game,
    Outcome,
    Paint,
    Part,
    Planes,
    Replies,
    Reply,
    Slot,
    SlotFeature,
    Spec,
)
from cogrid.replay import recording as replay
from cogrid.testing.conformance import check_env
from tests._core.worlds import after, bounds, fresh, made, parity
from tests.support import BACKENDS, SHADOWED, assert_same, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)
BOARD = """
RRSBB
#1 2#
I   I
#RSB#
"""
ANY = Chance((("order", "red", 6), 1), (("order", "blue", 6), 1))


def _by_recipe(event: Any, recipe: Any) -> float:
    """Points for taking and serving what the recipe was as the step began."""
    return 0.5 * (event.verb == f"take {recipe}") + 0.25 * ((event.verb, event.held) == ("serve", recipe))


@dataclass(frozen=True)
class Diner(Game):
    """Two orders with clocks and a recipe; a served colour answers the first order that asks for it."""

    legend: ClassVar[Any] = {
        **{" ": "floor", "#": "wall", "R": "red pile", "B": "blue pile", "S": "serving", "I": "sign"}
    }

    def interact(self, held: Any, thing: Any) -> Any:
        if held is None and thing.endswith("pile"):
            return Outcome(thing.split()[0], thing, f"take {thing.split()[0]}")
        return Outcome(None, thing, "serve") if held and thing == "serving" else None

    def fill(self, order: Any, event: Any) -> Any:
        return Reply(("pause", 4), 10.0) if order[:2] == ("order", event.held) else None

    def pass_time(self, order: Any) -> Any:
        match order:
            case "order", colour, steps:
                return ("order", colour, steps - 1) if steps > 1 else Reply(("pause", 4), -3.0)
            case _, steps:
                return ("pause", steps - 1) if steps else ANY

    def cook(self, recipe: Any, event: Any) -> Any:
        return Reply(("served", recipe), 1.0) if event.held == recipe else None

    def redraw(self, recipe: Any) -> Any:
        return recipe if isinstance(recipe, str) else Chance(("red", 1), ("blue", 1))

    def parts(self) -> tuple[Part, ...]:
        first = Chance(("red", 3), ("blue", 1))
        return (
            Slot("order 1", ("pause", 1), reply=self.fill, tick=self.pass_time, to=("serve",)),
            Slot("order 2", ANY, reply=self.fill, tick=self.pass_time, to=("serve",)),
            Slot("recipe", first, reply=self.cook, tick=self.redraw, to=("serve",)),
        )

    def rewards(self) -> Any:
        return (
            Replies("orders"),
            BySlot("recipe", "recipe", _by_recipe),
        )

    def features(self) -> Any:
        return (SlotFeature("recipe", ("red", "blue"), lambda t: (float(t == "red"), float(t == "blue"))),)

    def note(self, slot: str, thing: Any) -> Paint:
        if slot == "recipe" and isinstance(thing, str):
            return {thing: 1}
        return {"orders": int(thing[0] == "order")}

    def planes(self) -> Planes:
        return Planes(
            ("sign", "agent", "red", "blue", "orders"),
            thing=lambda thing: {"sign": int(thing == "sign")},
            agent=lambda own, facing, held: {"agent": 1 + own},
            slot=self.note,
            shows=lambda thing: thing == "sign",
        )


SPEC = Spec(Diner(), BOARD, observation="lossless", max_steps=400)
UP = 3


def serving(backend: str, slots: list[Any], held: tuple[Any, Any]) -> Any:
    """Both stand at a serving, with these in the slots and their hands."""
    env = made(SPEC, backend)
    number, items = env.rules.slots.number, env.spec.symbols.item_number
    return env.replace(
        fresh(SPEC, backend),
        agent_pos=np.array([(1, 2), (2, 2)]),
        agent_dir=np.array([UP, 1]),
        held=np.array([items[item] for item in held]),
        slots=np.array([number[thing] for thing in slots]),
    )


def slots(backend: str, state: Any) -> list[Any]:
    return [made(SPEC, backend).rules.slots.things[k] for k in np.asarray(state.slots)]


RED, BLUE = ("order", "red", 4), ("order", "blue", 4)


@each_backend
@pytest.mark.parametrize(
    ("before", "held", "now", "paid"),
    [
        ([RED, RED, "blue"], ("red", None), [("pause", 3), ("order", "red", 3), "blue"], [10, 0]),
        ([RED, RED, "blue"], ("red", "red"), [("pause", 3), ("pause", 3), "blue"], [10, 10]),
        ([BLUE, RED, "blue"], ("red", "red"), [("order", "blue", 3), ("pause", 3), "blue"], [10, 0]),
        ([BLUE, RED, "blue"], ("blue", "blue"), [("pause", 3), ("order", "red", 3), None], [10, 1]),
        (
            [("order", "red", 1), BLUE, "red"],
            (None, None),
            [("pause", 4), ("order", "blue", 3), "red"],
            [-3, 0],
        ),
        (
            [("order", "red", 1), BLUE, "red"],
            ("red", None),
            [("pause", 3), ("order", "blue", 3), "red"],
            [10, 0],
        ),
    ],
)
def test_slots_answer_in_order_and_tick(backend: str, before: Any, held: Any, now: Any, paid: Any) -> None:
    """Each row: the slots and hands before, the slots after both have served and all slots have ticked.

    The first slot that answers takes the event; the second agent finds what the first one left.
    """
    state, rewards, _, infos = after(SPEC, backend, serving(backend, before, held), "interact", "interact")
    found = slots(backend, state)
    assert [thing for thing, want in zip(found, now, strict=True) if want is not None] == [
        t for t in now if t
    ]
    assert now[2] is not None or found[2] in ("red", "blue")  # a recipe that was served is drawn again
    assert infos["verbs"] == ["serve" if item else "" for item in held]
    assert rewards.tolist() == [sum(paid) + 0.25 * (item == before[2]) for item in held]


@each_backend
def test_points_by_what_a_slot_is(backend: str) -> None:
    """Taking the recipe's colour pays the actor; the other colour does not."""
    env = made(SPEC, backend)
    for recipe, expected in (("red", [0.5, 0.0]), ("blue", [0.0, 0.5])):
        state = env.replace(
            serving(backend, [("pause", 4), ("pause", 4), recipe], (None, None)),
            agent_pos=np.array([(1, 1), (1, 3)]),
            agent_dir=np.array([UP, UP]),
        )
        _, rewards, _, infos = after(SPEC, backend, state, "interact", "interact")
        assert infos["verbs"] == ["take red", "take blue"]
        assert rewards.tolist() == expected


@each_backend
def test_slots_are_seen_where_they_are_shown(backend: str) -> None:
    """Both signs show the recipe and the number of open orders, and nothing else does; so do features."""
    state = serving(backend, [RED, BLUE, "blue"], (None, None))
    env = made(SPEC, backend)
    planes = dict(zip(env.feature_names, np.moveaxis(np.asarray(env._see(state)), -1, 0), strict=True))
    sign = planes["sign"] > 0
    assert sign.sum() == 4  # two signs, two agents
    np.testing.assert_array_equal(planes["blue"], sign.astype(np.uint8))
    np.testing.assert_array_equal(planes["orders"], 2 * sign.astype(np.uint8))
    assert not planes["red"].any()
    near = cogrid.CoGridEnv(SPEC.override(observation="window", window=3), backend)
    flat = cogrid.CoGridEnv(SPEC.override(observation="features"), backend)
    near.reset(seed=0)
    flat.reset(seed=0)
    near.set_state(near.replace(near.env_state, slots=state.slots, agent_pos=np.array([(2, 1), (1, 3)])))
    flat.set_state(flat.replace(flat.env_state, slots=state.slots))
    window = near.state()  # (n, 3, 3, planes)
    assert window[0, :, :, 3].tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert window[1, :, :, 3].tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert flat.feature_names == ("recipe red", "recipe blue")
    assert flat.state().tolist() == [0.0, 1.0, 0.0, 1.0]


def test_first_recipes_are_drawn() -> None:
    env = made(SPEC, "numpy")
    state, _ = env.reset_fn(keys(4, 500))
    red = int((np.asarray(state.slots)[:, 2] == env.rules.slots.number["red"]).sum())
    low, high = bounds(500, 3 * 2**22)
    assert low <= red <= high


def test_parity() -> None:
    counts, tape = parity(SPEC, BACKENDS)
    assert min(counts["serve"], counts["take red"], counts["take blue"]) >= 50, counts
    paid = tape["reward orders"][..., 0]
    assert min((paid == value).sum() for value in (-3.0, 10.0, 1.0)) >= 15
    assert (tape["reward recipe"] > 0).sum() >= 15


def test_conformance() -> None:
    assert check_env(SPEC, BACKENDS)["serve"] > 0


@each_backend
def test_snapshot_replay_shadow_and_vector(backend: str) -> None:
    env = cogrid.CoGridEnv(SPEC, backend, infos=True, shadow=backend in SHADOWED)
    env.reset(seed=5)
    tape = np.random.default_rng(1).integers(0, 7, (14, 2)).tolist()
    for joint in tape[:7]:
        env.step(dict(enumerate(joint)))
    other = made(SPEC, BACKENDS[-1])
    other.set_state(json.loads(json.dumps(env.get_state())))
    for joint in tape[7:]:
        env.step(dict(enumerate(joint)))
        other.step(dict(enumerate(joint)))
    assert_same(env.env_state, other.env_state)
    assert env.shadow is None or env.shadow.mismatches == 0
    taped = replay.record(env, np.array(tape), 5)
    for each in BACKENDS:
        taped.verify(each, env=env)


def test_wrong_slots_are_refused() -> None:
    env = made(SPEC, "numpy")
    with pytest.raises(ValueError, match=r"slots 99 is out of range"):
        env.replace(fresh(SPEC, "numpy"), slots=np.array([99, 0, 0]))

    @dataclass(frozen=True)
    class Odd(Diner):
        def fill(self, order: Any, event: Any) -> Any:
            return order

    @dataclass(frozen=True)
    class Lost(Diner):
        def rewards(self) -> Any:
            return (BySlot("lost", "menu", lambda event, thing: 0.0),)

    with pytest.raises(TypeError, match=r"Slot\(\"order 1\"\)\.reply of Odd returned .* for slot 'order 1'"):
        made(Spec(Odd(), BOARD, observation="none"), "numpy")
    with pytest.raises(ValueError, match=r"names the slot 'menu': Lost has order 1, order 2, recipe"):
        made(Spec(Lost(), BOARD, observation="none"), "numpy")
    plain = cogrid.make("Arena-V0")
    state, _ = plain.reset_fn(keys(0, 1)[0])
    with pytest.raises(ValueError, match="states of this spec have no 'slots'"):
        plain.replace(state, slots=np.zeros(1, int))


def test_a_slot_is_only_asked_about_events_of_its_verbs() -> None:
    asked = set()

    @dataclass(frozen=True)
    class Noting(Diner):
        to: tuple[str, ...]

        def fill(self, order: Any, event: Any) -> Any:
            asked.add(event.verb)
            return super().fill(order, event)

        def parts(self) -> tuple[Part, ...]:
            order, *others = super().parts()
            return replace(order, to=self.to), *others

    for to, verbs in ((("serve",), {"serve"}), ((), {"serve", "take red", "take blue"})):
        asked.clear()
        made(Spec(Noting(to), BOARD, observation="none"), "numpy")
        assert asked == verbs


@dataclass(frozen=True)
class Ranked(Diner):
    """The order with the most time left answers first, and a recipe before all of them."""

    def parts(self) -> tuple[Part, ...]:
        *orders, recipe = super().parts()
        ranked = (replace(order, rank=self.time_left) for order in orders)
        return *ranked, replace(recipe, rank=lambda recipe: -1)

    def time_left(self, order: Any) -> int:
        return -order[2] if order[0] == "order" else 0

    def rewards(self) -> Any:
        return (Replies("orders"),)


@each_backend
@pytest.mark.parametrize("orders", [(3, 5), (5, 3), (4, 4)])
def test_the_least_rank_answers_first(backend: str, orders: tuple[int, int]) -> None:
    """The later of two orders; of equal ones the first. Then the recipe, which is a little less urgent."""
    spec = Spec(Ranked(), BOARD)
    env = made(spec, backend)
    number, things = env.rules.slots.number, env.rules.slots.things
    first = 0 if orders[0] >= orders[1] else 1
    red = [("order", "red", left) for left in orders]
    for soups, answered in ((1, [first]), (2, [first, 1 - first])):
        state = env.replace(
            fresh(spec, backend),
            agent_pos=np.array([(1, 2), (2, 2)]),
            agent_dir=np.array([UP, 1]),
            held=np.array(
                [env.spec.symbols.item_number[item] for item in ("red", "red" if soups > 1 else None)]
            ),
            slots=np.array([number[thing] for thing in (*red, "red")]),
        )
        state, rewards, _, _ = after(spec, backend, state, "interact", "interact")
        left = [things[k][0] for k in np.asarray(state.slots)[:2]]
        assert left == ["pause" if k in answered else "order" for k in (0, 1)]
        assert rewards.tolist() == [10.0 * soups] * 2


@dataclass(frozen=True)
class Strict(Game):
    """A clock and a colour: rules that would fail if one were asked about the other's things."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "B": "bell"}

    def interact(self, held: Any, thing: Any) -> Any:
        return Outcome(held, thing, "ring") if thing == "bell" else None

    def strike(self, clock: Any, event: Any) -> Any:
        return Reply(("at", 3), float(clock[1])) if clock[1] < 2 else None

    def change(self, colour: Any, event: Any) -> Any:
        return Reply({"red": "blue", "blue": "red"}[colour], -1.0)

    def parts(self) -> tuple[Part, ...]:
        return (
            Slot(
                "clock",
                ("at", 3),
                reply=self.strike,
                tick=lambda clock: (clock[0], max(0, clock[1] - 1)),
                rank=lambda clock: clock[1],
            ),
            Slot("colour", "red", reply=self.change, rank=lambda colour: {"red": 5, "blue": 0}[colour]),
        )

    def show(self, slot: str, thing: Any) -> Paint:
        return {"time": thing[1]} if slot == "clock" else {"red": {"red": 1, "blue": 0}[thing]}

    def planes(self) -> Planes:
        return Planes(("time", "red"), slot=self.show, shows=lambda thing: thing == "bell")

    def features(self) -> Any:
        clock = SlotFeature("clock", ("time",), lambda thing: (thing[1] / 3,))
        return clock, SlotFeature("colour", ("red",), lambda thing: ({"red": 1.0, "blue": 0.0}[thing],))

    def rewards(self) -> Any:
        return (Replies("rings", team=False),)


@each_backend
def test_a_slot_is_only_asked_about_what_it_can_be(backend: str) -> None:
    """The bell is rung in every step: the clock answers where it has run down, unless blue is before it."""
    for kind in ("features", "lossless"):
        spec = Spec(Strict(), "###\n#B#\n#1#\n###", num_agents=1, observation=kind)
        state, paid, seen = fresh(spec, backend), [], []
        env = made(spec, backend)
        for _ in range(8):
            state, rewards, *_ = after(spec, backend, state, "interact")
            paid.append(float(rewards[0]))
            obs = np.asarray(env._see(state))[0]
            seen.append((obs if kind == "features" else obs[1, 1] / (3, 1)).astype(np.float32).tolist())
        assert paid == [-1.0, -1.0, 1.0, -1.0, -1.0, 0.0, -1.0, -1.0]
        assert seen[:2] == [[np.float32(2 / 3), 0.0], [np.float32(1 / 3), 1.0]]
