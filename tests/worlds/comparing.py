"""Comparing: random actions in random states of random worlds, the engine beside the interpreter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from random import Random
from typing import Any

import numpy as np

from cogrid._core.rules import Rules, compile_rules
from cogrid._core.state.boards import encode
from cogrid._core.step import functions
from cogrid.backend import rng
from cogrid.backend.env_state import EnvState
from tests.worlds import interpreter
from tests.worlds.counting import Counts, note
from tests.worlds.dice import EngineDice, ResetDice
from tests.worlds.generator import World, generate
from tests.worlds.states import BATCH, alone, mixed, moved_to, random_actions, stacked, world_of

STEPS = 8  # of each environment; states are mixed anew in every second one
#: What the infos tell of an event.
TOLD = ("verb", "item", "target", "moved")


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
    one_by_one = world.seed % 4 == 0  # where NumPy takes other paths
    reset = resetter(rules if world.seed % 4 == 2 else plain, one_by_one)  # JAX compiles few of them
    state = first = moved_to(plain, reset(keys))
    _judge_reset(world, plain, keys, state, None, counts)
    if world.given is not None:
        state = first = moved_to(plain, reset(keys, encode(world.spec, "\n".join(world.given))))
        _judge_reset(world, plain, keys, state, world.given, counts)
    used: dict[bytes, set[int]] = defaultdict(set)  # numbers drawn, by their key
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
        _judge(world, plain, state, actions, after, paid, done, infos, used, counts)
        state = after


def resetter(rules: Rules, one_by_one: bool) -> Callable[..., EnvState]:
    """Reset of a batch, to a board if one is given."""
    reset_fn = rules.backend.compiled(lambda keys, board=None: functions(rules).reset(keys, board)[0])
    if one_by_one and rules.backend.name == "numpy":
        return lambda keys, board=None: stacked([reset_fn(key, board) for key in keys])
    return reset_fn


def _judge_reset(
    world: World, rules: Rules, keys: Any, state: EnvState, given: tuple[str, ...] | None, counts: Counts
) -> None:
    """Compare first states."""
    spec = rules.spec
    layouts = [layout.padded(spec.height, spec.width, digits=True) for layout in spec.layout]
    for k in range(BATCH):
        counts.resets += 1
        dice, found = ResetDice(rules, keys[k], counts), world_of(rules, state, k)
        try:
            expected = interpreter.reset(
                spec.game, layouts, spec.num_agents, dice, random_start=spec.random_start, given=given
            )
        except LookupError as error:
            note(world, counts, found, [], found, None, ["the first state", str(error)])
            continue
        wrong = [] if found == expected.world else ["the first state"]
        wrong += [] if bool(state.repaired[k]) is expected.repaired else ["what was repaired"]
        _count_met(world, counts, {**expected.met, "Chance": dice.thrown})
        if wrong:
            note(world, counts, expected.world, [], found, expected.world, wrong)


def _count_met(world: World, counts: Counts, met: Mapping[str, int]) -> None:
    """Count what came into play, of the hooks that the world writes."""
    counts.met.update({hook: often for hook, often in met.items() if hook in world.hooks})


def _judge(
    world: World,
    rules: Rules,
    before: EnvState,
    actions: Any,
    after: EnvState,
    rewards: Any,
    done: Any,
    infos: Any,
    used: dict[bytes, set[int]],
    counts: Counts,
) -> None:
    """Compare one step of a batch, environment by environment."""
    spec = rules.spec
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
        words, time = before.words[k], int(before.clock[k])
        dice = EngineDice(rules, rules.draws, words, time, counts, used[words.tobytes()])
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
        _count_met(world, counts, {**expected.met, "Chance": dice.thrown})
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
