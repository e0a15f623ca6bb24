"""How fast is it here: a hundred thousand kitchens, or a million, with live throughput and memory.

python examples/performance_demo.py                        100,000 environments
python examples/performance_demo.py --num-envs 1000000     a million
python examples/performance_demo.py --num-envs max         as many as the memory holds
"""

import argparse
import os
import sys
import time

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError:
    sys.exit(
        "performance_demo.py needs JAX, which is not installed: run pip install '.[jax]' in the checkout."
    )

import cogrid
from cogrid.benchmarks import chunk_for, peak_memory


def main() -> None:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("--id", default="Overcooked-CrampedRoom-V0", help="environment (%(default)s)")
    parser.add_argument("--num-envs", type=number, default=100_000, help="a number, or max (%(default)s)")
    parser.add_argument("--seconds", type=float, default=10, help="how long to step, about (%(default)s)")
    kinds = ("features", "lossless", "window", "none")
    parser.add_argument("--observation", choices=kinds, help="(the environment's own)")
    options = parser.parse_args()

    seen = {"observation": options.observation} if options.observation else {}
    try:
        env = cogrid.make(options.id, backend="jax", max_steps=10**9, **seen)
    except (TypeError, ValueError) as error:  # an unknown id, or one without this observation
        sys.exit(f"performance_demo.py: {error}")
    each, free = bytes_of(env), free_memory()
    most = int(free / 2 / each)  # half of it: the step needs room to work
    num_envs = min(options.num_envs or most, most)
    if options.num_envs and options.num_envs > num_envs:
        print(f"{options.num_envs:,} environments need more than half of the {gib(free)} that are free.")
    chunk = chunk_for(num_envs)  # long scans for small batches, short ones for large
    print(f"{num_envs:,} × {options.id} on {jax.devices()[0].device_kind}, {chunk} steps at a time")
    print(f"state and observation: {each} bytes per environment, {gib(each * num_envs)} in all")

    start = time.perf_counter()
    run = scan(env, num_envs, chunk)
    state = jax.vmap(lambda key: env.jax_reset(key)[0])(jax.random.split(jax.random.key(0), num_envs))
    state, obs, total = jax.block_until_ready(run(state, jax.random.key(1)))
    print(f"first {chunk} steps, including compilation: {time.perf_counter() - start:.1f} s")

    start, steps, passed = time.perf_counter(), 0, 0.0
    while steps == 0 or passed < options.seconds:
        del obs  # as large as everything else; the next scan makes it anew
        state, obs, total = jax.block_until_ready(run(state, jax.random.key(steps)))
        steps += chunk
        passed = time.perf_counter() - start
        speed = steps * num_envs / passed
        line = f"{passed:5.1f} s  {speed / 1e6:8.2f} M steps/s  {gib(used_memory())} of memory"
        print(line, end="\r" if sys.stdout.isatty() else "\n", flush=True)
    print(f"\n{steps:,} steps each: {speed:,.0f} steps/s, {speed * total.shape[1]:,.0f} agent steps/s")


def number(text):
    """A number of environments, also as 1e6; None for as many as fit."""
    if text == "max":
        return None
    if (count := int(float(text))) < 1:
        raise ValueError(f"{text} is not a number of environments")
    return count


def scan(env, num_envs, chunk):
    """A compiled function of state and key: `chunk` steps with random actions in every environment."""
    step, agents = jax.vmap(env.jax_step), env.config["num_agents"]

    def one(carry, key):
        state, _, total = carry
        actions = jax.random.randint(key, (num_envs, agents), 0, len(env.action_names), jnp.int8)
        state, obs, rewards, _, _ = step(state, actions)
        return (state, obs, total + rewards), None

    def run(state, key):
        obs = jax.eval_shape(jax.vmap(env.jax_reset), jax.random.split(key, num_envs))[1]
        empty = jnp.zeros(obs.shape, obs.dtype), jnp.zeros((num_envs, agents), jnp.float32)
        return jax.lax.scan(one, (state, *empty), jax.random.split(key, chunk))[0]

    return jax.jit(run, donate_argnums=0)


def bytes_of(env):
    """One environment's state and observation."""
    shapes = jax.eval_shape(env.jax_reset, jax.random.key(0))
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))


def free_memory():
    """Of the device; of a machine that computes itself, half."""
    if statistics := jax.devices()[0].memory_stats():
        return statistics["bytes_limit"] - statistics["bytes_in_use"]
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2  # others want some of it


def used_memory():
    """Of the device, or the most that this process ever had."""
    if statistics := jax.devices()[0].memory_stats():
        return statistics["bytes_in_use"]
    return peak_memory()


def gib(count):
    return f"{count / 2**30:.2f} GiB"


if __name__ == "__main__":
    main()
