"""Use an installed cogrid: run this in an empty folder, by the Python that has it, as `python -P`."""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from urllib.request import urlopen

import numpy as np

import cogrid
from cogrid import policies, replay
from cogrid._io.installed import DISTRIBUTION
from cogrid.policies import zoo

ROOM = "Overcooked-CrampedRoom-V0"


def run(*words: str, code: int = 0) -> str:
    """What a command of cogrid prints; it must end with the code."""
    command = [sys.executable, "-P", "-m", "cogrid", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
    if done.returncode != code or "Traceback" in done.stderr:
        sys.exit(
            f"python -m cogrid {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout + done.stderr


def installed() -> str:
    """Check where the package is, and its version; the version."""
    package = Path(cogrid.__file__).parent
    assert not (package.parent / "pyproject.toml").exists(), f"{package} is a checkout"
    assert cogrid.__version__ == metadata.version(DISTRIBUTION)
    assert (package / "py.typed").is_file()
    return f"{DISTRIBUTION} {cogrid.__version__}"


def every_world() -> str:
    """Reset and step every environment once."""
    for id in cogrid.registered():
        env = cogrid.make(id)
        env.reset(seed=0)
        env.step({agent: int(env.action_space(agent).sample()) for agent in env.agents})
    return f"{len(cogrid.registered())} environments"


def every_policy() -> str:
    """Load all trained policies."""
    names = zoo.names()
    assert names
    for name in names:
        policies.policy_of(name, cogrid.make(f"{name.rpartition('-')[0]}-V0").rules)
    return f"{len(names)} trained policies"


def an_episode() -> str:
    """Record an episode, save it, and replay it from its file."""
    tape = np.random.default_rng(0).integers(0, 7, (50, 2))
    replay.record(cogrid.make(ROOM), tape, 0).save("game.json")
    game = replay.Replay.load("game.json")
    game.verify()
    return f"a replay of {len(game)} states"


def commands() -> str:
    """The commands that need no extra, and what they say where an extra is missing."""
    assert ROOM in run("list")
    assert "interact" in run("info", ROOM)
    assert "CrampedRoom" in run("zoo")
    run("check", "Goals-V0")
    if importlib.util.find_spec("PIL") is None:
        assert f"pip install '{DISTRIBUTION}[render]'" in run("render", ROOM, "--out", "a.gif", code=2)
    else:
        run("render", ROOM, "--out", "a.gif", "--steps", "5")
        assert Path("a.gif").read_bytes().startswith(b"GIF8")
    if importlib.util.find_spec("optax") is None:
        assert f"pip install '{DISTRIBUTION}[train]'" in run("train", ROOM, code=2)
    else:
        assert "--seeds" in run("train", "--help")
    return "commands"


def the_page() -> str:
    """Serve the page of `play`, and read it with all that it names."""
    command = [sys.executable, "-u", "-P", "-m", "cogrid", "play", ROOM, "--no-open"]
    if importlib.util.find_spec("websockets") is None:
        assert f"pip install '{DISTRIBUTION}[play]'" in run(*command[-3:], code=2)
        return "what play says without its extra"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as served:
        assert served.stdout is not None
        address = served.stdout.readline().strip()
        try:
            page = urlopen(address, timeout=60).read().decode()
            names = re.findall(r'(?:src|href)="([\w.-]+)"', page)
            files = [urlopen(address + name, timeout=60).read() for name in names]
        finally:
            served.terminate()
    assert len(files) > 1
    assert all(files)
    return f"the page of play and {len(files)} files"


def both_backends() -> str:
    """The same game on NumPy and JAX; without JAX, the sentence that says what to install."""
    if importlib.util.find_spec("jax") is None:
        try:
            cogrid.make(ROOM, backend="jax")
            sys.exit("JAX is not installed, and its backend works.")
        except ValueError as error:
            said = str(error)
        assert f"pip install '{DISTRIBUTION}[jax]'" in said
        return "NumPy alone"
    import jax

    tape = np.random.default_rng(1).integers(0, 7, (20, 2))
    replay.record(cogrid.make(ROOM), tape, 3).verify("jax")
    result = cogrid.rollout(cogrid.make(ROOM, backend="jax"), key=0, num_envs=8, num_steps=400)
    assert int(result.sums.episodes.sum()) == 8
    return f"NumPy equals JAX {jax.__version__}"


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for part in (installed, both_backends, commands, the_page, an_episode, every_policy, every_world):
        print(f"{part()}: good", flush=True)


if __name__ == "__main__":
    main()
