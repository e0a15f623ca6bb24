"""What a site holds: victims, rubble, doors and tools; and what an agent carries."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

MEDKIT, PICKAXE, KEY = "medkit", "pickaxe", "key"
TOOLS = (MEDKIT, PICKAXE, KEY)
GREEN, YELLOW, RED = "green", "yellow", "red"
COLOURS = (GREEN, YELLOW, RED)
#: What a rescue is worth.
POINTS = MappingProxyType({GREEN: 1.0, YELLOW: 2.0, RED: 3.0})
RUBBLE, DOOR, DOORWAY, DEBRIS = "rubble", "locked door", "doorway", "debris"


@dataclass(frozen=True)
class Victim:
    """Somebody to rescue; a red one that was treated waits for another agent."""

    colour: str
    treated_by: int = -1  # the agent, −1 nobody
    left: int = 0  # steps that it can wait


@dataclass(frozen=True)
class Tool:
    """A tool that lies on the floor."""

    name: str


@dataclass(frozen=True)
class Rescuer:
    """An agent and the tool in its hand, if any."""

    agent: int
    tool: str | None = None
