"""HLO: every launch of a run is counted with its bytes, through loops, branches and fusions."""

from __future__ import annotations

from typing import Any

import pytest

from bench.measure.gpu.hlo import read, size
from tests.support import HAS_JAX

MODULE = """HloModule jit_play

%fused (param_0: s8[1024,20], param_1: s32[1024], param_2: s8[1024]) -> s8[1024,20] {
  %param_0 = s8[1024,20]{1,0} parameter(0)
  %param_1 = s32[1024]{0} parameter(1)
  %param_2 = s8[1024]{0} parameter(2)
  %bitcast = s32[1024,1]{1,0} bitcast(%param_1)
  ROOT %scatter.1 = s8[1024,20]{1,0} scatter(%param_0, %bitcast, %param_2), to_apply=%new
}

%looked (param_0: s8[1000], param_1: s32[1024]) -> s8[1024] {
  %param_0 = s8[1000]{0} parameter(0)
  %param_1 = s32[1024]{0} parameter(1)
  ROOT %gather = s8[1024]{0} gather(%param_0, %param_1), slice_sizes={1}
}

%rare (p: s8[1024,20]) -> s8[1024,20] {
  %p = s8[1024,20]{1,0} parameter(0)
  %copy.7 = s8[1024,20]{1,0} copy(%p)
  ROOT %copy.8 = s8[1024,20]{1,0} copy(%copy.7)
}

%usual (p: s8[1024,20]) -> s8[1024,20] {
  ROOT %p = s8[1024,20]{1,0} parameter(0)
}

%body (arg: (s32[], s8[1024,20])) -> (s32[], s8[1024,20]) {
  %arg = (s32[], s8[1024,20]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%arg), index=0
  %cells = s8[1024,20]{1,0} get-tuple-element(%arg), index=1
  %where = s32[1024]{0} iota(), iota_dimension=0
  %table = s8[1000]{0} constant({...})
  %fusion.1 = s8[1024]{0} fusion(%table, %where), kind=kLoop, calls=%looked
  %fusion.2 = s8[1024,20]{1,0} fusion(%cells, %where, %fusion.1), kind=kInput, calls=%fused
  %p = pred[] custom-call(%i), custom_call_target="test"
  %new = s8[1024,20] conditional(%p, %fusion.2, %fusion.2), true_computation=%rare, false_computation=%usual
  ROOT %result = (s32[], s8[1024,20]{1,0}) tuple(%i, %new)
}

%condition (arg: (s32[], s8[1024,20])) -> pred[] {
  %arg = (s32[], s8[1024,20]{1,0}) parameter(0)
  ROOT %less = pred[] custom-call(%arg), custom_call_target="less"
}

ENTRY %main (start: s8[1024,20]) -> s8[1024,20] {
  %start = s8[1024,20]{1,0} parameter(0)
  %zero = s32[] constant(0)
  %tuple = (s32[], s8[1024,20]{1,0}) tuple(%zero, %start)
  %while.3 = (s32[], s8[1024,20]{1,0}) while(%tuple), condition=%condition, body=%body, LOOP
  ROOT %out = s8[1024,20]{1,0} get-tuple-element(%while.3), index=1
}
"""
TRIPS = 'backend_config={"known_trip_count":{"n":"128"}}'


def module(loop: str = TRIPS) -> Any:
    return read(MODULE.replace("LOOP", loop))


def test_launches_are_counted_as_often_as_they_run() -> None:
    launches = {one.name: one for one in module().launches}
    assert {name: one.times for name, one in launches.items()} == {
        "where": 128,
        "fusion.1": 128,
        "fusion.2": 128,
        "p": 128,
    }, "neither the condition of a loop that is known to run 128 times, nor the rare branch"


def test_a_loop_without_a_trip_count_runs_once_with_its_condition() -> None:
    found = module("metadata={}")
    assert found.loops == {"while.3": 1}
    assert {one.name: one.times for one in found.launches} == dict.fromkeys(
        ("where", "fusion.1", "fusion.2", "p", "less"), 1
    )
    assert module().loops == {}
    assert module().branches == {"new": 128}


def test_a_gather_reads_what_it_gathers_and_a_scatter_writes_what_is_new() -> None:
    launches = {one.name: one for one in module().launches}
    assert (launches["fusion.1"].read, launches["fusion.1"].written) == (1000 + 4096, 1024)
    assert (launches["fusion.2"].read, launches["fusion.2"].written) == (4096 + 1024, 1024)


@pytest.mark.parametrize(
    ("shape", "bytes"),
    [("s8[1024,20]{1,0}", 20480), ("pred[]", 1), ("(f32[3]{0}, bf16[2,2], s4[8])", 24), ("token[]", 0)],
)
def test_sizes(shape: str, bytes: int) -> None:
    assert size(shape) == bytes


@pytest.mark.parametrize(
    ("line", "counted"),
    [
        (
            '%x = f32[4]{0} custom-call(%start), custom_call_target="xla_ffi_python_gpu_callback"',
            "host_transfers",
        ),
        ("%x = (f32[4]{0}, token[]) outfeed(%start)", "host_transfers"),
        ("%x = (s8[4]{0:S(5)}, s8[4]{0}, u32[]) copy-start(%start)", "host_transfers"),
        ("%x = f32[4]{0} all-reduce(%start), to_apply=%new", "collectives"),
        ("%x = s64[4]{0} iota(), iota_dimension=0", "wide_values"),
    ],
)
def test_a_planted_instruction_is_found(line: str, counted: str) -> None:
    planted = read(MODULE.replace("LOOP", TRIPS).replace("  %zero =", f"  {line}\n  %zero ="))
    assert getattr(module(), counted) == 0
    assert getattr(planted, counted) == 1
    assert len(planted.launches) == len(module().launches) + 1


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(ValueError, match="no ENTRY"):
        read("digraph {}")


@pytest.mark.skipif(not HAS_JAX, reason="compiles with JAX")
def test_a_callback_that_jax_compiles_is_a_host_transfer() -> None:
    import jax
    import jax.numpy as jnp
    import numpy as np

    def called(x: Any) -> Any:
        return jax.pure_callback(lambda y: np.asarray(y) * 2, jax.ShapeDtypeStruct((8,), jnp.float32), x)

    argument = jnp.zeros(8)
    compiled = [jax.jit(one).lower(argument).compile().as_text() for one in (lambda x: x * 2, called)]
    assert [read(text).host_transfers for text in compiled] == [0, 1]
