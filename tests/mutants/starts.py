"""Wrong starts: what reset places, scatters and draws, and boards and states that it is given."""

from __future__ import annotations

from .planting import Mutant, Topic

PLACING_FILE = "cogrid/_core/state/placing.py"
RESET = "cogrid/_core/state/reset.py"
BOARDS_FILE = "cogrid/_core/state/boards.py"

PLACING = Topic(
    tests=(
        "tests/_core/state/test_placing.py",
        "tests/envs/foraging",
        "tests/envs/arena",
        "tests/envs/search_rescue",
        "tests/envs/commons",
    ),
    mutants=(
        Mutant(
            "things pile up in the first cell",
            PLACING_FILE,
            "one_of(which, ranks[..., -1:]) + np.uint32(1)",
            "np.uint32(1)",
        ),
        Mutant("things where agents stand", RESET, "free = ~stood(", "free = stood("),
        Mutant(
            "the strongest count as the weakest",
            PLACING_FILE,
            "[..., : placed.weakest]",
            "[..., -placed.weakest :]",
        ),
        Mutant("counted slots begin at nothing", RESET, "rules.xp.clip(total, 0, slot.most)", "0 * total"),
        Mutant(
            "scattered things cover agents",
            RESET,
            "(cells == symbols[legend[FLOOR]]) & ~stood(every, pos)",
            "(cells == symbols[legend[FLOOR]])",
        ),
        Mutant(
            "half as much is scattered",
            RESET,
            "round(scattered.density * 2**24)",
            "round(scattered.density * 2**23)",
        ),
    ),
)

BOARDS = Topic(
    tests=(
        "tests/_core/state/test_boards.py",
        "tests/_core/phases/test_edges.py",
    ),
    mutants=(
        Mutant(
            "free directions are those of the layout",
            "cogrid/_core/see/features.py",
            "if not _opens_or_closes(rules):",
            "if True:",
        ),
        Mutant("an open edge stays open", BOARDS_FILE, "edge & lookup(table.opens, codes)", "edge & ~edge"),
        Mutant(
            "nothing is too many",
            BOARDS_FILE,
            "(ranks > lift(most[:, None]",
            "(ranks > 99 + lift(most[:, None]",
        ),
        Mutant(
            "a start may be there twice", BOARDS_FILE, 'xp.where(flaws["twice"], table.wall, codes)', "codes"
        ),
        Mutant(
            "all rooms are one",
            BOARDS_FILE,
            "(names[..., None, :] == own[..., None])",
            "(names[..., None, :] >= 0) & (own[..., None] >= 0)",
        ),
        Mutant(
            "the nearest one is that of the nearest row",
            "cogrid/_core/see/offsets.py",
            "abs(rows)[:, None] + abs(columns)",
            "abs(rows)[:, None] + 0 * abs(columns)",
        ),
        Mutant("a pool is its first", RESET, "1)[..., 0] % np.uint32(count)", "1)[..., 0] % np.uint32(1)"),
        Mutant("episodes of a pool share their chance", RESET, "state.evolve(words=words,", "state.evolve("),
    ),
)

TOPICS = (
    PLACING,
    BOARDS,
)
