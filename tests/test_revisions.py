"""Revisions: what differs is named and fails, new ids do not, and a comparison of nothing does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.revisions import compare, note

ROOM = {"id": "Room-V0", "rewarded": 3, "cells": "01"}
HALL = {"id": "Hall-V0", "rewarded": 0, "cells": "02"}


@pytest.mark.parametrize(
    ("here", "before", "told", "differs"),
    [
        ([HALL, ROOM], [HALL, ROOM], "2 ids, 1 of them with rewards; 0 differ.", False),
        ([HALL, {**ROOM, "cells": "00"}], [HALL, ROOM], "Room-V0 differs: cells", True),
        ([HALL, ROOM], [ROOM], "Room-V0 equal", False),
        ([HALL], [HALL, ROOM], "Room-V0 differs: cells, id, rewarded", True),
        ([], [], "0 ids", True),
    ],
)
def test_what_differs_is_named(
    here: Any, before: Any, told: str, differs: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(here, before) is differs
    assert told in " ".join(capsys.readouterr().out.split())


def test_types_shapes_and_values_count() -> None:
    arrays = (np.zeros(2, np.int8), np.zeros(2, np.int16), np.zeros((2, 1), np.int8), np.ones(2, np.int8))
    sums: dict[str, Any] = {}
    note(sums, {"infos": {str(number): array for number, array in enumerate(arrays)}})
    assert list(sums) == [f"infos.{number}" for number in range(4)]
    assert len({total.hexdigest() for total in sums.values()}) == 4
