"""VectorEnv: a batch of environments with Gymnasium's vector conventions and automatic reset."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from cogrid._core import profiling
from cogrid._core.author.options import checked_flag
from cogrid._core.compile.spec import Spec
from cogrid._core.rules import Rules, compile_rules
from cogrid._core.see.report import counters
from cogrid._core.state.autoreset import renew
from cogrid._core.state.pool import checked_pool, starts
from cogrid._core.state.replace import replace
from cogrid._core.state.validity import check_own
from cogrid._core.step import Functions, functions, step
from cogrid._env.guard import Guard, alone
from cogrid._env.shadow import Shadow, ShadowReport, is_asked_for
from cogrid._io.messages import brief, is_choice, several
from cogrid.backend import rng
from cogrid.backend.array import Array, as_array
from cogrid.backend.env_state import EnvState
from cogrid.render.picture import RENDER_FPS, TILE, checked_tile, picture

__all__ = ("VectorEnv",)

#: The values of `autoreset=`, and Gymnasium's names for them.
AUTORESETS = MappingProxyType({"same-step": AutoresetMode.SAME_STEP, "next-step": AutoresetMode.NEXT_STEP})
RENDER_MODES = ("rgb_array",)
#: What `_stepper` returns.
RESULTS = (
    *("state", "totals", "obs", ("final state", "final totals")),
    *("rewards", "terminated", "truncated", "infos"),
)


class VectorEnv:
    """`num_envs` environments in one call; arrays are NumPy's, or JAX's that stay on their device.

    With `shadow=True`, or `COGRID_SHADOW=1` if `shadow` is not given, the other backend runs every reset and
    step too, and all results are compared: see `shadow`.

    From a `pool` of boards or states, see `CoGridEnv.reset_fn`, every episode draws one to start from.
    """

    def __init__(
        self,
        spec: Spec,
        num_envs: int,
        backend: str = "numpy",
        *,
        autoreset: str = "same-step",
        render_mode: str | None = None,
        tile_size: int | None = None,
        infos: bool = False,
        shadow: bool | None = None,
        pool: Any = None,
    ) -> None:
        if isinstance(num_envs, bool) or not isinstance(num_envs, (int, np.integer)) or num_envs < 1:
            raise ValueError(f"num_envs={brief(num_envs)} must be a whole number of at least 1.")
        if not is_choice(autoreset, AUTORESETS):
            raise ValueError(
                f"autoreset={brief(autoreset)} is unknown: choose one of {', '.join(map(repr, AUTORESETS))}."
            )
        if render_mode is not None and not is_choice(render_mode, RENDER_MODES):
            raise ValueError(f"render_mode={brief(render_mode)} is unknown: choose 'rgb_array', or None.")
        self.spec = spec
        self.num_envs = int(num_envs)
        self.backend = backend
        self.autoreset = autoreset
        self.autoreset_mode = AUTORESETS[autoreset]
        self.render_mode = render_mode
        self.tile_size = checked_tile(TILE if tile_size is None else tile_size)
        self.rules = compile_rules(spec, backend)
        self._pool = checked_pool(self.rules, pool)
        self.metadata: dict[str, Any] = {
            "autoreset_mode": self.autoreset_mode,
            "render_modes": list(RENDER_MODES),
            "render_fps": RENDER_FPS,
        }
        self._guard = Guard("environment", backend)
        self._infos = infos = checked_flag("infos", infos)
        pure = functions(self.rules, infos)
        self._begin = self.rules.backend.compiled(pure.reset)
        self._report = self.rules.backend.compiled(pure.report)
        self._see = self.rules.backend.compiled(pure.observe)
        self._timing: dict[str, int] | None = None
        self._timing_asked = profiling.wanted()
        if self._timing_asked and backend == "numpy":
            timed, self._timing = profiling.timed_step(self.rules)
            self._advance = _stepper(self.rules, autoreset, infos, timed)
        else:
            self._advance = self.rules.backend.compiled(_stepper(self.rules, autoreset, infos))
        self._shadow_option, self._shadow = shadow, Shadow(spec, backend) if is_asked_for(shadow) else None
        if self._shadow is not None:
            build = functools.partial(_stepper, autoreset=autoreset, infos=infos)
            self._advance = self._shadow.watch(self._advance, build, RESULTS)
            plain = Functions(self._begin, pure.step, pure.observe, self._report)
            self._begin, _, _, self._report = self._shadow.watched(plain, infos)
            self._see = self._shadow.watch(self._see, lambda rules: functions(rules).observe, "final obs")
        self._state: EnvState | None = None
        #: Totals of the running episodes: returns (B, n), counts (B, n, counters).
        self._totals: dict[str, Array] = {}

    @functools.cached_property
    def single_observation_space(self) -> gymnasium.spaces.Box:
        """The observations of one environment, (n, …)."""
        see = self.rules.observer
        shape = (self.spec.num_agents, *see.shape)
        return gymnasium.spaces.Box(see.dtype.type(see.low), see.dtype.type(see.high), shape, see.dtype.type)

    @functools.cached_property
    def single_action_space(self) -> gymnasium.spaces.MultiDiscrete:
        """The joint action of one environment, (n,)."""
        return gymnasium.spaces.MultiDiscrete([self.rules.n_actions] * self.spec.num_agents)

    @functools.cached_property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The batch's observations."""
        return gymnasium.vector.utils.batch_space(self.single_observation_space, self.num_envs)

    @functools.cached_property
    def action_space(self) -> gymnasium.Space[Any]:
        """The batch's actions."""
        return gymnasium.vector.utils.batch_space(self.single_action_space, self.num_envs)

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of the last axis of the counts in the infos."""
        return counters(self.rules)

    @property
    def step_timing(self) -> dict[str, int] | None:
        """Nanoseconds of each phase of the last `step`, as for an environment of `make`."""
        return profiling.read(self._timing_asked, self._timing)

    @property
    def shadow(self) -> ShadowReport | None:
        """How often both backends have agreed so far; None without a shadow."""
        return None if self._shadow is None else self._shadow.report

    @property
    def env_state(self) -> EnvState:
        """The current batch of states."""
        if self._state is None:
            raise ValueError("there is no state before reset: call reset() first.")
        return self._state

    def observe(self, state: EnvState) -> Array:
        """(B, n, …) the observations of all agents in a batch of states; pure."""
        check_own(self.rules, state)
        return functions(self.rules, self._infos).observe(state)

    @property
    def _drawn_from(self) -> tuple[Any, ...]:
        """The extra argument of a step that draws from a pool."""
        return () if self._pool is None else (self._pool,)

    def replace(self, state: EnvState, **changes: Any) -> EnvState:
        """A valid batch of states with some attributes changed; pure."""
        return replace(self.rules, state, **changes)

    @alone
    def set_state(self, state: EnvState) -> None:
        """Continue from a batch of states (see `replace`), for curricula and annealing.

        Episodes continue, so their returns and counts so far are kept.
        """
        if self._state is None:
            raise ValueError("set_state before reset: call reset() first.")
        check_own(self.rules, state)
        if state.time.shape != (self.num_envs,):
            raise ValueError(
                f"set_state takes {several(self.num_envs, 'state')}, not states of shape {state.time.shape}: "
                "change env_state with replace()."
            )
        self._state = state

    @alone
    def reset(
        self, seed: int | Sequence[int] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start all episodes; environment i gets seed + i, or entry i of a list.

        `options` may hold a "board" for these episodes, one for all or one for each, or a "pool", which
        replaces the previous one; both may be ASCII text.
        """
        if seed is None:
            if self._state is None:
                seed = int(np.random.SeedSequence().generate_state(1)[0])
            else:
                keys = self._state.rng_key
        if seed is not None:
            if isinstance(seed, Sequence) or np.ndim(seed):
                seeds = list(seed)  # type: ignore[arg-type]  # np.ndim showed that it is an array
            else:
                seeds = [rng.seed(seed) + i for i in range(self.num_envs)]
            if len(seeds) != self.num_envs:
                raise ValueError(
                    f"got {several(len(seeds), 'seed')} for {several(self.num_envs, 'environment')}."
                )
            keys = self.rules.backend.key(np.stack([rng.key(one) for one in seeds]))
        inputs = starts(self.rules, keys, options)
        self._pool = inputs.get("pool", self._pool)
        if "board" not in inputs and self._pool is not None:
            inputs["pool"] = self._pool
        self._state, obs = self._begin(keys, **inputs)
        agents, zeros = (self.num_envs, self.spec.num_agents), self.rules.xp.zeros
        self._totals = {"r": zeros(agents, np.float32)}
        if self._infos:
            self._totals["counts"] = zeros((*agents, len(self.counters)), np.int32)
        return obs, self._report(self._state) if self._infos else {}

    @alone
    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Step all; finished environments are reset at once (same-step) or by the next step (next-step)."""
        if self._state is None:
            raise ValueError("step before reset: call reset() first.")
        actions = as_array("actions", actions)
        if actions.shape != (self.num_envs, self.spec.num_agents):
            raise ValueError(
                f"actions have shape {actions.shape}, but {several(self.num_envs, 'environment')} of "
                f"{several(self.spec.num_agents, 'agent')} take {(self.num_envs, self.spec.num_agents)}."
            )
        if actions.dtype.kind not in "iu":
            raise TypeError(f"actions must be integers, not {actions.dtype}.")
        self._check_range(actions)
        self._state, self._totals, obs, final, rewards, terminated, truncated, infos = self._advance(
            self._state, self._totals, actions.astype(np.int32), *self._drawn_from
        )
        infos = dict(infos)
        over = np.asarray(terminated | truncated)
        if over.any():
            last, totals = final
            infos |= {"episode": self._episode_infos(totals, last.time), "_episode": over}
            if self.autoreset == "same-step":
                infos |= {"final_obs": self._see(last), "_final_obs": over}
        return obs, rewards, terminated, truncated, infos

    def _episode_infos(self, totals: dict[str, Array], length: Array) -> dict[str, Any]:
        """Totals of episodes: returns (B, n), lengths (B,), and with infos the counts (B, n) by name."""
        totals = {name: total.copy() for name, total in totals.items()}  # a copy that the caller may write to
        episode: dict[str, Any] = {"r": totals["r"], "l": length}
        if self._infos:
            episode["counts"] = {name: totals["counts"][..., k] for k, name in enumerate(self.counters)}
        return episode

    def _check_range(self, actions: Array) -> None:
        bad = (actions < 0) | (actions >= self.rules.n_actions)
        if bad.any():
            env, agent = (int(k) for k in np.argwhere(np.asarray(bad))[0])
            raise ValueError(
                f"action {int(actions[env, agent])} of agent {agent} in environment {env} is out of range: "
                f"it must be from 0 to {self.rules.n_actions - 1}."
            )

    def render(self) -> tuple[Any, ...] | None:
        """A (height, width, 3) picture of every environment with render_mode="rgb_array", else None."""
        if self.render_mode is None:
            return None
        return tuple(picture(self.rules, self.env_state, self.tile_size, np.asarray(self._totals["r"])))

    def close(self) -> None:
        """Nothing to close."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles contain the spec and the episodes; compiled functions are looked up again."""
        options = {
            "autoreset": self.autoreset,
            "render_mode": self.render_mode,
            "tile_size": self.tile_size,
            "infos": self._infos,
            "shadow": self._shadow_option,
            "pool": self._pool,
        }
        state = self._state and {name: np.asarray(value) for name, value in self._state.stored().items()}
        totals = {name: np.asarray(value) for name, value in self._totals.items()}
        return _revive, (self.spec, self.num_envs, self.backend, options, state, totals)


def _revive(
    spec: Spec,
    num_envs: int,
    backend: str,
    options: dict[str, Any],
    state: dict[str, Any] | None,
    totals: dict[str, Any],
) -> VectorEnv:
    env = VectorEnv(spec, num_envs, backend, **options)
    if state is not None:
        asarray = env.rules.xp.asarray
        absent = {f.name: None for f in dataclasses.fields(spec.game.state_type) if f.name != "rules"}
        stored = absent | {name: asarray(value) for name, value in state.items()}
        env._state = spec.game.state_type(**stored, rules=env.rules)
        env._totals = {name: asarray(value) for name, value in totals.items()}
    return env


@functools.lru_cache(maxsize=256)
def _stepper(rules: Rules, autoreset: str, infos: bool, step: profiling.Step = step) -> Callable[..., Any]:
    """State, totals and actions -> state, totals and all results of a step; pure."""
    next_report = functions(rules, infos).report  # the action mask of the reset state

    def same_step(
        state: EnvState, totals: dict[str, Array], actions: Array, pool: Any = None
    ) -> tuple[Any, ...]:
        state, seen, rewards, done, report = step(rules, state, actions, infos)
        totals = _added(totals, rewards, report)
        terminated, truncated = _ends(rules, state, done)
        final = (state, totals)
        state, obs = renew(rules, state, seen, done, pool)
        report |= next_report(state)
        return (
            state,
            _cleared(rules, done, totals),
            obs,
            final,
            rewards,
            terminated,
            truncated,
            report,
        )

    def next_step(
        state: EnvState, totals: dict[str, Array], actions: Array, pool: Any = None
    ) -> tuple[Any, ...]:
        was_over = state.done
        state, seen, rewards, _, report = step(rules, state, actions, infos)
        totals = _cleared(rules, was_over, _added(totals, rewards, report))
        final = (state, totals)
        state, obs = renew(rules, state, seen, was_over, pool)
        report |= next_report(state)
        terminated, truncated = _ends(rules, state, state.done)
        return state, totals, obs, final, rewards, terminated, truncated, report

    return same_step if autoreset == "same-step" else next_step


def _added(totals: dict[str, Array], rewards: Array, report: Mapping[str, Array]) -> dict[str, Array]:
    more = {"r": rewards, "counts": report.get("counts")}
    return {name: total + more[name] for name, total in totals.items()}


def _cleared(rules: Rules, over: Array, totals: dict[str, Array]) -> dict[str, Array]:
    """The totals, 0 in the environments that are over."""
    return {
        name: rules.xp.where(over[(..., *[None] * (total.ndim - 1))], total.dtype.type(0), total)
        for name, total in totals.items()
    }


def _ends(rules: Rules, state: EnvState, done: Array) -> tuple[Array, Array]:
    """(B,), (B,): terminated for all agents, and truncated."""
    terminated = rules.xp.zeros_like(done) if state.ended is None else state.ended.all(axis=-1)
    return terminated, done & ~terminated
