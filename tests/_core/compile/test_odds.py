"""Chance: ticks, outcomes, starts and single cells that are drawn, the same on both backends."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import cogrid
from cogrid._core.author.chance import branches
from cogrid._core.compile.odds import Draws, odds, one_of, realised
from cogrid.author import Chance, Game, Looks, OneCell, Outcome, Part, Spec
from cogrid.backend import rng
from cogrid.replay import recording as replay
from cogrid.testing.conformance import check_env
from tests._core.worlds import after, bounds, drawn, fresh, initials, made, parity, picture
from tests.support import BACKENDS, SHADOWED, assert_same, keys

BOARD = """
CCCCCCC
#1s w2#
#s   w#
#swwCs#
CCCCCCC
"""
each_backend = pytest.mark.parametrize("backend", BACKENDS)


@dataclass(frozen=True)
class Orchard(Game):
    """Apples grow by chance and may drop while they are picked; water turns to dirt, one cell at a time."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "s": "soil", "w": "water", "C": "crate"}

    def start(self, thing: Any) -> Any:
        return Chance(("soil", 1), ("apple", 2)) if thing == "soil" else thing

    def tick(self, thing: Any) -> Any:
        return Chance(("soil", 13), ("apple", 2), ("nettle", 1)) if thing == "soil" else thing

    def interact(self, held: Any, thing: Any) -> Any:
        match held, thing:
            case None, "apple":
                return Chance((Outcome("apple", "soil", "pick"), 3), (Outcome(None, "soil", "spill"), 1))
            case None, "nettle":
                return Chance((Outcome(None, "soil", "weed"), 1), (None, 1))
            case "apple", "crate":
                return Outcome(None, "crate", "store", 1.0)
            case None, "dirt":
                return Outcome(None, "water", "clean")
        return None

    def parts(self) -> tuple[Part, ...]:
        return (OneCell(lambda thing: thing == "water", lambda thing: "dirt", 1, 3, since=2),)

    def looks(self) -> Looks:
        return Looks(glyph=initials)


SPEC = Spec(Orchard(), BOARD, observation="none", max_steps=400)


def draw(words: Any, time: int, purpose: int, which: int) -> int:
    """A draw as the manual has it: the key's words, and (time + 1, purpose · 2²⁴ + which) as the counter."""
    key = [np.array([word], np.uint32) for word in words]
    counter = [np.array([number], np.uint32) for number in (time + 1, purpose * 2**24 + which)]
    first, second = rng.threefry(*key, *counter)
    return int(first[0] ^ second[0]) >> 8


def taken(options: Any, drawn: int) -> Any:
    """The option of a draw, in whole numbers."""
    total, sum_ = sum(weight for _, weight in options), 0
    for value, weight in options:
        sum_ += weight
        if drawn < (sum_ * 2**24 + total // 2) // total:
            return value
    raise AssertionError(drawn)


def referee(game: Game, before: list[Any], words: Any, time: int) -> list[Any]:
    """The board after the ticks of one step, by the manual's words; `before` is how the ticks found it."""
    cells = list(before)
    for cell, thing in enumerate(before):
        if thing == "soil":
            cells[cell] = taken(game.tick("soil").options, draw(words, time, 1, cell))
    water = [cell for cell, thing in enumerate(cells) if thing == "water"]
    if time >= 2 and water and taken([(True, 1), (False, 2)], draw(words, time, 3, 0)):
        cells[water[draw(words, time, 3, 1) * len(water) >> 24]] = "dirt"
    return cells


@each_backend
def test_every_draw_is_the_one_of_the_manual(backend: str) -> None:
    env, state = made(SPEC, backend), fresh(SPEC, backend, 3)
    things, seen = env.spec.symbols.things, Counter[str]()
    for time in range(60):
        before = [things[symbol] for symbol in np.asarray(state.cells)]
        words = np.asarray(state.words)
        state, *_ = after(SPEC, backend, state, "noop", "noop")
        now = [things[symbol] for symbol in np.asarray(state.cells)]
        assert now == referee(env.spec.game, before, words, time), f"step {time}"
        seen.update((old, new) for old, new in zip(before, now, strict=True) if old != new)
    assert seen == {("soil", "apple"): 1, ("soil", "nettle"): 1, ("water", "dirt"): 4}


@each_backend
def test_an_outcome_is_drawn_by_the_agents_number(backend: str) -> None:
    """Both agents pick at once; each has a draw of its own.

    > a   w          > s   w
    a <     w   ->   s <     w
    """
    env, counts = made(SPEC, backend), Counter[tuple[str, ...]]()
    for seed in range(24):
        state = fresh(SPEC, backend, seed)
        cells = np.asarray(state.cells).copy()
        cells[[9, 15]] = env.spec.symbols.number["apple"]
        state = env.replace(
            state, cells=cells, agent_pos=np.array([(1, 1), (2, 2)]), agent_dir=np.array([0, 2])
        )
        words = np.asarray(state.words)
        state, _, _, infos = after(SPEC, backend, state, "interact", "interact")
        expected = [taken([("pick", 3), ("spill", 1)], draw(words, 0, 0, agent)) for agent in (0, 1)]
        assert infos["verbs"] == expected
        assert np.asarray(state.held).tolist() == [int(verb == "pick") for verb in expected]
        counts[tuple(expected)] += 1
    assert len(counts) == 4, counts


@each_backend
def test_a_drawn_start(backend: str) -> None:
    """Soil begins as soil or as an apple; the seed tells which, and an agent's own cell stays."""
    boards = [drawn(SPEC, backend, fresh(SPEC, backend, seed)) for seed in (0, 1)]
    assert boards == [
        picture(
            """
            ^ s   w ^
            a       w
            s w w c a
            """
        ),
        picture(
            """
            ^ a   w ^
            a       w
            a w w c a
            """
        ),
    ]


@each_backend
def test_steps_by_chance(backend: str) -> None:
    """Seed 3: a nettle grows in the second step, water turns to dirt in the fourth and the fifth."""
    state = fresh(SPEC, backend, 3)
    pictures = [drawn(SPEC, backend, state)]
    for _ in range(5):
        state, *_ = after(SPEC, backend, state, "noop", "noop")
        pictures.append(drawn(SPEC, backend, state))
    first, nettle, dirt, more = map(picture, GROWTH)
    assert pictures == [first, first, nettle, nettle, dirt, more]


GROWTH = (
    """
    ^ s   w ^
    s       w
    a w w c a
    """,
    """
    ^ n   w ^
    s       w
    a w w c a
    """,
    """
    ^ n   w ^
    s       w
    a w d c a
    """,
    """
    ^ n   w ^
    s       w
    a d d c a
    """,
)


def test_shares_of_all_draws() -> None:
    """512 orchards for 20 steps: counts of every branch lie in the exact bounds of their probabilities."""
    env = made(SPEC, "numpy")
    state, _ = env.reset_fn(keys(1, 512))
    number = env.spec.symbols.number
    begun = np.asarray(state.cells)[:, [9, 15, 22, 26]]
    hits = {"start apple": ((begun == number["apple"]).sum(), begun.size, 2, 3)}
    grown = Counter[str]()
    where = Counter[int]()
    for time in range(20):
        before = np.asarray(state.cells)
        state, *_ = env.step_fn(state, np.full((512, 2), 6))
        now, soil, water = np.asarray(state.cells), before == number["soil"], before == number["water"]
        grown["soil"] += int(soil.sum())
        for thing in ("apple", "nettle"):
            grown[thing] += int((soil & (now == number[thing])).sum())
        dirt = water & (now == number["dirt"])
        assert (dirt.sum(axis=1) <= 1).all()
        grown["may be dirt"] += int(water.any(axis=1).sum()) * (time >= 2)
        grown["dirt"] += int(dirt.sum())
        if time == 2:  # all four are still water
            where.update(np.argwhere(dirt)[:, 1].tolist())
    hits["grow apple"] = (grown["apple"], grown["soil"], 2, 16)
    hits["grow nettle"] = (grown["nettle"], grown["soil"], 1, 16)
    hits["dirt"] = (grown["dirt"], grown["may be dirt"], 1, 3)
    for cell in (11, 19, 23, 24):
        hits[f"dirt at {cell}"] = (where[cell], sum(where.values()), 1, 4)
    for name, (found, tries, weight, out_of) in hits.items():
        share = branches(Chance((1, weight), (0, out_of - weight)))[0][1]
        low, high = bounds(int(tries), share)
        assert low <= found <= high, f"{name}: {found} of {tries} is not within {low} to {high}"


def test_parity() -> None:
    counts, _ = parity(SPEC, BACKENDS)
    assert min(counts[verb] for verb in ("pick", "spill", "weed", "store", "clean")) >= 10, counts


def test_conformance() -> None:
    assert check_env(SPEC, BACKENDS)["clean"] > 0


@each_backend
def test_snapshot_replay_and_shadow_go_on_with_the_same_chance(backend: str) -> None:
    env = cogrid.CoGridEnv(SPEC, backend, infos=True, shadow=backend in SHADOWED)
    env.reset(seed=5)
    generator = np.random.default_rng(0)
    tape = generator.integers(0, 7, (12, 2)).tolist()
    for joint in tape[:6]:
        env.step(dict(enumerate(joint)))
    other = made(SPEC, BACKENDS[-1])
    other.set_state(env.get_state())
    for joint in tape[6:]:
        env.step(dict(enumerate(joint)))
        other.step(dict(enumerate(joint)))
    assert_same(env.env_state, other.env_state)
    assert env.shadow is None or env.shadow.mismatches == 0
    taped = replay.record(env, np.array(tape), 5)
    for each in BACKENDS:
        taped.verify(each, env=env)


def test_episodes_differ_and_seeds_repeat() -> None:
    env = cogrid.CoGridEnv(SPEC)
    firsts = []
    for seed in (4, None, 4, None):
        env.reset(seed=seed)
        for _ in range(9):
            env.step({0: 6, 1: 6})
        firsts.append({name: value.tolist() for name, value in env.env_state.plain().items()})
    assert firsts[0] == firsts[2]
    assert firsts[1] == firsts[3]
    assert firsts[0]["cells"] != firsts[1]["cells"]


def test_probabilities_are_shares_of_two_to_the_24() -> None:
    assert branches(Chance(("a", 1), ("b", 39))) == (("a", 419430), ("b", 2**24))
    assert branches(Chance(("a", 1), ("b", 2**24 - 1))) == (("a", 1), ("b", 2**24))
    assert branches(Chance(("a", 2), ("b", 1))) == (("a", 11184811), ("b", 2**24))
    assert branches("sure") == (("sure", 2**24),)


def test_one_of_many_is_exact() -> None:
    generator = np.random.default_rng(0)
    drawn = generator.integers(0, 2**24, 20_000).astype(np.uint32)
    count = generator.integers(1, 2**15, 20_000).astype(np.uint32)
    assert one_of(drawn, count).tolist() == [int(d) * int(c) >> 24 for d, c in zip(drawn, count, strict=True)]


@each_backend
def test_a_draw_at_a_bound_is_the_next_branch(backend: str) -> None:
    lookup, xp = made(SPEC, backend).rules.lookup, made(SPEC, backend).rules.xp
    table = odds([branches(Chance(("a", 1), ("b", 2), ("c", 1))), branches("sure")])
    drawn = xp.asarray(np.array([0, 2**22 - 1, 2**22, 3 * 2**22 - 1, 3 * 2**22, 2**24 - 1], np.uint32))
    for case, expected in ((0, "aabbcc"), (1, ["sure"] * 6)):
        index = realised(lookup, table, xp.full(6, case, np.int32), drawn)
        assert [table.values[k] for k in np.asarray(index)] == list(expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "at least one option"),
        ((("a", 0.5),), "the weight 0.5 of 'a' in a Chance is not a whole number"),
        ((("a", 0), ("b", 1)), "the weight 0 of 'a'"),
        ((("a", True),), "the weight True"),
        ((("a", 2**24), ("b", 1)), "add up to 16,777,217"),
        ((("a",),), "is not an option of a Chance"),
        (((Chance(("a", 1)), 1),), "is a Chance in a Chance"),
    ],
)
def test_wrong_weights_are_refused(options: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Chance(*options)


@dataclass(frozen=True)
class Rubble(Game):
    """Half of the floor begins as rubble, and nobody in it."""

    legend: ClassVar[Any] = {" ": "floor", "#": "wall"}

    def start(self, thing: Any) -> Any:
        return Chance(("rubble", 1), ("floor", 1)) if thing == "floor" else thing


@each_backend
def test_nothing_starts_where_an_agent_stands(backend: str) -> None:
    spec = Spec(Rubble(), "#####\n#1 2#\n#   #\n#####", observation="none", random_start=True)
    env = made(spec, backend)
    state, _ = env.rules.backend.compiled(env.reset_fn)(keys(0, 64))
    assert not np.take_along_axis(np.asarray(state.wall_map).reshape(64, -1), np.asarray(state.pos), -1).any()
    rubble = int((np.asarray(state.object_type_map) == env.type_ids["rubble"]).sum())
    low, high = bounds(64 * 4, 2**23)
    assert low <= rubble <= high


@dataclass(frozen=True)
class Slam(Game):
    """A floor that may close under an agent."""

    def parts(self) -> tuple[Part, ...]:
        return (OneCell(lambda thing: thing == "floor", lambda thing: "wall"),)


def test_one_cell_that_closes_on_an_agent_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"OneCell\.becomes of Slam turns 'floor', where an agent may stand, into 'wall'"
    ):
        made(Spec(Slam(), "####\n#12#\n####", observation="none"), "numpy")
    with pytest.raises(ValueError, match=r"OneCell\.weight=3 is out of range"):
        OneCell(bool, str, 3, 2)


def test_draws_are_found_by_their_purpose() -> None:
    """Wherever it stands: a phase before the interaction may draw too."""
    draws = Draws({"tick": np.arange(2), "interact": np.arange(3)})
    drawn = np.arange(5)
    assert draws.of("interact", drawn).tolist() == [2, 3, 4]
    assert draws.some("interact", drawn, slice(1, 2)).tolist() == [3]


def test_a_draw_without_a_number() -> None:
    with pytest.raises(
        ValueError, match=r"^a phase draws for 'carry', which has no number: add it at the end"
    ):
        Draws({"carry": np.arange(2)})
