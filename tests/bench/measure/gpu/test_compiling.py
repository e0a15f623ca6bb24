"""The compiler's files: what lies outside of all CUDA graphs, and the loop of a kernel of many steps."""

from __future__ import annotations

import pytest

from bench.measure.gpu.compiling import Loop, longest_loop, outside_graphs
from bench.measure.gpu.counting import looped
from bench.measure.gpu.targets import GPUS

PLAN = """\
000: kCommandBuffer [source       | next=008 (1)]
    001: kCustomKernel [source | sink] loop_broadcast_fusion grid: [2080, 1, 1]
    002: kCopy         [source | sink] kCopy
008: kWhile         [prev=000 (1) | next=024 (1)]
condition:
    009: kCustomKernel [source | sink] loop_compare_fusion grid: [1, 1, 1]
  body:
    000: kCommandBuffer [source | sink]
        010: kCustomKernel [source        | next=011 (1)] loop_gather_fusion grid: [16, 1, 1]
        011: kConditional [prev=010 (1)  | next=012 (1)]
        branch_0:
            012: kCopy [source | sink] kCopy
024: kCopy          [prev=008 (1) | sink        ] kCopy
"""
NAMES = (
    (1, "loop_broadcast_fusion"),
    (2, "copy.30"),
    (8, "while.10"),
    (9, "loop_compare_fusion"),
    (10, "loop_gather_fusion"),
    (11, "conditional.2"),
    (12, "copy.4"),
    (24, "copy.35"),
)
METADATA = "".join(
    f'thunk_metadata {{ thunk_info {{\n    profile_annotation: "{name}"\n    thunk_id: {number}\n}} }}\n'
    for number, name in NAMES
)


def test_what_is_below_no_command_buffer_is_outside() -> None:
    assert outside_graphs(PLAN, METADATA) == {"while.10", "loop_compare_fusion", "copy.35"}


def test_without_graphs_everything_is_outside() -> None:
    plain = PLAN.replace("kCommandBuffer", "kSequential")
    assert outside_graphs(plain, METADATA) == {name for _, name in NAMES}


PTX = """\
.visible .entry cogrid_steps(
)
{
\tmov.b32 \t%r44, 0;
$L__BB0_1:
\t// begin inline asm
\tmov.u16 %rs1, 0x0; @%p111 ld.global.b8 { %rs1 }, [ %rd91 + 0 ];
\t// end inline asm
\t@%p1 bra \t$L__BB0_2;
\tadd.s16 \t%rs2, %rs1, 1;
$L__BB0_2:
\tadd.s32 \t%r44, %r44, 1;
\t@%p110 bra \t$L__BB0_1;
\tret;
}
"""


def test_the_loop_of_a_kernel_is_counted() -> None:
    assert longest_loop(PTX) == Loop(instructions=5, loads=1)
    assert longest_loop("ret;") == Loop(0, 0)


def test_a_step_waits_for_results_or_for_other_warps() -> None:
    loop, gpu = Loop(instructions=110, loads=10), GPUS["a100"]
    cycle = 1 / 1.41e9
    assert looped(loop, 2, 1024, gpu) == pytest.approx(2 * (4 * 100 + 33 * 10) * cycle)  # a warp at most
    assert looped(loop, 2, 32 * 432 * 9, gpu) == pytest.approx(2 * 9 * 110 * cycle)
