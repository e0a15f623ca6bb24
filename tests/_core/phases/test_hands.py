"""Hands: what agents begin with, what a hand becomes by itself, and hands that cannot move or act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from cogrid.author import Chance, Game, Hands, Looks, Moving, Outcome, Part, Spec
from cogrid.testing.conformance import check_env
from tests._core.worlds import after, bounds, drawn, fresh, initials, made, parity, picture
from tests.support import BACKENDS, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)
OTHER = 9  # a seed with two medics
BOARD = """
#######
#1 T 2#
#p   r#
#######
"""


@dataclass(frozen=True)
class Ward(Game):
    """A medic heals patients, an engineer clears rubble; who touches the trap is held for some steps.

    A hand is (role, steps): with 2 or more left it does nothing, with 1 it can act; the last may take longer.
    """

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "p": "patient", "r": "rubble", "T": "trap"}

    def hand(self, agent: int) -> Any:
        return ("medic", 0) if agent == 0 else Chance((("engineer", 0), 3), (("medic", 0), 1))

    def recover(self, held: Any) -> Any:
        match held:
            case role, 1:
                return Chance(((role, 0), 1), ((role, 1), 1))
            case role, steps if steps:
                return role, steps - 1
        return held

    def is_free(self, held: Any) -> bool:
        return held is None or held[1] == 0

    def is_able(self, held: Any) -> bool:
        return held is None or held[1] < 2

    def parts(self) -> tuple[Part, ...]:
        return Moving(when=self.is_free), Hands(tick=self.recover, can_act=self.is_able)

    def interact(self, held: Any, thing: Any) -> Any:
        match held, thing:
            case ("medic", _), "patient":
                return Outcome(held, "healed", "heal", 1.0)
            case ("engineer", _), "rubble":
                return Outcome(held, "cleared", "clear", 1.0)
            case (role, _), "trap":
                return Outcome((role, 4), "trap", "fall")
        return None

    def tick(self, thing: Any) -> Any:
        return {"healed": "patient", "cleared": "rubble"}.get(thing, thing)

    def looks(self) -> Looks:
        return Looks(glyph=initials)

    def item_name(self, item: Any) -> str:
        return f"{item[0]} {item[1]}"


SPEC = Spec(Ward(), BOARD, observation="none", max_steps=400)


def holds(spec: Any, backend: str, state: Any) -> list[Any]:
    items = made(spec, backend).spec.symbols.items
    return [items[k] for k in np.asarray(state.held)]


@each_backend
def test_first_hands(backend: str) -> None:
    """
    ^m  t   ^m       ^m  t   ^e
    p       r        p       r
    """
    first = drawn(SPEC, backend, fresh(SPEC, backend, 0))
    other = drawn(SPEC, backend, fresh(SPEC, backend, OTHER))
    assert (other, first) == (picture("^m  t   ^m\np       r"), picture("^m  t   ^e\np       r"))
    env = made(SPEC, backend)
    state, _ = env.rules.backend.compiled(env.reset_fn)(keys(2, 400))
    items, held = env.spec.symbols.items, np.asarray(state.held)
    assert {items[k] for k in held[:, 0]} == {("medic", 0)}
    engineers = int((held[:, 1] == items.index(("engineer", 0))).sum())
    low, high = bounds(400, 3 * 2**22)
    assert low <= engineers <= high


@each_backend
def test_roles_decide_what_a_hand_does(backend: str) -> None:
    """Both face the patient and the rubble; the medic heals, the engineer clears, and not the other way."""
    env = made(SPEC, backend)
    number = env.spec.symbols.item_number
    where = {"agent_pos": np.array([(1, 1), (1, 5)]), "agent_dir": np.array([1, 1])}
    for hands, verbs in (
        ([("medic", 0), ("engineer", 0)], ["heal", "clear"]),
        ([("engineer", 0), ("medic", 0)], ["", ""]),
    ):
        state = env.replace(fresh(SPEC, backend), held=np.array([number[hand] for hand in hands]), **where)
        _, rewards, _, infos = after(SPEC, backend, state, "interact", "interact")
        assert infos["verbs"] == verbs
        assert rewards.tolist() == [2.0 * (verbs[0] == "heal")] * 2


@each_backend
def test_a_trapped_agent_waits(backend: str) -> None:
    """The medic falls: it neither walks nor turns nor acts, then acts before it walks.

      >mt   ^          >mt   ^
    p       r   ->   p       r
    """
    env = made(SPEC, backend)
    state = env.replace(
        fresh(SPEC, backend), agent_pos=np.array([(1, 2), (1, 5)]), agent_dir=np.array([0, 3])
    )
    words = ("interact", "down", "interact", "interact", "down")
    seen = []
    for action in words:
        state, _, _, infos = after(SPEC, backend, state, action, "noop")
        seen.append((infos["verbs"][0], holds(SPEC, backend, state)[0], int(state.agent_dir[0])))
        mask = dict(zip(env.action_names, infos["action_mask"][0], strict=True))
        steps = holds(SPEC, backend, state)[0][1]
        assert mask["down"] == (steps == 0)
        assert mask["interact"] == (steps < 2)
    assert seen[:3] == [("fall", ("medic", 3), 0), ("", ("medic", 2), 0), ("", ("medic", 1), 0)]
    assert seen[3] == ("fall", ("medic", 3), 0)  # with one step left it acts again, into the same trap
    assert seen[4] == ("", ("medic", 2), 0)
    assert drawn(SPEC, backend, state).startswith("  >mt   ")


@each_backend
def test_a_held_agent_stays(backend: str) -> None:
    """In front of free floor, with two steps left: no walk in any direction, and no turn."""
    env = made(SPEC, backend)
    number = env.spec.symbols.item_number
    state = env.replace(
        fresh(SPEC, backend),
        agent_pos=np.array([(2, 3), (1, 5)]),
        agent_dir=np.array([0, 3]),
        held=np.array([number["medic", 2], number["medic", 0]]),
    )
    for action in ("up", "down", "left", "right"):
        then = after(SPEC, backend, state, action, "noop")[0]
        assert np.asarray(then.agent_pos)[0].tolist() == [2, 3]
        assert int(then.agent_dir[0]) == 0


def test_a_hand_that_ticks_by_chance() -> None:
    """Of 1000 hands with one step left half are free after a step; the draws are the agents' own."""
    env = made(SPEC, "numpy")
    number = env.spec.symbols.item_number
    state, _ = env.reset_fn(keys(3, 500))
    state = env.replace(state, held=np.full((500, 2), number["medic", 1]))
    free = np.asarray(env.step_fn(state, np.full((500, 2), 6))[0].held) == number["medic", 0]
    low, high = bounds(1000, 2**23)
    assert low <= free.sum() <= high
    assert (free[:, 0] != free[:, 1]).sum() > 150


def test_parity() -> None:
    counts, tape = parity(SPEC, BACKENDS)
    assert min(counts[verb] for verb in ("heal", "clear", "fall")) >= 50, counts
    n_items = made(SPEC, "numpy").rules.n_items
    held, free = tape["pose"] % n_items, made(SPEC, "numpy").spec.symbols.item_number["medic", 0]
    released = (held[:-1] != free) & (held[1:] == free)
    assert released.sum() > 50


def test_conformance() -> None:
    assert check_env(SPEC, BACKENDS)["fall"] > 0
