"""Time `cogrid.rollout` on JAX's default device and print one line of JSON."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any


def seconds(env: Any, num_envs: int, num_steps: int, seed: int) -> float:
    """How long one rollout takes, until its last array is there."""
    import jax

    import cogrid

    start = time.perf_counter()
    jax.block_until_ready(cogrid.rollout(env, key=seed, num_envs=num_envs, num_steps=num_steps).sums)
    return time.perf_counter() - start


def measure(id: str, num_envs: int, num_steps: int, repeats: int) -> dict[str, Any]:
    """Compile once, then take the median of the repeats; a step is one step of one environment."""
    import jax

    import cogrid

    env, device = cogrid.make(id, backend="jax"), jax.devices()[0]
    first = seconds(env, num_envs, num_steps, 0)
    times = [seconds(env, num_envs, num_steps, seed) for seed in range(1, repeats + 1)]
    return {
        "id": id,
        "platform": device.platform,
        "device": device.device_kind,
        "jax": jax.__version__,
        "num_envs": num_envs,
        "num_steps": num_steps,
        "first_s": round(first, 3),
        "median_s": round(statistics.median(times), 4),
        "spread_s": round(max(times) - min(times), 4),
        "steps_per_s": round(num_envs * num_steps / statistics.median(times)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--id", default="Overcooked-CrampedRoom-V0", help="environment")
    parser.add_argument("--num-envs", type=int, default=4096, help="environments in the batch")
    parser.add_argument("--num-steps", type=int, default=400, help="steps of a rollout")
    parser.add_argument(
        "--repeats", type=int, default=5, help="timed rollouts after the first, which compiles"
    )
    arguments = parser.parse_args()
    print(json.dumps(measure(**vars(arguments))))


if __name__ == "__main__":
    main()
