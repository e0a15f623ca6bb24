"""TorchRL: the recipe of docs/with-your-learner.md runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.support import run_section

pytest.importorskip("torchrl")


def test_the_page(tmp_path: Path) -> None:
    assert "torch.Size([16, 60])" in run_section("TorchRL", tmp_path)
