"""Rollouts: many environments for many steps, compiled, with automatic reset, on any number of devices."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.rules import Rules
from cogrid._core.see.observation import observe
from cogrid._core.state.autoreset import renew, renewed
from cogrid._core.state.pool import checked_pool
from cogrid._core.state.snapshot import fingerprint
from cogrid._core.step import functions, step
from cogrid._env.shadow import Shadow
from cogrid._io.messages import brief, is_choice
from cogrid._scale.checkpoint import Checkpoints
from cogrid._scale.chunks import chunk_for
from cogrid._scale.identity import digest_of, digest_of_tree, python
from cogrid._scale.placement import Placement, place
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.cogrid_env import CoGridEnv
from cogrid.distributed import agree, named

Policy = Callable[[Any, Array, Array], Array]
KEEP = ("sums", "trajectory")


class Sums(NamedTuple):
    """Sums per environment."""

    rewards: Array  # (B, n) float32
    episodes: Array  # (B,) int32 episodes that ended


class Rollout(NamedTuple):
    """The last states and observations, the sums, and optionally every step.

    The arrays are sharded over the devices; if these do not divide B, the arrays are replicated.
    """

    state: EnvState
    obs: Array  # (B, n, …)
    sums: Sums
    trajectory: dict[str, Any] | None  # NumPy: obs, actions, rewards, done, each (steps, b, …)
    envs: np.ndarray[Any, Any]  # (b,) the environments of the trajectory: this process's, else all


class Carry(NamedTuple):
    """What is carried from step to step, and saved in a checkpoint."""

    state: EnvState
    obs: Array
    words: Array  # (B, 2) uint32 of the policy's keys
    sums: Sums


def rollout(
    env: CoGridEnv,
    policy: Policy | None = None,
    key: Array = 0,
    num_envs: int = 1024,
    num_steps: int = 400,
    *,
    chunk: int | None = None,
    params: Any = None,
    keep: str = "sums",
    devices: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 10_000,
    policy_id: str | None = None,
    pool: Any = None,
    one_kernel: bool = False,
) -> Rollout:
    """Play `num_steps` in `num_envs` environments with `policy(params, obs, key) -> actions`, or at random.

    The policy sees one environment: `obs` (n, …) and a key of its own; it returns n actions. Environment i
    and its policy draw from child i of the key, wherever they run. A scan runs `chunk` steps at a time,
    which bounds the memory that `keep="trajectory"` takes on the device; by default 256 for up to 10,000
    environments on a device, 64 up to 100,000, 16 up to a million, 8 beyond. If the environment has a
    shadow, every chunk is replayed.

    `devices` share the environments: a number, a list or a mesh; all of JAX's devices by default. With
    several processes, each makes the same call and gets the trajectory of its own environments.

    From a `pool` of boards or states, see `CoGridEnv.reset_fn`, every episode draws one to start from.

    `checkpoint` names a folder: the rollout is saved there every `checkpoint_every` steps and at its end.
    The same call resumes from the last save, on any devices, with the same result; a different policy or
    different params raise an error. Policies are compared by a digest of their code and values, or by
    `policy_id` if that is given: change it whenever the policy changes.

    With `one_kernel` a GPU plays a whole chunk of random actions in one kernel, with the same result, and
    observes only the last state. This is experimental: no GPU has run it yet, and a CPU interprets the
    kernel, slowly. It takes small boards, and no pool, policy, trajectory or shadow.
    """
    sizes = {"num_envs": num_envs, "num_steps": num_steps}
    saving = {"checkpoint": checkpoint is not None, "checkpoint_every": checkpoint_every}
    numbers = {**sizes, "checkpoint_every": checkpoint_every, **({} if chunk is None else {"chunk": chunk})}
    _check(env, policy, keep, checkpoint, policy_id, numbers)
    num_envs, num_steps, checkpoint_every = map(int, (num_envs, num_steps, checkpoint_every))  # NumPy's too
    env.rules.backend.check_process()
    words = env.rules.backend.words(rng.key(int(key)) if isinstance(key, (int, np.integer)) else key)
    if words.shape != (2,):
        raise ValueError(f"rollout takes one key and splits it, not keys of shape {words.shape}.")
    shadow = env._shadow
    if one_kernel:
        _check_kernel(policy=policy, pool=pool, shadow=shadow, trajectory=keep == "trajectory" or None)
    program = compiled(
        env.rules, policy, place(devices, num_envs), "trajectory" if shadow else keep, one_kernel
    )
    chunk = chunk_for(program.place.size) if chunk is None else int(chunk)
    if program.place.processes > 1:
        sizes["chunk"] = chunk
        agree("rollout", spec=fingerprint(env.rules), key=np.asarray(words), keep=keep, **sizes, **saving)
    pool = program.everywhere(checked_pool(env.rules, pool))
    play = functools.partial(program.play, params=params, chunk=chunk, shadow=shadow, pool=pool)
    with named():
        if checkpoint is None:
            carry, parts = play(program.begin(words, pool), num_steps=num_steps, keep=keep == "trajectory")
            return program.finish(carry, parts)
        about, unknown = _about(program, words, params, pool, policy_id)
        with Checkpoints(checkpoint, about) as saves:
            if saves.steps and unknown:
                warnings.warn(_unknown(saves, unknown), stacklevel=2)
            carry, done = _continued(program, words, pool, saves, num_steps)
            while done < num_steps:
                length = min(num_steps, (done // checkpoint_every + 1) * checkpoint_every) - done
                carry, _ = play(carry, num_steps=length, keep=False)
                done += length
                saves.save(done, carry, program.place.padded)
            return program.finish(carry, [])


def _check(
    env: CoGridEnv, policy: Any, keep: str, checkpoint: Any, policy_id: Any, numbers: dict[str, Any]
) -> None:
    """Raise an error for arguments that cannot be run."""
    if not isinstance(env, CoGridEnv):
        raise TypeError(f"rollout takes an environment from make(..., backend='jax'), not {brief(env)}.")
    if env.backend != "jax":
        raise ValueError(
            f"rollout runs JAX environments and this one runs on {env.backend}: make(..., backend='jax')."
        )
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
            raise ValueError(f"{name}={brief(number)} must be a whole number of at least 1.")
    if not is_choice(keep, KEEP):
        raise ValueError(f"keep={brief(keep)} is unknown: choose one of {', '.join(map(repr, KEEP))}.")
    if policy is not None and not callable(policy):
        raise TypeError(f"policy={brief(policy)} is not a function of parameters, observation and key.")
    if policy_id is not None and (not isinstance(policy_id, str) or not policy_id):
        raise ValueError(f"policy_id={brief(policy_id)} must be a string that is not empty.")
    if checkpoint is not None and keep == "trajectory":
        raise ValueError("a checkpoint holds no trajectory: leave out checkpoint= or keep='trajectory'.")


def _check_kernel(**given: Any) -> None:
    """Refuse what needs more than the last state."""
    import jax

    if names := [name for name, value in given.items() if value is not None]:
        raise ValueError(
            f"one_kernel=True plays random actions without a {' or a '.join(names)}: leave it out."
        )
    if jax.__version_info__ < (0, 8):
        raise ValueError(f"one_kernel=True needs JAX 0.8 or newer, and this is {jax.__version__}.")


def _about(
    program: Program, words: Array, params: Any, pool: Any, policy_id: str | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What must match between a rollout and the checkpoint that it resumes; and what cannot be compared."""
    policy: Any = program.policy
    name = policy_id or getattr(policy, "__qualname__", type(policy).__qualname__)
    code, values = digest_of(None if policy_id else policy), digest_of_tree(params)
    about = {
        "spec": fingerprint(program.rules),
        "num_envs": program.place.num_envs,
        "key": np.asarray(words).tolist(),
        "policy": None if policy is None else name,
        "policy_digest": None if policy is None or policy_id else f"{python()} {code.digits}",
        "params_digest": values.digits,
    }
    if pool is not None:
        about["pool_digest"] = digest_of_tree(pool).digits
    return about, code.unknown + values.unknown


def _unknown(saves: Checkpoints, unknown: tuple[str, ...]) -> str:
    return (
        f"{saves.folder} is resumed with a policy or params that hold {', '.join(unknown)}, which cannot be "
        "compared: make sure that they are the same as in the first call. A policy_id, given from the first "
        "call on, identifies a policy without such comparisons."
    )


def _continued(
    program: Program, words: Array, pool: Any, saves: Checkpoints, num_steps: int
) -> tuple[Carry, int]:
    """The carry of the last save, or of the start; and its number of steps."""
    if not saves.steps:
        return program.begin(words, pool), 0
    if saves.steps > num_steps:
        raise ValueError(f"num_steps={num_steps}, but {saves.folder} has already played {saves.steps}.")
    saved = saves.load(program.shapes(words, pool, saves.rows))
    return program.place.fit(saved, saves.rows), saves.steps


class Program(NamedTuple):
    """A rollout, ready to run."""

    rules: Rules
    policy: Policy | None
    place: Placement
    begin: Callable[..., Carry]  # the words of a key, and a pool
    run: Callable[..., tuple[Carry, dict[str, Array]]]  # carry (donated), params, length and pool

    def everywhere(self, pool: Any) -> Any:
        """The pool, replicated on every device."""
        import jax

        return jax.device_put(pool, self.place.everywhere())

    def play(
        self,
        carry: Carry,
        params: Any,
        num_steps: int,
        chunk: int,
        keep: bool,
        shadow: Shadow | None,
        pool: Any,
    ) -> tuple[Carry, list[dict[str, Any]]]:
        """Run chunk by chunk; returns what is kept of each, on the host."""
        import jax

        host, parts = self.place.host, []
        try:
            params = jax.device_put(params, self.place.everywhere())
        except (TypeError, ValueError, OverflowError):
            raise TypeError(f"params={brief(params)} are not a tree of arrays that JAX can hold.") from None
        for first in range(0, num_steps, chunk):
            before = jax.tree.map(host, carry.state) if shadow else None  # the carry itself is donated
            began = perf_counter()
            carry, kept = self.run(carry, params, min(chunk, num_steps - first), pool)
            part = {name: host(value, axis=1) for name, value in kept.items()}
            if shadow and before:
                seconds = perf_counter() - began
                last = jax.tree.map(host, carry.state)
                shadow.chunk(before, **part, last=last, seconds=seconds, pool=pool)
            if keep:
                parts.append(part)
        return carry, parts

    def finish(self, carry: Carry, parts: list[dict[str, Any]]) -> Rollout:
        """The result for the caller."""
        names = parts[0] if parts else {}
        whole = {name: np.concatenate([part[name] for part in parts]) for name in names} or None
        state, obs, _, sums = self.place.cut(carry)
        return Rollout(state, obs, sums, whole, self.place.mine())

    def shapes(self, words: Array, pool: Any, rows: int) -> Carry:
        """The shapes and shardings of a carry of this many environments, padding included."""
        import jax

        def shape(value: Any) -> Any:
            place = self.place.of_rows(rows)
            return jax.ShapeDtypeStruct((rows, *value.shape[1:]), value.dtype, sharding=place)

        shapes: Carry = jax.tree.map(shape, jax.eval_shape(self.begin, words, pool))
        return shapes


@functools.lru_cache(maxsize=64)
def compiled(
    rules: Rules, policy: Policy | None, place: Placement, keep: str, one_kernel: bool = False
) -> Program:
    """The functions of a rollout, which JAX compiles on the first call."""
    import jax

    act = random_policy(rules) if policy is None else policy
    xp, unroll = rules.xp, _unroll(policy, place)

    everywhere = jax.sharding.PartitionSpec()

    def begin(words: Array, pool: Any = None) -> Carry:
        children = rng.split_words(xp, rng.split_words(xp, words, place.padded), 2)  # (B, 2, 2)
        carry: Carry = place.on_each(fresh, (place.spec(), everywhere), place.spec())(children, pool)
        return carry

    def fresh(children: Array, pool: Any) -> Carry:
        state, obs = functions(rules).reset(children[:, 0], pool=pool)  # one child for the environment
        size = len(children)
        zeros = Sums(xp.zeros((size, rules.n_agents), np.float32), xp.zeros(size, np.int32))
        return Carry(state, obs, children[:, 1], zeros)  # and one for its policy

    def one(params: Any, pool: Any, carry: Carry, _: Any) -> tuple[Carry, Any]:
        state, obs, words, sums = carry
        words = rng.split_words(xp, words, 2)  # (B, 2, 2) for the next step, for this one
        actions = jax.vmap(act, in_axes=(None, 0, 0))(params, obs, rules.backend.key(words[:, 1]))
        state, seen, rewards, done, _ = step(rules, state, actions)
        sums = Sums(sums.rewards + rewards, sums.episodes + done.astype(np.int32))
        played = {"obs": obs, "actions": actions, "rewards": rewards, "done": done}
        kept = played if keep == "trajectory" else {}
        return Carry(*renew(rules, state, seen, done, pool), words[:, 0], sums), kept

    @functools.partial(jax.jit, static_argnums=2, donate_argnums=0)
    def run(carry: Carry, params: Any, length: int, pool: Any = None) -> Any:
        def chunk(carry: Carry, params: Any, pool: Any) -> Any:
            if one_kernel:
                return _in_one_kernel(rules, carry, length, interpret=_is_cpu(place)), {}
            one_step = functools.partial(one, params, pool)
            return jax.lax.scan(one_step, carry, None, length=length, unroll=min(unroll, length))

        inputs, outputs = (place.spec(), everywhere, everywhere), (place.spec(), place.spec(1))
        return place.on_each(chunk, inputs, outputs)(carry, params, pool)

    return Program(rules, policy, place, jax.jit(begin), run)


def _unroll(policy: Policy | None, place: Placement) -> int:
    """Steps per iteration of the compiled loop.

    A CPU gains nothing. A GPU copies the carry between iterations, and fuses the steps within one; with a
    policy, compilation takes so much longer that two steps, which save most of the copies, are enough.
    """
    if _is_cpu(place):
        return 1
    return 16 if policy is None else 2


def _is_cpu(place: Placement) -> bool:
    return bool(place.mesh.devices.flat[0].platform == "cpu")


def _in_one_kernel(rules: Rules, carry: Carry, length: int, interpret: bool) -> Carry:
    """The same steps as the loop of random actions makes, without what is seen on the way."""
    from cogrid.backend._kernel import repeat

    def one(own: tuple[EnvState, Array, Sums]) -> tuple[EnvState, Array, Sums]:
        state, words, sums = own  # of one environment
        words = rng.split_words(rules.xp, words, 2)  # for the next step, for this one
        state, _, rewards, done, _ = step(rules, state, _random_actions(rules, words[1]))
        sums = Sums(sums.rewards + rewards, sums.episodes + done.astype(np.int32))
        return renewed(rules, state, done), words[0], sums

    state, words, sums = repeat(one, (carry.state, carry.words, carry.sums), length, interpret)
    return Carry(state, observe(rules, state), words, sums)


def random_policy(rules: Rules) -> Policy:
    """Every action equally likely."""

    def act(params: Any, obs: Array, key: Array) -> Array:
        return _random_actions(rules, rules.backend.words(key))

    return act


def _random_actions(rules: Rules, words: Array) -> Array:
    draws = rng.bits(words, rules.n_agents)
    return (draws % np.uint32(rules.n_actions)).astype(np.int32)
