"""The process of an earlier cogrid, in whose folder it runs: only the clock is ours."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from bench.peers.libraries.cogrid_0_3_worker import todays_clock
from bench.peers.peer_worker import Job, Prepared, serve_peer, speed


def main() -> None:
    serve_peer(prepare)


def prepare(job: Job) -> Prepared:
    """One environment through `env.step`, from the same state in every pass."""
    case, clock = job["case"], todays_clock()
    env: Any = import_module("cogrid").make(case["id"], **case["options"])
    tape = np.fromfile(job["tape"], np.int8).reshape(case["steps"], -1, len(env.possible_agents))
    joint = [dict(enumerate(actions)) for actions in tape[:, 0].tolist()]
    env.reset(seed=case["seed"])
    start = env.env_state

    def run() -> Any:
        for actions in joint:
            obs = env.step(actions)[0]
        return obs

    work = clock.Pass(run, lambda: env.set_state(start))
    return Prepared(job["library"], "steps/s", speed(clock, work, len(joint)))
