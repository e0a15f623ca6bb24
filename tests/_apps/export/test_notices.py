"""Notices: every id's folder names the origin of its boards and has the licences."""

from __future__ import annotations

import re

import pytest

from cogrid._apps.export.notices import notices
from cogrid._io import installed
from tests.episodes import ROOT
from tests.support import EVERY_ID


@pytest.mark.parametrize(
    ("id", "owner", "names"),
    [
        ("Overcooked-CrampedRoom-V0", "overcooked_ai", {"overcooked_ai.txt"}),
        ("OvercookedV2-LongRoom-V0", "JaxMARL", {"overcooked_ai.txt", "JaxMARL.txt"}),
        ("Overcooked-CrampedMixedKitchen-V0", "the original CoGrid (https://", set()),
        ("Goals-V0", "boards of our own", set()),
    ],
)
def test_the_boards_owner_and_licences_are_in_the_folder(id, owner, names) -> None:
    files = notices(id, own_boards=False)
    assert owner in files["NOTICE.md"]
    assert files.keys() == {"NOTICE.md", "LICENSE", *names}
    for name in names | {"LICENSE"}:
        folder = ROOT if name == "LICENSE" else ROOT / "licenses"
        assert files[name] == (folder / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("id", EVERY_ID)
def test_every_id_has_one_line_and_its_files(id) -> None:
    files = notices(id, own_boards=False)
    assert files["NOTICE.md"].count("\n- ") == 1
    assert "](" not in files["NOTICE.md"]
    assert set(re.findall(r"\((\w+\.txt|LICENSE)\)", files["NOTICE.md"])) <= files.keys()


def test_with_other_boards_the_notice_has_everything() -> None:
    files = notices("my_world.py", own_boards=True)
    assert files.keys() == installed.licences().keys()
    assert files["NOTICE.md"].count("\n- ") > 4
    assert "or has other boards" in files["NOTICE.md"]
