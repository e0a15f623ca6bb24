"""One of several processes: python -m tests.distributed.worker TASK FOLDER PORT PROCESSES PROCESS."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import jax
import psutil

import cogrid
from cogrid import distributed
from tests.distributed import games

TASK, FOLDER = sys.argv[1], Path(sys.argv[2])
PORT, PROCESSES, PROCESS = map(int, sys.argv[3:])
HEARTBEAT = 10


def main() -> None:
    tasks = {"all": everything, "killed": killed, "left": left, "raises": raises, "alone": alone}
    (tasks | {"other": other_version, "listens": listens})[TASK]()


def start(port: int = PORT, **options: int) -> None:
    distributed.start(f"localhost:{port}", PROCESSES, PROCESS, **options)


def told(action, *arguments, **options) -> None:
    """Print what was refused."""
    try:
        action(*arguments, **options)
    except (ValueError, RuntimeError, TimeoutError) as error:
        print(f"{type(error).__name__}: {error}", flush=True)


def everything() -> None:
    """All that goes well, and the disagreements that are found before anything is played."""
    start(wait=120)
    assert (jax.process_count(), len(jax.devices())) == (2, 4)
    for game in games.GAMES:
        games.write(FOLDER, game, games.play(game))
    games.write(FOLDER, "gradient", games.gradient())
    run = cogrid.rollout(games.room(), None, games.KEY, 7, games.STEPS, keep="trajectory")
    games.write(FOLDER / str(PROCESS), "trajectory", {**run.trajectory, "envs": run.envs}, everyone=True)
    told(cogrid.rollout, games.room(), None, 0, 8 + PROCESS, 3)
    told(cogrid.rollout, games.room(max_steps=5 + PROCESS), None, 0, 8, 3)
    told(cogrid.rollout, games.room(), None, 0, 8, 3, checkpoint_every=5 + PROCESS)
    told(cogrid.rollout, games.room(), None, 0, 8, 3, checkpoint=FOLDER / "some" if PROCESS else None)
    games.write(
        FOLDER, "saved", games.play("uneven", checkpoint=FOLDER / "saves", checkpoint_every=games.EVERY)
    )
    own = FOLDER / ("elsewhere" if PROCESS else "saves")  # as on hosts that share no folder
    own.mkdir(exist_ok=True)
    told(games.play, "uneven", checkpoint=own, checkpoint_every=games.EVERY)


def killed() -> None:
    """Process `FOLDER / "victim"` dies while its save is being written."""
    start(wait=120, heartbeat=HEARTBEAT)
    saves = FOLDER / "saves"
    if int((FOLDER / "victim").read_text(encoding="utf-8")) == PROCESS:
        threading.Thread(target=die_in_a_save, args=(saves,), daemon=True).start()
    games.play("uneven", checkpoint=saves, checkpoint_every=games.EVERY)


def die_in_a_save(saves: Path) -> None:
    """In any but the first: a save has a suffix until it is whole, and only for a moment."""
    first = str(games.EVERY)
    while not any(path.suffix and path.stem != first for path in saves.glob("*")):
        time.sleep(0.0005)
    os.kill(os.getpid(), signal.SIGKILL)


def raises() -> None:
    """Process 1 has a mistake of its own, while the other is busy."""
    start(wait=120, heartbeat=HEARTBEAT)
    if PROCESS == 1:
        raise ValueError("one's own mistake")
    threading.Event().wait()


def left() -> None:
    """Process `FOLDER / "victim"` leaves by `sys.exit`, and the other one waits for it.

    With `FOLDER / "delay"` the thread that hears of it comes to speak so many seconds later; with
    `FOLDER / "deaf"` it never hears, and with `FOLDER / "late"` JAX's abort also comes after all patience.
    """
    if (FOLDER / "deaf").exists():
        distributed._Watch.run = lambda watch: threading.Event().wait()
    start(wait=120, heartbeat=HEARTBEAT // 2)
    if (FOLDER / "delay").exists():
        delay, who_died = float((FOLDER / "delay").read_text(encoding="utf-8")), distributed._who_died
        distributed._who_died = lambda text: time.sleep(delay) or who_died(text)
    if (FOLDER / "late").exists():
        distributed._watch().heartbeat = 0.5
    if int((FOLDER / "victim").read_text(encoding="utf-8")) == PROCESS:
        sys.exit(3)
    distributed.agree("left")


def listens() -> None:
    """Where one can connect to this process."""
    distributed.start(f"127.0.0.1:{PORT}", PROCESSES, PROCESS, wait=120)
    for connection in psutil.Process().net_connections("inet"):
        if connection.status == psutil.CONN_LISTEN:
            print(f"listens: {connection.laddr.port} {connection.laddr.ip}", flush=True)
    distributed.agree("end")


def alone() -> None:
    """Nobody else comes: each looks for the other at a port of its own."""
    told(distributed.start)
    told(start, int((FOLDER / f"port{PROCESS}").read_text(encoding="utf-8")), wait=2)


def other_version() -> None:
    """Process 1 has another version of cogrid."""
    versions = distributed.versions()
    if PROCESS == 1:
        distributed.versions = lambda: {**versions, "cogrid": "0.0.9"}
    told(start, wait=120)


if __name__ == "__main__":
    main()
