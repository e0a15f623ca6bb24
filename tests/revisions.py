"""Revisions: `python -m tests.revisions REV` plays all ids there and here, and compares them bit for bit."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

PROJECT = Path(__file__).parents[1]
LANES = 8  # environments of each id: half of them play at random, half by a script if the game has one


def main() -> int:
    """Exit code 0 if all ids of that revision agree, 1 if any does not."""
    parser = argparse.ArgumentParser("python -m tests.revisions", description=__doc__)
    parser.add_argument("revision", help="the revision to compare with, for example HEAD~1")
    parser.add_argument("--backend", choices=("numpy", "jax"), default="numpy")
    parser.add_argument("--only", default="", help="ids that contain this text")
    parser.add_argument(
        "--steps", type=int, default=405, help="of each id; default: over the end of an episode"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        git = ("git", "-C", str(PROJECT), "archive", options.revision)
        archive = subprocess.run(git, capture_output=True, check=False)
        if archive.returncode:
            parser.error(archive.stderr.decode().strip())
        there = Path(folder) / "before"
        there.mkdir()
        subprocess.run(["tar", "-x", "-C", str(there)], input=archive.stdout, check=True)
        here, before = (_play(checkout, options) for checkout in (PROJECT, there))
        differ = compare(_lines(here), _lines(before))
        return 1 if here.wait() or before.wait() or differ else 0


def _play(checkout: Path, options: argparse.Namespace) -> subprocess.Popen[str]:
    program = (sys.executable, __file__, options.backend, options.only, str(options.steps))
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    return subprocess.Popen(
        program, cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )


def compare(here: Iterable[dict[str, Any]], before: Iterable[dict[str, Any]]) -> bool:
    """Print what differs, id by id; whether anything does, or nothing was compared. New ids are left out."""
    ids, differ, paid = 0, 0, 0
    mine: dict[str, dict[str, Any]] = {}
    found = iter(here)
    for other in before:
        id = other["id"]
        while id not in mine and (line := next(found, None)) is not None:
            mine[line["id"]] = line
        now = mine.get(id, {})
        names = sorted(name for name in {**now, **other} if now.get(name) != other.get(name))
        ids, differ, paid = ids + 1, differ + bool(names), paid + bool(other["rewarded"])
        print(f"{id:44} {'differs: ' + ', '.join(names) if names else 'equal'}", flush=True)
    print(f"{ids} ids, {paid} of them with rewards; {differ} differ.")
    return bool(differ) or not ids


def _lines(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    return map(json.loads, process.stdout)


def _played(backend: str, only: str, steps: int) -> None:
    """Print a line of checksums for every id; runs in both checkouts, so with what both have."""
    import cogrid
    from cogrid.backend import rng
    from cogrid.benchmarks import workloads

    assert Path(cogrid.__file__).is_relative_to(Path.cwd()), f"{cogrid.__file__} is not of {Path.cwd()}"
    for id in cogrid.registered():
        if only not in id:
            continue
        env = cogrid.make(id, backend=backend, infos=True)
        tapes = [workloads.tape(env.spec, "random", steps, LANES // 2, 0)]
        tapes.append(workloads.tape(env.spec, workloads.meeting_most(env.spec), steps, LANES // 2, 1))
        step, reset = env.rules.backend.compiled(env.step_fn), env.rules.backend.compiled(env.reset_fn)
        state, obs = reset(env.rules.backend.key(rng.split(rng.key(7), LANES)))
        sums: dict[str, Any] = {}
        rewarded = 0
        for actions in np.concatenate(tapes, axis=1):
            note(sums, state.plain() | {"observation": obs})
            state, obs, rewards, done, infos = step(state, actions)
            note(sums, {"rewards": rewards, "done": done} | infos)
            rewarded += int((np.asarray(rewards) != 0).sum())
        env.reset(seed=0)
        found = {name: total.hexdigest()[:16] for name, total in sums.items()}
        about = {"id": id, "rewarded": rewarded, "fingerprint": env.get_state()["spec"]}
        print(json.dumps(about | found), flush=True)


def note(sums: dict[str, Any], values: Any, name: str = "") -> None:
    """Add arrays, also nested ones, to their checksums; the type counts."""
    if isinstance(values, dict):
        for key, value in values.items():
            note(sums, value, f"{name}.{key}" if name else str(key))
        return
    array = np.asarray(values)
    total = sums.setdefault(name, hashlib.sha256())
    total.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] in ("numpy", "jax"):
        _played(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main())
