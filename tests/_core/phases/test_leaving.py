"""Agents that leave the board and come back: their cells, their turns, and what is seen of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from cogrid.author import (
    Act,
    Agents,
    Aim,
    Away,
    Chance,
    Faced,
    Game,
    Hands,
    Looks,
    Meeting,
    NearestLying,
    Outcome,
    Paint,
    Part,
    Place,
    Planes,
    Price,
    Reward,
    Spec,
    View,
)
from cogrid.render.picture import picture as pixels
from cogrid.testing.conformance import check_env
from tests._core.worlds import after, bounds, drawn, fresh, initials, made, parity, picture, tape
from tests.support import BACKENDS, keys

each_backend = pytest.mark.parametrize("backend", BACKENDS)
RIGHT, DOWN, LEFT, UP = range(4)
BOARD = """
#########
#1 2 3  #
#   c   #
#o o#o  #
#########
"""
STEPS_OUT = 3


@dataclass(frozen=True)
class Tag(Game):
    """A zap of up to three cells sends a player out for some steps; it comes back to one of three pads."""

    sleeper: bool = False
    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "o": "pad", "c": "coin"}

    def walkable(self, thing: Any) -> bool:
        return thing in ("floor", "pad")

    def hand(self, agent: int) -> Any:
        return ("out", 2) if self.sleeper and agent == 1 else None

    def is_out(self, held: Any) -> bool:
        return isinstance(held, tuple)

    def sit_out(self, held: Any) -> Any:
        return held if not self.is_out(held) else ("out", held[1] - 1) if held[1] > 1 else None

    def zap(self, held: Any, other: Any) -> Any:
        return None if self.is_out(other) else Meeting(held, ("out", STEPS_OUT), "hit", 1.0)

    def parts(self) -> tuple[Part, ...]:
        return (
            Act("zap", agent=self.zap, aim=Aim(reach=3)),
            Hands(tick=self.sit_out),
            Away(when=self.is_out, back=lambda thing: thing == "pad"),
        )

    def interact(self, held: Any, thing: Any) -> Any:
        return Outcome("gold", "bare", "take", 0.5) if thing == "coin" else None

    def tick(self, thing: Any) -> Any:
        return Chance(("coin", 1), ("bare", 4)) if thing == "bare" else thing

    def enter(self, held: Any, thing: Any) -> Any:
        return Outcome(held, thing, "tread") if thing == "pad" else None

    def rewards(self) -> Any:
        return (
            Reward("score", lambda event: event.value),
            Price("breath", lambda action, held: -0.25 * (action != "noop")),
        )

    def features(self) -> Any:
        return (
            Agents(("out",), lambda item: (float(self.is_out(item)),)),
            Faced(("wall",), lambda thing: (float(thing == "wall"),)),
            Place(nearest=("coin",)),
            NearestLying(("gold",), lambda item: 0),
        )

    def lying(self, thing: Any) -> Any:
        return "gold" if thing == "coin" else None

    def paint_out(self, own: bool, held: Any) -> Paint:
        return {"i am out" if own else "others out": held[1] if self.is_out(held) else 9}

    def planes(self) -> Planes:
        return Planes(
            ("wall", "pad", "me", "other", "i am out", "others out"),
            thing=lambda thing: {thing: 1} if thing in ("wall", "pad") else {},
            agent=lambda own, facing, held: {"me" if own else "other": 1 + facing},
            away=self.paint_out,
        )

    def looks(self) -> Looks:
        return Looks(glyph=lambda thing: "o " if thing == "pad" else initials(thing))

    def item_name(self, item: Any) -> str:
        return item if isinstance(item, str) else f"out {item[1]}"


SPEC = Spec(Tag(), BOARD, num_agents=3, observation="none", max_steps=400)


def placed(backend: str, places: Any, facing: Any, hands: Any = (None,) * 3, spec: Any = SPEC) -> Any:
    env = made(spec, backend)
    held = np.array([env.spec.symbols.item_number[hand] for hand in hands])
    state = fresh(spec, backend)
    return env.replace(state, agent_pos=np.array(places), agent_dir=np.array(facing), held=held)


@each_backend
def test_who_is_zapped_leaves_and_its_cell_is_free(backend: str) -> None:
    """
    >   v   <          >       <          >   <           >   <
            c      ->          c      ->          c   …           c
    o   o # o          o   o # o          o   o # o      one of the pads is taken
    """
    state = placed(backend, [(1, 1), (1, 3), (1, 5)], [RIGHT, DOWN, LEFT])
    assert drawn(SPEC, backend, state) == picture(">   v   <\n      c\no   o ##o")
    state, rewards, _, infos = after(SPEC, backend, state, "zap", "noop", "noop")
    assert drawn(SPEC, backend, state).split("\n")[:3] == picture(">       <\n      c\no   o ##o").split("\n")
    assert infos["verbs"] == ["hit", "", ""]
    assert rewards.tolist() == [0.75, 0.0, 0.0]
    assert infos["away"].tolist() == [False, True, False]
    assert infos["action_mask"][1].tolist() == [name == "noop" for name in made(SPEC, backend).action_names]
    assert np.asarray(state.agent_pos)[1].tolist() == [-1, -1]
    # Its own actions are noops, which cost nothing, and another walks through the cell where it stood.
    state, rewards, _, infos = after(SPEC, backend, state, "noop", "down", "left")
    state, rewards, _, infos = after(SPEC, backend, state, "noop", "interact", "left")
    assert np.asarray(state.agent_pos)[2].tolist() == [1, 3]
    assert rewards.tolist() == [0.0, 0.0, -0.25]
    assert np.asarray(state.away).tolist() == [False] * 3  # back after STEPS_OUT ends of steps
    assert np.asarray(state.agent_pos)[1].tolist() in [[3, 1], [3, 3], [3, 5]]
    counters = made(SPEC, backend).counters
    assert infos["counts"][1].tolist() == [int(name == "steps away") for name in counters]


@each_backend
def test_a_beam_passes_where_somebody_was(backend: str) -> None:
    """Agent 1 hides agent 2 behind it, until it is out; then the second zap finds agent 2."""
    state = placed(backend, [(1, 1), (1, 2), (1, 3)], [RIGHT, DOWN, LEFT])
    state, *_ = after(SPEC, backend, state, "zap", "noop", "noop")
    assert np.asarray(state.away).tolist() == [False, True, False]
    state, _, _, infos = after(SPEC, backend, state, "zap", "noop", "noop")
    assert infos["verbs"] == ["hit", "", ""]
    assert np.asarray(state.away).tolist() == [False, True, True]


@each_backend
def test_who_finds_all_pads_taken_waits(backend: str) -> None:
    """The only pad is taken, so that the agent waits with an empty hand until the other one walks away."""
    small = Spec(Tag(), "#####\n#1o2#\n#####", num_agents=2, observation="none")
    state = made(small, backend).replace(
        fresh(small, backend),
        agent_pos=np.array([(1, 2), (-1, -1)]),
        held=np.array([0, made(small, backend).spec.symbols.item_number["out", 2]]),
    )
    away = []
    for action in ("noop", "noop", "noop", "left", "noop"):
        state, _, _, infos = after(small, backend, state, action, "up")
        away.append(bool(infos["away"][1]))
        assert infos["action_mask"][1].sum() == (1 if away[-1] else infos["action_mask"][1].sum())
    assert away == [
        True,
        True,
        True,
        False,
        False,
    ]  # it waits, and walks in the step in which the pad is free
    assert np.asarray(state.held).tolist() == [0, 0]


@each_backend
def test_those_who_return_together_never_share_a_pad(backend: str) -> None:
    """Three agents and three pads: every order of the pads occurs, and each pad is taken once."""
    env = made(SPEC, backend)
    state, _ = env.rules.backend.compiled(env.reset_fn)(keys(5, 300))
    out = env.spec.symbols.item_number["out", 1]
    state = env.replace(state, agent_pos=np.full((300, 3, 2), -1), held=np.full((300, 3), out))
    noops = np.full((300, 3), env.rules.noop, np.int32)
    places = np.asarray(env.rules.backend.compiled(env.step_fn)(state, noops)[0].agent_pos)[..., 1]
    orders, counts = np.unique(places, axis=0, return_counts=True)
    assert sorted(map(tuple, orders.tolist())) == sorted(
        [(1, 3, 5), (1, 5, 3), (3, 1, 5), (3, 5, 1), (5, 1, 3), (5, 3, 1)]
    )
    low, high = bounds(300, 2**24 // 6)
    assert low <= counts.min() <= counts.max() <= high


def test_where_they_return_is_drawn_evenly() -> None:
    """Of three free pads each is taken as often, and with one of them taken, the other two."""
    env, n = made(SPEC, "numpy"), 6000
    out = env.spec.symbols.item_number["out", 1]
    for second, pads in (((1, 1), [1, 3, 5]), ((3, 3), [1, 5])):
        state, _ = env.reset_fn(keys(6, n))
        places = np.tile(np.array([second, (-1, -1), (1, 6)]), (n, 1, 1))
        state = env.replace(state, agent_pos=places, held=np.tile([0, out, 0], (n, 1)))
        columns = env.step_fn(state, np.full((n, 3), 6))[0].agent_pos[:, 1, 1]
        low, high = bounds(n, 2**24 // len(pads))
        assert sorted(set(columns.tolist())) == pads
        assert all(low <= (columns == pad).sum() <= high for pad in pads)


@each_backend
def test_a_pad_that_is_entered_by_returning_does_not_count(backend: str) -> None:
    state = placed(backend, [(1, 1), (-1, -1), (1, 5)], [RIGHT, DOWN, LEFT], (None, ("out", 1), None))
    state, _, _, infos = after(SPEC, backend, state, "noop", "noop", "noop")
    assert not infos["away"].any()
    assert infos["verbs"] == ["", "", ""]


@each_backend
def test_an_agent_that_begins_away(backend: str) -> None:
    """
    >       ^    ->   it comes in after its two steps
    """
    spec = SPEC.override(sleeper=True)
    state = fresh(spec, backend)
    assert np.asarray(state.away).tolist() == [False, True, False]
    assert drawn(spec, backend, state).startswith("^       ^")
    state, *_ = after(spec, backend, state, "noop", "noop", "noop")
    state, *_ = after(spec, backend, state, "noop", "noop", "noop")
    assert not np.asarray(state.away).any()


@each_backend
def test_features(backend: str) -> None:
    """Off the board nothing is near, ahead or free; the others see it as away, at no distance."""
    spec = SPEC.override(observation="features")
    state = placed(backend, [(1, 1), (-1, -1), (1, 5)], [RIGHT, RIGHT, LEFT], (None, ("out", 3), None), spec)
    env = made(spec, backend)
    obs = np.asarray(env.rules.backend.compiled(env._functions.observe)(state))
    named = [dict(zip(env.feature_names, row.tolist(), strict=True)) for row in obs]
    assert [row["is away"] for row in named] == [0, 1, 0]
    assert [row["other 1 is away"] for row in named] == [1, 0, 0]
    assert [named[0][f"other 1 {name}"] for name in ("rows", "columns", "holds out")] == [0, 0, 1]
    assert named[0]["other 2 columns"] == 0.5
    assert [named[2][f"other 2 {name}"] for name in ("rows", "columns")] == [0, 0]
    silent = {name: value for name, value in named[1].items() if value}
    assert silent == {"facing right": 1, "holds out": 1, "is away": 1, "other 1 facing left": 1} | {
        "other 2 facing right": 1
    }


@each_backend
@pytest.mark.parametrize("kind", ["lossless", "window"])
def test_planes(backend: str, kind: str) -> None:
    """An agent that is out sees nothing but that it is out, and for how long; the others see that one is."""
    spec = SPEC.override(observation=kind)
    state = placed(backend, [(1, 1), (-1, -1), (1, 3)], [RIGHT, UP, LEFT], (None, ("out", 3), None), spec)
    env = made(spec, backend)
    obs = np.asarray(env.rules.backend.compiled(env._functions.observe)(state))
    planes = dict(zip(env.feature_names, np.moveaxis(obs, -1, 0), strict=True))
    assert [np.unique(plane).tolist() for plane in planes["others out"]] == [[3], [0], [3]]
    assert [np.unique(plane).tolist() for plane in planes["i am out"]] == [[0], [3], [0]]
    if kind == "lossless":
        assert not planes["me"][1].any()
        assert (planes["other"] > 0).sum(axis=(1, 2)).tolist() == [1, 2, 1]
        np.testing.assert_array_equal(planes["wall"][0], planes["wall"][1])
    else:
        assert not planes["wall"][1].any()
        assert planes["me"][1].tolist() == [[4 * (r == c == 2) for c in range(5)] for r in range(5)]
        assert (planes["other"] > 0).sum(axis=(1, 2)).tolist() == [1, 0, 1]


@each_backend
def test_a_view_that_turns_sees_nothing_from_outside(backend: str) -> None:
    @dataclass(frozen=True)
    class Ahead(Tag):
        def planes(self) -> Planes:
            return replace(super().planes(), view=View(ahead=3, behind=0, side=1))

    spec = Spec(Ahead(), BOARD, num_agents=3, observation="window", max_steps=400)
    state = placed(backend, [(1, 1), (-1, -1), (1, 3)], [RIGHT, DOWN, LEFT], (None, ("out", 3), None), spec)
    env = made(spec, backend)
    obs = np.asarray(env.rules.backend.compiled(env._functions.observe)(state))
    planes = dict(zip(env.feature_names, np.moveaxis(obs, -1, 0), strict=True))
    assert planes["wall"].any(axis=(1, 2)).tolist() == [True, False, True]
    assert [np.unique(plane).tolist() for plane in planes["others out"]] == [[3], [0], [3]]


def test_pictures_leave_them_out() -> None:
    state = placed("numpy", [(1, 1), (1, 3), (1, 5)], [RIGHT, DOWN, LEFT])
    gone = placed("numpy", [(1, 1), (-1, -1), (1, 5)], [RIGHT, DOWN, LEFT], (None, ("out", 3), None))
    rules = made(SPEC, "numpy").rules
    differs = (pixels(rules, state, 8) != pixels(rules, gone, 8)).any(axis=-1)
    rows, columns = np.nonzero(differs)
    assert {*(rows // 8).tolist()} == {1}
    assert {*(columns // 8).tolist()} == {3}
    both = pixels(rules, made(SPEC, "numpy").reset_fn(keys(0, 2))[0], 8)
    assert both.shape[0] == 2


def test_snapshots_and_replaced_states() -> None:
    env = made(SPEC, "numpy")
    gone = placed("numpy", [(1, 1), (-1, -1), (1, 5)], [RIGHT, DOWN, LEFT], (None, ("out", 3), None))
    env.set_state(gone)
    assert env.get_state()["state"]["pos"] == [10, 9 * 5 + 1, 14]
    other = made(SPEC, BACKENDS[-1])
    other.set_state(env.get_state())
    _, _, _, _, infos = other.step(dict.fromkeys(other.agents, 0))
    assert [infos[agent]["away"] for agent in range(3)] == [False, True, False]
    with pytest.raises(ValueError, match="agent 0 cannot stand at row -1, column 3"):
        env.replace(gone, agent_pos=np.array([(-1, 3), (-1, -1), (1, 5)]))
    with pytest.raises(ValueError, match=r"agent 0 cannot stand|two agents"):
        env.replace(gone, pos=np.array([46, 46, 14]))


def test_spawn_points_that_cannot_be() -> None:
    @dataclass(frozen=True)
    class Walled(Tag):
        def parts(self) -> tuple[Part, ...]:
            *others, away = super().parts()
            return *others, replace(away, back=lambda thing: thing == "coin")

    with pytest.raises(
        ValueError, match=r"Away\.back of Walled returned True for 'coin', where no agent can stand"
    ):
        fresh(Spec(Walled(), BOARD, num_agents=3, observation="none"), "numpy")
    with pytest.raises(ValueError, match=r"layout 'own-0' has no cell to come back to: Away\.back of Tag"):
        fresh(Spec(Tag(), "######\n#1  2#\n######", observation="none"), "numpy")


@dataclass(frozen=True)
class Brawl(Tag):
    """The same with chance, in a small room, where the pads are often taken."""

    def zap(self, held: Any, other: Any) -> Any:
        if self.is_out(other):
            return None
        return Chance((Meeting(held, ("out", STEPS_OUT), "hit", 1.0), 3), (Meeting(held, other, "miss"), 1))


CROWDED = "######\n#1o2##\n#345##\n######"


@pytest.mark.parametrize(
    "kind",
    ["window", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("lossless", "features"))],
)
def test_parity_and_no_two_in_a_cell(kind: str) -> None:
    spec = Spec(Brawl(), CROWDED, num_agents=5, observation=kind, window=3, max_steps=400)
    counts, seen = parity(spec, BACKENDS, ("zap",))
    assert min(counts["hit"], counts["miss"], 5 * counts["tread"]) >= 100, counts
    pos = np.sort(seen["pos"], axis=-1)
    assert (pos[..., 1:] > pos[..., :-1]).all()
    n_items, free = made(spec, "numpy").rules.n_items, 0
    waiting = seen["away"] & (seen["pose"] % n_items == free)
    returned = seen["away"][:-1] & ~seen["away"][1:]
    assert (waiting.sum() > 100, returned.sum() > 100) == (True, True)


def test_conformance() -> None:
    assert check_env(SPEC, BACKENDS)["hit"] > 0


def test_a_rotating_agent_on_a_large_board() -> None:
    """Positions beyond 127 on JAX, with facings that would look off the map from outside."""
    rows = ["#" * 14, "#1" + " " * 10 + "2#", *["#" + " o" * 6 + "#"] * 7, "#" * 14]
    spec = Spec(Tag(), "\n".join(rows), action_set="rotation", observation="none", max_steps=400)
    actions = np.random.default_rng(3).integers(0, 7, (60, 16, 2)).astype(np.int32)
    ours = tape(spec, "numpy", actions)
    for backend in BACKENDS[1:]:
        theirs = tape(spec, backend, actions)
        for name, value in ours.items():
            np.testing.assert_array_equal(value, theirs[name], err_msg=name)
