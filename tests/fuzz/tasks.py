"""Tasks: each target and fault in a process of its own, watched from outside."""

from __future__ import annotations

import json
import queue
import selectors
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.fuzz import faults
from tests.fuzz.faults import Faults
from tests.fuzz.judge import ROOT, Tally
from tests.support import BACKENDS
from tests.worlds.comparing import compare
from tests.worlds.counting import Counts

Found = Tally | Faults | Counts

#: Faults take longest, so they begin first.
DISKS = "full disks"
OFTEN = 0.5  # seconds between two lines of a worker
START = 180.0  # seconds that a worker may take to import, compile and end
PARTS = 6  # of the random worlds on one backend, so that no process lasts long
COMPILED = 3  # of 100 worlds, so many are also compiled by JAX


def names() -> list[str]:
    """Everything that can run here."""
    return [*_faults(), *_worlds(), *(target.name for target in _targets())]


def _faults() -> list[str]:
    return [f"kill −9: {work.name}" for work in faults.killed()] + [DISKS]


def _worlds() -> dict[str, tuple[str, int]]:
    """The backend and the number of every part of the random worlds; those that compile take longest."""
    return {
        f"random worlds on {backend}, part {part} of {PARTS}": (backend, part)
        for backend in reversed(BACKENDS)
        for part in range(1, PARTS + 1)
    }


def _targets() -> list[Any]:
    from tests.fuzz import calls, files

    return [target for target in (*files.TARGETS, *calls.TARGETS) if target.is_possible]


# In a worker


def work(name: str, inputs: int, worlds: int, seed: int, limit: float) -> int:
    """Do one task, and tell of it on stdout: a line of JSON now and then, and one at the end."""
    out, told = sys.stdout, [0.0]
    sys.stdout = sys.stderr  # whatever else is printed

    def tell(found: Any, done: bool = False) -> None:
        if done or time.monotonic() > told[0] + OFTEN:
            told[0] = time.monotonic()
            print(json.dumps({"done": done, **vars(found)}), file=out, flush=True)

    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        tell(_task(name, inputs, worlds, seed, limit, Path(folder), tell), True)
    return 0


def _task(name: str, inputs: int, worlds: int, seed: int, limit: float, folder: Path, tell: Any) -> Found:
    if name == DISKS:
        return faults.fill(seed, folder, tell)
    if name in _worlds():
        backend, part = _worlds()[name]
        count = worlds if backend == "numpy" else worlds * COMPILED // 100
        return compare(range(seed * 10**6 + part - 1, seed * 10**6 + count, PARTS), backend, tell)
    for one in faults.killed():
        if name.endswith(f": {one.name}"):
            return faults.kill(one, seed, folder, tell)
    from tests.fuzz.target import run

    (target,) = (one for one in _targets() if one.name == name)
    return run(target, inputs, seed, folder, limit, tell)


# Outside


def run_all(
    names: Sequence[str], inputs: int, worlds: int, seed: int, limit: float, workers: int
) -> list[Found]:
    """All tasks, so many at a time; in the order of their names."""
    shares = {target.name: target.share for target in _targets() if target.name in names}
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in names:
        waiting.put(name)
    found: dict[str, Found] = {}

    def serve() -> None:
        while True:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                return
            count = max(1, inputs * shares.get(name, 0) // max(1, sum(shares.values())))
            began = time.monotonic()
            found[name] = one = watched(name, count, seed, limit, worlds=worlds)
            print(
                f"fuzz: {_short(name, one)} in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True
            )

    threads = [threading.Thread(target=serve) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[name] for name in names]


def _short(name: str, found: Found) -> str:
    if isinstance(found, Counts):
        return f"{name}: {found.worlds:,} worlds, {found.steps:,} steps, {found.mismatches} mismatches"
    if isinstance(found, Tally):
        return f"{found.target}: {found.inputs:,} inputs, {found.faults} faults"
    return f"{found.target}: {found.survived} of {found.tried} survived"


def watched(
    name: str, inputs: int, seed: int, limit: float, command: Sequence[str] = (), worlds: int = 0
) -> Found:
    """One worker; its silence is a hang, its death a traceback."""
    options = ["--task", name, "--inputs", str(inputs), "--seed", str(seed), "--limit", str(limit)]
    options += ["--worlds", str(worlds)]
    started = [*command] or [sys.executable, "-m", "tests.fuzz", *options]
    patience = faults.PATIENCE * 4 if name in _faults() else START + 2 * limit
    last: dict[str, Any] = {"backend": _worlds()[name][0]} if name in _worlds() else {"target": name}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            started,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=faults.environment(),
            encoding="utf-8",
        )
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector, process:
            selector.register(process.stdout, selectors.EVENT_READ)
            silent = False
            while not silent and not last.get("done"):
                silent = not selector.select(patience)
                line = "" if silent else process.stdout.readline()
                if not line:
                    break
                last = json.loads(line)
            if silent:
                process.kill()
        errors.seek(0)
        said = errors.read()[-600:]
    done = last.pop("done", False)
    kind = Faults if name in _faults() else Counts if name in _worlds() else Tally
    found: Found = kind(**last)
    if not done:
        reason = f"no sign of life for {patience:g} s" if silent else f"exit {process.returncode}: {said}"
        _count(found, silent, reason)
    return found


def _count(found: Found, silent: bool, reason: str) -> None:
    found.examples.append(f"the worker ended early, {reason}")
    if isinstance(found, Counts):
        found.mismatches += 1
        return
    if isinstance(found, Faults):
        found.tried += 1
        return
    found.inputs += 1
    if silent:
        found.hangs += 1
    else:
        found.tracebacks += 1
