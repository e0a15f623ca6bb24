"""Slots of agents: planes that each sees in its own order, and things that show slots in some planes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from cogrid.author import AnyReward, Chance, Game, Paint, Part, Planes, Slot, Spec
from cogrid.testing.conformance import check_env
from tests._core.worlds import fresh, made, parity
from tests.support import BACKENDS, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)
BOARD = """
#RIB#
#1 2#
#####
"""


@dataclass(frozen=True)
class Eyes(Game):
    """Red and blue piles, a sign that shows a colour, and agents of whom some see the colours swapped."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "R": "red", "B": "blue", "I": "sign"}

    def parts(self) -> tuple[Part, ...]:
        eyes = Slot("eyes", Chance(("plain", 1), ("swapped", 1)), own=True)
        return Slot("colour", Chance(("red", 1), ("blue", 1))), eyes

    def rewards(self) -> tuple[AnyReward, ...]:
        return ()

    def reveal(self, thing: Any) -> Any:
        return {"shown red", "shown blue"} if thing == "sign" else {"shown red"} if thing == "red" else False

    def show(self, slot: str, thing: Any) -> Paint:
        return {f"shown {thing}": 1} if slot == "colour" else {}

    def confuse(self, thing: Any) -> dict[str, str]:
        swap = {"red": "blue", "blue": "red", "shown red": "shown blue", "shown blue": "shown red"}
        return swap if thing == "swapped" else {}

    def planes(self) -> Planes:
        return Planes(
            ("red", "blue", "shown red", "shown blue", "own"),
            thing=lambda thing: {thing: 1},
            agent=lambda own, facing, held: {"own": int(own)},
            slot=self.show,
            shows=self.reveal,
            sees=self.confuse,
        )


@each_backend
@pytest.mark.parametrize("kind", ["lossless", "window"])
@pytest.mark.parametrize("colour", ["red", "blue"])
def test_planes_are_seen_in_the_agents_own_order(backend: str, kind: str, colour: str) -> None:
    spec = Spec(Eyes(), BOARD, observation=kind, window=5)
    env = made(spec, backend)
    number = env.rules.slots.number
    assert env.rules.slots.names == ("colour", "eyes 0", "eyes 1")
    slots = np.array([number[colour], number["plain"], number["swapped"]])
    seen = np.asarray(env._see(env.replace(fresh(spec, backend), slots=slots)))  # (n, rows, columns, planes)
    sides = dict(zip(env.feature_names, np.moveaxis(seen, -1, 0), strict=True))
    # Agent 0 sees what is there, agent 1 the other colour.
    assert (sides["red"][0].sum(), sides["blue"][0].sum()) == (1, 1)
    if kind == "lossless":
        assert sides["red"][:, 0].tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]]
        assert sides["blue"][:, 0].tolist() == [[0, 0, 0, 1, 0], [0, 1, 0, 0, 0]]
    other = {"red": "blue", "blue": "red"}[colour]
    # The sign shows the colour; the red pile shows it too, but only in the plane of red.
    count = 2 if colour == "red" else 1
    assert (sides[f"shown {colour}"][0].sum(), sides[f"shown {other}"][0].sum()) == (count, 0)
    assert (sides[f"shown {other}"][1].sum(), sides[f"shown {colour}"][1].sum()) == (count, 0)
    assert sides["own"].sum() == 2


@each_backend
def test_every_agent_draws_its_own(backend: str) -> None:
    env = made(Spec(Eyes(), BOARD, observation="none"), backend)
    state, _ = env.reset_fn(keys(2, 400))
    swapped = np.asarray(state.slots)[:, 1:] == env.rules.slots.number["swapped"]
    assert (abs(swapped.sum(axis=0) - 200) < 45).all()  # 4.5 standard deviations
    assert abs((swapped[:, 0] != swapped[:, 1]).sum() - 200) < 45


@dataclass(frozen=True)
class Tired(Eyes):
    """Each agent also has a mood, and who is tired sees blue as nothing but red: after what its eyes do."""

    def parts(self) -> tuple[Part, ...]:
        colour, eyes = super().parts()
        mood = Slot("mood", Chance(("fresh", 1), ("tired", 1)), own=True)
        return colour, Slot("score", 7, own=True), eyes, mood

    def confuse(self, thing: Any) -> dict[str, str]:
        assert thing != "red", "the colour is no agent's own"
        return {"blue": "red"} if thing == "tired" else super().confuse(thing)


@each_backend
@pytest.mark.parametrize(
    ("eyes", "mood", "red", "blue"),
    [
        ("plain", "fresh", 1, 3),
        ("swapped", "fresh", 3, 1),
        ("plain", "tired", 1, 1),
        ("swapped", "tired", 3, 3),
    ],
)
def test_several_slots_of_an_agent_decide_what_it_sees(
    backend: str, eyes: str, mood: str, red: int, blue: int
) -> None:
    spec = Spec(Tired(), BOARD, observation="lossless")
    env = made(spec, backend)
    number = env.rules.slots.number
    names = ("colour", "score 0", "score 1", "eyes 0", "eyes 1", "mood 0", "mood 1")
    assert env.rules.slots.names == names
    own = ["red", 7, 7, eyes, "plain", mood, "fresh"]
    seen = np.asarray(
        env._see(env.replace(fresh(spec, backend), slots=np.array([number[one] for one in own])))
    )
    assert [seen[0, 0, :, plane].argmax() for plane in (0, 1)] == [red, blue]
    assert [seen[1, 0, :, plane].argmax() for plane in (0, 1)] == [1, 3]


def test_parity() -> None:
    """Every pair of eyes and moods occurs, and what an agent sees follows its own slots."""
    _, tape = parity(Spec(Tired(), BOARD, observation="window", window=5), BACKENDS)
    pairs, often = np.unique(tape["slots"][-1, :, 3::2], axis=0, return_counts=True)
    assert len(pairs) == 4
    assert often.min() >= 2
    seen = tape["obs"][..., :2].reshape(400, 16, 2, 25, 2)
    assert (seen[..., 0] != seen[..., 1]).any(axis=-1).sum() > 1000


def test_conformance() -> None:
    check_env(Spec(Tired(), BOARD, observation="lossless"), BACKENDS)
