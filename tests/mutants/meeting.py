"""Wrong aims, meetings, joint work and replies of slots."""

from __future__ import annotations

from .planting import Mutant, Topic

AIMING = "cogrid/_core/phases/tables/aiming.py"
INTERACTION = "cogrid/_core/phases/interaction.py"
JOINING_FILE = "cogrid/_core/phases/joining.py"
REPLYING = "cogrid/_core/phases/replying.py"

MEETING = Topic(
    tests=("tests/_core/phases/test_meeting.py",),
    mutants=(
        Mutant(
            "agents hide nobody",
            AIMING,
            "seen[..., row, :] < rules.n_walkable, best",
            "(seen[..., row, :] < rules.n_walkable) | (seen[..., row, :] >= rules.n_things), best",
        ),
        Mutant(
            "walls hide nobody",
            AIMING,
            "seen[..., row, :] < rules.n_walkable, best",
            "seen[..., row, :] < rules.n_things, best",
        ),
        Mutant("beams go right before left", AIMING, "(-1 if lane % 2 else 1)", "(1 if lane % 2 else -1)"),
        Mutant(
            "left and right before up and down",
            AIMING,
            "((-1, 0), (1, 0), (0, -1), (0, 1))",
            "((0, -1), (0, 1), (-1, 0), (1, 0))",
        ),
        Mutant(
            "who is met keeps its hand",
            INTERACTION,
            "lookup(meetings.swap_other, line)",
            "lookup(meetings.swap_other, line) * 0",
        ),
        Mutant(
            "all act with their first hands",
            INTERACTION,
            "(pose - state.pose)[..., me]",
            "(pose - pose)[..., me]",
        ),
    ),
)

JOINING = Topic(
    tests=("tests/_core/phases/test_joining.py",),
    mutants=(
        Mutant(
            "nobody helps",
            JOINING_FILE,
            "cell == cell[..., me], strength[..., me], np.int32(0)",
            "cell == cell[..., me], strength, np.int32(0)",
        ),
        Mutant("who met works as well", JOINING_FILE, "if self.meets:", "if False:"),
        Mutant(
            "the meetings of joint actions are overlooked",
            JOINING_FILE,
            "useful[intent * pairs : (intent + 1) * pairs].any()",
            "useful[:pairs].any()",
        ),
        Mutant("who stands by gets a share", JOINING_FILE, "xp.where(works, row, alone)", "row"),
        Mutant(
            "strength has no limit",
            JOINING_FILE,
            "xp.minimum(total, np.int32(self.most))",
            "total % np.int32(self.most + 1)",
        ),
        Mutant(
            "who cannot act helps",
            JOINING_FILE,
            "joint.strength_of(item) if acts(answers, item) else 0",
            "joint.strength_of(item)",
        ),
    ),
)

SLOTS = Topic(
    tests=("tests/_core/phases/test_slots.py",),
    mutants=(
        Mutant("every slot answers", REPLYING, "chosen.append(waits & answer)", "chosen.append(answer)"),
        Mutant(
            "the greatest rank answers",
            REPLYING,
            "ahead = ranks[k] < ranks[j] if",
            "ahead = ranks[k] > ranks[j] if",
        ),
        Mutant(
            "replies change no slot", REPLYING, "slots[k] = xp.where(answers, afters[k], slots[k])", "pass"
        ),
        Mutant(
            "what expires is free",
            "cogrid/_core/phases/rewards.py",
            "points = points + events.expired  # paid by ticks",
            "pass",
        ),
        Mutant(
            "points go by the slot of the next step",
            "cogrid/_core/phases/rewards.py",
            "events.before.slots[..., index : index + 1].astype",
            "state.slots[..., index : index + 1].astype",
        ),
        Mutant(
            "a feature tells another slot",
            "cogrid/_core/see/features.py",
            "state.slots[..., index : index + 1]",
            "state.slots[..., :1]",
        ),
        Mutant(
            "of equal ranks the last answers",
            REPLYING,
            "ranks[j] if j < k else ranks[k] <= ranks[j]",
            "ranks[j] if j > k else ranks[k] <= ranks[j]",
        ),
        Mutant(
            "slots tick without chance",
            REPLYING,
            "case = self.ticks.case(rules, case, events, k)",
            "pass",
        ),
        Mutant(
            "slots do not tick",
            REPLYING,
            "slots[k], points = rules.lookup(self.ticks.after, case), rules",
            "points = rules",
        ),
    ),
)

TOPICS = (
    MEETING,
    JOINING,
    SLOTS,
)
