"""Wrong rules of the commons, of foraging, of search and rescue, and of goals."""

from __future__ import annotations

from .planting import Mutant, Topic

GAME = "cogrid/envs/commons/game.py"
FIGURES = "cogrid/envs/commons/figures.py"
GAME_FILE = "cogrid/envs/foraging/game.py"
GOALS_GAME = "cogrid/envs/goals/game.py"
SEARCH_RESCUE_GAME = "cogrid/envs/search_rescue/game.py"

COMMONS = Topic(
    tests=("tests/envs/commons",),
    mutants=(
        Mutant("apples leave bare floor", GAME, "Outcome(held, GRASS, EAT", "Outcome(held, FLOOR, EAT"),
        Mutant("who was zapped eats on", GAME, "thing == APPLE and held is None", "thing == APPLE"),
        Mutant("an apple pays the eater alone", GAME, "team=self.common", "team=False"),
        Mutant("beams are shorter", GAME, "Aim(reach=3, width=1)", "Aim(reach=2, width=1)"),
        Mutant("beams are narrower", GAME, "Aim(reach=3, width=1)", "Aim(reach=3, width=0)"),
        Mutant("players are out a step longer", GAME, "and held > 1 else", "and held > 0 else"),
        Mutant("players come back anywhere", GAME, "thing: thing == PAD", "thing: thing in (PAD, FLOOR)"),
        Mutant("a lost patch grows again", GAME, "(0, 1, 5, 25)", "(1, 1, 5, 25)"),
        Mutant("three apples are like two", GAME, "(0, 1, 5, 25)", "(0, 1, 5, 5)"),
        Mutant("apples count from nearer by", GAME, "most=3, radius=RADIUS", "most=3, radius=1"),
        Mutant("dirt matters less", GAME, "2 * self.river - 5 * dirt", "2 * self.river - 4 * dirt"),
        Mutant("the river is dirty too soon", GAME, "out_of=2, since=50", "out_of=2, since=49"),
        Mutant("the river is dirty too fast", GAME, "out_of=2, since=50", "out_of=1, since=50"),
        Mutant(
            "cleaning takes the water too", GAME, "Outcome(held, WATER, CLEAN)", "Outcome(held, FLOOR, CLEAN)"
        ),
        Mutant("greed is equality", FIGURES, "1 - gaps /", "gaps /"),
        Mutant("who eats nothing eats at once", FIGURES, "(eaten > 0).sum(axis=-1), 1", "players, 1"),
        Mutant(
            "eating is never late", "cogrid/_core/see/report.py", "before.clock[..., None, None], 0)", "0, 0)"
        ),
    ),
)

FORAGING = Topic(
    tests=("tests/envs/foraging",),
    mutants=(
        Mutant(
            "food takes more than its level", GAME_FILE, "if total < thing.level:", "if total <= thing.level:"
        ),
        Mutant("foragers cannot swap", GAME_FILE, "swaps=True", "swaps=False"),
        Mutant("foragers load before they move", GAME_FILE, "first=True", "first=False"),
        Mutant("food at the edge", GAME_FILE, "apart=3, margin=2", "apart=3, margin=1"),
        Mutant("food side by side", GAME_FILE, "apart=3, margin=2", "apart=2, margin=2"),
        Mutant("coop food is light", GAME_FILE, "most if self.force_coop else", "most if False else"),
        Mutant(
            "a share of one's own level",
            "cogrid/envs/foraging/rewards.py",
            "float(event.value * spawned)",
            "float(spawned)",
        ),
        Mutant(
            "sight begins beyond the field",
            "cogrid/envs/foraging/features.py",
            "np.maximum(_places(rules) - sight, 0)",
            "_places(rules) - sight",
        ),
        Mutant(
            "large fields list the next food",
            "cogrid/envs/foraging/features.py",
            "(rank <= k)",
            "(rank <= k + 1)",
        ),
        Mutant("levels of two digits do not fit", GAME_FILE, '"[-2:]', '"'),
    ),
)

GOALS = Topic(
    tests=("tests/envs/goals",),
    mutants=(
        Mutant("a shared goal is nobody's", GOALS_GAME, "not in (held, SHARED)", "not in (held,)"),
        Mutant("a step is paid for", GOALS_GAME, "-self.step_price", "self.step_price"),
    ),
)

SEARCH_RESCUE = Topic(
    tests=("tests/envs/search_rescue",),
    mutants=(
        Mutant(
            "one agent saves a red victim",
            SEARCH_RESCUE_GAME,
            "if held.agent != victim.treated_by else None",
            "if True else None",
        ),
        Mutant(
            "treated victims wait a step less",
            SEARCH_RESCUE_GAME,
            "if thing.left > 1 else",
            "if thing.left > 2 else",
        ),
        Mutant(
            "any tool clears rubble",
            SEARCH_RESCUE_GAME,
            "thing == RUBBLE and held.tool == PICKAXE",
            "thing == RUBBLE and held.tool",
        ),
        Mutant(
            "full hands take tools", SEARCH_RESCUE_GAME, "or held.tool is not None:", "or held.tool == KEY:"
        ),
    ),
)

TOPICS = (
    COMMONS,
    FORAGING,
    GOALS,
    SEARCH_RESCUE,
)
