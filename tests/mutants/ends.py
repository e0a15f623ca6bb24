"""Wrong ends and prices."""

from __future__ import annotations

from .planting import Mutant, Topic

PRICES = "cogrid/_core/phases/prices.py"
TERMINATION = "cogrid/_core/phases/termination.py"

ENDS = Topic(
    tests=("tests/_core/phases/test_ends.py",),
    mutants=(
        Mutant("who has ended pays on", PRICES, "points if before.ended is None else", "points if True else"),
        Mutant(
            "who has ended is paid by the team",
            "cogrid/_core/phases/rewards.py",
            "paid = rules.xp.where(before.ended, zero, paid)",
            "pass",
        ),
        Mutant("a load is free", PRICES, "points(name, items[held])", "points(name, None)"),
        Mutant(
            "tallies count to one", PRICES, "rules.xp.clip(total, 0, term.most)", "rules.xp.clip(total, 0, 1)"
        ),
        Mutant("a tally looks at the past", PRICES, "(now if term.now else before).cells", "before.cells"),
        Mutant("one victim may stay behind", TERMINATION, "keepdims=True) == 0", "keepdims=True) <= 1"),
        Mutant(
            "the end comes while something remains",
            TERMINATION,
            "return ~any_marked(rules,",
            "return any_marked(rules,",
        ),
        Mutant("final verbs end nobody", TERMINATION, "if rules.final.any():", "if False:"),
        Mutant(
            "a final verb ends all",
            TERMINATION,
            "rules.lookup(rules.final, events.row)",
            "rules.lookup(rules.final, events.row).any(axis=-1, keepdims=True)",
        ),
        Mutant(
            "hands end nobody", TERMINATION, "return rules.lookup(hands, state.pose)", "return state.ended"
        ),
        Mutant(
            "a finished hand ends all",
            TERMINATION,
            "return rules.lookup(hands, state.pose)",
            "return rules.lookup(hands, state.pose).any(axis=-1, keepdims=True)",
        ),
    ),
)

TOPICS = (ENDS,)
