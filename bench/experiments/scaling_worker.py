"""The worker of the scaling experiment: plays a rollout, alone or as one of several processes."""

from __future__ import annotations

import functools
import hashlib
import re
import time
from collections.abc import Callable
from typing import Any

import jax

import cogrid
from bench.measure import training
from bench.processes.protocol import serve
from bench.suites import CRAMPED
from cogrid import distributed
from cogrid._scale.placement import Placement, place
from cogrid._scale.rollout import compiled
from cogrid.backend import rng

OPERATIONS = "all-(?:reduce|gather|to-all)|reduce-scatter|collective-(?:permute|broadcast)"
COLLECTIVE = re.compile(rf"= (.*?) (?:{OPERATIONS})(?:-start)?\(")
ARRAY = re.compile(r"\b(?:pred|[a-z]+?(\d+))\[([\d,]*)\]")  # a pred takes a byte


class ScalingWorker:
    def __init__(self) -> None:
        self._program: Any = None
        self._carry: Any = None
        self._steps = 0

    def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        tasks: dict[str, Callable[..., dict[str, Any]]] = {
            "prepare": self._prepare,
            "play": self._play,
            "checksum": self._checksum,
            "count": count,
        }
        return tasks[request.pop("task")](**request)

    def _prepare(self, batch: int, steps: int, processes: int, process: int, port: int) -> dict[str, Any]:
        if processes > 1:
            distributed.start(f"localhost:{port}", processes, process)
        self._program, self._steps = program_of(batch), steps
        self._carry = self._program.begin(rng.key(42))
        for _ in range(3):  # the first one compiles
            self._play()
        return {}

    def _play(self) -> dict[str, Any]:
        wall, cpu = time.perf_counter(), time.process_time()
        self._carry, _ = jax.block_until_ready(self._program.run(self._carry, None, self._steps))
        return {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}

    def _checksum(self) -> dict[str, Any]:
        parts = jax.tree.leaves(distributed.gather((self._carry.state, self._carry.sums)))
        digest = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
        return {"checksum": digest[:16]}


def program_of(batch: int) -> Any:
    """The rollout itself, without one-time work."""
    env = cogrid.make(CRAMPED, backend="jax")
    return compiled(env.rules, None, place(None, batch), "sums")


def count(batch: int, steps: int) -> dict[str, Any]:
    """Collectives and their bytes: of the start, of a chunk, and of an update of the training example."""
    program, key = program_of(batch), rng.key(42)
    carry = jax.eval_shape(program.begin, key)
    programs = {"begin": program.begin.lower(key), f"{steps} steps": program.run.lower(carry, None, steps)}
    if not training.missing():
        programs["IPPO update"] = update(program.place)
    return {"counts": [(code, *collectives(lowered)) for code, lowered in programs.items()]}


def update(place: Placement) -> Any:
    """One update of one seed, in the example's own sizes except for the environments."""
    from cogrid._apps.train.learner import Learner  # optional: they need the extra `train`
    from cogrid._apps.train.loop import chunk_on, seeds
    from cogrid._apps.train.options import Options

    options = Options(devices=int(place.mesh.size), num_envs=place.num_envs, seeds=1, chunk=1)
    learner = Learner(options)
    run = jax.eval_shape(jax.vmap(learner.begin), seeds(options))
    return jax.jit(chunk_on(place, learner)).lower(run)


def collectives(lowered: Any) -> tuple[int, int]:
    """How many there are in the compiled code, and the bytes that each device gets from them."""
    shapes = COLLECTIVE.findall(lowered.compile().as_text())
    return len(shapes), sum(map(size_of, shapes))


def size_of(shape: str) -> int:
    """Bytes of arrays in XLA's notation: f32[64,7]{1,0}, or several in brackets."""
    arrays = ((int(bits or 8) // 8, dims.split(",") if dims else []) for bits, dims in ARRAY.findall(shape))
    return sum(functools.reduce(lambda size, dim: size * int(dim), dims, width) for width, dims in arrays)


if __name__ == "__main__":
    serve(ScalingWorker().handle)
