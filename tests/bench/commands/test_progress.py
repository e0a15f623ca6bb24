"""Long commands: while they work, whatever the work is, lines on stderr tell how long it takes."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from bench import ROOT, ab, runner
from bench.commands import gpu
from bench.experiments import campaign, scaling, selfcheck, validation
from bench.experiments.scaling import PlayedPass, Team
from bench.experiments.validation import PlannedRun
from bench.measure import training
from bench.peers import run as peers
from bench.processes.pair import Pair
from bench.show import progress
from tests.bench.commands.support import bench

Plant = Callable[[pytest.MonkeyPatch, Any], None]


class Heard(BaseException):
    """The work has been told of, so it ends."""


def long_work(patch: pytest.MonkeyPatch) -> Callable[..., NoReturn]:
    """Work that takes until there is a line about its duration."""
    patch.setattr(progress, "IN_A_PIPE", 0.01)
    patch.setattr(sys, "stderr", said := io.StringIO())

    def work(*_: object, **__: object) -> NoReturn:
        end = time.monotonic() + 10
        while " s so far" not in said.getvalue():
            if time.monotonic() > end:
                pytest.fail(f"nothing was said of work that takes long, only {said.getvalue()!r}")
            time.sleep(0.01)
        raise Heard

    return work


def instead(place: object, name: str) -> Plant:
    return lambda patch, work: patch.setattr(place, name, work)


def compiling(patch: pytest.MonkeyPatch, work: Any) -> None:
    patch.setattr(gpu.targets, "installed", lambda: "cuda12")
    patch.setattr(runner, "_measurement", work)


def comparing_with_itself(patch: pytest.MonkeyPatch, work: Any) -> None:
    patch.setattr(campaign, "clean_sha", lambda: "a" * 40)
    patch.setattr(campaign, "checkout_of", lambda sha: contextlib.nullcontext(ROOT))
    patch.setattr(ab, "compare", work)


def drawing_suites(patch: pytest.MonkeyPatch, work: Any) -> None:
    patch.setattr(selfcheck, "RULES", {"slow rule": work})


def validating(patch: pytest.MonkeyPatch, work: Any) -> None:
    patch.setattr(validation, "version_of", lambda name: "1.0")
    patch.setattr(training, "missing", list)
    patch.setattr(validation, "planned", lambda *_, **__: [PlannedRun("make", "a scene", work)])


def scaled(task: str) -> Plant:
    """Teams that answer at once, except to one task."""

    def plant(patch: pytest.MonkeyPatch, work: Any) -> None:
        patch.setattr(scaling, "COMMAND", ("true",))
        answers = {"prepare": None, "play": PlayedPass(0.5, 0.5), "checksum": "", "count": []}
        for name, answer in answers.items():
            patch.setattr(Team, name, work if name == task else lambda *_, answer=answer: answer)

    return plant


LONG: dict[str, Plant] = {
    "run --backend numpy": instead(runner, "_measurement"),
    "run --backend numpy --setting COGRID_PROFILING=1": instead(Pair, "measure"),
    "profile": instead(runner, "_measurement"),
    "count --backend numpy": instead(runner, "_measurement"),
    "gpu": compiling,
    "peers": instead(peers, "measure"),
    "selfcheck LOG": comparing_with_itself,
    "selfcheck EVIDENCE --replay": drawing_suites,
    "validate": validating,
    "scaling": scaled("prepare"),
    "scaling --rounds 4": scaled("play"),
    "scaling --rounds 5": scaled("checksum"),
    "scaling --rounds 6": scaled("count"),
}


@pytest.mark.parametrize("command", LONG)
def test_every_long_command_shows_progress(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LONG[command](monkeypatch, long_work(monkeypatch))
    paths = {"LOG": tmp_path / "log.jsonl", "EVIDENCE": ROOT / "bench/evidence/selfcheck.jsonl"}
    with pytest.raises(Heard):
        bench(*(str(paths.get(word, word)) for word in command.split()))
