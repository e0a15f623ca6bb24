"""An earlier revision: its own package is timed, and a clone that lacks it is told what to do."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from bench.peers.libraries import earlier
from bench.peers.libraries.earlier import EARLIER, NAME, ONE_TOY, REVISION
from bench.peers.start import ReadyPeer, Resources
from bench.processes.worker import WorkerFailed
from bench.storage.machine import git

CASE = dataclasses.replace(ONE_TOY, steps=4)


def has_revision() -> bool:
    try:
        return git("cat-file", "-t", REVISION).strip() == "commit"
    except (subprocess.CalledProcessError, OSError):
        return False


@pytest.mark.skipif(not has_revision(), reason="this clone has not the whole history")
def test_the_earlier_package_is_timed(tmp_path: Path) -> None:
    peer = ReadyPeer(EARLIER.launch("play", CASE, Resources(tmp_path)), {})
    with peer.worker:
        assert (peer.library, peer.unit) == (NAME, "steps/s")
        assert peer.sample().value > 0
    package = tmp_path / "earlier" / "cogrid"
    assert package.is_dir()
    (package / "__init__.py").write_text("raise ImportError('the earlier one')\n", encoding="utf-8")
    with pytest.raises(WorkerFailed, match="the earlier one"):
        ReadyPeer(EARLIER.launch("play", CASE, Resources(tmp_path)), {})


def test_a_clone_without_the_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier, "REVISION", "f" * 40)
    with pytest.raises(WorkerFailed, match="this clone has no revision fffffff: `git fetch --unshallow`"):
        EARLIER.launch("play", CASE, Resources(tmp_path))
