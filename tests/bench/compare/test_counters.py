"""Counters: growth of any of them is found, and what cannot be compared is said."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from bench.compare.counters import OTHERWISE_COUNTED, Change, Counted, changes, compare
from bench.measure.plan import Plan
from bench.records import Configuration, Measurement, Result, Row, System
from bench.runner import row_of
from bench.storage.baselines import CounterSet, counter_sets, file_name, key_of
from cogrid.benchmarks.case import Case
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
def test_one_more_of_any_counter_is_found(name: str) -> None:
    found = compare(result([]), counted(**{name: COUNTERS[name] + 1}), counter_sets(result([counted()])))
    assert [change.name for change in found.changes if change.grew] == [name]


def test_every_counter_of_a_step_is_among_those() -> None:
    from bench.measure.counters import hlo_counters, numpy_counters

    assert numpy_counters(lambda: None).keys() | hlo_counters("").keys() <= COUNTERS.keys()


@pytest.mark.parametrize(
    ("before", "after", "grew", "text"),
    [
        (219, 221, True, "flops grew from 219 to 221"),
        (1000, 1010, True, "flops grew 1.0 %"),
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


def test_a_counter_that_vanished_is_said() -> None:
    found = changes({"flops": 1000, "fusions": 4}, {"flops": 999, "equations": 3})
    assert {change.text() for change in found} == {
        "flops fell from 1000 to 999",
        "equations is new",
        "fusions is no longer reported",
    }
    assert not any(change.grew for change in found)
    assert [change.name for change in found if change.vanished] == ["fusions"]


def test_an_accepted_growth_is_said_with_its_reason() -> None:
    change = Change("flops", 219, 221, accepted="a rule more")
    assert change.grew
    assert change.text() == "flops grew from 219 to 221 (accepted: a rule more)"


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


def test_machines_on_which_nothing_was_counted_have_their_own_key() -> None:
    here, there = replace(MACHINE, machine="AMD64"), replace(MACHINE, machine="arm64")
    for backend, name in (("numpy", "counters-numpy-2.4.0-python-3.11"), ("jax", "counters-0.10.2-cpu")):
        assert key_of(here, backend) == key_of(MACHINE, backend)
        key = key_of(there, backend)
        assert key == {**key_of(MACHINE, backend), "machine": "arm64"}
        assert file_name(CounterSet(schema=1, key=key, rows=[])) == f"{name}-arm64.json"


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


def sampled(plan: Plan, **changed: Any) -> Result:
    """A run of a real case with this plan; its rows have the identity that the runner gives them."""
    case = Case("Overcooked-CrampedRoom-V0", "jax-scan", 100)
    measurement = Measurement(agents=2, status="counted", counters=COUNTERS | changed)
    found = result([row_of(case, plan, measurement)])
    return replace(found, configuration=Configuration.of("quick", plan, [case]))


LONG, USUAL = Plan(iterations=20_000, warmup_iterations=150_000), Plan()


@pytest.mark.parametrize(("before", "after"), [(USUAL, LONG), (LONG, USUAL), (LONG, Plan(iterations=7))])
def test_counters_do_not_depend_on_how_times_were_sampled(before: Plan, after: Plan) -> None:
    base, head = sampled(before), sampled(after, equations=213)
    assert base.rows[0].identity != head.rows[0].identity
    found = compare(head, head.rows[0], counter_sets(base))
    assert [change.text() for change in found.changes] == ["equations grew from 212 to 213"]


def test_other_code_is_counted_in_another_way_however_it_was_sampled() -> None:
    base, head = sampled(LONG), sampled(USUAL)
    base.rows[0].identity = "f" * 12
    assert compare(head, head.rows[0], counter_sets(base)).refused == OTHERWISE_COUNTED
