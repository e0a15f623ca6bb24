"""The worker that counts: prepares cases one after the other, without timing them."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from bench.measure.counting import counted
from bench.processes.protocol import serve
from bench.records import Measurement
from cogrid.benchmarks.case import Case
from cogrid.envs.registry import adopt, is_own


def handle(request: dict[str, Any]) -> dict[str, Any]:
    case = Case.of(request["case"])
    if is_own(case.id):  # its command has imported it, because a person named it
        adopt(case.id)
    found = Measurement(agents=case.spec.num_agents, status="counted", counters=dict(counted(case)))
    if jax := sys.modules.get("jax"):
        jax.clear_caches()  # no later case uses this one's compiled code
    answer: dict[str, Any] = msgspec.to_builtins(found)
    return answer


if __name__ == "__main__":
    serve(handle)
