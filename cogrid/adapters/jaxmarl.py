"""JaxMARL's conventions over the pure functions: dicts by agent, keys first, automatic reset in step."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.rules import Rules
from cogrid._core.see.observation import observe_each
from cogrid._core.see.report import action_mask
from cogrid._core.state.autoreset import restarted
from cogrid._core.state.reset import reset as first_state
from cogrid._core.step import functions
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.cogrid_env import CoGridEnv

__all__ = ("OVERCOOKED", "OVERCOOKED_V2", "JaxMARLEnv")

#: The order of the actions in JaxMARL's overcooked, and in its overcooked_v2.
OVERCOOKED = ("up", "down", "right", "left", "noop", "interact")
OVERCOOKED_V2 = ("right", "down", "left", "up", "noop", "interact")

ByAgent = dict[str, Array]
JaxMARLStepResult = tuple[ByAgent, EnvState, ByAgent, ByAgent, dict[str, Any]]


class Box(NamedTuple):
    """An observation space: the part of JaxMARL's class that its learners use."""

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: Any


class Discrete:
    """An action space: the part of JaxMARL's class that its learners use."""

    def __init__(self, num_categories: int, dtype: Any = np.int32) -> None:
        self.n, self.shape, self.dtype = num_categories, (), dtype

    def sample(self, key: Array) -> Array:
        """A random action."""
        import jax

        return jax.random.randint(key, self.shape, 0, self.n, self.dtype)


class JaxMARLEnv:
    """`JaxMARLEnv(make(..., backend="jax"))`: an environment for JaxMARL's wrappers and learners.

    Agents are called agent_0, agent_1, …. `reset` and `step` are compiled, and can be used inside `jit`,
    `vmap` and `scan`. Infos are those of the pure step, (n, …), so empty without `infos=True`. Spaces are
    JaxMARL's own if it is installed.

    With `shaped_reward=True`, rewards exclude the shaping terms and `info["shaped_reward"]` has them by
    agent, unweighted: JaxMARL's learners for Overcooked do their own annealing. The environment must have
    shaping: `make(..., shaping=1.0)`.

    `actions` names the available actions in numerical order: `OVERCOOKED` and `OVERCOOKED_V2` are those of
    JaxMARL's two kitchens. The default is the environment's own actions.
    """

    def __init__(
        self, env: CoGridEnv, *, shaped_reward: bool = False, actions: Sequence[str] | None = None
    ) -> None:
        if env.backend != "jax":
            raise ValueError(
                f"JaxMARLEnv takes a JAX environment and this one runs on {env.backend}: "
                "make(..., backend='jax')."
            )
        if shaped_reward and not env.spec.shaping:
            raise ValueError("shaped_reward=True needs an environment with shaping: make(..., shaping=1.0).")
        spaces = _spaces()
        see, rules = env.rules.observer, env.rules
        self.env = env
        self.name = str(env.metadata["name"])
        self.num_agents = rules.n_agents
        self.agents = _names(rules)
        self.observation_spaces = {
            a: spaces.Box(see.low, see.high, see.shape, see.dtype) for a in self.agents
        }
        numbers = _numbers(env, actions)
        self.action_spaces = {a: spaces.Discrete(len(numbers)) for a in self.agents}
        compiled = rules.backend.compiled
        pure = _pure(rules, env.step_fn, shaped_reward, numbers)
        self._functions = JaxMARLFunctions(*(compiled(one) for one in pure))

    def observation_space(self, agent: str | None = None) -> Any:
        """The observation space of an agent; all agents have the same one."""
        return self.observation_spaces[agent or self.agents[0]]

    def action_space(self, agent: str | None = None) -> Any:
        """The action space of an agent; all agents have the same one."""
        return self.action_spaces[agent or self.agents[0]]

    def reset(self, key: Array) -> tuple[ByAgent, EnvState]:
        """The first observations and state of an episode."""
        return self._functions.reset(key)

    def step(
        self, key: Array, state: EnvState, actions: Mapping[str, Array], reset_state: EnvState | None = None
    ) -> JaxMARLStepResult:
        """One step; a finished episode is reset with `key`, or to `reset_state`."""
        return self._functions.step(key, state, dict(actions), reset_state)

    def step_env(self, key: Array, state: EnvState, actions: Mapping[str, Array]) -> JaxMARLStepResult:
        """One step without the reset; it needs no key."""
        return self._functions.step_env(key, state, dict(actions))

    def get_obs(self, state: EnvState) -> ByAgent:
        """The observations of all agents in a state."""
        return self._functions.get_obs(state)

    def get_avail_actions(self, state: EnvState) -> ByAgent:
        """Whether each action would change anything if the agent were alone; noop is always available."""
        return self._functions.get_avail_actions(state)


class JaxMARLFunctions(NamedTuple):
    """One environment's pure functions, with JaxMARL's signatures."""

    reset: Callable[[Array], tuple[ByAgent, EnvState]]
    step: Callable[..., JaxMARLStepResult]
    step_env: Callable[..., JaxMARLStepResult]
    get_obs: Callable[[EnvState], ByAgent]
    get_avail_actions: Callable[[EnvState], ByAgent]


@functools.lru_cache(maxsize=256)
def _pure(
    rules: Rules, step_fn: Callable[..., Any], split: bool, numbers: tuple[int, ...]
) -> JaxMARLFunctions:
    """Cached, so that equal environments share compiled code."""
    pure, names = functions(rules), _names(rules)
    own_order = numbers == tuple(range(rules.n_actions))
    table = np.array([*numbers, rules.noop], np.int32)  # out-of-range actions do nothing
    if split:
        step_fn = _split(rules, step_fn)

    def by_agent(values: Array) -> ByAgent:
        return {name: values[i] for i, name in enumerate(names)}

    def seen(state: EnvState) -> ByAgent:
        return dict(zip(names, observe_each(rules, state), strict=True))

    def reset(key: Array) -> tuple[ByAgent, EnvState]:
        state, _ = pure.reset(key)
        return seen(state), state

    def step_env(key: Array, state: EnvState, actions: dict[str, Array]) -> JaxMARLStepResult:
        joint = rules.xp.stack([rules.xp.asarray(actions[name]) for name in names])
        if not own_order:
            known = (joint >= 0) & (joint < len(numbers))
            joint = rules.lookup(table, rules.xp.where(known, joint, len(numbers)).astype(np.int32))
        state, _, rewards, done, infos = step_fn(state, joint)
        ends = rules.xp.full(rules.n_agents, done) if state.ended is None else state.ended | done
        if split:
            infos = {**infos, "shaped_reward": by_agent(infos["shaped_reward"])}
        return seen(state), state, by_agent(rewards), by_agent(ends) | {"__all__": done}, infos

    def begun(last: EnvState, words: Array) -> EnvState:
        # as everywhere, an annealed weight persists across resets
        return first_state(rules, rng.split_words(rules.xp, words, 2)[..., 1, :]).evolve(weight=last.weight)

    def step(
        key: Array, state: EnvState, actions: dict[str, Array], begin: EnvState | None
    ) -> JaxMARLStepResult:
        _, last, rewards, dones, infos = step_env(key, state, actions)  # its observation is never used
        done = dones["__all__"]
        if begin is None:
            state = restarted(rules, last, done, begun, rules.backend.words(key))
        else:
            state = restarted(rules, last, done, lambda last, begin: begin, begin)
        return seen(state), state, rewards, dones, infos

    def get_obs(state: EnvState) -> ByAgent:
        return seen(state)

    def get_avail_actions(state: EnvState) -> ByAgent:
        mask = action_mask(rules, state)
        return by_agent(mask if own_order else mask[..., np.array(numbers)])

    return JaxMARLFunctions(reset, step, step_env, get_obs, get_avail_actions)


def _split(rules: Rules, step_fn: Callable[..., Any]) -> Callable[..., Any]:
    """The step with unshaped rewards, and the sum of the shaping terms in the infos."""
    reported = functions(rules, infos=True).step  # infos that are not read are never computed
    shaping = [term.reward.name for term in rules.rewards.terms if term.reward.shaping]

    def step(state: EnvState, actions: Array) -> Any:
        plain = state.evolve(weight=rules.xp.zeros_like(state.weight))
        after, obs, rewards, done, all_infos = reported(plain, actions)
        shaped = sum((all_infos["rewards"][name] for name in shaping), rules.xp.zeros_like(rewards))
        infos = (all_infos if step_fn is reported else {}) | {"shaped_reward": shaped}
        return after.evolve(weight=state.weight), obs, rewards, done, infos

    return step


def _numbers(env: CoGridEnv, actions: Sequence[str] | None) -> tuple[int, ...]:
    """The environment's numbers for the named actions."""
    known = [action.name for action in env.spec.actions]
    names = known if actions is None else list(actions)
    for name in names:
        if name not in known:
            raise ValueError(f"{name!r} is not an action of this environment: it has {', '.join(known)}.")
    return tuple(known.index(name) for name in names)


def _spaces() -> Any:
    """The module that has Box and Discrete."""
    try:
        from jaxmarl.environments import spaces
    except ImportError:  # JaxMARL, or one of its dependencies
        return sys.modules[__name__]
    return spaces


def _names(rules: Rules) -> list[str]:
    return [f"agent_{i}" for i in range(rules.n_agents)]
