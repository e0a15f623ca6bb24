"""Plant wrong rules in copies of the project, one at a time, and check that the tests catch each."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("cogrid", "tests", "pyproject.toml")

#: Boards and golden trajectories must catch what is wrong on both backends alike; NumPy alone shows it.
BOARDS: tuple[str, ...] = (
    *("tests/test_golden.py", "tests/envs/overcooked", "tests/core/test_movement.py", "-k", "not jax"),
    "--deselect=tests/core/test_movement.py::test_nobody_shares_a_cell_or_passes_through",
)
#: Parity must catch what is wrong on one backend only.
PARITY = ("tests/parity", "-k", "(CrampedRoom and (lossless or window)) or (Arena and window)")


#: Boards and counts of the rule language, on small worlds of the tests' own.
HOOKS = (
    "tests/core/test_chance.py",
    "tests/core/test_hands.py",
    "tests/core/test_moving.py",
    "tests/core/test_ends.py",
    "tests/core/test_near.py",
    "tests/core/test_meeting.py",
    "tests/core/test_slots.py",
    "tests/core/test_joining.py",
    "tests/core/test_views.py",
    "tests/core/test_sights.py",
    "tests/core/test_leaving.py",
    "tests/core/test_boards.py",
    "tests/core/test_edges.py",
    "tests/envs/overcooked/test_generated.py",
    "-k",
    "not jax and not conformance",
)

#: Boards of the other families.
FAMILIES = (
    *("tests/envs/commons", "tests/envs/foraging", "tests/envs/goals", "tests/envs/search_rescue"),
    *("tests/envs/arena", "tests/core/test_placing.py", "-k"),
    "not jax and not parity and not conformance and not scripted and not greed and not cleaners",
)


class Mutant(NamedTuple):
    """One wrong line: `old` becomes `new` in `file`."""

    name: str
    file: str
    old: str
    new: str


GAME = "cogrid/envs/overcooked/game.py"
TERMS = "cogrid/envs/overcooked/rewards.py"
SIGHT = "cogrid/envs/overcooked/features.py"
ORDERS = "cogrid/envs/overcooked/orders.py"
LINEAGE = "cogrid/envs/overcooked/lineage.py"
REWARDS = "cogrid/core/rewards.py"
MOVEMENT = "cogrid/core/movement.py"
INTERACTION = "cogrid/core/interaction.py"

WRONG_RULES = (
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
    Mutant("plating one tick early", GAME, 'case "dish", Pot(items, 0):', 'case "dish", Pot(items, 0 | 1):'),
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
        "an ingredient pays 2",
        TERMS,
        "return 3.0 * event.verb.startswith",
        "return 2.0 * event.verb.startswith",
    ),
    Mutant("plating pays 3", TERMS, "return 5.0 *", "return 3.0 *"),
    Mutant("a delivery pays the actor alone", TERMS, "_delivered, team=True", "_delivered, team=False"),
    Mutant("lying dishes do not count", TERMS, "_PLENTY = 1000", "_PLENTY = 0"),
    Mutant(
        "idle pots want no dish", TERMS, "thing.timer >= 0 or 0 < len(thing.items) < 3", "thing.timer >= 0"
    ),
    Mutant("a full idle pot wants a dish", TERMS, "0 < len(thing.items) < 3", "0 < len(thing.items)"),
    Mutant(
        "dishes are counted once a step",
        REWARDS,
        "balance.append(balance[i] + change[..., i : i + 1])",
        "balance.append(balance[i])",
    ),
    Mutant(
        "points go to the other agent",
        REWARDS,
        "points = rules.lookup(term.points, events.row)",
        "points = rules.lookup(term.points, events.row)[..., ::-1]",
    ),
    Mutant(
        "swaps are allowed",
        MOVEMENT,
        "return (want == their_want) | ((want == their_pos) & (pos == their_want))",
        "return want == their_want",
    ),
    Mutant(
        "contests are ignored",
        MOVEMENT,
        "return (want == their_want) | (",
        "return (want != want) | (",
    ),
    Mutant("a bounce stops one in the queue", MOVEMENT, "stop, want, rules.n_agents - 1)", "stop, want, 1)"),
    Mutant(
        "a blocked agent does not turn",
        MOVEMENT,
        "pose=state.pose + rules.lookup(rules.turn, choice)",
        "pose=state.pose + xp.where(want != pos, rules.lookup(rules.turn, choice), 0)",
    ),
    Mutant(
        "nobody sees what the earlier one left",
        INTERACTION,
        "faced == faced[..., me]",
        "xp.arange(rules.n_agents) == i",
    ),
    Mutant("nothing cooks", "cogrid/core/ticks.py", "if rules.ticking.size:", "if not rules.ticking.size:"),
    Mutant(
        "the episode is a step longer",
        "cogrid/core/termination.py",
        "time >= rules.spec.max_steps",
        "time > rules.spec.max_steps",
    ),
    Mutant(
        "up and down are exchanged",
        "cogrid/core/actions.py",
        'Action("up", face=UP',
        'Action("up", face=DOWN',
    ),
    Mutant(
        "starts are exchanged",
        "cogrid/envs/overcooked/layouts.py",
        "O  2O\n        X1  X",
        "O  1O\n        X2  X",
    ),
    Mutant(
        "planes of pot and counter exchanged",
        SIGHT,
        '"pot", "counter", "onion pile"',
        '"counter", "pot", "onion pile"',
    ),
    Mutant("own and other planes exchanged", SIGHT, '"own" if own else "other"', '"other" if own else "own"'),
    Mutant("north and south exchanged", SIGHT, 'UP: "north", DOWN: "south"', 'UP: "south", DOWN: "north"'),
    Mutant("the newest order is answered", ORDERS, "return thing.left if", "return -thing.left if"),
    Mutant("a soup that nobody ordered is free", ORDERS, "Reply(None, -self.wrong_cost)", "Reply(None, 0.0)"),
    Mutant("an order waits a step longer", ORDERS, "thing.left > 1:", "thing.left > 0:"),
    Mutant("expired orders are free", ORDERS, "self.expiry_cost if thing is not None else 0.0", "0.0"),
    Mutant("onions are ordered twice as often", ORDERS, "*none, *new)", "*none, new[0], *new)"),
    Mutant("tomatoes are worth as much as onions", LINEAGE, "tomatoes * t for", "tomatoes * o for"),
    Mutant("urgent one step early", GAME, '("urgent", 40)', '("urgent", 41)'),
    Mutant("a cooking pot looks ready", SIGHT, '"soup ready": int(timer == 0)', '"soup ready": 1'),
)

#: Boards, odds and recorded games of OvercookedV2.
KITCHENS_V2 = ("tests/test_golden_v2.py", "tests/envs/overcooked_v2", "-k", "not jax")
GAME_V2 = "cogrid/envs/overcooked_v2/game.py"
TERMS_V2 = "cogrid/envs/overcooked_v2/rewards.py"
SIGHT_V2 = "cogrid/envs/overcooked_v2/features.py"
STARTS_V2 = "cogrid/envs/overcooked_v2/starts.py"

WRONG_V2 = (
    Mutant("a button stays lit too long", GAME_V2, "BUTTON_TIME = 10", "BUTTON_TIME = 11"),
    Mutant("a button costs nothing", TERMS_V2, "BUTTON_COST = 5.0", "BUTTON_COST = 0.0"),
    Mutant("a button takes any hand", GAME_V2, "case None, Button():", "case _, Button():"),
    Mutant("a dark button shows the recipe", SIGHT_V2, "and thing.lit > 0)", "and thing.lit >= 0)"),
    Mutant(
        "wrong soups cost nothing",
        GAME_V2,
        "return -self.soup_value if self.negative_rewards else 0.0",
        "return 0.0",
    ),
    Mutant(
        "the recipe stays after a delivery",
        GAME_V2,
        "if thing.served == 1 and self.sample_recipe_on_delivery:",
        "if False:",
    ),
    Mutant(
        "any delivery draws a recipe",
        GAME_V2,
        'event.verb == "deliver" and event.held == Soup(thing.items)',
        'event.verb == "deliver"',
    ),
    Mutant("a delivery is shown for good", GAME_V2, "served = 2 * (thing.served == 1 and", "served = 2 * ("),
    Mutant("every ingredient is useful", TERMS_V2, "(event.thing.items.count(ingredient) <", "(-1 <"),
    Mutant("every soup is useful", TERMS_V2, "(event.thing.items == _items(recipe))", "True"),
    Mutant("dishes count as they were left", TERMS_V2, "hands_at_start=True", "hands_at_start=False"),
    Mutant("pots count as the step began", TERMS_V2, "demand_at_start=False", "demand_at_start=True"),
    Mutant(
        "full idle pots stay idle",
        GAME_V2,
        'Outcome(held, Pot(items, self.cook_time), "light")',
        "None",
    ),
    Mutant("random pots are fuller", STARTS_V2, "for n in (1, 2, 3) for", "for n in (2, 3, 3) for"),
    Mutant("random hands are fuller", STARTS_V2, "(50, 10, 25, 15)", "(40, 20, 25, 15)"),
    Mutant("all agents see alike", SIGHT_V2, "instead.get(word, word)", "word"),
    Mutant("a recipe is not shown", SIGHT_V2, '**_paint_items("recipe", recipe.items)', "**{}"),
    Mutant("soups are raw", SIGHT_V2, 'f"{of} cooked": 1, **', "**"),
    Mutant("a pot hides its clock", SIGHT_V2, '"cook time left": max(0, timer)', '"cook time left": 0'),
)

FIELD = "cogrid/envs/foraging/game.py"
SITE = "cogrid/envs/search_rescue/game.py"
PLACING = "cogrid/core/placing.py"
RESET = "cogrid/core/reset.py"
COMMONS = "cogrid/envs/commons/game.py"
FIGURES = "cogrid/envs/commons/figures.py"

WRONG_FAMILIES = (
    Mutant("apples leave bare floor", COMMONS, "Outcome(held, GRASS, EAT", "Outcome(held, FLOOR, EAT"),
    Mutant("who was zapped eats on", COMMONS, "thing == APPLE and held is None", "thing == APPLE"),
    Mutant("an apple pays the eater alone", COMMONS, "team=self.common", "team=False"),
    Mutant("beams are shorter", COMMONS, "Aim(reach=3, width=1)", "Aim(reach=2, width=1)"),
    Mutant("beams are narrower", COMMONS, "Aim(reach=3, width=1)", "Aim(reach=3, width=0)"),
    Mutant("players are out a step longer", COMMONS, "and held > 1 else", "and held > 0 else"),
    Mutant("players come back anywhere", COMMONS, "return thing == PAD", "return thing in (PAD, FLOOR)"),
    Mutant("a lost patch grows again", COMMONS, "(0, 1, 5, 25)", "(1, 1, 5, 25)"),
    Mutant("three apples are like two", COMMONS, "(0, 1, 5, 25)", "(0, 1, 5, 5)"),
    Mutant("apples count from nearer by", COMMONS, "most=3, radius=2", "most=3, radius=1"),
    Mutant("dirt matters less", COMMONS, "2 * self.river - 5 * count", "2 * self.river - 4 * count"),
    Mutant("the river is dirty too soon", COMMONS, "out_of=2, since=50", "out_of=2, since=49"),
    Mutant("the river is dirty too fast", COMMONS, "out_of=2, since=50", "out_of=1, since=50"),
    Mutant(
        "cleaning takes the water too", COMMONS, "Outcome(held, WATER, CLEAN)", "Outcome(held, FLOOR, CLEAN)"
    ),
    Mutant("greed is equality", FIGURES, "1 - gaps /", "gaps /"),
    Mutant("who eats nothing eats at once", FIGURES, "(eaten > 0).sum(axis=-1), 1", "players, 1"),
    Mutant("eating is never late", "cogrid/core/report.py", "before.clock[..., None, None], 0)", "0, 0)"),
    Mutant("food takes more than its level", FIELD, "if total < thing.level:", "if total <= thing.level:"),
    Mutant("foragers cannot swap", FIELD, "swaps: ClassVar[bool] = True", "swaps: ClassVar[bool] = False"),
    Mutant(
        "foragers load before they move",
        FIELD,
        "moves_first: ClassVar[bool] = True",
        "moves_first: ClassVar[bool] = False",
    ),
    Mutant("food at the edge", FIELD, "apart=3, margin=2", "apart=3, margin=1"),
    Mutant("food side by side", FIELD, "apart=3, margin=2", "apart=2, margin=2"),
    Mutant("coop food is light", FIELD, "most if self.force_coop else", "most if False else"),
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
    Mutant("levels of two digits do not fit", FIELD, '"[-2:]', '"'),
    Mutant(
        "things pile up in the first cell",
        PLACING,
        "one_of(which, ranks[..., -1:]) + np.uint32(1)",
        "np.uint32(1)",
    ),
    Mutant("things where agents stand", "cogrid/core/reset.py", "free = ~stood(", "free = stood("),
    Mutant(
        "the strongest count as the weakest",
        PLACING,
        "strength[..., : placed.weakest]",
        "strength[..., -placed.weakest :]",
    ),
    Mutant("counted slots begin at nothing", RESET, "rules.xp.clip(total, 0, slot.most)", "0 * total"),
    Mutant(
        "scattered things cover agents",
        RESET,
        "(cells == symbols[legend[FLOOR]]) & ~stood(every, pos)",
        "(cells == symbols[legend[FLOOR]])",
    ),
    Mutant("half as much is scattered", RESET, "round(density * 2**24)", "round(density * 2**23)"),
    Mutant(
        "a shared goal is nobody's", "cogrid/envs/goals/game.py", "not in (held, SHARED)", "not in (held,)"
    ),
    Mutant("a step is paid for", "cogrid/envs/goals/game.py", "-self.step_price", "self.step_price"),
    Mutant(
        "one agent saves a red victim",
        SITE,
        "if held.agent != victim.treated_by else None",
        "if True else None",
    ),
    Mutant("treated victims wait a step less", SITE, "if thing.left > 1 else", "if thing.left > 2 else"),
    Mutant(
        "any tool clears rubble",
        SITE,
        "thing == RUBBLE and held.tool == PICKAXE",
        "thing == RUBBLE and held.tool",
    ),
    Mutant("full hands take tools", SITE, "or held.tool is not None:", "or held.tool == KEY:"),
)

WRONG_BACKENDS = (
    Mutant(
        "NumPy batches write into the first environment",
        "cogrid/backend/_numpy.py",
        "out.reshape(-1)[_flat(grid, index)] = value",
        "out.reshape(-1)[index] = value",
    ),
    Mutant(
        "NumPy settles in one pass", "cogrid/backend/_numpy.py", "range(passes, 0, -1)", "range(1, 0, -1)"
    ),
    Mutant(
        "NumPy reads the neighbour's cells",
        "cogrid/backend/_numpy.py",
        "return grid.take(_flat(grid, index))",
        "return grid.take(_flat(grid, index) - 1)",
    ),
    Mutant(
        "JAX settles in one pass", "cogrid/backend/_jax.py", "for _ in range(passes):", "for _ in range(1):"
    ),
    Mutant(
        "JAX adds instead of writing",
        "cogrid/backend/_jax.py",
        "return lax.scatter(grid,",
        "return lax.scatter_add(grid,",
    ),
    Mutant(
        "JAX conflicts must be with everybody, oneself included",
        "cogrid/backend/_jax.py",
        "return functools.reduce(operator.or_, found)",
        "return functools.reduce(operator.and_, found)",
    ),
    Mutant(
        "JAX exchanges the words of a key",
        "cogrid/backend/_jax.py",
        "return jax.random.wrap_key_data(words,",
        "return jax.random.wrap_key_data(words[..., ::-1],",
    ),
)


CHANCE = "cogrid/core/chance.py"
RULES = "cogrid/core/rules.py"
ENTERING = "cogrid/core/entering.py"
PRICES = "cogrid/core/prices.py"
TERMINATION = "cogrid/core/termination.py"
AIMING = "cogrid/core/aiming.py"
REPLYING = "cogrid/core/replying.py"
JOINING = "cogrid/core/joining.py"
PLANES = "cogrid/core/planes.py"
TICKS = "cogrid/core/ticks.py"
LEAVING = "cogrid/core/leaving.py"
BOARDS_AS_DATA = "cogrid/core/boards.py"
GENERATED = "cogrid/envs/overcooked/generated.py"

WRONG_HOOKS = (
    Mutant(
        "a draw at its bound is still below it", CHANCE, "later = drawn >= lookup", "later = drawn > lookup"
    ),
    Mutant("weights are rounded down", CHANCE, "sum_ * SCALE + total // 2", "sum_ * SCALE"),
    Mutant(
        "all draws are those of purpose 0",
        CHANCE,
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
        "cogrid/core/reset.py",
        "drawn = rules.chance or rules.start_draws.numbers.size > 0 or",
        "drawn =",
    ),
    Mutant(
        "things start under agents as well",
        "cogrid/core/reset.py",
        "rules.xp.where(kept, seen, begun)",
        "begun",
    ),
    Mutant(
        "all agents share one draw",
        INTERACTION,
        "rows[i], events.drawn[..., me]",
        "rows[i], events.drawn[..., :1]",
    ),
    Mutant(
        "the first cell is never chosen",
        TICKS,
        "ranks == one_of(draw, count) + np.uint32(1)",
        "ranks == one_of(draw, count)",
    ),
    Mutant("the lower half of a draw is dropped", CHANCE, "+ (low >> np.uint32(12))", ""),
    Mutant("a hand that cannot move turns", RULES, "after = np.where(can_move, after, facing)", "pass"),
    Mutant(
        "a hand that cannot move walks",
        RULES,
        "for a in actions])[:, None] & can_move",
        "for a in actions])[:, None]",
    ),
    Mutant("a hand that cannot act acts", RULES, "np.where(can_act, rows[:, None], 0)", "rows[:, None]"),
    Mutant(
        "hands stay as they are",
        TICKS,
        "_hands(rules))] if rules.live_hands else []",
        "_hands(rules))] if False else []",
    ),
    Mutant("hands tick without chance", TICKS, "if by_pose.n_branches > 1:", "if False:"),
    Mutant("first hands are not drawn", RESET, "if hands.n_branches > 1:", "if False:"),
    Mutant("letters begin as they are", RESET, "if rules.starting.size:", "if False:"),
    Mutant(
        "all begin with the first agent's hand",
        "cogrid/core/reset.py",
        "agents = np.arange(rules.n_agents,",
        "agents = np.zeros(rules.n_agents,",
    ),
    Mutant("who stands enters", ENTERING, "row = xp.where(moved, row, events.row)", "row = row"),
    Mutant(
        "what was entered stays",
        ENTERING,
        "cells=rules.put(state.cells, where, thing)",
        "cells=state.cells",
    ),
    Mutant(
        "out of range is the last action",
        "cogrid/core/step.py",
        "type(rules.out_of_range)",
        "type(rules.n_actions - 1)",
    ),
    Mutant("all act before they move", "cogrid/core/step.py", "if rules.moves_first else", "if False else"),
    Mutant("neighbours never change places", MOVEMENT, "_contend if rules.swaps else _meet", "_meet"),
    Mutant(
        "further actions are all the first", "cogrid/core/spec.py", "intent=FURTHER + k)", "intent=FURTHER)"
    ),
    Mutant("who has ended pays on", PRICES, "points if before.ended is None else", "points if True else"),
    Mutant("a load is free", PRICES, "term.points(name, items[held])", "term.points(name, None)"),
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
    Mutant("hands end nobody", TERMINATION, "return rules.lookup(hands, state.pose)", "return state.ended"),
    Mutant(
        "a circle is a square",
        "cogrid/core/answers.py",
        '"circle": math.hypot',
        '"circle": lambda r, c: max(abs(r), abs(c))',
    ),
    Mutant(
        "a cell counts itself",
        "cogrid/core/answers.py",
        "if 0 < distance(r, c) <= radius",
        "if distance(r, c) <= radius",
    ),
    Mutant(
        "counts are mirrored",
        "cogrid/backend/_numpy.py",
        "out[(..., *here)] += board[(..., *there)]",
        "out[(..., *here)] += board[(..., *here)]",
    ),
    Mutant(
        "the count goes over its most",
        TICKS,
        "rules.xp.minimum(rules.pick(total, rules.chancy),",
        "rules.xp.maximum(rules.pick(total, rules.chancy),",
    ),
    Mutant(
        "agents hide nobody",
        AIMING,
        "(things < rules.n_walkable) & (other == n)",
        "things < rules.n_walkable",
    ),
    Mutant("walls hide nobody", AIMING, "clear = clear & open_[..., row, :]", "pass"),
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
        "lookup(rules.swap_other, line)",
        "lookup(rules.swap_other, line) * 0",
    ),
    Mutant(
        "all act with their first hands",
        INTERACTION,
        "(pose - state.pose)[..., me]",
        "(pose - pose)[..., me]",
    ),
    Mutant("every slot answers", REPLYING, "found.append(waits & answer)", "found.append(answer)"),
    Mutant("the greatest rank answers", REPLYING, "ahead = own[k] < own[j] if", "ahead = own[k] > own[j] if"),
    Mutant("replies change no slot", REPLYING, "slots[k] = xp.where(answers, afters[k], slots[k])", "pass"),
    Mutant("what expires is free", REWARDS, "return points + events.expired if", "return points if"),
    Mutant(
        "points go by the slot of the next step",
        PRICES,
        "before.slots[..., index : index + 1].astype",
        "now.slots[..., index : index + 1].astype",
    ),
    Mutant(
        "slots are shown everywhere",
        PLANES,
        "shown if isinstance(shown, bool) else plane in shown for",
        "True for",
    ),
    Mutant(
        "all see as the first agent does",
        PLANES,
        "state.slots[..., first : first + rules.n_agents] for first",
        "state.slots[..., first : first + 1] for first",
    ),
    Mutant("a mood comes before the eyes", PLANES, "[before[way] for before", "[way[before] for before"),
    Mutant(
        "a feature tells another slot",
        "cogrid/core/slots.py",
        "state.slots[..., index : index + 1]",
        "state.slots[..., :1]",
    ),
    Mutant(
        "free directions are those of the layout",
        "cogrid/core/features.py",
        "if not _opens_or_closes(rules):",
        "if True:",
    ),
    Mutant(
        "nobody helps",
        JOINING,
        "cell == cell[..., me], strength[..., me], np.int32(0)",
        "cell == cell[..., me], strength, np.int32(0)",
    ),
    Mutant("who stands by gets a share", JOINING, "xp.where(works, row, alone)", "row"),
    Mutant(
        "strength has no limit",
        JOINING,
        "xp.minimum(total, np.int32(rules.most_strength))",
        "total % np.int32(rules.most_strength + 1)",
    ),
    Mutant(
        "who cannot act helps",
        RULES,
        "game.strength(item) if acts(game, item) else 0",
        "game.strength(item)",
    ),
    Mutant(
        "others' facings do not turn",
        PLANES,
        "[_table(rules, facing - UP) for facing in range(4)]",
        "[_table(rules, 0)] * 4",
    ),
    Mutant(
        "windows are mirrored",
        "cogrid/core/cropping.py",
        "STRIDES[(facing + 1) % 4]",
        "STRIDES[(facing - 1) % 4]",
    ),
    Mutant(
        "inner counters part rooms",
        GENERATED,
        "np.array([_joined(bits) for bits in range(256)])",
        "np.ones(256, bool)",
    ),
    Mutant(
        "things stand in the window",
        GENERATED,
        "sketch.beside(floor) & solid & ~site.window",
        "sketch.beside(floor) & solid",
    ),
    Mutant("one cell changes too early", TICKS, ">= np.int32(one.since)", ">= np.int32(0)"),
    Mutant(
        "who is away stays",
        LEAVING,
        "lift(tables.parking, pos.ndim), pos)",
        "pos, pos)",
    ),
    Mutant("who left never returns", LEAVING, "back = (pos >= rules.n_cells)", "back = (pos < 0)"),
    Mutant("who is away takes actions", TERMINATION, "[*idle, state.away] if rules.leaves else idle", "idle"),
    Mutant(
        "a taken point is free",
        LEAVING,
        "stood(tables.cells, pos), np.uint32(0), free",
        "free > 0, free, free",
    ),
    Mutant(
        "two return to one point", LEAVING, "xp.where(hit, np.uint32(0), ranks - later", "(ranks + 0 * later"
    ),
    Mutant(
        "the first free point is always taken",
        LEAVING,
        "one_of(drawn[..., me], count) + np.uint32(1)",
        "one_of(drawn[..., me], count * 0) + np.uint32(1)",
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
    Mutant("an open edge stays open", BOARDS_AS_DATA, "edge & lookup(table.opens, codes)", "edge & ~edge"),
    Mutant(
        "nothing is too many",
        BOARDS_AS_DATA,
        "(ranks > lift(most[:, None]",
        "(ranks > 99 + lift(most[:, None]",
    ),
    Mutant(
        "a start may be there twice", BOARDS_AS_DATA, 'xp.where(flaws["twice"], table.wall, codes)', "codes"
    ),
    Mutant(
        "all rooms are one",
        BOARDS_AS_DATA,
        "(names[..., None, :] == own[..., None])",
        "(names[..., None, :] >= 0) & (own[..., None] >= 0)",
    ),
    Mutant("a pool is its first", RESET, "1)[..., 0] % np.uint32(count)", "1)[..., 0] % np.uint32(1)"),
    Mutant("episodes of a pool share their chance", RESET, "state.evolve(words=words,", "state.evolve("),
    Mutant("a sketch draws one number", "cogrid/core/sketch.py", "self._drawn += count", "self._drawn += 0"),
    Mutant(
        "the nearest one is that of the nearest row",
        "cogrid/core/offsets.py",
        "abs(rows)[:, None] + abs(columns)",
        "abs(rows)[:, None] + 0 * abs(columns)",
    ),
)


def wrong_text(mutant: Mutant) -> str:
    """The text of the mutant's file with the wrong line in it."""
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    if (count := text.count(mutant.old)) != 1:
        raise SystemExit(f"mutant {mutant.name!r}: its line stands {count} times in {mutant.file}, not once.")
    return text.replace(mutant.old, mutant.new)


def plant(mutant: Mutant | None, folder: Path) -> None:
    """Copy the project into the folder, with the wrong line in it."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    if mutant is not None:
        (folder / mutant.file).write_text(wrong_text(mutant), encoding="utf-8")


def run_tests(mutant: Mutant | None, selection: tuple[str, ...]) -> tuple[bool, str]:
    """Whether all selected tests passed on the copy, and the last lines that pytest printed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plant(mutant, folder)
        environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        where = subprocess.run(
            [sys.executable, "-c", "import cogrid; print(cogrid.__file__)"],
            cwd=folder, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        if where.returncode == 0 and not where.stdout.startswith(str(folder.resolve())):
            raise SystemExit(f"the copy was not imported, but {where.stdout.strip()}.")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *selection],
            cwd=folder, env=environment, capture_output=True, text=True,
        )  # fmt: skip
    if done.returncode not in (0, 1):  # a copy that cannot even be imported is no wrong rule
        raise SystemExit(f"pytest could not run: {done.stdout[-500:]}{done.stderr[-500:]}")
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return done.returncode == 0, lines[0] if lines else (done.stdout.strip().splitlines() or [""])[-1]


def main() -> int:
    """0 if every mutant was caught, 1 if one survived or the project fails as it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="only mutants whose name contains TEXT")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many copies at once")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    options = parser.parse_args()
    chosen = [(m, BOARDS) for m in WRONG_RULES] + [(m, HOOKS) for m in WRONG_HOOKS]
    chosen += [(m, KITCHENS_V2) for m in WRONG_V2] + [(m, FAMILIES) for m in WRONG_FAMILIES]
    chosen += [(m, PARITY) for m in WRONG_BACKENDS]
    chosen = [(mutant, tests) for mutant, tests in chosen if options.only in mutant.name]
    for mutant, _ in chosen:
        wrong_text(mutant)  # a line that was edited since is told at once, not after an hour
    if options.list:
        for mutant, tests in chosen:
            print(f"{'one backend' if tests is PARITY else 'both backends'}: {mutant.name}")
        return 0
    for selection in dict.fromkeys(tests for _, tests in chosen):
        passed, last = run_tests(None, selection)
        print(f"as it is: {last}", flush=True)
        if not passed:
            return 1
    survivors = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda pair: run_tests(*pair), chosen)
        for (mutant, _), (survived, last) in zip(chosen, results, strict=True):
            survivors += survived
            print(f"{'SURVIVED' if survived else 'caught'}: {mutant.name} ({last[:150]})", flush=True)
    print(f"{len(chosen) - survivors} caught, {survivors} survived")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
