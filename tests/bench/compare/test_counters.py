"""Counters: growth of any of them is found, and what cannot be compared is said."""

from __future__ import annotations

import math
from typing import Any

import pytest
from msgspec.structs import replace

from bench.compare import counters
from bench.compare.counters import Change, Counted, changes, compare
from bench.records import Row, System
from bench.storage.baselines import counter_sets, key_of
from tests.bench.support import SYSTEM, result, row

MACHINE = System(**SYSTEM)
#: All counters of both backends, with numbers as a step has them.
COUNTERS = {
    "equations": 212,
    "flops": 91_234,
    "bytes_accessed": 1_048_577,
    "argument_bytes": 43_008,
    "output_bytes": 829_440,
    "temp_bytes": 77,
    "peak_bytes": 123_456,
    "instructions": 301,
    "fusions": 17,
    "host_callbacks": 0,
    "wide_values": 0,
    "operations": 205,
    "allocated_bytes": 50_000,
}


def counted(**changed: Any) -> Row:
    return row(counters=COUNTERS | changed)


@pytest.mark.parametrize("name", COUNTERS)
def test_two_percent_more_of_any_counter_is_found(name: str) -> None:
    more = COUNTERS[name] + max(1, math.ceil(COUNTERS[name] * 0.02))
    found = compare(result([]), counted(**{name: more}), counter_sets(result([counted()])))
    assert [change.name for change in found.changes if change.grew] == [name]


def test_every_counter_of_a_step_is_among_those() -> None:
    from bench.measure.counters import hlo_counters, numpy_counters

    assert numpy_counters(lambda: None).keys() | hlo_counters("").keys() <= COUNTERS.keys()


@pytest.mark.parametrize(
    ("before", "after", "grew", "text"),
    [
        (1000, 1019, False, "flops grew 1.9 %"),
        (1000, 1020, True, "flops grew 2.0 %"),
        (1000, 1031, True, "flops grew 3.1 %"),
        (1000, 2500, True, "flops grew 150 %"),
        (1000, 850, False, "flops fell 15 %"),
        (0, 1, True, "flops grew from 0 to 1"),
        (3, 0, False, "flops fell from 3 to 0"),
        (-1, -1, False, ""),
    ],
)
def test_growth_in_words(before: int, after: int, grew: bool, text: str) -> None:
    found = changes({"flops": before}, {"flops": after})
    assert [change.text() for change in found] == ([text] if text else [])
    assert any(change.grew for change in found) == grew


def test_one_kernel_more_is_a_regression_however_many_there_are() -> None:
    for name in counters.EXACT:
        (found,) = changes({name: 3466}, {name: 3467})
        assert found.grew, name
    (found,) = changes({"bytes": 3466}, {"bytes": 3467})
    assert not found.grew


def test_a_counter_that_vanished_is_said_and_a_trifle_is_not() -> None:
    found = changes({"flops": 1000, "fusions": 4}, {"flops": 1001, "equations": 3})
    assert [change.text() for change in found if change.notable] == [
        "equations is new",
        "fusions is no longer reported",
    ]
    assert not any(change.grew for change in found)
    assert [change.vanished for change in found] == [False, False, True]


def test_the_most_grown_is_the_first() -> None:
    found = changes({"a": 10, "b": 10, "c": 10}, {"a": 11, "b": 9, "c": 20})
    assert [change.name for change in found] == ["c", "a", "b"]
    assert Change("a", 1, None).growth == 0


def test_keys_are_versions_and_what_changes_the_compiler() -> None:
    assert key_of(MACHINE, "numpy") == {"numpy": "2.4.0", "python": "3.11"}
    assert key_of(MACHINE, "jax") == {"jaxlib": "0.10.2", "platform": "cpu"}
    flags = {"XLA_FLAGS": "--x", "NPROC": "1"}
    assert key_of(replace(MACHINE, flags=flags), "jax") == {
        "jaxlib": "0.10.2",
        "platform": "cpu",
        "XLA_FLAGS": "--x",
    }


def test_a_result_gives_counters_by_backend() -> None:
    rows = [row(name="a"), row(name="b", mode="numpy-batch"), row(name="c", error="x"), row(library="other")]
    jax, numpy = counter_sets(result([*rows, row(name="d", counters={})]))
    assert jax.key == key_of(MACHINE, "jax")
    assert [kept.name for kept in jax.rows] == ["a"]
    assert numpy.key == key_of(MACHINE, "numpy")
    assert [kept.name for kept in numpy.rows] == ["b"]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({}, {"jaxlib": "0.11.0"}, Counted(refused="no counters for jaxlib 0.11.0, platform cpu")),
        ({"cpu": "another", "cores": 64}, {}, Counted()),
        (
            {"flags": {"JAX_ENABLE_X64": "1"}},
            {},
            Counted(refused="no counters for jaxlib 0.10.2, platform cpu"),
        ),
    ],
)
def test_only_equal_keys_are_compared(before: Any, after: Any, found: Counted) -> None:
    assert compare(result([], **after), counted(), counter_sets(result([counted()], **before))) == found


def test_another_way_of_counting_and_another_game() -> None:
    earlier = counter_sets(result([counted()]))
    other = replace(counted(), identity="f" * 12)
    assert compare(result([]), other, earlier) == Counted(refused="counted in another way")
    assert compare(result([]), replace(counted(), name="x"), earlier) == Counted(
        refused="no earlier counters"
    )
    assert compare(result([]), replace(counted(), checksum="f" * 16), earlier) == Counted(wrong=True)
    # Games do not depend on versions: also another jaxlib must play the same one.
    newer = result([], jaxlib="0.11.0")
    assert compare(newer, replace(counted(), checksum="f" * 16), earlier).wrong
    assert compare(result([]), row(error="x"), earlier) == Counted()


def test_the_limit_is_two_percent() -> None:
    assert counters.GROWTH == 2
