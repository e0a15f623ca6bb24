"""One process of a scaling benchmark: JSON lines in, JSON lines out."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
import time
from typing import Any

import jax

import cogrid
from bench import training
from bench.cases import CRAMPED
from cogrid import distributed
from cogrid.backend import rng
from cogrid.placement import Placement, place
from cogrid.rollout import Program, _compiled

OPERATIONS = "all-(?:reduce|gather|to-all)|reduce-scatter|collective-(?:permute|broadcast)"
COLLECTIVE = re.compile(rf"= (.*?) (?:{OPERATIONS})(?:-start)?\(")
ARRAY = re.compile(r"\b(?:pred|[a-z]+?(\d+))\[([\d,]*)\]")  # a pred takes a byte


def main() -> None:
    """Whatever anything prints goes to stderr, so that stdout holds the answers and nothing else."""
    with os.fdopen(os.dup(1), "w") as answer:
        os.dup2(2, 1)
        for words in answers(json.loads(sys.stdin.readline())):
            answer.write(json.dumps(words) + "\n")
            answer.flush()


def answers(request: dict[str, Any]) -> Any:
    """What is said to each line."""
    if request.get("processes", 1) > 1:
        distributed.start(f"localhost:{request['port']}", request["processes"], request["process"])
    program = program_of(request["batch"])
    if request.get("count"):
        yield [*counts(program, request["steps"])]
        return
    carry = program.begin(rng.key(42))
    for line in sys.stdin:
        words = json.loads(line)
        if words == "checksum":
            parts = jax.tree.leaves(distributed.gather((carry.state.cells, carry.state.words, carry.sums)))
            yield hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]
            continue
        for _ in range(3 if words == "ready?" else 1):  # the first one compiles
            wall, cpu = time.perf_counter(), time.process_time()
            carry, _ = jax.block_until_ready(program.run(carry, None, request["steps"]))
            taken = [time.perf_counter() - wall, time.process_time() - cpu]
        yield taken


def program_of(batch: int) -> Program:
    """The rollout itself, without what is done once."""
    env = cogrid.make(CRAMPED, backend="jax")
    return _compiled(env.rules, None, place(None, batch), "sums")


def counts(program: Program, steps: int) -> Any:
    """Collectives and their bytes: of the beginning, of a chunk, and of an update of the training example."""
    words = rng.key(42)
    carry = jax.eval_shape(program.begin, words)
    yield "begin", *collectives(program.begin.lower(words))  # type: ignore[attr-defined]
    yield f"{steps} steps", *collectives(program.run.lower(carry, None, steps))  # type: ignore[attr-defined]
    if not training.missing():
        yield "IPPO update", *collectives(update(program.place))


def update(place: Placement) -> Any:
    """One, of one seed, in the example's own sizes but for the environments."""
    ippo = training.module()
    options = ippo.Options(devices=int(place.mesh.size), num_envs=place.num_envs, seeds=1, chunk=1)
    learner = ippo.Learner(options)
    run = jax.eval_shape(jax.vmap(learner.begin), ippo.seeds_of(options))
    return jax.jit(ippo.chunk_on(place, learner)).lower(run)


def collectives(lowered: Any) -> tuple[int, int]:
    """How many there are in the compiled code, and the bytes that each device gets from them."""
    found = COLLECTIVE.findall(lowered.compile().as_text())
    return len(found), sum(map(size_of, found))


def size_of(shape: str) -> int:
    """Bytes of arrays in XLA's notation: f32[64,7]{1,0}, or several in brackets."""
    arrays = ((int(bits or 8) // 8, dims.split(",") if dims else []) for bits, dims in ARRAY.findall(shape))
    return sum(functools.reduce(lambda size, dim: size * int(dim), dims, width) for width, dims in arrays)


if __name__ == "__main__":
    main()
