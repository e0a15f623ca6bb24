"""The output files of a validation: its log, and what was compared in every environment."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bench.records import Git, Record, System
from bench.storage import machine, results
from cogrid._env.shadow import ShadowReport


class PlayedScene(Record):
    """An outcome as the result file has it."""

    path: str
    scene: str  # the id and the kind of observation
    backend: str
    beside: str
    comparisons: int
    mismatches: int
    first: str | None
    failure: str | None

    @classmethod
    def of(cls, path: str, scene: str, report: ShadowReport, failure: BaseException | None) -> PlayedScene:
        first = None if report.first is None else str(report.first)
        ended = None if failure is None else repr(failure)
        counts = (report.backend, report.shadow, report.comparisons, report.mismatches)
        return cls(path, scene, *counts, first, ended)


class Validation(Record):
    """The result file of a validation."""

    created: str
    git: Git | None
    system: System
    wanted: int
    comparisons: int
    mismatches: int
    played: list[PlayedScene]


class ValidationLog:
    """Writes lines to stderr and, immediately, to a file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("w", encoding="utf-8")

    def say(self, text: str, shown: bool = True) -> None:
        if shown:
            print(f"validate: {text}", file=sys.stderr)
        self._file.write(f"{results.now()} {text}\n")
        self._file.flush()

    def __enter__(self) -> ValidationLog:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def write(path: Path, wanted: int, comparisons: int, mismatches: int, played: Sequence[PlayedScene]) -> None:
    about = (results.now(), machine.git_state(), machine.system())
    results.write(path, Validation(*about, wanted, comparisons, mismatches, list(played)))
