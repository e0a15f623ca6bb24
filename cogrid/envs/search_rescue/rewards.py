"""Points for rescues, paid to all, and shaping for what makes rescues possible."""

from __future__ import annotations

from cogrid.author import Event, Reward

CLEAR, UNLOCK, TREAT, RESCUE, TAKE, DROP = "clear", "unlock", "treat", "rescue", "take", "drop"


def _rescued(event: Event) -> float:
    return event.value if event.verb == RESCUE else 0.0


def _opened(event: Event) -> float:
    return float(event.verb in (CLEAR, UNLOCK, TREAT))


REWARDS = (Reward("rescue", _rescued, team=True), Reward("progress", _opened, shaping=True))
