"""CoGridEnv: one environment with PettingZoo's parallel API, and the pure functions behind it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import gymnasium
import numpy as np
from pettingzoo import ParallelEnv

from cogrid._core import profiling
from cogrid._core.author.layout import Layout
from cogrid._core.author.options import checked_flag
from cogrid._core.compile.spec import Spec
from cogrid._core.rules import compile_rules
from cogrid._core.see.report import counters
from cogrid._core.state import snapshot
from cogrid._core.state.boards import check_board, encode, fitting
from cogrid._core.state.pool import starts
from cogrid._core.state.replace import replace
from cogrid._core.state.validity import check_own
from cogrid._core.step import Functions, StepResult, functions, renewing
from cogrid._env.guard import Guard, alone
from cogrid._env.shadow import Shadow, ShadowReport, is_asked_for
from cogrid._io.messages import brief, is_choice
from cogrid.backend import rng
from cogrid.backend.array import Array, as_array
from cogrid.backend.env_state import EnvState
from cogrid.render import ansi
from cogrid.render.picture import RENDER_FPS, TILE, checked_tile, picture
from cogrid.render.window import WINDOW_TILE, Window

__all__ = ("CoGridEnv",)

RENDER_MODES = ("ansi", "human", "rgb_array")
#: An int, or a str with `agent_names=`; Any, so that a user's own dict[int, int] is accepted as actions.
AgentID = Any
AgentRewards = dict[AgentID, float]
Flags = dict[AgentID, bool]
Infos = dict[AgentID, dict[str, Any]]


class CoGridEnv(ParallelEnv[AgentID, Any, int]):
    """The stateful adapter: dicts by agent id, NumPy values on every backend.

    `reset_fn`, `step_fn`, `renew_fn` and `replace` are pure and never touch the adapter's own episode.

    With the environment variable `COGRID_PROFILING=1`, read once on construction, a NumPy environment times
    the phases of `step`: see `step_timing`.

    With `shadow=True`, or `COGRID_SHADOW=1` if `shadow` is not given, the other backend runs every `reset`,
    `step` and `set_state` too, and all results are compared: see `shadow`. The pure functions have no shadow.

    Agents are called 0, 1, … unless `agent_names` gives a name for each, or that of the first, such as
    "agent_0", from which the others are numbered. `id` is the one that `make` was given; replays name it.
    """

    def __init__(
        self,
        spec: Spec,
        backend: str = "numpy",
        *,
        render_mode: str | None = None,
        tile_size: int | None = None,
        infos: bool = False,
        shadow: bool | None = None,
        agent_names: str | Sequence[str] | None = None,
        id: str | None = None,
    ) -> None:
        if render_mode is not None and not is_choice(render_mode, RENDER_MODES):
            raise ValueError(
                f"render_mode={brief(render_mode)} is unknown: "
                f"choose one of {', '.join(RENDER_MODES)}, or None."
            )
        self.spec = spec
        self.id = id
        self.rules = compile_rules(spec, backend)
        self.backend = backend
        self.render_mode = render_mode
        usual = WINDOW_TILE if render_mode == "human" else TILE
        self.tile_size = checked_tile(usual if tile_size is None else tile_size)
        self.metadata = {
            "name": f"cogrid-{type(spec.game).__name__}",
            "render_modes": list(RENDER_MODES),
            "render_fps": RENDER_FPS,
        }
        self.possible_agents: list[AgentID] = _named(agent_names, spec.num_agents)
        self._names_option = agent_names
        self.agents: list[AgentID] = []
        self._numbers: dict[AgentID, int] = {name: k for k, name in enumerate(self.possible_agents)}
        self.config: Mapping[str, Any] = MappingProxyType(
            {
                "num_agents": spec.num_agents,
                "max_steps": spec.max_steps,
                "layout": tuple(layout.name for layout in spec.layout)
                if len(spec.layout) > 1
                else spec.layout[0].name,
                "action_set": spec.action_set,
                "observation": spec.observation,
                "backend": backend,
            }
        )
        self._guard = Guard("environment", backend)
        self._infos = infos = checked_flag("infos", infos)
        self._observer = self.rules.observer
        self._functions = functions(self.rules, infos)
        self._reset = self.rules.backend.compiled(self._functions.reset)
        self._step = self.rules.backend.compiled(self._functions.step)
        self._see = self.rules.backend.compiled(self._functions.observe)
        self._report = self.rules.backend.compiled(self._functions.report)
        self._timing: dict[str, int] | None = None
        self._timing_asked = profiling.wanted()
        if self._timing_asked and backend == "numpy":
            timed, self._timing = profiling.timed_step(self.rules)
            self._step = functools.partial(timed, self.rules, infos=infos)
        self._shadow_option, self._shadow = shadow, Shadow(spec, backend) if is_asked_for(shadow) else None
        if self._shadow is not None:
            plain = Functions(self._reset, self._step, self._see, self._report)
            self._reset, self._step, self._see, self._report = self._shadow.watched(plain, infos)
        self._state: EnvState | None = None
        self._obs: Any = None
        self._key: Array = None
        self._totals = self._no_totals()
        self._score: Array = None  # (n,) shown in pictures, if any are rendered
        self._window = Window(f"cogrid {self.config['layout']}") if render_mode == "human" else None

    # The functional environment

    @property
    def reset_fn(self) -> Callable[..., tuple[EnvState, Array]]:
        """`reset_fn(key, board=None, pool=None) -> (state, obs)`; pure.

        `board` is the result of `encode_board`, for environments made with `any_board=True`. From a `pool` of
        k boards, or of a batch of k states, every key draws one to start from.
        """
        return self._functions.reset

    @property
    def step_fn(self) -> Callable[[EnvState, Array], StepResult]:
        """`step_fn(state, actions) -> (state, obs, rewards, done, infos)`; pure."""
        return self._functions.step

    @property
    def jax_reset(self) -> Callable[..., tuple[EnvState, Array]]:
        """`reset_fn`; only on JAX."""
        return self._jax_only("jax_reset", self.reset_fn)

    @property
    def jax_step(self) -> Callable[[EnvState, Array], StepResult]:
        """`step_fn`; only on JAX."""
        return self._jax_only("jax_step", self.step_fn)

    def _jax_only(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        if self.backend != "jax":
            raise ValueError(
                f"{name} belongs to JAX environments and this one runs on {self.backend}: "
                "make(..., backend='jax')."
            )
        return function

    def renew_fn(self, state: EnvState, obs: Array, done: Array, pool: Any = None) -> tuple[EnvState, Array]:
        """`renew_fn(state, obs, done) -> (state, obs)`: automatic reset, for loops over `step_fn`; pure.

        Finished environments are reset from their own keys, and from the pool if there is one; the
        others go on. Shaping weights stay.
        """
        check_own(self.rules, state)
        if isinstance(done, np.ndarray) and not done.any():
            return state, obs  # so that compiled code need not copy them
        return renewing(self.rules)(state, obs, done, pool)

    def encode_board(self, board: str | Layout | list[str | Layout]) -> np.ndarray[Any, Any]:
        """Codes that `reset_fn` takes: (H, W) of one ASCII board, (k, H, W) of several; padded with walls."""
        codes: np.ndarray[Any, Any] = fitting(self.rules, "board", encode(self.spec, board))
        check_board(self.rules, "board", codes)
        return codes

    @property
    def step_timing(self) -> dict[str, int] | None:
        """Nanoseconds of each phase of the last `step`, 0 before the first; None unless `COGRID_PROFILING=1`.

        Raises on JAX: a compiled step has no phases to time from outside; use `python -m bench profile`.
        """
        return profiling.read(self._timing_asked, self._timing)

    @property
    def shadow(self) -> ShadowReport | None:
        """How often both backends have agreed so far; None without a shadow."""
        return None if self._shadow is None else self._shadow.report

    def observe(self, state: EnvState) -> Array:
        """(*B, n, …) the observations of all agents in a state; pure."""
        check_own(self.rules, state)
        return self._functions.observe(state)

    def replace(self, state: EnvState, **changes: Any) -> EnvState:
        """A valid state with some attributes changed, for tests, curricula, annealing and search."""
        return replace(self.rules, state, **changes)

    # Names

    @property
    def type_ids(self) -> dict[str, int]:
        """Name -> type id of every object and item."""
        return self.spec.type_ids

    @property
    def verbs(self) -> tuple[str, ...]:
        """Names of the event numbers; 0 means nothing happened."""
        return self.rules.verbs

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of the last axis of the counts in the infos."""
        return counters(self.rules)

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the action numbers."""
        return tuple(action.name for action in self.spec.actions)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the observation's last axis: features or planes."""
        return self._observer.names

    # PettingZoo

    @functools.cached_property
    def observation_spaces(self) -> dict[AgentID, gymnasium.spaces.Box]:
        """One box for each agent."""
        see = self._observer
        low, high = see.dtype.type(see.low), see.dtype.type(see.high)
        return {a: gymnasium.spaces.Box(low, high, see.shape, see.dtype.type) for a in self.possible_agents}

    @functools.cached_property
    def action_spaces(self) -> dict[AgentID, gymnasium.spaces.Discrete]:
        """One discrete space for each agent."""
        return {a: gymnasium.spaces.Discrete(self.rules.n_actions) for a in self.possible_agents}

    @functools.cached_property
    def state_space(self) -> gymnasium.spaces.Box:
        """The space of `state()`."""
        see, n = self._observer, self.spec.num_agents
        shape = (n * see.shape[0],) if len(see.shape) == 1 else (n, *see.shape)
        return gymnasium.spaces.Box(see.dtype.type(see.low), see.dtype.type(see.high), shape, see.dtype.type)

    def observation_space(self, agent: AgentID) -> gymnasium.spaces.Box:
        """The same object each time."""
        self._check_agent(agent)
        return self.observation_spaces[agent]

    def action_space(self, agent: AgentID) -> gymnasium.spaces.Discrete:
        """The same object each time."""
        self._check_agent(agent)
        return self.action_spaces[agent]

    def _check_agent(self, agent: AgentID) -> None:
        if agent not in self.possible_agents:
            raise ValueError(f"there is no agent {brief(agent)}: the agents are {self.possible_agents}.")

    @alone
    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[AgentID, Any], Infos]:
        """Start an episode: with this seed, or the next one of the environment's own random stream.

        `options` may hold a "board" or a "pool", see `reset_fn`; boards may be ASCII text.
        """
        if seed is not None:
            self._key = self.rules.backend.key(rng.key(seed))
        elif self._key is None:
            self._key = self.rules.backend.key(np.random.SeedSequence().generate_state(2))
        self._state, obs = self._reset(self._key, **starts(self.rules, self._key, options))
        self._key = self._state.rng_key
        self.agents = list(self.possible_agents)
        self._obs = obs
        self._begin_pictures()
        infos: dict[str, Array] = {}
        if self._infos:
            self._totals, infos = self._no_totals(), self._report(self._state)
        return dict(zip(self.agents, np.array(obs), strict=True)), self._infos_by_agent(infos)

    @alone
    def step(
        self, actions: Mapping[AgentID, int]
    ) -> tuple[dict[AgentID, Any], AgentRewards, Flags, Flags, Infos]:
        """One step of all active agents; raises an error, and changes nothing, if an action is invalid."""
        if self._state is None:
            raise ValueError("step before reset: call env.reset() first.")
        if not self.agents:
            raise ValueError("the episode is over: call env.reset() to begin the next one.")
        joint = np.array(self._checked(actions), np.int32)
        state, obs, rewards, done, infos = self._step(self._state, joint)
        living, number, self._state, self._obs = self.agents, self._numbers, state, obs
        over, points = bool(done), np.asarray(rewards).tolist()
        if state.ended is None:
            terminations = dict.fromkeys(living, False)
            truncations = dict.fromkeys(living, over)
            self.agents = [] if over else living
        else:
            ended = np.asarray(state.ended).tolist()
            terminations = {a: ended[number[a]] for a in living}
            truncations = {a: over and not ended[number[a]] for a in living}
            self.agents = [] if over else [a for a in living if not terminations[a]]
        if self._score is not None:
            self._score = self._score + points
            self._show()
        seen = np.array(obs)  # a copy that the caller may write to
        by_agent = self._infos_by_agent(infos, living)
        if self._infos:
            self._add_totals(by_agent, rewards, infos["counts"])
        return (
            {a: seen[number[a]] for a in living},
            {a: points[number[a]] for a in living},
            terminations,
            truncations,
            by_agent,
        )

    def _no_totals(self) -> tuple[Any, Any, int]:
        """Returns (n,), counts (n, counters) and length at the start of an episode."""
        n = self.spec.num_agents
        return np.zeros(n, np.float32), np.zeros((n, len(self.counters)), np.int32), 0

    def _add_totals(self, infos: Infos, rewards: Array, counts: Array) -> None:
        """Add the counts so far to the infos, and the episode's totals for agents that end now."""
        paid, counted, length = self._totals
        self._totals = (paid + np.asarray(rewards), counted + np.asarray(counts), length + 1)
        returns, totals = (total.tolist() for total in self._totals[:2])
        for agent, info in infos.items():
            number = self._numbers[agent]
            info["counts"] = dict(zip(self.counters, totals[number], strict=True))
            if agent not in self.agents:
                info["episode"] = {"r": returns[number], "l": length + 1, "counts": dict(info["counts"])}

    def _checked(self, actions: Mapping[AgentID, int]) -> list[int]:
        """The joint action, with noops for agents that have ended."""
        if not isinstance(actions, Mapping):
            raise TypeError(f"actions must be a dict by agent, not {type(actions).__name__}.")
        if len(actions) != len(self.agents):
            self._refuse_agents(actions)
        joint = [self.rules.noop] * self.spec.num_agents
        n_actions = self.rules.n_actions
        for agent in self.agents:
            if agent not in actions:
                self._refuse_agents(actions)
            action = actions[agent]
            if type(action) is not int:
                action = _integer(agent, action)
            if not 0 <= action < n_actions:
                raise ValueError(
                    f"action {action} of agent {agent} is out of range: it must be from 0 to {n_actions - 1}."
                )
            joint[self._numbers[agent]] = action
        return joint

    def _refuse_agents(self, actions: Mapping[AgentID, int]) -> None:
        missing = [agent for agent in self.agents if agent not in actions]
        unknown = [agent for agent in actions if agent not in self.agents]
        if missing:
            key = f", and {brief(unknown[0])} ({type(unknown[0]).__name__}) is not one" if unknown else ""
            raise ValueError(
                f"the action of agent {brief(missing[0])} is missing: active agents are {self.agents}{key}."
            )
        raise ValueError(
            f"an action was given for agent {brief(unknown[0])}: active agents are {self.agents}."
        )

    def _infos_by_agent(self, infos: Mapping[str, Any], agents: list[AgentID] | None = None) -> Infos:
        living = self.agents if agents is None else agents
        if not infos:
            return {a: {} for a in living}
        host = {name: _on_host(value) for name, value in infos.items()}
        return {a: self._info(host, self._numbers[a]) for a in living}

    def _info(self, infos: Mapping[str, Any], agent: int) -> dict[str, Any]:
        """The infos of one agent, with names instead of numbers."""
        info: dict[str, Any] = {"action_mask": infos["action_mask"][agent].astype(np.int8)}
        if "away" in infos:
            info["away"] = bool(infos["away"][agent])
        if "verb" in infos:
            names = self.rules.spec.symbols.kinds
            item, target = (int(infos[name][agent]) for name in ("item", "target"))
            info["event"] = {
                "verb": self.verbs[infos["verb"][agent]],
                "item": names[item] if item >= 0 else None,
                "target": names[target] if infos["verb"][agent] else None,
                "moved": bool(infos["moved"][agent]),
                "bumped": bool(infos["bumped"][agent]),
            }
            info["rewards"] = {name: float(points[agent]) for name, points in infos["rewards"].items()}
        return info

    def state(self) -> Any:
        """The observations of all agents together, for centralised critics."""
        if self._obs is None:
            raise ValueError("state before reset: call env.reset() first.")
        return np.array(self._obs).reshape(self.state_space.shape)

    def render(self) -> str | Any | None:
        """The board: text for "ansi", a (height, width, 3) picture for "rgb_array"; None for the others.

        The window of "human" updates itself on `reset`, `step` and `set_state`.
        """
        if self.render_mode is None:
            return None
        if self._state is None:
            raise ValueError("render before reset: call env.reset() first.")
        if self.render_mode == "ansi":
            return ansi.text(self.rules, self._state)
        if self.render_mode == "human":
            self._show()
            return None
        return picture(self.rules, self._state, self.tile_size, self._score)

    def _begin_pictures(self) -> None:
        if self.render_mode in ("human", "rgb_array"):
            self._score = np.zeros(self.spec.num_agents)
            self._show()

    def _show(self) -> None:
        if self._window is not None:
            image = picture(self.rules, self.env_state, self.tile_size, self._score)
            self._window.show(image, RENDER_FPS)

    def close(self) -> None:
        """Close the window of render_mode="human"."""
        if self._window is not None:
            self._window.close()

    # Snapshots

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles contain the spec and the episode; compiled functions are looked up again."""
        options: dict[str, Any] = {"render_mode": self.render_mode, "tile_size": self.tile_size}
        options |= {"infos": self._infos, "shadow": self._shadow_option, "agent_names": self._names_option}
        episode = (self._state and self.get_state(), self._totals, self._score)
        return _revive, (self.spec, self.backend, options | {"id": self.id}, *episode)

    @property
    def env_state(self) -> EnvState:
        """The current state of the adapter's own episode."""
        if self._state is None:
            raise ValueError("there is no state before reset: call env.reset() first.")
        return self._state

    def get_state(self) -> dict[str, Any]:
        """A snapshot of the episode as plain JSON values, including its random stream."""
        return snapshot.to_plain(self.rules, self.env_state)

    @alone
    def set_state(self, snapshot_: Mapping[str, Any] | EnvState) -> None:
        """Continue from a snapshot of either backend, or from a single state (see `replace`).

        A state has no record of earlier rewards: return, length and counts in the infos start at zero.
        """
        if isinstance(snapshot_, EnvState):
            snapshot_ = snapshot.to_plain(snapshot_.rules, snapshot_)
        state = snapshot.from_plain(self.rules, snapshot_)
        self._state, self._key, self._totals = state, state.rng_key, self._no_totals()
        self._obs = self._see(state)
        ended = [False] * self.spec.num_agents if state.ended is None else np.asarray(state.ended).tolist()
        living = [name for name, over in zip(self.possible_agents, ended, strict=True) if not over]
        self.agents = [] if bool(state.done) else living
        self._begin_pictures()


def _revive(
    spec: Spec,
    backend: str,
    options: dict[str, Any],
    state: dict[str, Any] | None,
    totals: tuple[Any, ...],
    score: Array,
) -> CoGridEnv:
    env = CoGridEnv(spec, backend, **options)
    if state is not None:
        env.set_state(state)
        env._totals, env._score = totals, score
    return env


def _named(names: str | Sequence[str] | None, n: int) -> list[AgentID]:
    """The agents' names."""
    if names is None:
        return list(range(n))
    if isinstance(names, str):
        if not names.endswith("0"):
            raise ValueError(
                f"agent_names={brief(names)} must be the first agent's name, such as 'agent_0', or {n} names."
            )
        return [f"{names[:-1]}{k}" for k in range(n)]
    chosen = list(names) if isinstance(names, Iterable) else []
    if len(chosen) != n or len({*map(str, chosen)}) != n or not all(isinstance(name, str) for name in chosen):
        raise ValueError(f"agent_names={brief(names)} must be {n} different names, or 'agent_0'.")
    return chosen


def _on_host(value: Any) -> Any:
    """An array, or a dict of arrays, converted to NumPy."""
    if isinstance(value, Mapping):
        return {name: np.asarray(array) for name, array in value.items()}
    return np.asarray(value)


def _integer(agent: AgentID, action: Any) -> int:
    name = f"action {brief(action)} of agent {agent}"
    number = as_array(name, action)
    if number.dtype.kind not in "iu" or number.ndim:
        raise TypeError(f"{name} is not an integer.")
    return int(number)
