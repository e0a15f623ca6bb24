"""The processes that a test starts."""

from __future__ import annotations

import subprocess

import pytest


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    found: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen):
        def __init__(self, command: list[str]) -> None:
            super().__init__(command)
            found.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    return found
