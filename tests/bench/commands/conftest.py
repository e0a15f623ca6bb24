"""`run` without the work."""

from __future__ import annotations

import pytest

from bench import runner
from tests.bench.commands.support import Measured


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    """What was asked for."""
    found = Measured()
    found.planted = {}
    run = runner.run
    monkeypatch.setattr(runner, "run", lambda *arguments: run(*arguments, found.measure))
    return found
