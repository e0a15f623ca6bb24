"""RLlib: the recipe of docs/with-your-learner.md runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.support import run_section

pytest.importorskip("ray")


def test_the_page(tmp_path: Path) -> None:
    lines = run_section("RLlib", tmp_path).splitlines()
    steps = [float(line.split()[-1]) for line in lines if line.startswith("iteration ")]
    assert steps == [200, 400]
