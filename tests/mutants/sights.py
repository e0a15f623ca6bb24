"""Wrong sights: planes of slots, and windows that turn."""

from __future__ import annotations

from .planting import Mutant, Topic

PLANES_FILE = "cogrid/_core/see/planes.py"

PLANES = Topic(
    tests=(
        "tests/_core/phases/test_slots.py",
        "tests/_core/see/test_sights.py",
    ),
    mutants=(
        Mutant(
            "slots are shown everywhere",
            PLANES_FILE,
            "where if isinstance(where, bool) else plane in where for",
            "True for",
        ),
        Mutant(
            "all see as the first agent does",
            PLANES_FILE,
            "state.slots[..., first : first + rules.n_agents] for first",
            "state.slots[..., first : first + 1] for first",
        ),
        Mutant(
            "a mood comes before the eyes", PLANES_FILE, "[before[way] for before", "[way[before] for before"
        ),
    ),
)

VIEWS = Topic(
    tests=("tests/_core/see/test_views.py",),
    mutants=(
        Mutant(
            "others' facings do not turn",
            PLANES_FILE,
            "[paint_table(rules, facing - UP) for facing in range(4)]",
            "[paint_table(rules, 0)] * 4",
        ),
        Mutant(
            "windows are mirrored",
            "cogrid/_core/see/cropping.py",
            "STRIDES[(facing + 1) % 4]",
            "STRIDES[(facing - 1) % 4]",
        ),
    ),
)

TOPICS = (
    PLANES,
    VIEWS,
)
