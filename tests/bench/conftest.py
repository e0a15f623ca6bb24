"""Nothing that is committed or set outside changes a test: no baselines, results, summary or flags."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.storage import baselines, results


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in the place of bench/baselines."""
    for name in ("GITHUB_STEP_SUMMARY", "XLA_FLAGS"):
        monkeypatch.delenv(name, raising=False)
    place = tmp_path_factory.mktemp("baselines")
    monkeypatch.setattr(baselines, "FOLDER", place)
    monkeypatch.setattr(results, "RESULTS", tmp_path_factory.mktemp("results"))
    return place
