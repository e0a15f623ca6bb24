"""Wrong kitchens of OvercookedV2: buttons, recipes, starts, and what agents see."""

from __future__ import annotations

from .planting import Mutant, Topic

GAME = "cogrid/envs/overcooked_v2/game.py"
REWARDS = "cogrid/envs/overcooked_v2/rewards.py"
FEATURES = "cogrid/envs/overcooked_v2/features.py"
STARTS = "cogrid/envs/overcooked_v2/starts.py"

KITCHENS = Topic(
    tests=(
        "tests/envs/overcooked_v2",
        "tests/test_golden_v2.py",
    ),
    mutants=(
        Mutant("a button stays lit too long", GAME, "BUTTON_TIME = 10", "BUTTON_TIME = 11"),
        Mutant("a button costs nothing", REWARDS, "BUTTON_COST = 5.0", "BUTTON_COST = 0.0"),
        Mutant("a button takes any hand", GAME, "case None, Button():", "case _, Button():"),
        Mutant("a dark button shows the recipe", FEATURES, "and thing.lit > 0)", "and thing.lit >= 0)"),
        Mutant(
            "wrong soups cost nothing",
            GAME,
            "return -self.soup_value if self.negative_rewards else 0.0",
            "return 0.0",
        ),
        Mutant(
            "the recipe stays after a delivery",
            GAME,
            "if thing.served == 1 and self.sample_recipe_on_delivery:",
            "if False:",
        ),
        Mutant(
            "any delivery draws a recipe",
            GAME,
            "matters and event.held == Soup(thing.items)",
            "matters",
        ),
        Mutant("a delivery is shown for good", GAME, "served = 2 * (thing.served == 1 and", "served = 2 * ("),
        Mutant("every ingredient is useful", REWARDS, "(event.thing.items.count(ingredient) <", "(-1 <"),
        Mutant("every soup is useful", REWARDS, "(event.thing.items == _items(recipe))", "True"),
        Mutant("dishes count as they were left", REWARDS, "hands_at_start=True", "hands_at_start=False"),
        Mutant("pots count as the step began", REWARDS, "demand_at_start=False", "demand_at_start=True"),
        Mutant(
            "full idle pots stay idle", GAME, 'Outcome(held, Pot(items, self.cook_time), "light")', "None"
        ),
        Mutant("random pots are fuller", STARTS, "for n in (1, 2, 3) for", "for n in (2, 3, 3) for"),
        Mutant("random hands are fuller", STARTS, "(50, 10, 25, 15)", "(40, 20, 25, 15)"),
        Mutant("all agents see alike", FEATURES, "instead.get(word, word)", "word"),
        Mutant("a recipe is not shown", FEATURES, '**_paint_items("recipe", recipe.items)', "**{}"),
        Mutant("soups are raw", FEATURES, 'f"{of} cooked": 1, **', "**"),
        Mutant("a pot hides its clock", FEATURES, '"cook time left": max(0, timer)', '"cook time left": 0'),
    ),
)

TOPICS = (KITCHENS,)
