"""The clock: long enough samples, guards that raise, and a record of what disturbed it."""

from __future__ import annotations

import gc
import itertools
import os
import time
from types import SimpleNamespace

import numpy as np
import pytest

from bench.measure import clock
from bench.measure.clock import Length, Pass, Sample
from tests.support import HAS_JAX

QUICK = Length(0.0, 1)


def test_a_sample_lasts_as_long_and_makes_as_many_calls_as_asked_for() -> None:
    calls = itertools.count()
    start = time.perf_counter()
    taken = clock.take(Pass(lambda: next(calls)), 3, Length(0.01, 1), Length(0.0, 5))
    assert len(taken.seconds) == 3
    assert time.perf_counter() - start >= 3 * 0.01
    assert next(calls) > 5 + 3
    calls = itertools.count()
    taken = clock.take(Pass(lambda: next(calls)), 2, Length(0.0, 7), Length(0.0, 5))
    assert next(calls) == 5 + (2 + taken.dropped) * 7


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A clock that stands until somebody moves it, in nanoseconds."""
    now = [0]
    fake = SimpleNamespace(
        perf_counter_ns=lambda: now[0], perf_counter=time.perf_counter, process_time=time.process_time
    )
    monkeypatch.setattr(clock, "time", fake)
    return now


def move(hands: list[int], nanoseconds: int) -> None:
    hands[0] += nanoseconds


def test_seconds_are_those_of_one_call(hands: list[int]) -> None:
    taken = clock.take(Pass(lambda: move(hands, 7_000_000)), 2, Length(0.05), QUICK)
    assert taken.seconds == [0.007, 0.007]


def test_preparation_goes_before_every_call_and_is_not_timed(hands: list[int]) -> None:
    order: list[str] = []

    def prepare() -> None:
        move(hands, 10**9)
        order.append("prepare")

    def run() -> None:
        move(hands, 5)
        order.append("run")

    taken = clock.take(Pass(run, prepare), 2, QUICK, QUICK)
    assert order[:4] == ["prepare", "run", "prepare", "run"]
    assert taken.seconds == [5e-9, 5e-9]


def test_no_garbage_is_collected_while_the_clock_runs() -> None:
    assert gc.isenabled()
    seen: list[bool] = []
    clock.take(Pass(lambda: seen.append(gc.isenabled())), 1, QUICK, QUICK)
    assert seen
    assert not any(seen)
    assert gc.isenabled()


def test_a_failure_leaves_the_collector_as_it_was() -> None:
    def fail() -> None:
        raise RuntimeError("planted")

    with pytest.raises(RuntimeError, match="planted"):
        clock.take(Pass(fail), 1, QUICK, QUICK)
    assert gc.isenabled()


def test_disturbed_samples_are_repeated_counted_and_at_last_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    steals = iter([0.5, 0.0, 0.5, 0.0, 0.0] + [0.5] * 20)
    sample = clock._sample

    def stolen(*arguments: object) -> Sample:
        return sample(*arguments)._replace(steal=next(steals), others=0.0)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(clock, "_sample", stolen)
    taken = clock.take(Pass(lambda: None), 3, QUICK, QUICK)
    assert (taken.dropped, taken.noise()["disturbed"], taken.noise()["steal"]) == (2, 0, 0.0)
    taken = clock.take(Pass(lambda: None), 3, QUICK, QUICK)
    assert (taken.dropped, taken.noise()["disturbed"], taken.noise()["steal"]) == (3, 3, 0.5)


def test_the_machine_is_read() -> None:
    before = clock._Machine.now()
    assert all(share >= 0 for share in clock._Machine.now().since(before))


def test_shares_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    before = clock._Machine(clock=1.0, own=5.0, busy=100.0, steal=3.0, waiting=7.0)
    after = clock._Machine(clock=1.5, own=5.4, busy=101.1, steal=3.1, waiting=7.25)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert after.since(before) == pytest.approx((0.1 / (0.5 * 4), 0.7 / 0.5, 4 - 1.2 / 0.5, 0.5))


def test_what_disturbs_a_sample() -> None:
    calm = Sample(1.0, steal=0.0, others=0.2, free=0.0, pressure=0.9, load=3.0)
    assert not calm.disturbed  # threads of our own may use all cores, and wait for each other
    assert calm._replace(steal=0.03).disturbed
    assert calm._replace(others=0.6).disturbed
    assert not calm._replace(others=30.0, free=20.0).disturbed  # a large machine has room for others


def test_a_system_without_a_load_average(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "getloadavg")
    assert clock.load() == 0.0


def test_noise_of_what_is_not_sampled() -> None:
    result, noise = clock.noted(lambda: 7)
    assert result == 7
    assert set(noise) == {"steal", "others", "free", "pressure", "load", "dropped", "disturbed"}


def test_each_call_has_its_own_seconds(hands: list[int]) -> None:
    takes = itertools.count(1)
    found = clock.each_call(Pass(lambda: move(hands, next(takes) * 10**6)), 3, Length(0.0, 1))
    assert found == [0.002, 0.003, 0.004]  # the first was the warm-up


if HAS_JAX:
    import jax
    import jax.numpy as jnp

    def test_a_planted_retrace_raises() -> None:
        lengths = itertools.count(1)
        ones = [jnp.ones(n) for n in range(1, 8)]
        work = Pass(lambda: jax.jit(lambda x: x * 2)(ones[next(lengths) % 7]))
        with pytest.raises(RuntimeError, match="tracing"):
            clock.take(work, 1, QUICK, QUICK)

    def test_a_planted_host_copy_raises() -> None:
        host = np.ones(3, np.float32)
        double = jax.jit(lambda x: x * 2).lower(host).compile()
        for copy in (lambda: double(host), lambda: jax.device_put(host)):
            with pytest.raises(Exception, match="transfer"):
                clock.take(Pass(copy), 1, QUICK, QUICK)
        assert len(clock.take(Pass(lambda: double(host), transfers=True), 2, QUICK, QUICK).seconds) == 2

    def test_every_array_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
        waited: list[object] = []
        monkeypatch.setattr(jax, "block_until_ready", lambda tree: waited.append(tree) or tree)
        tree = {"a": jnp.ones(2), "b": [jnp.ones(1)]}
        clock.take(Pass(lambda: tree), 1, Length(0.0, 3), QUICK)
        assert len(waited) >= 4
        assert all(found is tree for found in waited)
