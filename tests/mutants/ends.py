"""Wrong ends and prices."""

from __future__ import annotations

from .planting import Mutant, Topic

PRICES = "cogrid/_core/phases/rewards.py"
CLOCK = "cogrid/_core/phases/clock.py"

ENDS = Topic(
    tests=("tests/_core/phases/test_ends.py",),
    mutants=(
        Mutant("who has ended pays on", PRICES, "points if ended is None else", "points if True else"),
        Mutant(
            "who has ended is paid by the team",
            "cogrid/_core/phases/rewards.py",
            "paid = rules.xp.where(before.ended, zero, paid)",
            "pass",
        ),
        Mutant(
            "a load is free",
            PRICES,
            "of_hands(functools.partial(points, name))",
            "[points(name, None)] * rules.n_items",
        ),
        Mutant(
            "tallies count to one", PRICES, "rules.xp.clip(total, 0, term.most)", "rules.xp.clip(total, 0, 1)"
        ),
        Mutant(
            "a tally looks at the past",
            PRICES,
            "(state if term.now else events.before).cells",
            "events.before.cells",
        ),
        Mutant("one victim may stay behind", CLOCK, "return left == 0", "return left <= 1"),
        Mutant(
            "the end comes while something remains",
            CLOCK,
            "return ~any_marked(rules,",
            "return any_marked(rules,",
        ),
        Mutant("final verbs end nobody", CLOCK, "if self.final is not None:", "if False:"),
        Mutant(
            "a final verb ends all",
            CLOCK,
            "rules.lookup(self.final, events.row)",
            "rules.lookup(self.final, events.row).any(axis=-1, keepdims=True)",
        ),
        Mutant(
            "hands end nobody", CLOCK, "return rules.lookup(self.poses, state.pose)", "return state.ended"
        ),
        Mutant(
            "a finished hand ends all",
            CLOCK,
            "return rules.lookup(self.poses, state.pose)",
            "return rules.lookup(self.poses, state.pose).any(axis=-1, keepdims=True)",
        ),
    ),
)

TOPICS = (ENDS,)
