"""The runtime's plan: what lies outside of all CUDA graphs is found and named."""

from __future__ import annotations

from bench.measure.gpu.compiling import outside_graphs

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
