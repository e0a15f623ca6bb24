"""Generated kitchens: solvable by a search of the tests' own, equal on both backends, as various as told."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.compile.spec import Spec
from cogrid._core.rules import compile_rules
from cogrid._core.state.reset import boards_of
from cogrid.backend import rng
from cogrid.envs.overcooked.floor_plan import FAR, soup_steps
from cogrid.envs.overcooked.generated import HELD_OUT, TRAINING, boards
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.testing.conformance import check_env
from tests._core.worlds import bounds
from tests.support import BACKENDS, HAS_JAX, keys

ID = "Overcooked-Generated-V0"
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"num_agents": 1},
    {"num_agents": 3, "rooms": "open", "clutter": 20},
    {"num_agents": 4, "rooms": "divided", "min_width": 7},
    {"num_agents": 5, "pots": 4, "onion_piles": 3, "dish_piles": 3, "servings": 3, "clutter": 30},
    {"num_agents": 5, "max_height": 5, "max_width": 5, "pots": 3, "onion_piles": 3, "dish_piles": 2},
    {"num_agents": 6, "min_height": 6, "max_height": 6, "max_width": 6, "clutter": 9},
    {"num_agents": 6, "rooms": "divided", "min_height": 7, "max_height": 9, "min_width": 5, "max_width": 5},
)
#: As large as a generated kitchen can be, and without a pot.
NO_POT = "\n".join(["XXXXXXXXX", "XOODS   X", *["X       X"] * 4, "XXXXXXXXX"])


def texts(spec: Spec, codes: Any) -> list[list[str]]:
    """Boards as rows of letters."""
    letters = np.array([*spec.game.legend, *"123456789"])
    return [["".join(row) for row in board] for board in letters[codes]]


def drawn(n: int, **options: Any) -> tuple[Spec, list[list[str]]]:
    spec = cogrid.make(ID, **options).spec
    return spec, texts(spec, boards(spec, range(n)))


# The search: nothing of the generator's or of the planner's is used.

STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))


def walk(rows: list[str], start: tuple[int, int], blocked: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The cells that a cook gets to."""
    found, todo = {start}, [start]
    while todo:
        r, c = todo.pop()
        for near in ((r + i, c + j) for i, j in STEPS):
            if near not in found | blocked and rows[near[0]][near[1]] in " 123456":
                found.add(near)
                todo.append(near)
    return found


def reached(region: set[tuple[int, int]]) -> set[tuple[int, int]]:
    return {(r + i, c + j) for r, c in region for i, j in STEPS} - region


def is_solvable(rows: list[str]) -> bool:
    """Whether one cook of each room can bring a soup to a serving, and reach all else, if no other moves."""
    cells = {(r, c): letter for r, row in enumerate(rows) for c, letter in enumerate(row)}
    cooks = sorted(cell for cell, letter in cells.items() if letter in "123456")
    rooms: dict[frozenset[tuple[int, int]], list[tuple[int, int]]] = {}
    for cook in cooks:
        rooms.setdefault(frozenset(walk(rows, cook, set())), []).append(cook)
    return any(_all_done(rows, cells, chosen, set(cooks)) for chosen in itertools.product(*rooms.values()))


def _all_done(rows: list[str], cells: Any, chosen: Any, cooks: set[tuple[int, int]]) -> bool:
    hands = [reached(walk(rows, cook, cooks - {cook})) for cook in chosen]  # what each can touch
    things = {letter: {cell for cell, found in cells.items() if found == letter} for letter in "XPODS"}
    if any(thing not in set().union(*hands) for letter in "PODS" for thing in things[letter]):
        return False

    def spread(have: set[int]) -> set[int]:
        """Cooks that get an item which some have, over free counters that two of them touch."""
        while more := {
            a for a in range(len(hands)) for b in have if hands[a] & hands[b] & things["X"] and a not in have
        }:
            have = have | more
        return have

    onion, dish = (spread({a for a, hand in enumerate(hands) if hand & things[x]}) for x in "OD")
    for pot in things["P"]:
        near = {a for a, hand in enumerate(hands) if pot in hand}
        if near & onion and (soup := spread(near & dish)):
            return any(hands[a] & things["S"] for a in soup)
    return False


def test_the_search_finds_what_is_wrong() -> None:
    assert is_solvable(["XOPX", "X1 S", "XDXX"])
    assert not is_solvable(["XOPX", "X1 X", "XDXX"])  # no serving
    assert is_solvable(["XOXPXX", "D1X2 S", "XXXXXX"])  # over the counter between them
    assert not is_solvable(["XOXPXX", "D1#2 S", "XXXXXX"])  # nothing is handed over
    assert not is_solvable(["######", "O1 2 P", "#D##S#"])  # no way past each other


@pytest.mark.parametrize("options", OPTIONS)
def test_kitchens_are_solvable(options: dict[str, Any]) -> None:
    spec, found = drawn(150, **options)
    assert all(map(is_solvable, found))
    letters = ["".join(rows) for rows in found]
    n = spec.num_agents
    assert all(all(text.count(digit) == 1 for digit in "123456"[:n]) for text in letters)
    most = (spec.game.pots, spec.game.onion_piles, spec.game.dish_piles, spec.game.servings)
    for letter, number in zip("PODS", most, strict=True):
        counts = {text.count(letter) for text in letters}
        assert min(counts) == 1
        assert max(counts) <= number
    if options.get("rooms") == "divided":
        regions = [{frozenset(walk(rows, cook, set())) for cook in _cooks(rows)} for rows in found]
        assert all(len(region) == 2 for region in regions)


def _cooks(rows: list[str]) -> list[tuple[int, int]]:
    return [(r, c) for r, row in enumerate(rows) for c, letter in enumerate(row) if letter in "123456"]


def size(rows: list[str]) -> tuple[int, int]:
    """Rows and columns without the padding."""
    return sum(row[0] != "#" for row in rows), sum(letter != "#" for letter in rows[0])


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
def test_many_kitchens_are_solvable(options: dict[str, Any]) -> None:
    """100,000 by the id's own options, fewer by others; equal on both backends; how large and how hard."""
    count = 20_000 if options else 100_000
    env = cogrid.make(ID, **options)
    others = [compile_rules(env.spec, backend) for backend in BACKENDS if backend != "numpy"]
    draws = [rules.backend.compiled(functools.partial(boards_of, rules)) for rules in others]
    sizes: Counter[tuple[int, int]] = Counter()
    steps: list[int] = []
    rooms: Counter[int] = Counter()
    for first in range(0, count, 5000):
        seeds = range(first, first + 5000)
        codes = boards(env.spec, seeds)
        for draw in draws:
            np.testing.assert_array_equal(draw(np.stack([rng.key(seed) for seed in seeds])), codes)
        for board, rows in zip(codes, texts(env.spec, codes), strict=True):
            assert is_solvable(rows), "\n".join(rows)
            sizes[size(rows)] += 1
            rooms[len({frozenset(walk(rows, cook, set())) for cook in _cooks(rows)})] += 1
            if len(steps) * 50 < sum(sizes.values()):
                steps.append(soup_steps(env.rules, env.reset_fn(rng.key(0), board)[0]))
    print(f"\n{options}: {count:,} kitchens, rows × columns {sorted(sizes.items())}, rooms {dict(rooms)}")
    shares = [0, 10, 50, 90, 100]
    print(f"steps of a soup: {np.percentile(steps, shares).astype(int).tolist()} at {shares} %")
    assert max(steps) < FAR


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
def test_both_backends_draw_the_same(options: dict[str, Any]) -> None:
    words = keys(5, 64)
    states = []
    for backend in BACKENDS:
        env = cogrid.make(ID, backend, observation="none", **options)
        states.append(env.rules.backend.compiled(env.reset_fn)(words)[0])
        assert not np.asarray(states[-1].repaired).any()
    for state in states[1:]:
        for name, value in state.plain().items():
            np.testing.assert_array_equal(value, states[0].plain()[name], err_msg=name)
    alone = env.reset_fn(words[3])[0]
    np.testing.assert_array_equal(np.asarray(alone.cells), states[0].cells[3])


def test_kitchens_are_various() -> None:
    _, found = drawn(2000)
    assert len({"".join(rows) for rows in found}) == 2000
    rooms = [len({frozenset(walk(rows, cook, set())) for cook in _cooks(rows)}) for rows in found]
    sizes = Counter(map(size, found))
    assert set(sizes) == set(itertools.product(range(5, 8), range(5, 10)))
    low, high = bounds(2000, 2**24 // 15)
    assert all(low <= number <= high for number in sizes.values())
    can = sum(number for (height, width), number in sizes.items() if max(height, width) >= 7)
    low, high = bounds(can, 2**23)
    assert low <= rooms.count(2) <= high
    pots = Counter("".join(rows).count("P") for rows in found)
    low, high = bounds(2000, 2**23)
    assert low <= pots[1] <= high
    starts = {cell for rows in found for cell in _cooks(rows)}
    assert starts == set(itertools.product(range(1, 6), range(1, 8)))


def test_the_published_kitchens_stay() -> None:
    """Results name them, so a change of any bit of them is a new version of the id."""
    spec = cogrid.make(ID).spec
    codes = boards(spec, (*TRAINING, *HELD_OUT))
    assert codes.shape == (100, 7, 9)
    assert len(TRAINING) == 80
    assert len({bytes(one) for one in codes}) == 100
    assert hashlib.sha256(codes.tobytes()).hexdigest()[:16] == "754cfb322af64ab4"
    env = cogrid.make(ID)
    for seed in (0, 81):
        env.reset(seed=seed)
        given = env.reset_fn(rng.key(1), codes[seed])[0]
        np.testing.assert_array_equal(env.env_state.cells, given.cells)
        np.testing.assert_array_equal(env.env_state.pos, given.pos)
    vec = cogrid.make_vec(ID, 16, pool=boards(spec, HELD_OUT), max_steps=2)
    vec.reset(seed=0)
    held_out = {bytes(one) for one in env.reset_fn(keys(0, 20), codes[80:])[0].cells}
    for _ in range(8):
        assert {bytes(one) for one in vec.env_state.cells} <= held_out
        vec.step(np.full((16, 2), 6))


@pytest.mark.slow
def test_conformance() -> None:
    check_env(cogrid.make(ID, num_agents=3).spec, BACKENDS, steps=30)


def test_conformance_on_numpy() -> None:
    assert sum(check_env(cogrid.make(ID, num_agents=3).spec, ["numpy"], steps=100).values()) > 0


def test_a_soup_counts_its_steps() -> None:
    """Take, carry, put: by hand."""
    env = cogrid.make(ID)

    def steps(text: str) -> int:
        return soup_steps(env.rules, env.reset_fn(rng.key(0), env.encode_board(text))[0])

    assert steps("XOPDX\nX1 2S\nXXXXX") == 3 * 3 + 3 + 3
    assert steps("XOXPX\nX1X2S\nXDXXX") == 3 * 4 + 4 + 2
    assert steps("XOXPX\nX1#2S\nXDXXX") == FAR


def test_questions_about_something_else() -> None:
    env, fixed = cogrid.make(ID), cogrid.make("Overcooked-CrampedRoom-V0")
    with pytest.raises(ValueError, match=r"a single state, and this is a batch of shape \(5,\)"):
        soup_steps(env.rules, env.reset_fn(keys(0, 5))[0])
    with pytest.raises(TypeError, match="soups are cooked in kitchens, not in Arena"):
        soup_steps(cogrid.make("Arena-V0").rules, cogrid.make("Arena-V0").reset_fn(rng.key(0))[0])
    with pytest.raises(TypeError, match="Kitchen draws no boards: give the spec of a generated kitchen"):
        boards(fixed.spec, [1])


@pytest.mark.parametrize(
    "seeds",
    [(0, 33, 46, 52, 65, 84), pytest.param((*TRAINING, *HELD_OUT), marks=pytest.mark.slow)],
    ids=["narrow", "all"],
)
def test_cooks_deliver(seeds: Sequence[int]) -> None:
    """At least five soups in 400 steps, in published kitchens: six, most of them with a dead end, and all."""
    env, soups = cogrid.make(ID, observation="none"), dict.fromkeys(seeds, 0)
    for seed in seeds:
        env.reset(seed=seed)
        cooks = ScriptedCooks(env.rules)
        while env.agents:
            _, rewards, *_ = env.step(cooks.act(env.env_state))
            soups[seed] += rewards[0] > 0
    assert min(soups.values()) >= 5, soups


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"rooms": "three"}, "rooms='three' is unknown: choose one of mixed, open, divided"),
        ({"min_height": 4}, "min_height=4 is out of range: it must be from 5 to 32"),
        ({"max_width": 4}, "max_width=4 is out of range: it must be from 5 to 32"),
        ({"pots": 0}, "pots=0 is out of range"),
        ({"clutter": -1}, "clutter=-1 is out of range"),
        (
            {"max_height": 5, "max_width": 5, "pots": 9, "onion_piles": 5},
            "16 pots, piles and servings are too many for kitchens of 5 × 5 cells: they have room for 15",
        ),
        ({"orders": ["tomato,tomato,tomato"]}, "none of these orders can be cooked: generated kitchens have"),
        ({"orders": ["onion"]}, "none of these orders can be cooked"),
    ],
)
def test_wrong_options(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        cogrid.make(ID, **options)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"num_agents": 7}, "num_agents=7 is too many"),
        ({"num_agents": 6}, "6 cooks need more room than 5 × 5 cells: raise min_height or min_width to 6"),
        ({"rooms": "divided"}, "rooms='divided' needs two cooks and a side of at least 7 cells"),
        ({"rooms": "divided", "min_width": 7, "num_agents": 1}, "rooms='divided' needs two cooks"),
        ({"layout": "CrampedRoom"}, "layout leaves no room for kitchens of up to 7 × 9 cells: leave it out"),
        ({"layout": "CrampedRoom", "max_height": 5, "max_width": 5}, "layout leaves no room for kitchens of"),
        ({"layout": NO_POT}, "layout leaves no room for 2 of 'P': leave it out"),
    ],
)
def test_options_that_leave_no_room(options: dict[str, Any], match: str) -> None:
    env = cogrid.make(ID, **options)
    with pytest.raises(ValueError, match=match):
        env.reset(seed=0)


def test_orders_of_onions_are_cooked() -> None:
    """Others may be on the list, and a larger layout bounds what is drawn as well as the game's own."""
    larger = "\n".join(["XXXXXXXXXX", "XPPOODS  X", *["X        X"] * 6, "XXXXXXXXXX"])
    env = cogrid.make(ID, orders=["onion,tomato", "onion"], cook_start="interact", layout=larger)
    env.reset(seed=0)
    assert env.env_state.cells.size == 90
    assert not env.env_state.repaired


if HAS_JAX:
    import jax

    def test_65536_kitchens_without_compiling_again() -> None:
        """By seed, all different, and bit for bit those of NumPy."""
        env, there = (cogrid.make(ID, backend, observation="none") for backend in ("jax", "numpy"))
        reset, words, boards = jax.jit(jax.vmap(env.jax_reset)), keys(1, 2**16), []
        some = slice(0, None, 64)
        for batch in np.split(words, 8):  # one batch of all would take 450 MB
            state, _ = reset(batch)
            assert not np.asarray(state.repaired).any()
            boards.append(np.concatenate((np.asarray(state.cells), np.asarray(state.pos)), axis=-1))
            theirs = there.reset_fn(batch[some])[0].plain()
            for name, value in state.plain().items():
                np.testing.assert_array_equal(value[some], theirs[name], err_msg=name)
        assert reset._cache_size() == 1
        assert len(np.unique(np.concatenate(boards), axis=0)) > 65_500
