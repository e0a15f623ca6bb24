"""Wrong kitchens: cooking, deliveries, orders, shaping, and what agents see of them."""

from __future__ import annotations

from .planting import Mutant, Topic

GAME = "cogrid/envs/overcooked/game.py"
REWARDS = "cogrid/envs/overcooked/rewards.py"
REWARDS_FILE = "cogrid/_core/phases/rewards.py"
ORDERS_FILE = "cogrid/envs/overcooked/orders.py"
FEATURES = "cogrid/envs/overcooked/features.py"
GENERATED_FILE = "cogrid/envs/overcooked/generated.py"

COOKING = Topic(
    tests=(
        "tests/test_golden.py",
        "tests/envs/overcooked/test_interaction_table.py",
        "tests/envs/overcooked/test_cooking.py",
        "tests/envs/overcooked/test_deliveries.py",
        "tests/envs/overcooked/test_agent_order.py",
        "tests/envs/overcooked/test_horizon.py",
    ),
    mutants=(
        Mutant("a pot takes four", GAME, "and len(items) < 3:", "and len(items) < 4:"),
        Mutant(
            "a pot cooks two steps at once",
            GAME,
            "Pot(thing.items, thing.timer - 1)",
            "Pot(thing.items, max(0, thing.timer - 2))",
        ),
        Mutant(
            "cooking starts one step ahead",
            GAME,
            "self.time_of(items) if starts",
            "self.time_of(items) - 1 if starts",
        ),
        Mutant(
            "the tick of the third onion is free",
            GAME,
            "self.time_of(items) if starts",
            "self.time_of(items) + 1 if starts",
        ),
        Mutant(
            "plating one tick early", GAME, 'case "dish", Pot(items, 0):', 'case "dish", Pot(items, 0 | 1):'
        ),
        Mutant(
            "plating leaves the pot full",
            GAME,
            'Outcome(Soup(items), Pot((), -1), "plate")',
            'Outcome(Soup(items), thing, "plate")',
        ),
        Mutant("a delivery is worth nothing", GAME, '"deliver", self.value_of(items))', '"deliver", 0.0)'),
        Mutant(
            "a delivered soup stays in the hand",
            GAME,
            'Outcome(None, thing, "deliver"',
            'Outcome(held, thing, "deliver"',
        ),
        Mutant(
            "picking up leaves a copy",
            GAME,
            'Outcome(item, Counter(None), "pick up")',
            'Outcome(item, thing, "pick up")',
        ),
        Mutant("putting down overwrites", GAME, "Soup(), Counter(None):", "Soup(), Counter():"),
        Mutant(
            "piles give dishes only",
            GAME,
            'Outcome(item, thing, f"take {item}")',
            'Outcome(DISH, thing, f"take {item}")',
        ),
        Mutant("an empty hand starts any pot", GAME, 'items and self.cook_start == "interact"', "items"),
        Mutant(
            "unordered soups score",
            GAME,
            "if orders and items not in orders",
            "if not orders and items not in orders",
        ),
        Mutant(
            "nobody sees what the earlier one left",
            "cogrid/_core/phases/interaction.py",
            "faced == faced[..., me]",
            "xp.arange(rules.n_agents) == i",
        ),
        Mutant(
            "nothing cooks",
            "cogrid/_core/phases/ticks.py",
            "if self.cells.size:",
            "if not self.cells.size:",
        ),
        Mutant(
            "the episode is a step longer",
            "cogrid/_core/phases/clock.py",
            "time >= rules.spec.max_steps",
            "time > rules.spec.max_steps",
        ),
    ),
)

SHAPING = Topic(
    tests=(
        "tests/envs/overcooked/test_shaping.py",
        "tests/test_golden.py",
        "tests/envs/overcooked/test_deliveries.py",
    ),
    mutants=(
        Mutant(
            "an ingredient pays 2",
            REWARDS,
            "return 3.0 * event.verb.startswith",
            "return 2.0 * event.verb.startswith",
        ),
        Mutant("plating pays 3", REWARDS, "return 5.0 *", "return 3.0 *"),
        Mutant("a delivery pays the actor alone", REWARDS, "_delivered, team=True", "_delivered, team=False"),
        Mutant("lying dishes do not count", REWARDS, "_PLENTY = 1000", "_PLENTY = 0"),
        Mutant(
            "idle pots want no dish",
            REWARDS,
            "thing.timer >= 0 or 0 < len(thing.items) < 3",
            "thing.timer >= 0",
        ),
        Mutant("a full idle pot wants a dish", REWARDS, "0 < len(thing.items) < 3", "0 < len(thing.items)"),
        Mutant(
            "dishes are counted once a step",
            REWARDS_FILE,
            "balance.append(balance[i] + change[..., i : i + 1])",
            "balance.append(balance[i])",
        ),
        Mutant(
            "points go to the other agent",
            REWARDS_FILE,
            "points = rules.lookup(term.points, events.row)",
            "points = rules.lookup(term.points, events.row)[..., ::-1]",
        ),
    ),
)

ORDERS = Topic(
    tests=(
        "tests/envs/overcooked/test_orders.py",
        "tests/envs/overcooked/test_deliveries.py",
        "tests/test_golden.py",
    ),
    mutants=(
        Mutant("the newest order is answered", ORDERS_FILE, "return thing.left if", "return -thing.left if"),
        Mutant(
            "a soup that nobody ordered is free",
            ORDERS_FILE,
            "Reply(None, -self.wrong_cost)",
            "Reply(None, 0.0)",
        ),
        Mutant("an order waits a step longer", ORDERS_FILE, "thing.left > 1:", "thing.left > 0:"),
        Mutant(
            "expired orders are free", ORDERS_FILE, "self.expiry_cost if thing is not None else 0.0", "0.0"
        ),
        Mutant("onions are ordered twice as often", ORDERS_FILE, "*none, *new)", "*none, new[0], *new)"),
        Mutant(
            "tomatoes are worth as much as onions",
            "cogrid/envs/overcooked/lineage.py",
            "tomatoes * t for",
            "tomatoes * o for",
        ),
    ),
)

SIGHT = Topic(
    tests=(
        "tests/test_golden.py",
        "tests/envs/overcooked/test_layouts.py",
        "tests/envs/overcooked/test_horizon.py",
    ),
    mutants=(
        Mutant(
            "starts are exchanged",
            "cogrid/envs/overcooked/layouts.py",
            "O  2O\n        X1  X",
            "O  1O\n        X2  X",
        ),
        Mutant(
            "planes of pot and counter exchanged",
            FEATURES,
            '"pot", "counter", "onion pile"',
            '"counter", "pot", "onion pile"',
        ),
        Mutant(
            "own and other planes exchanged",
            FEATURES,
            '"own" if own else "other"',
            '"other" if own else "own"',
        ),
        Mutant(
            "north and south exchanged", FEATURES, 'UP: "north", DOWN: "south"', 'UP: "south", DOWN: "north"'
        ),
        Mutant("a cooking pot looks ready", FEATURES, '"soup ready": int(timer == 0)', '"soup ready": 1'),
        Mutant("urgent one step early", GAME, '("urgent", 40)', '("urgent", 41)'),
    ),
)

GENERATED = Topic(
    tests=("tests/envs/overcooked/test_generated.py",),
    mutants=(
        Mutant(
            "inner counters part rooms",
            GENERATED_FILE,
            "np.array([_joined(bits) for bits in range(256)])",
            "np.ones(256, bool)",
        ),
        Mutant(
            "things stand in the window",
            GENERATED_FILE,
            "sketch.beside(floor) & solid & ~site.window",
            "sketch.beside(floor) & solid",
        ),
        Mutant(
            "a sketch draws one number",
            "cogrid/_core/state/sketch.py",
            "self._drawn += count",
            "self._drawn += 0",
        ),
    ),
)

TOPICS = (
    COOKING,
    SHAPING,
    ORDERS,
    SIGHT,
    GENERATED,
)
