"""The conformance check: what every environment must guarantee, built-in or your own."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from cogrid._core.author.kinds import writes
from cogrid._core.author.options import checked_integer
from cogrid._core.compile.checking import check_looks
from cogrid._core.compile.spec import MAX_TIME, Spec
from cogrid._core.phases.clock import Clock
from cogrid._core.phases.entering import Entering
from cogrid._core.phases.interaction import Interaction
from cogrid._core.phases.joining import Joining
from cogrid._core.phases.leaving import Leaving
from cogrid._core.phases.movement import Movement
from cogrid._core.phases.rewards import Rewards
from cogrid._core.purity import ImpureError, check_pure
from cogrid._core.rules import compile_rules
from cogrid._io.messages import brief
from cogrid.backend import rng
from cogrid.backend.backends import BACKENDS, installed
from cogrid.backend.env_state import EnvState
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.registry import find, spec_of, warn_unpaid
from cogrid.testing.exercise import Exercise, exercise
from cogrid.testing.unused import unused_methods

#: Phases that every game has, or that change nothing without a verb.
STILL = (Movement, Interaction, Joining, Entering, Leaving, Rewards, Clock)


def check_env(
    spec: Spec | str, backends: Sequence[str] | None = None, *, steps: int = 60, seed: int = 0
) -> Checked:
    """Play random episodes of a spec and raise an AssertionError at the first broken guarantee.

    Instead of a spec, it takes any name that `cogrid.make` does.

    Checked on every installed backend (or those named): shapes and spaces, the PettingZoo adapter, equal bits
    for equal seeds, a batch equal to its environments run alone, backends equal to each other, no rewards
    after the end, out-of-range actions, snapshots, rules that depend on their arguments alone, and draws that
    match their odds. Warns about reward terms that can never be paid. Returns how often each verb occurred in
    these episodes, and what else was exercised.
    """
    checked_integer("steps", steps, 1, MAX_TIME)
    if backends is None:
        backends = installed()
    if isinstance(backends, str) or not backends:
        raise ValueError(f"backends={brief(backends)} names no backends: give some of {', '.join(BACKENDS)}.")
    is_named = isinstance(spec, str)
    if isinstance(spec, str):
        spec = spec_of(find(spec), {})  # warns of unpaid terms
    try:
        check_pure(spec, times=3)
    except ImpureError as error:
        raise AssertionError(str(error).rstrip(".")) from error
    if not is_named:  # or it was warned of when it was found
        warn_unpaid(spec, type(spec.game).__name__, stacklevel=3)
    check_looks(spec)
    _check_how_to_play(spec)
    _check_that_something_happens(spec)
    tapes = {}
    for backend in backends:
        env = CoGridEnv(spec, backend, infos=True)
        _check_adapter(env, seed)
        tapes[backend] = _check_functions(env, steps, seed)
        _check_end(CoGridEnv(spec.override(max_steps=3), backend), seed)
        _check_snapshot(env, seed)
    _check_boards(CoGridEnv(spec, backends[0]), seed)
    first = tapes[backends[0]]
    for backend in backends[1:]:
        _assert_tapes(first, tapes[backend], f"{backends[0]} and {backend} differ")
    _check_counts(env, first)
    codes = np.concatenate([np.ravel(entry[-1]["verb"]) for entry in first if len(entry) > 2])
    verbs = {verb: int((codes == code).sum()) for code, verb in enumerate(env.verbs) if verb}
    return Checked(verbs, exercise(spec, steps, seed))


def _check_how_to_play(spec: Spec) -> None:
    known = [action.name for action in spec.actions]
    for name in spec.how_to_play.split("`")[1::2]:
        if name not in known:
            raise AssertionError(
                f"{type(spec.game).__name__}.how_to_play has {brief(name)} in backticks, which is no action: "
                f"choose one of {', '.join(known)}, or leave the backticks out"
            )


def _check_that_something_happens(spec: Spec) -> None:
    rules, game = compile_rules(spec, "numpy"), type(spec.game)
    walks_only = all(isinstance(phase, STILL) for phase in rules.phases) and not rules.verbs[1:]
    is_meant = writes(rules.game, "rewards")  # who writes them is told of terms that never pay
    if is_meant or not walks_only or rules.rewards.terms:
        return
    unused = " and ".join(f"{game.__name__}.{name}" for name in unused_methods(spec.game))
    raise AssertionError(
        f"nothing can happen in {game.__name__} but walking: no rule returns an outcome, nothing changes by "
        "itself, and nothing is paid (if that is meant, write rewards that say so)"
        + (f"; nothing calls {unused}" if unused else "")
    )


#: Rules that every step asks, so that one that was not counted changed nothing.
TICKS = ("tick", "Near.tick", "Hands.tick", "Slot.tick", "OneCell")


class Checked(dict[str, int]):
    """How often each verb occurred, and which of the game's rules came into play.

    `hooks` says how often each rule did, `draws` how often each value of a `Chance` was drawn. Printing it
    shows a table of all of these.
    """

    def __init__(self, verbs: dict[str, int], exercised: Exercise) -> None:
        super().__init__(verbs)
        self.hooks, self.draws = exercised

    def __str__(self) -> str:
        """One line for each verb, rule and draw."""
        lines = [f"verb {name}: {times}" for name, times in self.items()]
        for name, times in self.hooks.items():
            lines.append(f"rule {name}: {times or ('changed nothing' if name in TICKS else 'never tried')}")
        return "\n".join([*lines, *(f"drawn {one}" for one in self.draws)])


def _info_fields(infos: dict[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The infos of a step as flat NumPy arrays, including the reward terms."""
    terms = {f"reward {name}": points for name, points in infos["rewards"].items()}
    return {name: np.asarray(value) for name, value in (infos | terms).items() if name != "rewards"}


def _check_adapter(env: CoGridEnv, seed: int) -> None:
    runs = []
    for _ in range(2):
        obs, _ = env.reset(seed=seed)
        generator, run = np.random.default_rng(seed), [obs]
        for _ in range(5):
            if not env.agents:
                break
            actions = {agent: int(generator.integers(env.rules.n_actions)) for agent in env.agents}
            obs, *_ = env.step(actions)
            run.append(obs)
        runs.append(run)
    for left, right in zip(*runs, strict=True):
        assert left.keys() == right.keys(), "the same seed and actions left other agents living"
        for agent, seen in left.items():
            space = env.observation_space(agent)
            assert space.contains(seen), (
                f"agent {agent} sees {seen.dtype} {seen.shape}, which is not in {space}"
            )
            assert seen.tobytes() == right[agent].tobytes(), (
                "the same seed and actions gave other observations"
            )


def _check_functions(env: CoGridEnv, steps: int, seed: int) -> list[tuple[Any, ...]]:
    """Play a batch, and its first and last environment alone; returns all results of the batch."""
    batch, n = 4, env.spec.num_agents
    keys = rng.split(rng.key(seed), batch)
    compiled = env.rules.backend.compiled
    reset, step = compiled(env.reset_fn), compiled(env.step_fn)
    alone = {i: reset(keys[i]) for i in (0, batch - 1)}
    state, obs = reset(keys)
    tape: list[tuple[Any, ...]] = [(state.plain(), np.asarray(obs))]
    generator = np.random.default_rng(seed)
    shape = (batch, n, *env.observation_space(0).shape)
    for _ in range(steps):
        actions = generator.integers(-1, env.rules.n_actions + 1, (batch, n)).astype(
            np.int32
        )  # some out of range
        state, obs, rewards, done, infos = step(state, actions)
        assert obs.shape == shape, f"observations have shape {obs.shape}, not {shape}"
        assert rewards.shape == (batch, n), f"rewards have shape {rewards.shape}, not {(batch, n)}"
        assert rewards.dtype == np.float32, f"rewards are {rewards.dtype}, not float32"
        assert done.shape == (batch,), f"done has shape {done.shape}, not {(batch,)}"
        assert np.isfinite(np.asarray(obs)).all(), "an observation is not finite"
        tape.append(
            (
                state.plain(),
                *map(np.asarray, (obs, rewards, done)),
                _info_fields(infos),
            )
        )
        for i in alone:
            single = step(alone[i][0], actions[i])
            alone[i] = single
            of_batch = {name: value[i] for name, value in tape[-1][0].items()}
            _assert_fields(
                single[0].plain(),
                of_batch,
                f"environment {i} alone differs from its slice of the batch",
            )
            np.testing.assert_array_equal(np.asarray(single[1]), tape[-1][1][i])
            np.testing.assert_array_equal(np.asarray(single[2]), tape[-1][2][i])
        if np.asarray(done).any():  # start their next episodes
            renewed = compiled(env.renew_fn)
            state, obs = renewed(state, obs, done)
            tape.append((state.plain(), np.asarray(obs)))
            alone = {i: renewed(*single[:2], single[3]) for i, single in alone.items()}
    return tape


def _check_counts(env: CoGridEnv, tape: list[tuple[Any, ...]]) -> None:
    """Check that the counts match the events, until the end."""
    for (before, *_), (*rest, infos) in itertools.pairwise(tape):
        if len(rest) == 1:  # the start of further episodes
            continue
        counts = dict(zip(env.counters, np.moveaxis(infos["counts"], -1, 0), strict=True))  # (B, n) each
        for code, verb in enumerate(env.verbs):
            if verb:
                assert np.array_equal(counts[verb], infos["verb"] == code), f"{verb!r} is counted wrongly"
        assert np.array_equal(counts["moves"], infos["moved"]), "moves are counted wrongly"
        assert (counts["contests"] <= infos["bumped"]).all(), "a contest was counted of an agent that got on"
        busy = infos["moved"] | (infos["verb"] > 0) | before["done"][:, None]
        assert not (counts["idle steps"] * busy).any(), "a step was counted as idle that was not"


def _check_end(env: CoGridEnv, seed: int) -> None:
    step = env.rules.backend.compiled(env.step_fn)
    state, _ = env.rules.backend.compiled(env.reset_fn)(rng.key(seed))
    first = state
    noops = np.full(env.spec.num_agents, env.rules.noop, np.int32)
    for count in range(1, 6):
        state, _, rewards, done, _ = step(state, noops)
        if count < 3 and bool(done):
            why = _why_ended(env, first)
            raise AssertionError(f"with max_steps=3, an episode of noops ended after step {count}{why}")
        assert count < 3 or bool(done), f"with max_steps=3, an episode had not ended after step {count}"
        assert count <= 3 or not np.asarray(rewards).any(), "a reward was paid after the end"


def _why_ended(env: CoGridEnv, first: EnvState) -> str:
    """What is over at the start already, for an error; "" if nothing is."""
    name = type(env.spec.game).__name__
    reasons = {
        "Ends.remaining": f", since by Ends of {name} nothing remains at the start",
        "Ends.hand": f", since Ends.hand of {name} is true for all agents at the start",
    }
    conditions = env.rules.clock.conditions
    over = [one.name for one in conditions if np.asarray(one(env.rules, first)).all()]
    return reasons[over[0]] if over else ""


def _check_snapshot(env: CoGridEnv, seed: int) -> None:
    env.reset(seed=seed)
    snapshot = json.loads(json.dumps(env.get_state()))
    before = env.env_state.plain()
    env.set_state(snapshot)
    _assert_fields(env.env_state.plain(), before, "a snapshot did not restore the state")


def _check_boards(env: CoGridEnv, seed: int) -> None:
    """Check that generated boards are valid, and that episodes can start from pools of states and boards."""
    keys, compiled = rng.split(rng.key(seed), 64), env.rules.backend.compiled
    reset = compiled(env.reset_fn)
    state, _ = reset(keys)
    if env.rules.generates:
        repaired = np.flatnonzero(np.asarray(state.repaired))
        name = type(env.spec.game).__name__
        assert not repaired.size, (
            f"Generated.draw of {name} drew a board that is no board of this spec for child {repaired[0]} of "
            f"seed {seed}: {len(repaired)} of 64 were repaired"
        )
    again, _ = reset(keys, pool=state)
    assert set(map(bytes, np.asarray(again.pos))) <= set(map(bytes, np.asarray(state.pos))), (
        "a pool of states began with something that is not in it"
    )
    if env.rules.open:
        codes = env.encode_board(list(env.spec.layout))
        pooled, _ = reset(keys, pool=codes)
        assert not np.asarray(pooled.repaired).any(), "a layout of the spec was repaired"


def _assert_tapes(left: list[tuple[Any, ...]], right: list[tuple[Any, ...]], message: str) -> None:
    for number, (one, other) in enumerate(zip(left, right, strict=True)):
        _assert_fields(one[0], other[0], f"{message} at step {number}")
        assert len(one) == len(other), f"{message} at step {number}: episodes end at other times"
        for a, b in zip(one[1:4], other[1:4], strict=True):
            assert a.dtype == b.dtype, f"{message} at step {number}: {a.dtype} and {b.dtype}"
            assert np.array_equal(a, b), f"{message} at step {number}"
        if len(one) > 2:
            _assert_fields(one[4], other[4], f"{message} in the infos at step {number}")


def _assert_fields(left: dict[str, Any], right: dict[str, Any], message: str) -> None:
    assert left.keys() == right.keys(), f"{message}: fields {sorted(left)} and {sorted(right)}"
    for name, value in left.items():
        assert np.array_equal(value, right[name]), f"{message}: {name}"
