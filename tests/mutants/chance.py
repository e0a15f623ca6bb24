"""Wrong chance, hands and counts of neighbours."""

from __future__ import annotations

from .planting import Mutant, Topic

ODDS = "cogrid/_core/compile/odds.py"
RESET = "cogrid/_core/state/reset.py"
TICKS = "cogrid/_core/phases/ticks.py"
HANDS_FILE = "cogrid/_core/phases/hands.py"
ONE_CELL = "cogrid/_core/phases/one_cell.py"
MOVEMENT = "cogrid/_core/phases/movement.py"
ANSWERS = "cogrid/_core/author/cells.py"

CHANCE = Topic(
    tests=("tests/_core/compile/test_odds.py",),
    mutants=(
        Mutant(
            "a draw at its bound is still below it",
            ODDS,
            "later = drawn >= lookup",
            "later = drawn > lookup",
        ),
        Mutant(
            "weights are rounded down",
            "cogrid/_core/author/chance.py",
            "sum_ * SCALE + total // 2",
            "sum_ * SCALE",
        ),
        Mutant(
            "all draws are those of purpose 0",
            ODDS,
            "PURPOSES.index(purpose) * SCALE + which",
            "0 * SCALE + which",
        ),
        Mutant(
            "draws begin at time 0",
            "cogrid/backend/rng.py",
            "time[..., None] + np.uint32(1), low",
            "time[..., None], low",
        ),
        Mutant(
            "every episode repeats its chance",
            RESET,
            "words = children[..., 0, :]",
            "pass",
        ),
        Mutant("things start under agents as well", RESET, "rules.xp.where(kept, seen, begun)", "begun"),
        Mutant(
            "all agents share one draw",
            "cogrid/_core/phases/interaction.py",
            "events.drawn, who)",
            "events.drawn, slice(0, 1))",
        ),
        Mutant(
            "the first cell is never chosen",
            ONE_CELL,
            "ranks == one_of(which, count) + np.uint32(1)",
            "ranks == one_of(which, count)",
        ),
        Mutant("the lower half of a draw is dropped", ODDS, "+ (low >> np.uint32(12))", ""),
        Mutant("letters begin as they are", RESET, "if rules.start.cells.size:", "if False:"),
        Mutant("one cell changes too early", ONE_CELL, ">= np.int32(self.since)", ">= np.int32(0)"),
    ),
)

HANDS = Topic(
    tests=("tests/_core/phases/test_hands.py",),
    mutants=(
        Mutant(
            "a hand that cannot move turns", MOVEMENT, "after = np.where(can_move, after, facing)", "pass"
        ),
        Mutant(
            "a hand that cannot move walks",
            MOVEMENT,
            "for action in actions])[:, None] & can_move",
            "for action in actions])[:, None]",
        ),
        Mutant(
            "a hand that cannot act acts",
            "cogrid/_core/phases/tables/rows.py",
            "np.where(can_act, first[:, None], 0)",
            "first[:, None]",
        ),
        Mutant(
            "hands stay as they are",
            HANDS_FILE,
            "return state.evolve(pose=state.pose + rules.lookup(self.swap, case)), events",
            "return state, events",
        ),
        Mutant("hands tick without chance", HANDS_FILE, "if self.drawn.size:", "if False:"),
        Mutant("first hands are not drawn", RESET, "if hands.n_branches > 1:", "if False:"),
        Mutant(
            "all begin with the first agent's hand",
            RESET,
            "agents = np.arange(rules.n_agents,",
            "agents = np.zeros(rules.n_agents,",
        ),
    ),
)

NEIGHBOURS = Topic(
    tests=("tests/_core/phases/test_near.py",),
    mutants=(
        Mutant(
            "a circle is a square",
            ANSWERS,
            '"circle": math.hypot',
            '"circle": lambda r, c: max(abs(r), abs(c))',
        ),
        Mutant(
            "a cell counts itself", ANSWERS, "if 0 < distance(r, c) <= radius", "if distance(r, c) <= radius"
        ),
        Mutant(
            "counts are mirrored",
            "cogrid/backend/_numpy.py",
            "out[(..., *target)] += board[(..., *source)]",
            "out[(..., *target)] += board[(..., *target)]",
        ),
        Mutant(
            "the count goes over its most",
            TICKS,
            "rules.xp.minimum(rules.pick(total, self.cells),",
            "rules.xp.maximum(rules.pick(total, self.cells),",
        ),
    ),
)

TOPICS = (
    CHANCE,
    HANDS,
    NEIGHBOURS,
)
