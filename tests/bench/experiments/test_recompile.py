"""Counters compiled again and again."""

from __future__ import annotations

import itertools

import pytest

from bench.experiments import recompile
from bench.experiments.recompile import Recompiled
from bench.show.progress import Progress
from tests.support import HAS_JAX

if HAS_JAX:

    def test_counters_that_change_and_that_grow(monkeypatch: pytest.MonkeyPatch) -> None:
        numbers = itertools.chain([100] * 4, [99, 100, 101, 102], itertools.repeat(100))
        monkeypatch.setattr(recompile, "counters", lambda *arguments: {"fusions": next(numbers)})
        found = recompile.recompile(12, Progress())
        assert found == Recompiled(12, changed=3, alarms=1)  # 2 % is a regression, 1 % is none
        assert found.text.endswith("4 kinds of observation: the counters changed in 3, 1 alarms.")

    def test_the_real_ones_do_not_change() -> None:
        assert recompile.recompile(5, Progress()) == Recompiled(5, changed=0, alarms=0)
