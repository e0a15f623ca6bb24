"""The commands without the work: what they measure is planted."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from bench import __main__ as command
from bench.measure.plan import Plan
from bench.records import Measurement
from cogrid.benchmarks.case import Case
from tests.bench.test_runner import fake


class Measured(list[Case]):
    """The cases that were asked for; their rows say what is planted."""

    planted: dict[str, Any]

    def measure(self, case: Case, plan: Plan) -> Measurement:
        self.append(case)
        return replace(fake(case, plan), **self.planted)


def bench(*arguments: object) -> int:
    return command.main(list(map(str, arguments)))
