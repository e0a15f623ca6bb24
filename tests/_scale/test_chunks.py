"""One rule for the steps of a scan: rollouts, the suite, the example and the docs follow it."""

from __future__ import annotations

import re

import pytest

import cogrid
from bench import ROOT, suites
from cogrid._scale.chunks import chunk_for
from cogrid._scale.rollout import Program
from tests.support import HAS_JAX

BATCHES = (1, 10_000, 10_001, 100_000, 100_001, 1_000_000, 1_000_001, 5_000_000)
CHUNKS = [256, 256, 64, 64, 16, 16, 8, 8]


def test_chunks_shrink_with_the_batch() -> None:
    assert [chunk_for(batch) for batch in BATCHES] == CHUNKS


def test_the_suite_and_the_example_follow_the_rule() -> None:
    swept = {case.batch: case.steps for case in suites.full()[-20:] if case.mode == "jax-scan"}
    assert swept == {batch: chunk_for(batch) for batch in suites.SWEEP}
    assert "chunk = chunk_for(num_envs)" in (ROOT / "examples/performance_demo.py").read_text(
        encoding="utf-8"
    )


def test_help_and_docs_say_the_rule() -> None:
    text = " ".join(str(cogrid.rollout.__doc__).split())
    assert "256 for up to 10,000 environments on a device, 64 up to 100,000, 16 up to a million, 8" in text
    page = (ROOT / "bench/README.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| up to ([\d,]+) \| (\d+) \|", page, re.M)
    assert [(int(most.replace(",", "")), int(steps)) for most, steps in table] == [
        (most, chunk_for(most)) for most in (10_000, 100_000, 1_000_000)
    ]
    assert f"| more | {chunk_for(1_000_001)} |" in page


if HAS_JAX:

    @pytest.mark.parametrize("given", [None, 3])
    def test_a_rollout_without_a_chunk_follows_the_rule(monkeypatch, given) -> None:
        env = cogrid.make("Arena-V0", backend="jax", observation="none", map_size=5, num_agents=1)
        used, play = [], Program.play

        def noted(self, *arguments, **options):
            used.append(options["chunk"])
            return play(self, *arguments, **options)

        monkeypatch.setattr(Program, "play", noted)
        cogrid.rollout(env, None, 0, 10_001, 1, chunk=given, devices=1)
        assert used == [given or 64]
