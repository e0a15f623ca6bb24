"""What the tests of the rule language share: drawing boards, playing on a backend, exact bounds of counts."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import cogrid
from cogrid.backend import rng
from cogrid.render import ansi


@functools.lru_cache(maxsize=64)
def made(spec: Any, backend: str) -> Any:
    """One environment with infos for each spec and backend, so that everything compiles once."""
    return cogrid.CoGridEnv(spec, backend, infos=True)


def fresh(spec: Any, backend: str, seed: int = 0) -> Any:
    """The first state of an episode."""
    env = made(spec, backend)
    return env.rules.backend.compiled(env.reset_fn)(rng.key(seed))[0]


def after(spec: Any, backend: str, state: Any, *joint: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
    """State, rewards, done and infos after these joint actions, given by name or number."""
    env = made(spec, backend)
    numbers = [action if isinstance(action, int) else env.action_names.index(action) for action in joint]
    step = env.rules.backend.compiled(env.step_fn)
    state, _, rewards, done, infos = step(state, np.array(numbers, np.int32))
    named = {name: np.asarray(value) for name, value in flat(infos).items()}
    return state, np.asarray(rewards), bool(done), named | {"verbs": [env.verbs[k] for k in named["verb"]]}


def flat(infos: dict[str, Any]) -> dict[str, Any]:
    """The infos with the reward terms beside the others, as "reward NAME"."""
    terms = {f"reward {name}": points for name, points in infos["rewards"].items()}
    return {name: value for name, value in infos.items() if name != "rewards"} | terms


def drawn(spec: Any, backend: str, state: Any) -> str:
    """The board as text, two characters a cell, without the border."""
    rows = ansi.text(made(spec, backend).rules, state).split("\n")[1:-1]
    return "\n".join(row[2:].ljust(99)[: 2 * (state.width - 2)].rstrip() for row in rows)


def initials(thing: Any) -> str:
    """A glyph for games of the tests: blank floor, solid walls, the initial of everything else."""
    kind = thing[0] if isinstance(thing, tuple) else thing
    return {"floor": "  ", "wall": "##"}.get(kind) or f"{kind[0]} "


def altered(part: Any, path: str, change: Callable[..., Any]) -> Any:
    """A part with one of its functions changed; "start.count" is `count` of its field `start`."""
    field, _, inside = path.partition(".")
    value = getattr(part, field)
    return replace(part, **{field: altered(value, inside, change) if inside else change(value)})


def picture(text: str) -> str:
    """A drawn board as it stands in a test: indentation and empty lines around it are dropped."""
    lines = [line for line in text.split("\n") if line.strip()]
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    return "\n".join(line[margin:].rstrip() for line in lines)


def bounds(n: int, share: int, tail: float = 1e-6) -> tuple[int, int]:
    """The fewest and most hits in n draws of probability share / 2²⁴, but for the two tails.

    Terms further than 15 deviations from the mean are beyond any tail that is asked for.
    """
    p = share / 2**24
    reach = 40 + 15 * math.sqrt(n * p * (1 - p))
    first, last = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))

    def log_of(k: int) -> float:
        ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        return ways + k * math.log(p) + (n - k) * math.log1p(-p)

    mass = np.exp([log_of(k) for k in range(first, last + 1)])
    low = first + int((np.cumsum(mass) < tail).sum())
    high = last - int((np.cumsum(mass[::-1]) < tail).sum())
    return low, high


STEPS, BATCH = 400, 16


def busy(spec: Any, often: tuple[str, ...] = ("interact",), seed: int = 7) -> np.ndarray[Any, Any]:
    """(steps, batch, n) actions: runs into one direction, the actions in `often`, some out of range."""
    names = made(spec, "numpy").action_names
    generator, shape = np.random.default_rng(seed), (STEPS, BATCH, spec.num_agents)
    runs = np.repeat(generator.integers(-1, len(names) + 1, shape)[: STEPS // 2], 2, axis=0)
    acts = generator.choice([names.index(name) for name in often], shape)
    return np.where(generator.random(shape) < 0.4, acts, runs).astype(np.int32)


def tape(spec: Any, backend: str, actions: np.ndarray[Any, Any], batched: bool = True) -> dict[str, Any]:
    """Everything that a batch, or its first environment alone, gives in all steps: name -> (steps, …)."""
    env = made(spec, backend)
    words = rng.split(rng.key(11), BATCH)
    if not batched:
        words, actions = words[0], actions[:, 0]
    if backend != "jax":
        state, _ = env.reset_fn(words)
        frames = []
        for joint in actions:
            state, obs, rewards, done, infos = env.step_fn(state, joint)
            frames.append(state.stored() | flat(infos) | {"obs": obs, "rewards": rewards, "done": done})
        return {name: np.stack([frame[name] for frame in frames]) for name in frames[0]}
    import jax

    def advance(state: Any, joint: Any) -> Any:
        state, obs, rewards, done, infos = jax.vmap(env.jax_step)(state, joint)
        return state, state.stored() | flat(infos) | {"obs": obs, "rewards": rewards, "done": done}

    first = jax.jit(jax.vmap(env.jax_reset))(words)[0]
    frames = jax.jit(lambda state, actions: jax.lax.scan(advance, state, actions)[1])(first, actions)
    return {name: np.asarray(value) for name, value in frames.items()}


def parity(spec: Any, backends: tuple[str, ...], often: tuple[str, ...] = ("interact",)) -> tuple[Any, Any]:
    """Play 400 busy steps, the same bits on both backends and alone; counts of verbs, and the tape."""
    actions = busy(spec, often)
    ours = tape(spec, "numpy", actions)
    others = [(tape(spec, "numpy", actions, batched=False), "alone", 0)]
    others += [
        (tape(spec, backend, actions), backend, slice(None)) for backend in backends if backend != "numpy"
    ]
    for theirs, what, part in others:
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():
            np.testing.assert_array_equal(value[:, part], theirs[name], err_msg=f"{what}: {name}")
    verbs = made(spec, "numpy").verbs
    return {verb: int((ours["verb"] == code).sum()) for code, verb in enumerate(verbs) if verb}, ours
