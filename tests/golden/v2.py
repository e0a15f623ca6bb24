"""The recorded games of OvercookedV2: which there are, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "v2"
LAYOUTS = (
    "CrampedRoom",
    "CrampedRoomV2",
    "TwoRooms",
    "FunCoordination",
    "GroundedCoordSimple",
    "TestTimeWide",
)
BATCH, STEPS = 3, 150


def file_of(layout: str) -> Path:
    return FOLDER / f"{layout}.json"


def lane(state: Any, k: int) -> Any:
    """One environment of a batch."""
    return state.evolve(**{name: value[k] for name, value in state.stored().items()})
