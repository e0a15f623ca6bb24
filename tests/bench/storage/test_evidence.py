"""The folder of a bisection: it goes on where it was, and refuses other searches and damaged files."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from bench.exit_codes import UsageError
from bench.records import Parameters
from bench.storage.evidence import Count, Folder, Look, Sought
from cogrid.benchmarks.case import Case

SOUGHT = Sought(
    good="a" * 40,
    commits=["b" * 40, "c" * 40],
    case=Parameters.of(Case("Overcooked-CrampedRoom-V0", "numpy-single", options=(("cook_time", 5),))),
    counter=None,
    fingerprint="0" * 16,
    identity="1" * 12,
)
LOOK = Look(when="2026-11-19T12:00:00+00:00", base="a" * 40, head="c" * 40, rounds=[(1.0, 1.1)])


def test_what_was_kept_is_there_again_in_its_order(tmp_path: Path) -> None:
    folder, looks = Folder(tmp_path / "new", SOUGHT), [LOOK, replace(LOOK, head="b" * 40)]
    for look in looks:
        folder.keep(look)
    assert Folder(tmp_path / "new", SOUGHT).kept(Look) == looks
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == [
        "001.json",
        "002.json",
        "search.json",
    ]


def test_another_search_is_refused(tmp_path: Path) -> None:
    Folder(tmp_path, SOUGHT)
    with pytest.raises(UsageError, match="another search, with another commits and identity: choose another"):
        Folder(tmp_path, replace(SOUGHT, commits=["b" * 40], identity="2" * 12))


def test_damaged_files_are_named(tmp_path: Path) -> None:
    folder = Folder(tmp_path, SOUGHT)
    (tmp_path / "001.json").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match=r"001\.json is damaged, it is not JSON"):
        folder.kept(Look)
    folder = Folder(tmp_path / "other", SOUGHT)
    folder.keep(Count(when=LOOK.when, commit="a" * 40))
    with pytest.raises(UsageError, match=r"001\.json is damaged"):
        folder.kept(Look)
