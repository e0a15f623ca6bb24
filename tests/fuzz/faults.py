"""Injected faults: kill −9 at random moments, and full disks; what survives is compared bit for bit."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.judge import ROOT

ROOM = "Overcooked-CrampedRoom-V0"
BEFORE = b"what was there before"
# A command that runs another, whose files can have 64 bytes. (A limit set by subprocess's preexec_fn would
# need a Python fork, about which JAX warns.) It writes no bytecode, which would be cut off for everybody.
LIMIT = """
import os, resource, sys
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
os.execv(sys.argv[1], sys.argv[1:])
"""
PATIENCE = 300  # seconds after which a process counts as hanging


@dataclasses.dataclass
class Faults:
    """How many faults of one kind were injected, and how many did no harm."""

    target: str
    tried: int = 0
    survived: int = 0
    examples: list[str] = dataclasses.field(default_factory=list)


class Killed(NamedTuple):
    """Work that is killed and goes on: how it is started, resumed and compared."""

    name: str
    kills: int
    start: Callable[[Path], list[str]]  # the command for a folder
    resume: Callable[[Path], list[str]]  # the command once something is there
    result: Callable[[Path], dict[str, Any]]  # of work that is done: what must be the same bits
    intact: Callable[[Path], None]  # raises if a kill left a file that cannot be read
    ends: tuple[int, ...] = (0,)  # exit codes of work that is done


def environment() -> dict[str, str]:
    """Of the processes that are started here: the checkout, one thread each."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "NPROC": "1"}


# Kills

ROLLOUT = """
import sys
import numpy as np
import cogrid

env = cogrid.make(sys.argv[1], backend="jax", max_steps=9, shaping=1.0, random_start=True)
run = cogrid.rollout(env, None, 2, 5, 400, chunk=10, devices=1, checkpoint=sys.argv[2], checkpoint_every=20)
fields = {**run.state.plain(), "sums": np.asarray(run.sums.rewards), "obs": np.asarray(run.obs)}
np.savez(sys.argv[3], **{name: np.asarray(value) for name, value in fields.items()})
"""


def _rollout(folder: Path) -> list[str]:
    return [sys.executable, "-c", ROLLOUT, ROOM, str(folder / "saves"), str(folder / "end.npz")]


def _rollout_result(folder: Path) -> dict[str, Any]:
    return _arrays(folder / "end.npz")


def _arrays(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return {name: (str(file[name].dtype), file[name].shape, file[name].tobytes()) for name in file}


def _train(folder: Path) -> list[str]:
    sizes = ["--steps", "2048", "--num-envs", "8", "--num-steps", "16", "--seeds", "1", "--hidden", "8"]
    sizes += ["--chunk", "1", "--epochs", "1", "--minibatches", "1"]
    return [sys.executable, "-m", "cogrid", "train", ROOM, "--out", str(folder), *sizes]


def _train_on(folder: Path) -> list[str]:
    """The beginning again where the kill came before the first checkpoint."""
    return _train(folder) + (["--resume"] if (folder / "checkpoint.npz").exists() else [])


def _train_result(folder: Path) -> dict[str, Any]:
    arrays = {name: value for name, value in _arrays(folder / "checkpoint.npz").items() if name != "meta"}
    results = json.loads((folder / "results.json").read_bytes())
    return {**arrays, "score": results["score"], "curve": results["curve"]}


def _train_intact(folder: Path) -> None:
    if (folder / "checkpoint.npz").exists():
        _arrays(folder / "checkpoint.npz")


def _measure(folder: Path, *more: str) -> list[str]:
    command = [sys.executable, "-m", "bench", "run", "--output", str(folder / "result.json")]
    return [*command, *(more or ("--layout", "CrampedRoom", "--backend", "numpy", "--rounds", "1"))]


def _measure_on(folder: Path) -> list[str]:
    return _measure(folder, *(["--resume"] if (folder / "result.json").exists() else []))


def _measured(folder: Path) -> dict[str, Any]:
    from bench.storage import results

    found = results.load(folder / "result.json")
    return {row.name: (row.status, row.identity, row.checksum, row.counters) for row in found.rows}


def _measured_intact(folder: Path) -> None:
    if (folder / "result.json").exists():
        _measured(folder)


def killed() -> list[Killed]:
    """All work that is killed: twenty times together."""
    judged = (0, 20)  # a counter may be beside its baseline: this is about files
    return [
        Killed("bench run", 6, _measure, _measure_on, _measured, _measured_intact, judged),
        Killed("training", 7, _train, _train_on, _train_result, _train_intact),
        Killed("rollout(checkpoint=)", 7, _rollout, _rollout, _rollout_result, lambda folder: None),
    ]


def kill(work: Killed, seed: int, folder: Path, progress: Callable[[Faults], None]) -> Faults:
    """Kill the work again and again, let it finish, and compare it with work that nobody killed."""
    random, faults = Random(f"{seed} {work.name}"), Faults(f"kill −9: {work.name}")
    whole = folder / "whole"
    whole.mkdir()
    began = time.monotonic()
    _finish(work, work.start(whole), whole)
    lasts, wanted = time.monotonic() - began, work.result(whole)
    chain = 0
    while faults.tried < work.kills:
        chain += 1
        place = folder / f"killed-{chain}"
        place.mkdir()
        planned, hit = min(random.choice((2, 3)), work.kills - faults.tried), 0
        try:
            for _ in range(planned):
                command = work.resume(place) if hit else work.start(place)
                if not _killed_at(command, lasts * random.uniform(0.1, 1.0)):
                    lasts *= 0.8  # it had finished, which is no kill
                    break
                hit += 1
                work.intact(place)
            _finish(work, work.resume(place), place)
            if hit and work.result(place) != wanted:
                raise ValueError("the result is another than without a kill")
        except Exception as error:
            faults.examples.append(f"chain {chain}, {hit} kills: {type(error).__name__}: {str(error)[-500:]}")
            faults.tried += hit or 1
        else:
            faults.survived += hit
            faults.tried += hit
        progress(faults)
    return faults


def _killed_at(command: list[str], seconds: float) -> bool:
    """Start the command and kill it after so many seconds; whether it was still at work."""
    with _group(command) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            return process.wait() == -signal.SIGKILL
    return False


def _finish(work: Killed, command: list[str], folder: Path) -> None:
    if work.name == "bench run" and command == _measure_on(folder) and _is_complete(folder):
        return  # killed after its last row: there is nothing to resume
    with _group(command) as process:
        out, error = process.communicate(timeout=PATIENCE)
    if process.returncode not in work.ends:
        raise ValueError(f"exit {process.returncode}: {error[-400:] or out[-400:]}")


def _is_complete(folder: Path) -> bool:
    from bench import runner
    from bench.storage import results

    path = folder / "result.json"
    return path.exists() and not runner.missing(results.load(path))


@contextmanager
def _group(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A process with a group of its own, of which nothing is left in the end."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=ROOT, env=environment(), start_new_session=True, **pipes)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its workers
        process.communicate()


# Full disks


class Disk(NamedTuple):
    """A command that writes a file to a disk that is full."""

    name: str
    file: str  # that is there before
    command: Callable[[Path], list[str]]  # for the path of the file


SAVE = """
import sys
import cogrid
from cogrid.replay.recording import record
try:
    replay = record(cogrid.make(sys.argv[1]), [[4, 4]] * 200, 0, metadata={"long": list(range(3000))})
    replay.save(sys.argv[2])
except OSError as error:
    sys.exit(f"save: {error}")
"""
SAVES = """
import sys
import cogrid
env = cogrid.make(sys.argv[1], backend="jax", max_steps=9)
try:
    cogrid.rollout(env, None, 2, 5, 20, devices=1, checkpoint=sys.argv[2], checkpoint_every=10)
except (OSError, ValueError) as error:
    sys.exit(f"rollout: {error}")
"""


def _python(*words: str) -> list[str]:
    return [sys.executable, *words]


def _bench(*words: str) -> list[str]:
    return _python("-m", "bench", *words)


RESULT = str(ROOT / "bench/evidence/throughput.json")
DISKS = (
    Disk("replay", "a.json", lambda path: _python("-c", SAVE, ROOM, str(path))),
    Disk("packed replay", "a.json.gz", lambda path: _python("-c", SAVE, ROOM, str(path))),
    *(
        Disk(
            f"render {kind}",
            f"a.{kind}",
            lambda path: _python("-m", "cogrid", "render", ROOM, "--out", str(path)),
        )
        for kind in ("gif", "apng", "png")
    ),
    Disk(
        "bench report",
        "a.html",
        lambda path: _bench("report", str(ROOT / "bench/evidence"), "--html", str(path)),
    ),
    *(
        Disk(
            f"bench export {kind}",
            "other",  # it writes no file that exists
            lambda path, kind=kind: _bench("export", RESULT, "--to", kind, "-o", str(path.with_name("new"))),
        )
        for kind in ("csv", "pyperf")
    ),
    Disk("bench plot", "throughput.png", lambda path: _bench("plot", RESULT, "--folder", str(path.parent))),
    Disk("bench run", "other.json", lambda path: _measure(path.parent)),
    Disk("training", "other.npz", lambda path: _train(path.parent)),
    Disk("rollout(checkpoint=)", "other", lambda path: _python("-c", SAVES, ROOM, str(path.parent))),
)


def fill(seed: int, folder: Path, progress: Callable[[Faults], None]) -> Faults:
    """Every writer on a full disk: the old file stays, nothing is left beside it, one sentence says why."""
    faults = Faults(f"full disk ({'tmpfs' if _can_mount(folder) else 'file-size limit'})")
    for disk in DISKS:
        faults.tried += 1
        place = folder / "disk"
        place.mkdir()
        try:
            with _full(folder, place) as limit:
                (place / disk.file).write_bytes(BEFORE)
                _crowd(place)
                before = sorted(os.listdir(place))
                _refused(disk, place, limit)
                if (place / disk.file).read_bytes() != BEFORE:
                    raise ValueError("the old file is another")
                if sorted(os.listdir(place)) != before:
                    raise ValueError(f"left behind: {sorted(set(os.listdir(place)) - set(before))}")
        except Exception as error:
            faults.examples.append(f"{disk.name}: {type(error).__name__}: {str(error)[-500:]}")
        else:
            faults.survived += 1
        shutil.rmtree(place)
        progress(faults)
    return faults


def _refused(disk: Disk, place: Path, limit: list[str]) -> None:
    env = {**environment(), "TMPDIR": "/tmp", "JAX_ENABLE_COMPILATION_CACHE": "0"}
    done = subprocess.run(
        [*limit, *disk.command(place / disk.file)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        encoding="utf-8",
    )
    said = [line for line in done.stderr.splitlines() if "No space left" in line or "too large" in line]
    if done.returncode in (0, -signal.SIGKILL) or "Traceback" in done.stderr or len(said) != 1:
        raise ValueError(f"exit {done.returncode}: {done.stderr[-400:]}")


def _can_mount(folder: Path) -> bool:
    place = folder / "mount"
    place.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "fuzz", str(place)]
    try:
        possible = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
    if possible:
        subprocess.run(["umount", str(place)], check=True)
    return possible


@contextmanager
def _full(folder: Path, place: Path) -> Iterator[list[str]]:
    """A small disk of its own where that is possible; else what precedes a command to limit its files."""
    if not _can_mount(folder):
        yield _python("-c", LIMIT)
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "fuzz", str(place)], check=True)
    try:
        yield []
    finally:
        subprocess.run(["umount", str(place)], check=True)


def _crowd(place: Path) -> None:
    """Take all that is left of a small disk; on a large one nothing happens, there files are limited."""
    if os.statvfs(place).f_bsize * os.statvfs(place).f_blocks > 2**20:
        return
    file = os.open(place / "crowd", os.O_WRONLY | os.O_CREAT)
    with suppress(OSError):
        while True:
            os.write(file, bytes(4096))
    os.close(file)
