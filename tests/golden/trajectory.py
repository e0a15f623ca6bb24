"""Recorded games as short text: one line a step, `=` for a field that did not change."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracles.canonical import (
    ACTION_LETTERS,
    COOK_STARTS,
    FACING_LETTERS,
    KITCHENS,
    Cell,
    JointAction,
    Kitchen,
    KitchenState,
    Outcome,
    Pot,
    is_soup,
    soup_ingredients,
    soup_name,
)
from tests.oracles.events import happened
from tests.oracles.lineage import LINEAGE

FOLDER = Path(__file__).parent
#: The kitchens and cook rules with a recording; the files of overcooked_ai have but one rule.
RECORDED = tuple((kitchen, rule) for kitchen in KITCHENS.values() for rule in COOK_STARTS) + tuple(
    (LINEAGE[name], "interact")
    for name in ("counter_circuit", "forced_coordination_tomato", "soup_coordination", "scenario3")
)
ITEM_LETTERS = {"onion": "o", "tomato": "t", "dish": "d"}
ITEM_NAMES = {letter: name for name, letter in ITEM_LETTERS.items()}
STATE_FIELDS = ("positions", "facings", "held", "counters", "pots")
RESULT_FIELDS = ("sparse", "shaped", "planes of agent 0", "planes of agent 1")
READY_TICK = "plating on the ready tick"

Fields = dict[str, str]  # the text of each field


@dataclass(frozen=True)
class Episode:
    """A start, the joint actions, and what each of them must lead to."""

    start: KitchenState
    actions: tuple[JointAction, ...]
    expected: tuple[Fields, ...]


@dataclass(frozen=True)
class Recording:
    """The games of one kitchen under one cook rule."""

    kitchen: Kitchen
    cook_start: str
    counts: dict[str, int]
    episodes: tuple[Episode, ...]


def file_of(kitchen: Kitchen, cook_start: str) -> Path:
    return FOLDER / f"{kitchen.name}-{cook_start}.json"


def counts_of(kitchen: Kitchen, episode: Episode, states: Sequence[KitchenState]) -> Counter[str]:
    """How often each thing happened in an episode that went through the states."""
    befores = (episode.start, *states)
    steps = list(zip(befores, episode.actions, states, strict=False))
    counts = Counter(name for step in steps for name in happened(kitchen, *step))
    counts[READY_TICK] = sum(_ready_at_once(befores[i - 1], *steps[i]) for i in range(1, len(steps)))
    return counts


def _ready_at_once(
    earlier: KitchenState, before: KitchenState, joint: JointAction, after: KitchenState
) -> int:
    """How many agents plate a soup that the step before has made ready."""
    just_ready = {cell for cell, (_, timer) in before.pots if timer == 0 and dict(earlier.pots)[cell][1] == 1}
    return sum(
        held == "dish" and is_soup(holds) and before.faced(agent) in just_ready
        for agent, (held, holds) in enumerate(zip(before.held, after.held, strict=True))
    )


def fields_of(outcome: Outcome) -> Fields:
    """Every field of an outcome as text; the planes by a hash."""
    results = (_numbers(outcome.sparse[:1]), _numbers(outcome.shaped), *map(_digest, outcome.planes))
    fields = state_fields(outcome.state) | dict(zip(RESULT_FIELDS, results, strict=True))
    assert len(set(outcome.sparse)) == 1, "the score is the team's"
    return fields


def state_fields(state: KitchenState) -> Fields:
    texts = (
        ";".join(f"{row},{col}" for row, col in state.positions),
        "".join(FACING_LETTERS[facing] for facing in state.facings),
        ";".join(_item_text(item) for item in state.held),
        ";".join(f"{row},{col}={_item_text(item)}" for (row, col), item in state.counters) or "-",
        ";".join(
            f"{''.join(ITEM_LETTERS[name] for name in items)}@{timer}" for _, (items, timer) in state.pots
        ),
    )
    return dict(zip(STATE_FIELDS, texts, strict=True))


def parse_state(kitchen: Kitchen, text: str) -> KitchenState:
    """The state of a start line: the time, then the state's fields."""
    time, *texts = text.split(" ")
    fields = dict(zip(STATE_FIELDS, texts, strict=True))
    counters = [] if fields["counters"] == "-" else fields["counters"].split(";")
    pairs = [entry.split("=") for entry in counters]
    return KitchenState(
        positions=tuple(_cell(cell) for cell in fields["positions"].split(";")),
        facings=tuple(FACING_LETTERS.index(letter) for letter in fields["facings"]),
        held=tuple(_item(letters) for letters in fields["held"].split(";")),
        counters=tuple((_cell(cell), _lying(letters)) for cell, letters in pairs),
        pots=tuple(zip(kitchen.pot_cells, map(_pot, fields["pots"].split(";")), strict=True)),
        time=int(time),
    )


def to_text(recording: Recording, source: str) -> str:
    """The whole file."""
    content = {
        "source": source,
        "kitchen": recording.kitchen.name,
        "cook_start": recording.cook_start,
        "counts": dict(sorted(recording.counts.items())),
        "episodes": [_episode_lines(episode) for episode in recording.episodes],
    }
    return json.dumps(content, indent=0, ensure_ascii=True) + "\n"


def _episode_lines(episode: Episode) -> dict[str, Any]:
    before = state_fields(episode.start)
    lines = []
    for joint, fields in zip(episode.actions, episode.expected, strict=True):
        texts = ("=" if text == before.get(name) else text for name, text in fields.items())
        lines.append(" ".join(("".join(ACTION_LETTERS[action] for action in joint), *texts)))
        before = fields
    start = " ".join((str(episode.start.time), *state_fields(episode.start).values()))
    return {"start": start, "steps": lines}


def load(path: Path) -> Recording:
    content = json.loads(path.read_text(encoding="utf-8"))
    kitchen = (KITCHENS | LINEAGE)[content["kitchen"]]
    episodes = tuple(_parse_episode(kitchen, entry) for entry in content["episodes"])
    return Recording(kitchen, content["cook_start"], content["counts"], episodes)


def _parse_episode(kitchen: Kitchen, entry: dict[str, Any]) -> Episode:
    start = parse_state(kitchen, entry["start"])
    actions = tuple(
        tuple(ACTION_LETTERS.index(letter) for letter in line.split(" ")[0]) for line in entry["steps"]
    )
    return Episode(start, actions, tuple(_parse_steps(start, entry["steps"])))


def _parse_steps(start: KitchenState, lines: Sequence[str]) -> Iterator[Fields]:
    before = state_fields(start)
    for line in lines:
        texts = zip((*STATE_FIELDS, *RESULT_FIELDS), line.split(" ")[1:], strict=True)
        before = {name: before[name] if text == "=" else text for name, text in texts}
        yield before


def _numbers(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


def _digest(planes: np.ndarray) -> str:
    """A short hash of one agent's planes, (H, W, 26) uint8."""
    assert planes.dtype == np.uint8, f"planes are {planes.dtype}"
    return hashlib.sha256(planes.tobytes()).hexdigest()[:7]


def _item_text(item: str | None) -> str:
    if is_soup(item):
        return "S" + "".join(ITEM_LETTERS[name] for name in soup_ingredients(item))
    return "-" if item is None else ITEM_LETTERS[item]


def _item(letters: str) -> str | None:
    return None if letters == "-" else _lying(letters)


def _lying(letters: str) -> str:
    if letters.startswith("S"):
        return soup_name([ITEM_NAMES[letter] for letter in letters[1:]])
    return ITEM_NAMES[letters]


def _cell(text: str) -> Cell:
    row, col = text.split(",")
    return int(row), int(col)


def _pot(text: str) -> Pot:
    letters, timer = text.split("@")
    return tuple(ITEM_NAMES[letter] for letter in letters), int(timer)
