"""Counters: what they count on small functions, and that every process finds the same numbers."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pytest

from bench.measure.counters import hlo_counters, numpy_counters
from tests.episodes import run_python, shared
from tests.support import HAS_JAX, NOOP, keys

ROOM = "Overcooked-CrampedRoom-V0"


# NumPy

BYTES = 8 * 1000


def test_array_operations_and_their_memory() -> None:
    a, b, c = np.arange(1000), np.arange(1000), np.arange(500)

    def operators() -> Any:
        return (a + b)[::2] * c

    found = numpy_counters(operators)
    assert found == {"operations": 3, "allocated_bytes": BYTES * 3 // 2, "peak_bytes": BYTES * 3 // 2}
    assert all(type(number) is int for number in found.values())


def test_memory_that_is_freed_counts_once_at_the_peak() -> None:
    a = np.arange(1000)

    def chain() -> Any:
        b = a + a
        b = b + a
        b = b + a
        return b

    found = numpy_counters(chain)
    assert found["allocated_bytes"] == 3 * BYTES
    assert found["peak_bytes"] == 2 * BYTES


def test_a_copy_of_the_same_size_on_the_same_line_is_seen() -> None:
    """Also where the operations are as many as before."""
    a = np.arange(1000)
    before = numpy_counters(lambda: a + a)
    assert before == {"operations": 1, "allocated_bytes": BYTES, "peak_bytes": BYTES}
    assert numpy_counters(lambda: (a + a).copy()) == {
        "operations": 2,
        "allocated_bytes": 2 * BYTES,
        "peak_bytes": 2 * BYTES,
    }
    view = numpy_counters(lambda: np.asarray(a + a))
    copy = numpy_counters(lambda: np.array(a + a))
    assert view["operations"] == copy["operations"]
    assert (view["allocated_bytes"], copy["allocated_bytes"]) == (BYTES, 2 * BYTES)


def test_arrays_outlive_their_count() -> None:
    kept: list[Any] = []

    def grow() -> None:
        array = np.arange(10)
        array.resize(1000, refcheck=False)
        kept.extend([array, np.zeros(1000, np.int64)])

    found = numpy_counters(grow)
    assert found["allocated_bytes"] == 80 + 2 * BYTES
    assert found["peak_bytes"] == 2 * BYTES
    kept[0].resize(5000, refcheck=False)
    assert kept[0].sum() == 45
    del kept[:]
    done = run_python(OUTLIVES)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


OUTLIVES = """
import numpy as np
from bench.measure.counters import numpy_counters
kept = []
numpy_counters(lambda: kept.append(np.arange(1000)))
np.kept = kept  # freed while Python shuts down
print("done")
"""


def test_functions_methods_and_ufuncs_count_alike() -> None:
    a = np.arange(10)
    once = [
        lambda: np.where(a, a, a),
        lambda: np.minimum(a, a),
        lambda: a.take(a, axis=0),
        lambda: a == a,
        lambda: ~a,
        lambda: a[a],
    ]
    assert [numpy_counters(function)["operations"] for function in once] == [1] * len(once)


def test_a_call_of_a_python_function_counts_with_what_it_does() -> None:
    a = np.arange(10)

    def inner(b: Any) -> Any:
        return b + b

    assert numpy_counters(lambda: inner(a))["operations"] == 2
    assert numpy_counters(lambda: None)["operations"] == 0


def test_an_earlier_trace_function_comes_back() -> None:
    def trace(*_: Any) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        numpy_counters(lambda: np.arange(3))
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)


def test_an_error_leaves_no_trace_function() -> None:
    before = sys.gettrace()
    with pytest.raises(ZeroDivisionError):
        numpy_counters(lambda: 1 // 0)
    assert sys.gettrace() is before


def test_numpy_step() -> None:
    env = shared(ROOM, "numpy")
    single, _ = env.reset_fn(keys(0, 1)[0])
    batch, _ = env.reset_fn(keys(0, 64))
    one = numpy_counters(env.step_fn, single, np.full(2, NOOP))
    many = numpy_counters(env.step_fn, batch, np.full((64, 2), NOOP))
    assert one == numpy_counters(env.step_fn, single, np.full(2, NOOP))
    assert 50 < one["operations"] < many["operations"] < 500
    assert 40 * one["allocated_bytes"] < many["allocated_bytes"] < 100 * one["allocated_bytes"]


# Text of compiled modules

MODULE = """
HloModule jit_f, is_scheduled=true

FileLocations
1 {file_name_id=1 function_name_id=1 line=10 end_line=10 column=8 end_column=18}

%fused (p: s8[4], q: f64[]) -> (f64[4], s8[4]) {
  %p = s8[4]{0} parameter(0)
  %q = f64[] parameter(1)
  %wide.1 = f64[4]{0} convert(%p), metadata={op_name="jit(f)/callback"}
  ROOT %tuple = (f64[4]{0}, /*index=1*/s8[4]{0}) tuple(%wide.1, %p)
}

ENTRY %main.8 (a: s8[4]) -> s8[4] {
  %a = s8[4]{0} parameter(0)
  %c = s8[4]{0} call(%a), to_apply=%parallel
  %two = (f64[4]{0}, s8[4]{0}) fusion(%c), kind=kLoop, calls=%fused
  %told = s32[] custom-call(%a), custom_call_target="xla_ffi_python_cpu_callback"
  ROOT %copy = s8[4]{0} copy(%a)
}
"""


def test_text_of_a_module() -> None:
    assert hlo_counters(MODULE) == {"instructions": 5, "fusions": 1, "host_callbacks": 1, "wide_values": 3}


PROCESS = """
import json
import numpy as np
import cogrid
from bench.measure.counters import counters, numpy_counters
from tests.support import HAS_JAX, NOOP, keys

env = cogrid.make("Overcooked-CrampedRoom-V0")
state, _ = env.reset_fn(keys(0, 16))
found = [numpy_counters(env.step_fn, state, np.full((16, 2), NOOP))]
if HAS_JAX:
    import jax
    env = cogrid.make("Overcooked-CrampedRoom-V0", backend="jax")
    state, _ = jax.jit(jax.vmap(env.jax_reset))(env.rules.backend.key(keys(0, 16)))
    found.append(counters(jax.vmap(env.jax_step), state, np.full((16, 2), NOOP, np.int32)))
print(json.dumps(found))
"""


@pytest.mark.xdist_group("counters")
def test_every_process_finds_the_same() -> None:
    done = [run_python(PROCESS, hash_seed=seed) for seed in ("0", "271828")]
    assert not [run.stderr for run in done if run.returncode]
    assert len({run.stdout for run in done}) == 1
    assert len(json.loads(done[0].stdout)) == (2 if HAS_JAX else 1)


if HAS_JAX:
    import jax
    import jax.numpy as jnp

    from bench.measure.counters import compiled_counters, counters, equations, foldable_gathers

    #: Told by every version and platform.
    ALWAYS = {"equations", "instructions", "fusions", "host_callbacks", "wide_values", "foldable_gathers"}

    def test_equations_inside_of_calls_loops_and_branches() -> None:
        def count(function: Any, *arguments: Any) -> int:
            return equations(jax.make_jaxpr(function)(*arguments))

        def two(x: Any) -> Any:
            return jnp.sin(jnp.cos(x))

        x = jnp.float32(1)
        assert count(two, x) == 2
        assert count(jax.jit(two), x) == 3
        assert count(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: two(y), x), x) >= 4
        cond = count(lambda x: jax.lax.cond(True, two, lambda y: two(two(y)), x), x)
        assert cond >= 1 + 2 + 4

    def test_equations_of_other_platforms_do_not_count() -> None:
        def chosen(x: Any) -> Any:
            return jax.lax.platform_dependent(x, cpu=jnp.sin, default=lambda y: jnp.sin(jnp.cos(jnp.exp(y))))

        assert jax.default_backend() == "cpu"
        traced = jax.make_jaxpr(jax.vmap(chosen))(jnp.ones(3))
        assert "cos" in str(traced)
        assert equations(traced) == equations(jax.make_jaxpr(jnp.sin)(jnp.ones(3)))

    @pytest.mark.xdist_group("counters")
    def test_counters_of_the_step() -> None:
        env = shared(ROOM, "jax")
        state, _ = jax.jit(jax.vmap(env.jax_reset))(env.rules.backend.key(keys(0, 8)))
        actions = np.full((8, 2), NOOP, np.int32)
        found = counters(jax.vmap(env.jax_step), state, actions)
        assert found.keys() >= ALWAYS
        assert all(type(number) is int and number >= 0 for number in found.values())
        assert found["host_callbacks"] == found["wide_values"] == found["foldable_gathers"] == 0
        assert min(found["equations"], found["instructions"]) > 50
        assert found["argument_bytes"] > 0
        traced = jax.jit(jax.vmap(env.jax_step)).trace(state, actions)
        assert compiled_counters(traced, traced.lower().compile()) == found
        assert counters(jax.jit(jax.vmap(env.jax_step)), state, actions) == found

    def test_a_table_read_at_what_a_table_says_could_be_one() -> None:
        first, second = jnp.arange(9), jnp.arange(9)[::-1]

        def count(function: Any) -> int:
            return foldable_gathers(jax.make_jaxpr(function)(jnp.array([3, 4])))

        assert count(lambda x: second[first[x]]) == 1
        assert count(lambda x: jax.jit(lambda y: second[y * 2])(first[x])) == 1
        assert count(lambda x: second[jnp.array([0, 2])] + x) == 1
        assert count(lambda x: jax.lax.cond(x[0] > 0, lambda: second[first[x]], lambda: x)) == 1
        assert count(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: second[first[y]], x)) == 1
        assert count(lambda x: first[x] + second[x]) == 0
        assert count(lambda x: second[first[x] + x]) == 0  # depends on two
        assert count(lambda x: x[first[x]]) == 0  # is no table

    def test_a_callback_and_wide_values_are_found() -> None:
        shape = jax.ShapeDtypeStruct((4,), np.float32)

        def calls_home(x: Any) -> Any:
            return jax.pure_callback(lambda y: np.asarray(y) + 1, shape, x)

        assert counters(calls_home, jnp.zeros(4))["host_callbacks"] == 1
        with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
            assert counters(lambda x: x * 2, jnp.zeros(4, jnp.float64))["wide_values"] >= 1

    class Silent:
        """A compiled function of a platform that tells nothing."""

        def cost_analysis(self) -> None:
            return None

        memory_analysis = as_text = cost_analysis

    def test_what_is_not_told_is_left_out() -> None:
        traced = jax.jit(jnp.sin).trace(jnp.float32(1))
        assert compiled_counters(traced, Silent()).keys() == ALWAYS
