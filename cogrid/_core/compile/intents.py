"""Intents: what the actions of a game can do, numbered, and what messages call the rules behind them."""

from __future__ import annotations

from cogrid._core.author.kinds import writes
from cogrid._core.compile.actions import ENTER, FURTHER, INTERACT, NOTHING, TOGGLE
from cogrid._core.compile.answers import Answers


def intents_of(answers: Answers) -> tuple[int, ...]:
    """The intents of this game."""
    # Where agents meet, toggling is numbered too, whether it does anything or not: digests name the intents.
    toggles = getattr(answers.acts.get("toggle"), "thing", None) is not None or answers.meets
    written = [(TOGGLE, toggles), (ENTER, writes(answers.game, "enter"))]
    further = (FURTHER + k for k in range(len(answers.actions)))
    return (NOTHING, INTERACT, *(intent for intent, is_written in written if is_written), *further)


def joint_intent(answers: Answers) -> int | None:
    """The intent of the joint action, if the game has one."""
    return None if answers.joint is None else FURTHER + answers.actions.index(answers.joint.name)


def rule_name(intent: int) -> str:
    """What messages and reports call the rule by which an intent acts on a thing."""
    return {INTERACT: "interact", ENTER: "enter"}.get(intent, "Act.thing")
