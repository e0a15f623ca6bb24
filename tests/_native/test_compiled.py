"""Compiled functions: one environment and batches, pools and boards, and what is said of wrong arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cogrid
from cogrid._core.rules import Rules, compile_rules
from cogrid._core.step import functions, renewing
from cogrid._native import compiled
from cogrid._native.backend import NativeBackend
from cogrid._native.compiled import CompiledFunction
from cogrid._native.record import Function
from cogrid.backend import rng
from tests.support import assert_same, keys

ROOM = "Overcooked-CrampedRoom-V0"
BACKEND = NativeBackend()


def both(id: str, **options: Any) -> tuple[Rules, Rules]:
    """The rules on NumPy and on the native backend."""
    spec = cogrid.make(id, **options).spec
    return compile_rules(spec, "numpy"), Rules(spec, BACKEND)


@pytest.mark.parametrize("batch", [(), (1,), (7,), (2, 3), (0,)])
def test_any_batch(batch: tuple[int, ...]) -> None:
    ours, theirs = both(ROOM, observation="lossless")
    key = np.random.default_rng(0).integers(0, 2**32, (*batch, 2), dtype=np.uint32)
    actions = np.random.default_rng(1).integers(0, 7, (30, *batch, 2))
    mine, yours = (functions(rules).reset(key) for rules in (ours, theirs))
    for joint in actions:
        assert_same(mine[0], yours[0])
        np.testing.assert_array_equal(mine[1], yours[1])
        mine, yours = (functions(r).step(s[0], joint) for r, s in ((ours, mine), (theirs, yours)))
        for a, b in zip(mine[1:4], yours[1:4], strict=True):
            assert (np.shape(a), a.dtype) == (b.shape, b.dtype)
            np.testing.assert_array_equal(a, b)


def test_actions_of_any_integer_type_and_out_of_range() -> None:
    ours, theirs = both(ROOM)
    first = functions(ours).reset(keys(0, 3))[0], functions(theirs).reset(keys(0, 3))[0]
    for dtype in (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64):
        for number in (4, -1, 99, 2**31, 2**40):
            actions = np.full((3, 2), number % 2 ** (8 * np.dtype(dtype).itemsize)).astype(dtype)
            mine, yours = (functions(r).step(s, actions) for r, s in zip((ours, theirs), first, strict=True))
            assert_same(mine[0], yours[0], f"{dtype} {number}")
    listed = functions(theirs).step(first[1], [[4, 4]] * 3)  # type: ignore[arg-type]
    assert_same(functions(ours).step(first[0], np.full((3, 2), 4))[0], listed[0])


def test_results_are_new_arrays_except_for_what_is_passed_on() -> None:
    _, rules = both(ROOM, shaping=1.0)
    state, _ = functions(rules).reset(keys(0, 4))
    before = {name: value.copy() for name, value in state.stored().items()}
    after = functions(rules).step(state, np.full((4, 2), 3))[0]
    again = functions(rules).step(state, np.full((4, 2), 2))[0]
    assert after.weight is state.weight
    assert after.words is state.words
    assert not np.shares_memory(after.pos, again.pos)
    assert (after.pos != again.pos).any()
    for name, value in state.stored().items():
        np.testing.assert_array_equal(value, before[name])


def test_boards_and_pools() -> None:
    ours, theirs = both(ROOM, any_board=True)
    boards = np.stack([cogrid.make(ROOM, any_board=True).encode_board(ROOM.split("-")[1])] * 2)
    boards[1] = boards[1, :, ::-1]
    starts = [{"board": boards[0]}, {"board": boards[[0, 1, 1]]}, {"pool": boards}]
    starts.append({"pool": functions(ours).reset(keys(1, 2), boards)[0]})
    for start in starts:
        mine = functions(ours).reset(keys(3, 3), **start)
        native = {k: v.evolve(rules=theirs) if hasattr(v, "evolve") else v for k, v in start.items()}
        native = {k: carried(v, theirs) for k, v in native.items()}
        yours = functions(theirs).reset(keys(3, 3), **native)
        assert_same(mine[0], yours[0], str(list(start)))
    wrong = boards.copy()
    wrong[0, 0, 0] = 99
    with pytest.raises(ValueError, match=r"^pool 0 has code 99"):
        functions(theirs).reset(keys(3, 3), None, wrong)


def carried(value: Any, rules: Rules) -> Any:
    """A state of the native rules, in their types; anything else as it is."""
    if not hasattr(value, "stored"):
        return value
    like = functions(rules).reset(keys(0, 1))[0].stored()
    return value.evolve(**{name: part.astype(like[name].dtype) for name, part in value.stored().items()})


def test_what_numpy_says_of_wrong_arguments() -> None:
    ours, theirs = both(ROOM)
    for arguments in ((np.zeros((3, 3), int),), (np.zeros((4, 2), int),), (np.zeros((3, 2)),), (None,)):
        said = []
        for rules in (ours, theirs):
            with pytest.raises((TypeError, ValueError)) as error:
                functions(rules).step(functions(rules).reset(keys(0, 3))[0], *arguments)
            said.append(str(error.value))
        assert said[0] == said[1]
    with pytest.raises(ValueError, match="belongs to another environment"):
        functions(theirs).step(functions(ours).reset(keys(0, 3))[0], np.zeros((3, 2), int))


def test_the_same_function_is_compiled_once() -> None:
    _, rules = both(ROOM, max_steps=33)
    assert functions(rules) is functions(rules)
    step = functions(rules).step
    assert isinstance(step, CompiledFunction)
    assert BACKEND.compiled(step) is step
    for batch in (3, 5):
        step(functions(rules).reset(keys(0, batch))[0], np.zeros((batch, 2), np.int32))
    assert len(step._parts) == 1
    assert len(step._programs) == 2


def test_reset_and_automatic_reset_share_a_function() -> None:
    _, rules = both("Overcooked-CrampedRoom-V0", random_start=True)
    state, obs = functions(rules).reset(keys(0, 2))
    renew = renewing(rules)
    renew(state, obs, np.array([True, False]), None)
    (part, _), *rest = renew._parts.values()  # type: ignore[attr-defined]
    assert not rest
    calls: list[Function] = []

    def visit(block: Any) -> None:
        for node in block.nodes:
            calls.extend([node.params["function"]] if node.op == "call" else [])
            for inner in node.params.get("blocks", ()):
                visit(inner)

    visit(part.function.block)
    assert [one.name for one in calls] == ["reset", "observe"]


def test_split_keys_are_numpy_keys() -> None:
    assert rng.split(BACKEND.words(rng.key(3))).dtype == np.uint32


def test_more_shapes_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "SHAPES", 2)
    ours, theirs = both(ROOM)
    for size in (1, 2, 3, 2, 1, 4):
        mine, yours = (functions(rules).reset(keys(0, size)) for rules in (ours, theirs))
        assert_same(mine[0], yours[0])
        joint = np.zeros((size, 2), np.int32)
        assert_same(functions(ours).step(mine[0], joint)[0], functions(theirs).step(yours[0], joint)[0])


def test_names_of_users_are_never_read_as_python_or_c() -> None:
    hostile = "'\"]; raise SystemExit(7) #\n */ #error\\\n"

    def doubled(values: dict[Any, Any]) -> dict[Any, Any]:
        return {name: value * 2 for name, value in values.items()}

    doubled.__name__ = hostile
    given = {name: np.arange(3, dtype=np.int32) for name in (hostile, "for", "ﬁ", (1, "'"), 7)}
    function = CompiledFunction(doubled)
    for _ in range(2):  # the second goes through the glue
        np.testing.assert_equal(function(given), doubled(given))


@pytest.mark.parametrize("place", [-128, -20, 30, 127])
def test_a_state_with_wrong_places_writes_to_no_memory_of_others(place: int) -> None:
    state, _ = functions(both(ROOM)[1]).reset(keys(0, 4))
    wrong = state.evolve(pos=np.full_like(state.pos, place))
    for action in range(7):
        after = functions(both(ROOM)[1]).step(wrong, np.full((4, 2), action))
        assert after[0].clock.tolist() == [1] * 4
