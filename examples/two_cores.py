"""Several cores without JAX: every process plays its share of the environments with the newest weights.

python examples/two_cores.py                    one process, then two, and the gain
python examples/two_cores.py --processes 4
"""

import argparse
import multiprocessing
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one thread for each process

import numpy as np  # after that

import cogrid

LENGTH = 16  # steps between two updates of the weights


def play(pipe, id, num_envs, seed):
    """A process of its own: weights come in, LENGTH steps (LENGTH, num_envs, agents, …) go out."""
    vec, generator = cogrid.make_vec(id, num_envs), np.random.default_rng(seed)
    obs, _ = vec.reset(seed=seed)
    while (weights := pipe.recv()) is not None:
        kept = []
        for _ in range(LENGTH):
            logits = obs @ weights
            actions = (logits + generator.gumbel(size=logits.shape)).argmax(axis=-1)
            seen, rewards, terminations, truncations, _ = vec.step(actions)
            kept.append((obs, actions, rewards, terminations | truncations))
            obs = seen
        pipe.send([np.stack(part) for part in zip(*kept, strict=True)])


def updated(weights, obs, actions, rewards, done):
    """Your learner goes here."""
    return weights


def measure(id, num_envs, rounds, processes):
    """Steps per second of all environments together, in the fastest round."""
    spawn = multiprocessing.get_context("spawn")  # not fork, which copies the locks of running threads
    pipes, workers, share = [], [], num_envs // processes
    for number in range(processes):
        ours, theirs = spawn.Pipe()
        workers.append(spawn.Process(target=play, args=(theirs, id, share, number * share), daemon=True))
        workers[-1].start()
        pipes.append(ours)
    vec = cogrid.make_vec(id, 1)
    weights = np.zeros((vec.single_observation_space.shape[-1], vec.rules.n_actions), np.float32)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for pipe in pipes:
            pipe.send(weights)
        parts = zip(*(pipe.recv() for pipe in pipes), strict=True)
        weights = updated(weights, *(np.concatenate(part, axis=1) for part in parts))
        times.append(time.perf_counter() - start)
    for pipe, worker in zip(pipes, workers, strict=True):
        pipe.send(None)
        worker.join()
    return LENGTH * share * processes / min(times)


def main():
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("--id", default="Overcooked-CrampedRoom-V0", help="environment (%(default)s)")
    parser.add_argument("--num-envs", type=int, default=1024, help="in all processes (%(default)s)")
    parser.add_argument("--processes", type=int, default=2, help="(%(default)s)")
    parser.add_argument("--rounds", type=int, default=50, help="of 16 steps (%(default)s)")
    options = parser.parse_args()
    one = measure(options.id, options.num_envs, options.rounds, 1)
    print(f"1 process:   {one:9,.0f} steps/s", flush=True)
    several = measure(options.id, options.num_envs, options.rounds, options.processes)
    print(f"{options.processes} processes: {several:9,.0f} steps/s, {several / one:.2f} times as many")


if __name__ == "__main__":
    main()
