"""Comparing: random actions in random states of random worlds, the engine beside the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from random import Random
from typing import Any

import numpy as np

from cogrid._core.rules import Rules, compile_rules
from cogrid._core.step import functions
from cogrid.backend import rng
from cogrid.backend.env_state import EnvState
from tests.worlds import interpreter
from tests.worlds.counting import Counts, note
from tests.worlds.dice import EngineDice
from tests.worlds.generator import World, generate
from tests.worlds.states import BATCH, alone, mixed, moved_to, random_actions, stacked, world_of

STEPS = 8  # of each environment; states are mixed anew in every second one
#: What the infos tell of an event.
TOLD = ("verb", "item", "target", "moved")
#: Hooks that always apply, so that every step of a world that has them counts.
FLAGS = frozenset(
    {"near", "moves_first", "walkable", "hand", "slots", "own_slots", "start"}
    | {"placed", "scattered", "layouts", "any_board"}
)


def compare(
    seeds: Iterable[int], backend: str, progress: Callable[[Counts], None] = lambda counts: None
) -> Counts:
    """Play the worlds of these seeds and compare every transition."""
    counts = Counts(backend)
    for seed in seeds:
        progress(counts)
        try:
            world = generate(seed)
            rules = compile_rules(world.spec, backend)
            step = rules.backend.compiled(stepper(rules, is_mapped=backend == "jax" and seed % 4 == 1))
        except ValueError as error:
            counts.refused += 1
            counts.examples.append(f"world {seed} was refused: {error}")
            continue
        counts.worlds += 1
        counts.hooks.update(world.hooks)
        counts.pairs.update(", ".join(pair) for pair in combinations(sorted(world.hooks), 2))
        _play(world, rules, step, counts)
    return counts


def stepper(rules: Rules, is_mapped: bool) -> Callable[..., tuple[EnvState, Any, Any, dict[str, Any]]]:
    """The step, with only those of the infos that are compared: JAX compiles no others."""
    step_fn = functions(rules, infos=True).step

    def step(state: EnvState, actions: Any) -> tuple[EnvState, Any, Any, dict[str, Any]]:
        state, _, rewards, done, infos = step_fn(state, actions)
        return state, rewards, done, {name: infos[name] for name in TOLD}

    if is_mapped:
        import jax

        return jax.vmap(step)
    return step


def _play(world: World, rules: Rules, step: Any, counts: Counts) -> None:
    plain = compile_rules(world.spec, "numpy")  # states are made and changed on NumPy, whatever the backend
    generator, random = np.random.default_rng(world.seed), Random(world.seed)
    keys = rng.split(rng.key(world.seed), BATCH)
    state = first = functions(plain).reset(keys)[0]
    _judge_reset(world, plain, keys, state, counts)
    one_by_one = world.seed % 4 == 0  # where NumPy takes other paths
    for number in range(STEPS):
        if number % 2 == 0:
            state = mixed(plain, state, first, random)
        actions = random_actions(world, rules, generator)
        if one_by_one:
            results = [step(moved_to(rules, alone(state, k)), actions[k]) for k in range(BATCH)]
            after = stacked([moved_to(plain, result[0]) for result in results])
            paid, done = (np.stack([result[k] for result in results]) for k in (1, 2))
            infos = {name: np.stack([result[3][name] for result in results]) for name in TOLD}
        else:
            after, paid, done, infos = step(moved_to(rules, state), actions)
            after = moved_to(plain, after)
        _judge(world, plain, state, actions, after, paid, done, infos, counts)
        state = after


def _judge_reset(world: World, rules: Rules, keys: Any, state: EnvState, counts: Counts) -> None:
    """Compare the first states, except in worlds where reset places or scatters things."""
    if world.hooks & {"placed", "scattered"} or {"layouts", "any_board"} <= world.hooks:
        return  # or where the state does not tell from which of the boards it comes
    spec, drawn = rules.spec, np.zeros((BATCH, 0), np.uint32)
    if (numbers := rules.start.draws.numbers).size:
        words = rng.split_words(np, keys, 5)[:, 4]  # of things and hands
        drawn = rng.draws(words, np.zeros(BATCH, np.uint32), numbers)
    for k in range(BATCH):
        layout = spec.layout[0 if state.layout is None else int(state.layout[k])]
        dice = EngineDice(rules, rules.start.draws, drawn[k])
        rows = layout.padded(spec.height, spec.width, digits=True)
        expected, found = interpreter.reset(spec.game, rows, spec.num_agents, dice), world_of(rules, state, k)
        counts.resets += 1
        if found != expected:
            note(world, counts, expected, [], found, expected, ["the first state"])


def _judge(
    world: World,
    rules: Rules,
    before: EnvState,
    actions: Any,
    after: EnvState,
    rewards: Any,
    done: Any,
    infos: Any,
    counts: Counts,
) -> None:
    """Compare one step of a batch, environment by environment."""
    spec = rules.spec
    drawn = rng.draws(before.words, before.clock.astype(np.uint32), rules.draws.numbers)
    names = [action.name for action in spec.actions]
    over, paid, ends = before.done.tolist(), np.asarray(rewards).tolist(), np.asarray(done).tolist()
    told = {name: np.asarray(infos[name]).tolist() for name in TOLD}
    for k, was_over in enumerate(over):
        counts.steps += 1
        if was_over:  # what the state does after the end is unspecified
            if any(paid[k]) or not ends[k] or any(told["verb"][k]):
                given = world_of(rules, before, k)
                wrong = [f"after the end, rewards {paid[k]}, done {ends[k]}, verbs {told['verb'][k]}"]
                note(world, counts, given, [], given, None, wrong)
            continue
        given = world_of(rules, before, k)
        chosen = [names[a] if 0 <= a < len(names) else "noop" for a in actions[k].tolist()]
        dice = EngineDice(rules, rules.draws, drawn[k])
        try:
            expected = interpreter.step(
                spec.game,
                given,
                chosen,
                dice,
                max_steps=spec.max_steps,
                shaping=float(before.shaping_weight[k]),
            )
        except LookupError as error:
            note(world, counts, given, chosen, world_of(rules, after, k), None, [str(error)])
            continue
        found = world_of(rules, after, k)
        told_here = {name: value[k] for name, value in told.items()}
        wrong = differences(rules, found, paid[k], ends[k], told_here, expected)
        counts.met.update(expected.met)
        counts.met.update({"Chance": dice.thrown, **dict.fromkeys(FLAGS & world.hooks, 1)})
        if wrong:
            note(world, counts, given, chosen, found, expected.world, wrong)


def differences(
    rules: Rules,
    found: interpreter.World,
    rewards: list[float],
    done: bool,
    told: dict[str, Any],
    expected: interpreter.Transition,
) -> list[str]:
    """Everything in which the engine and the interpreter differ, engine first."""
    game, ids, world, known = rules.spec.game, rules.type_ids, expected.world, rules.spec.symbols.number
    pairs: list[tuple[str, Any, Any]] = []
    if found != world:
        pairs += [(f"cell {cell}", thing, world.cells[cell]) for cell, thing in found.cells.items()]
        for k, (mine, theirs) in enumerate(zip(found.agents, world.agents, strict=True)):
            both = zip(vars(mine).items(), vars(theirs).values(), strict=True)
            pairs += [(f"agent {k}'s {name}", one, other) for (name, one), other in both]
        pairs += [(f"slot {name!r}", thing, world.slots.get(name)) for name, thing in found.slots.items()]
        pairs += [("time", found.time, world.time)]
    pairs += [("rewards", rewards, expected.rewards), ("done", done, expected.done)]
    verbs, items, targets = [], [], []
    for event in expected.events:
        verbs.append(event.verb if event else "")
        items.append(ids[game.item_name(event.held)] if event and event.held is not None else -1)
        targets.append(ids[game.kind(event.thing)] if event and event.thing in known else 0)  # not of agents
    pairs += [("verbs", [rules.verbs[verb] for verb in told["verb"]], verbs)]
    pairs += [("items", told["item"], items), ("targets", told["target"], targets)]
    pairs += [("moved", told["moved"], [k in expected.moved for k in range(len(verbs))])]
    return [f"{name}: {one!r} but {other!r}" for name, one, other in pairs if one != other]
