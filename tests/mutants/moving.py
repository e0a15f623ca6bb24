"""Wrong moves: contests, swaps, facings, the order of phases, and what is walked onto."""

from __future__ import annotations

from .planting import Mutant, Topic

MOVEMENT_FILE = "cogrid/_core/phases/movement.py"
INTERACTION = "cogrid/_core/phases/interaction.py"
ENTERING_FILE = "cogrid/_core/phases/entering.py"
PHASES = "cogrid/_core/phases/phases.py"
RULES_FILE = "cogrid/_core/rules.py"
LEAVING_FILE = "cogrid/_core/phases/leaving.py"
PLANES = "cogrid/_core/see/planes.py"

MOVEMENT = Topic(
    tests=(
        "tests/_core/phases/test_movement.py",
        "tests/envs/overcooked/test_agent_order.py",
        "tests/test_golden.py",
        "--deselect=tests/_core/phases/test_movement.py::test_nobody_shares_a_cell_or_passes_through",
    ),
    mutants=(
        Mutant(
            "swaps are allowed",
            MOVEMENT_FILE,
            "return (want == their_want) | ((want == their_pos) & (pos == their_want))",
            "return want == their_want",
        ),
        Mutant(
            "contests are ignored",
            MOVEMENT_FILE,
            "return (want == their_want) | (",
            "return (want != want) | (",
        ),
        Mutant(
            "a bounce stops one in the queue",
            MOVEMENT_FILE,
            "stop, want, rules.n_agents - 1)",
            "stop, want, 1)",
        ),
        Mutant(
            "a blocked agent does not turn",
            MOVEMENT_FILE,
            "pose=state.pose + rules.lookup(self.turn, events.choice)",
            "pose=state.pose + xp.where(want != pos, rules.lookup(self.turn, events.choice), 0)",
        ),
        Mutant(
            "up and down are exchanged",
            "cogrid/_core/compile/actions.py",
            'Action("up", face=UP',
            'Action("up", face=DOWN',
        ),
    ),
)

ENTERING = Topic(
    tests=("tests/_core/phases/test_moving.py",),
    mutants=(
        Mutant("who stands enters", ENTERING_FILE, "row=xp.where(moved, row, events.row)", "row=row"),
        Mutant(
            "what was entered stays",
            ENTERING_FILE,
            "cells=rules.put(state.cells, where, thing)",
            "cells=state.cells",
        ),
        Mutant(
            "out of range is the last action",
            RULES_FILE,
            'np.array(self.out_of_range, f"u{size}")',
            'np.array(self.n_actions - 1, f"u{size}")',
        ),
        Mutant("all move before they act", PHASES, "if rules.answers.moving.first else", "if True else"),
        Mutant(
            "all can change places",
            MOVEMENT_FILE,
            "_contend if self.swaps else _meet",
            "_contend",
        ),
        Mutant("all act before they move", PHASES, "if rules.answers.moving.first else", "if False else"),
        Mutant("neighbours never change places", MOVEMENT_FILE, "_contend if self.swaps else _meet", "_meet"),
        Mutant(
            "further actions are all the first",
            "cogrid/_core/compile/spec.py",
            "intent=FURTHER + k)",
            "intent=FURTHER)",
        ),
    ),
)

DOORS = Topic(
    tests=("tests/_core/phases/test_interaction.py",),
    mutants=(
        Mutant(
            "doors close on agents",
            INTERACTION,
            "rules.lookup(self.guard, row), row)",
            "row, row)",
        ),
        Mutant(
            "nothing is done under an agent",
            INTERACTION,
            "np.where(closes, row %",
            "np.where(True, row %",
        ),
        Mutant(
            "who acts on an agent in vain cannot turn",
            INTERACTION,
            "events.evolve(row=xp.concatenate(applied, axis=-1))",
            "events.evolve(row=xp.concatenate(applied, axis=-1), choice=choice)",
        ),
    ),
)

LEAVING = Topic(
    tests=("tests/_core/phases/test_leaving.py",),
    mutants=(
        Mutant("who is away stays", LEAVING_FILE, "lift(self.places, pos.ndim), pos)", "pos, pos)"),
        Mutant("who left never returns", LEAVING_FILE, "back = (pos >= rules.n_cells)", "back = (pos < 0)"),
        Mutant(
            "a taken point is free",
            LEAVING_FILE,
            "stood(self.cells, pos), np.uint32(0), free",
            "free > 0, free, free",
        ),
        Mutant(
            "two return to one point",
            LEAVING_FILE,
            "xp.where(hit, np.uint32(0), ranks - later",
            "(ranks + 0 * later",
        ),
        Mutant(
            "the first free point is always taken",
            LEAVING_FILE,
            "one_of(drawn[..., me], count) + np.uint32(1)",
            "one_of(drawn[..., me], count * 0) + np.uint32(1)",
        ),
        Mutant(
            "who is away takes actions",
            "cogrid/_core/phases/clock.py",
            "[*idle, state.away] if rules.leaves else idle",
            "idle",
        ),
        Mutant(
            "one is among the others away",
            PLANES,
            "[..., None, :] + lift(itself, out.ndim)",
            "[..., None, :] + 0 * lift(itself, out.ndim)",
        ),
        Mutant(
            "who is there is painted as away",
            PLANES,
            "lift(itself, out.ndim)) * out",
            "lift(itself, out.ndim))",
        ),
    ),
)

TOPICS = (
    MOVEMENT,
    ENTERING,
    DOORS,
    LEAVING,
)
