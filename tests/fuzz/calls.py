"""Targets that take arguments: make, layouts, step and reset, replace, rollouts, and messages of the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

import cogrid
from cogrid._apps.play.server import Server
from cogrid._apps.play.session import SPEEDS, Session
from cogrid.backend import rng
from tests.fuzz.files import episodes
from tests.fuzz.games import EVERY, ROOM
from tests.fuzz.grammar import mostly, numbers, scalars
from tests.fuzz.judge import Refused, Wrong, agreed
from tests.fuzz.target import Attempt, Games, Source, Target, played
from tests.support import BACKENDS, HAS_JAX

COMPILED = 60  # one of so many accepted specs is compiled by JAX and compared

small = st.integers(1, 4)
soups = st.lists(st.lists(st.sampled_from(["onion", "tomato"]), min_size=1, max_size=4), max_size=3)
boards = st.builds(
    lambda rows, tail: "\n".join(rows) + tail,
    st.integers(2, 7).flatmap(
        lambda width: st.lists(
            st.text("XXXOPDST# 12", min_size=width, max_size=width), min_size=2, max_size=6
        )
    ),
    st.sampled_from(["", "", "\n", "\nX"]),
)
#: Boards with a closed border.
kitchens = st.builds(
    lambda inside, edge: "\n".join(
        [(edge * 9)[: len(inside[0]) + 2]]
        + [f"{edge[0]}{row}{edge[-1]}" for row in inside]
        + [(edge[::-1] * 9)[: len(inside[0]) + 2]]
    ),
    st.integers(2, 6).flatmap(
        lambda width: st.lists(st.text("  XOPD12", min_size=width, max_size=width), min_size=1, max_size=4)
    ),
    st.text("XXOPDS#", min_size=4, max_size=6),
)
layouts = st.one_of(kitchens, boards, st.text(max_size=12), st.lists(kitchens, max_size=3))
#: What `make` takes for itself.
ADAPTER: dict[str, st.SearchStrategy[Any]] = {
    "infos": st.booleans(),
    "backend": st.sampled_from(["numpy", "numpy", "numpy", "jxa"]),
    "render_mode": st.sampled_from([None, "ansi", "rgb_array"]),
    "tile_size": st.integers(4, 16),
    "shadow": st.sampled_from([None, False]),
}
#: Options whose default does not tell what else they can be.
OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    **ADAPTER,
    "max_steps": st.integers(1, 9),
    "num_agents": small,
    "action_set": st.sampled_from(["cardinal", "rotation", "moves"]),
    "observation": st.sampled_from(["features", "lossless", "window", "none"]),
    "window": st.sampled_from([1, 3, 5, 7]),
    "shaping": st.sampled_from([0.0, 0.5, -1, 100.0, 0.1]),
    "random_start": st.booleans(),
    "layout": layouts,
    "cook_time": st.integers(1, 30),
    "cook_start": st.sampled_from(["auto", "interact"]),
    "orders": st.one_of(st.none(), soups),
    "bonus_orders": soups,
    "recipes": st.lists(
        st.tuples(st.sampled_from([["onion"], ["tomato", "onion"]]), numbers, small), max_size=2
    ),
    "order_bonus": st.floats(-1e6, 1e6),
    "soup_value": st.floats(-1e6, 1e6),
    "map_size": st.integers(3, 9),
    "density": st.floats(0, 1),
}
ids = st.sampled_from([*(game.id for game in EVERY), "Overcooked-CounterCircuit-V0"])


def options(id: Any, usual: int) -> st.SearchStrategy[dict[str, Any]]:
    """Some options of an environment, mostly with values that fit."""
    own = cogrid.options(id) if isinstance(id, str) and id in cogrid.registered() else {}
    known = {name: OPTIONS[name] if name in OPTIONS else like(value) for name, value in own.items()} | ADAPTER
    strange = st.dictionaries(st.text("abc_", max_size=4), scalars, max_size=1)
    return st.lists(st.sampled_from(sorted(known)), max_size=usual, unique=True).flatmap(
        lambda chosen: st.builds(
            lambda known, unknown: unknown | known,
            st.fixed_dictionaries({name: mostly(known[name]) for name in chosen}),
            st.integers(0, 9).flatmap(lambda draw: st.just({}) if draw else strange),
        )
    )


def like(value: Any) -> st.SearchStrategy[Any]:
    """Values of the same kind as a default."""
    match value:
        case bool():
            return st.booleans()
        case int():
            return st.integers(0, 2 * value + 2)
        case float():
            return st.floats(-1, 2)
        case tuple() | list():
            return st.lists(st.one_of(small, st.sampled_from([*value] or [0])), max_size=4)
        case None:
            return st.one_of(st.none(), small)
        case _:
            return st.one_of(st.just(value), st.text(max_size=6))


def _plays(make: Callable[..., cogrid.CoGridEnv], compiles: Callable[[], bool]) -> None:
    """An environment that was made can be played; now and then by JAX too, to the same bits."""
    env = make()
    obs, _ = env.reset(seed=3)
    for agent, seen in obs.items():
        if not env.observation_space(agent).contains(seen):
            raise Wrong(f"agent {agent} sees what its observation space does not hold")
    played([env], Random(1), 3)
    if HAS_JAX and env.backend == "numpy" and compiles():
        other = make(backend="jax")
        env.reset(seed=4), other.reset(seed=4)
        if env.get_state() != other.get_state():
            raise Wrong("numpy and jax begin differently")
        played([env, other], Random(2), 4)


def _one_of(many: int) -> Callable[[], bool]:
    """True once in so many calls."""
    calls = iter(range(10**9))
    return lambda: next(calls) % many == many - 1


def made(folder: Path, games: Games) -> tuple[Source, Attempt]:
    """`make` and `make_vec` with any options."""
    compiles = _one_of(COMPILED)
    source = st.tuples(
        mostly(ids).flatmap(lambda id: st.tuples(st.just(id), options(id, 4))),
        st.one_of(st.none(), st.none(), mostly(small)),
        mostly(st.sampled_from(["same-step", "next-step"])),
    )

    def attempt(given: Any) -> None:
        (id, changes), num_envs, autoreset = given
        if num_envs is None:
            _plays(lambda **more: cogrid.make(id, **changes | more), compiles)
            return
        plain = {name: one for name, one in changes.items() if name not in ("render_mode", "tile_size")}
        if isinstance(num_envs, int) and num_envs > 64:
            num_envs = -num_envs  # that many may be right, but not for a test
        batch = cogrid.make_vec(id, num_envs, autoreset=autoreset, **plain)
        batch.reset(seed=1)
        shape = (batch.num_envs, batch.spec.num_agents)
        rewards = batch.step(np.zeros(shape, int))[1]
        if rewards.shape != shape or not np.isfinite(rewards).all():
            raise Wrong(f"rewards are {rewards}")

    return source, attempt


def lettered(id: str) -> st.SearchStrategy[str]:
    """Boards of a game's own letters, most of them inside a wall."""
    letters = "".join(cogrid.make(id).spec.game.legend)
    rows = st.integers(2, 7).flatmap(
        lambda width: st.lists(
            st.text(f"    12{letters}", min_size=width, max_size=width), min_size=1, max_size=5
        )
    )
    return st.builds(
        lambda rows, edge: (
            "\n".join([edge * (len(rows[0]) + 2), *(f"{edge}{row}{edge}" for row in rows)])
            + f"\n{edge * (len(rows[0]) + 2)}"
        ),
        rows,
        st.sampled_from(["#", "#", "X", letters[-1]]),
    )


def drawn(folder: Path, games: Games) -> tuple[Source, Attempt]:
    """Layouts as text."""
    compiles = _one_of(COMPILED)
    source = st.tuples(
        st.one_of(
            st.tuples(st.just(ROOM), layouts),
            st.sampled_from(games).flatmap(lambda game: st.tuples(st.just(game.id), lettered(game.id))),
        ),
        st.integers(1, 3),
        st.booleans(),
        st.booleans(),
    )

    def attempt(given: tuple[tuple[str, Any], int, bool, bool]) -> None:
        (id, layout), agents, random_start, any_board = given
        changes = {"layout": layout, "num_agents": agents, "random_start": random_start, "max_steps": 5}
        _plays(lambda **more: cogrid.make(id, **changes | more, any_board=any_board), compiles)

    return source, attempt


def stepped(folder: Path, games: Games) -> tuple[Source, Attempt]:
    """`step` and `reset` of both adapters; backends agree about what they accept, and on the result."""
    groups = [game.made() for game in games]
    vectors = [cogrid.make_vec(ROOM, 2, backend=name, max_steps=7) for name in BACKENDS]
    for group in (*groups, vectors):
        for env in group:
            env.reset(seed=5)
    actions = mostly(
        st.one_of(st.integers(0, 4), st.sampled_from([np.int8(3), np.uint64(2), np.array(4), 8]))
    )

    def joint(which: int) -> st.SearchStrategy[Any]:
        agents = groups[which][0].possible_agents
        return st.tuples(
            st.just("step"),
            st.just(which),
            st.one_of(
                mostly(st.fixed_dictionaries(dict.fromkeys(agents, actions))),
                st.dictionaries(mostly(st.sampled_from(agents)).filter(_hashable), actions, max_size=3),
            ),
        )

    arrays = st.builds(
        lambda values, kind: np.array(values).astype(kind),
        st.lists(st.lists(st.integers(0, 7), min_size=2, max_size=2), min_size=2, max_size=2),
        st.sampled_from(["i8", "i4", "u1", "i2"]),
    )
    seeds = mostly(st.one_of(st.integers(0, 2**40), st.lists(st.integers(0, 99), min_size=2, max_size=2)))
    source = st.one_of(
        st.integers(0, len(groups) - 1).flatmap(joint),
        st.integers(0, len(groups) - 1).flatmap(joint),
        st.tuples(st.just("vector"), st.just(0), mostly(arrays)),
        st.tuples(st.just("reset"), st.integers(0, len(groups) - 1), seeds),
        st.tuples(st.just("vector reset"), st.just(0), seeds),
    )

    def attempt(given: tuple[str, int, Any]) -> None:
        kind, which, value = given
        if kind.startswith("vector"):
            call = "reset" if kind == "vector reset" else "step"
            if call == "reset" and value is None:
                return  # fresh seeds
            found = agreed(*[lambda env=env: getattr(env, call)(value) for env in vectors])
            told = [
                [np.asarray(part).tobytes() for part in one[: 4 if call == "step" else 1]] for one in found
            ]
        else:
            envs = groups[which]
            if kind == "reset":
                found = agreed(*[lambda env=env: env.reset(seed=value) for env in envs])
                if value is None:
                    return
            else:
                if not envs[0].agents:
                    for env in envs:
                        env.reset(seed=6)
                found = agreed(*[lambda env=env: env.step(value) for env in envs])
            told = [env.get_state() for env in envs]
        if any(one != told[0] for one in told):
            raise Wrong("the backends differ")

    return source, attempt


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def replaced(folder: Path, games: Games) -> tuple[Source, Attempt]:
    """`replace` with any attributes; what is accepted plays the same on all backends."""
    groups = [game.made() for game in games]
    for group in groups:
        for env in group:
            env.reset(seed=7)
    cells = [env[0].rules.n_cells for env in groups]

    def values(which: int) -> dict[str, st.SearchStrategy[Any]]:
        rules = groups[which][0].rules
        n, things = rules.n_agents, rules.n_things

        def many(low: int, high: int, count: int) -> st.SearchStrategy[Any]:
            return st.lists(st.integers(low, high), min_size=count, max_size=count)

        slots = len(rules.slots.names) if rules.slots is not None else 0
        grid = (rules.height, rules.width)
        where = st.tuples(st.integers(0, grid[0] - 1), st.integers(0, grid[1] - 1))
        return {
            "agent_dir": many(0, 3, n),
            "agent_pos": st.lists(where, min_size=n, max_size=n),
            "pos": many(0, cells[which] - 1, n),
            "held": many(0, rules.n_items - 1, n),
            "agent_inv": st.lists(many(-1, 9, 1), min_size=n, max_size=n),
            "cells": many(0, things - 1, cells[which]),
            "time": st.integers(0, rules.spec.max_steps),
            "done": st.booleans(),
            "shaping_weight": st.floats(-100, 100),
            "rng_key": st.integers(0, 2**32).map(rng.key),
            "layout": st.just(0),
            "ended": st.lists(st.booleans(), min_size=n, max_size=n),
            "slots": many(0, len(rules.slots.things) - 1 if rules.slots is not None else 3, slots),
            "wall_map": st.just(np.zeros(grid, bool)),
            "object_type_map": st.just(np.array(groups[which][0].env_state.object_type_map)),
        }

    def changes(which: int) -> st.SearchStrategy[Any]:
        known = values(which)
        return st.lists(st.sampled_from(sorted(known)), min_size=1, max_size=3, unique=True).flatmap(
            lambda names: st.tuples(
                st.just(which), st.fixed_dictionaries({name: mostly(known[name]) for name in names})
            )
        )

    source = st.integers(0, len(groups) - 1).flatmap(changes)
    begins = [[env.env_state for env in group] for group in groups]

    def attempt(given: tuple[int, dict[str, Any]]) -> None:
        which, fields = given
        envs = groups[which]
        calls = [
            lambda env=env, state=state: env.replace(state, **fields)
            for env, state in zip(envs, begins[which], strict=True)
        ]
        for env, state in zip(envs, agreed(*calls), strict=True):
            try:
                env.set_state(state)
            except (ValueError, TypeError) as error:
                raise Wrong(f"replace made a state that set_state refuses: {error}") from None
        if any(env.get_state() != envs[0].get_state() for env in envs):
            raise Wrong("the backends made different states")
        played(envs, Random(8), 3)

    return source, attempt


def rolled(folder: Path, games: Games) -> tuple[Source, Attempt]:
    """`rollout` with any arguments; the sums are those of the trajectory, whatever the chunks."""
    env = cogrid.make(ROOM, backend="jax", max_steps=3)
    few = st.integers(1, 2)
    usual: dict[str, st.SearchStrategy[Any]] = {
        "key": st.integers(0, 2**33),
        "num_envs": few,
        "num_steps": few,
        "chunk": st.integers(1, 3),
        "keep": st.sampled_from(["sums", "trajectory"]),
        "devices": st.sampled_from([None, 1]),
        "checkpoint_every": small,
        "policy": st.none(),
        "params": st.none(),
        "policy_id": st.sampled_from([None, "v1"]),
    }
    given = {name: mostly(one) for name, one in usual.items() if name not in ("num_envs", "num_steps")}
    source = st.fixed_dictionaries({"num_envs": mostly(few), "num_steps": mostly(few)}, optional=given)
    known: dict[Any, bytes] = {}

    def attempt(arguments: dict[str, Any]) -> None:
        for name in ("num_envs", "num_steps"):
            if isinstance(arguments[name], int) and arguments[name] > 99:
                arguments = arguments | {name: -1}  # may be right, but takes too long
        run = cogrid.rollout(env, **arguments)
        sums = np.asarray(run.sums.rewards)
        if run.trajectory is not None and run.trajectory["rewards"].sum(axis=0).tobytes() != sums.tobytes():
            raise Wrong("the sums are not those of the trajectory")
        key = np.asarray(arguments.get("key", 0)).tobytes(), arguments["num_envs"], arguments["num_steps"]
        told = np.asarray(run.state.cells).tobytes() + np.asarray(run.state.pos).tobytes() + sums.tobytes()
        if known.setdefault(key, told) != told:
            raise Wrong("the same rollout in other chunks ends elsewhere")

    return source, attempt


def messages(folder: Path, games: Games) -> tuple[Source, Attempt]:
    """What a page sends; a mistake changes nothing, and the game goes on."""
    texts = [replay.text() for _, replay in episodes(games)]
    session = Session(ROOM, seed=1)
    plain = st.one_of(scalars, st.lists(scalars, max_size=3), st.dictionaries(st.text(max_size=3), scalars))
    names = session.env.action_names

    def field(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.integers(0, 3).flatmap(lambda draw: usual if draw else plain)

    commands = {
        "act": {"agent": field(st.integers(0, 1)), "action": field(st.sampled_from(names))},
        "pause": {"paused": field(st.booleans())},
        "speed": {"speed": field(st.sampled_from(SPEEDS))},
        "choose": {
            "id": field(ids),
            "partner": field(st.sampled_from(["scripted", "random", "trained"])),
            "people": field(st.lists(st.integers(0, 1), max_size=2)),
        },
        "show": {"text": field(st.sampled_from([*texts, texts[0][:90], "{}"]))},
        "leave": {},
    }

    def command(name: str) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries({"do": st.just(name)}, optional=commands[name])

    source = st.one_of(
        field(st.sampled_from(["act", "act", *commands]).flatmap(command)).map(_json),
        st.sampled_from(["", "[", "null", "[" * 5000, '{"do":"act"', "NaN", '{"do":1e999}', '"\\ud800"']),
        st.text(max_size=20),
    )
    server = Server(session)
    server._socket.close()

    def attempt(text: str) -> None:
        before = _told(session)
        answers = server._obey(text)
        for answer in answers:
            json.dumps(answer, allow_nan=False)
        if [answer["kind"] for answer in answers] == ["error"]:
            if _told(session) != before:
                raise Wrong("it was refused, but the game is another now")
            words = answers[0]["words"]
            if "\n" in words or len(words) > 600:
                raise Wrong(f"its error is no sentence: {words[:160]!r}")
            raise Refused(words)
        session.step()

    return source, attempt


def _json(value: Any) -> str:
    return json.dumps(value, default=str)


def _told(session: Session) -> Any:
    """All that a page can see of a game."""
    seen = session.id, session.partner, session.people, session.speed, session.paused
    return seen, session.env.get_state()


TARGETS = (
    Target("make and make_vec", 110, made),
    Target("layouts", 60, drawn),
    Target("step and reset", 130, stepped),
    Target("replace", 90, replaced),
    *([Target("rollout", 25, rolled, ("jax",))] if HAS_JAX else []),
    Target("messages of the page", 100, messages, ("websockets",)),
)
