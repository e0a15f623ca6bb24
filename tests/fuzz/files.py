"""Targets that read files: replays, snapshots, results and baselines, policies, boards, checkpoints."""

from __future__ import annotations

import io
import json
import shutil
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import cogrid
from cogrid._core.rules import Rules
from cogrid.policies import policy_file
from cogrid.policies.named import policy_of
from cogrid.replay.frames import WIDTH
from cogrid.replay.recording import Mismatch, Replay, record
from tests.fuzz.games import ROOM
from tests.fuzz.grammar import ODD, as_file, damaged, mutated
from tests.fuzz.judge import Wrong, agreed
from tests.fuzz.target import Attempt, Games, Source, Target, played
from tests.support import BACKENDS, HAS_JAX

STEPS = 10


def episodes(games: Games) -> list[tuple[cogrid.CoGridEnv, Replay]]:
    """One of each game, on NumPy."""
    found = []
    for number, game in enumerate(games):
        env = cogrid.make(game.id, **game.options)
        shape = (STEPS, env.spec.num_agents)
        tape = np.random.default_rng(number).integers(0, env.rules.n_actions, shape)
        found.append((env, record(env, tape, number, metadata={"by": "nobody", "score": [1, 2.5]})))
    return found


# Replays


def replays(folder: Path, games: Games) -> tuple[Source, Attempt]:
    """Files whose fields, bytes or digests were changed."""
    bases = [(env, replay, json.loads(replay.text())) for env, replay in episodes(games)]
    for game, (_, replay, _) in zip(games, bases, strict=True):
        for backend in game.backends:
            replay.verify(backend)  # compiled before the first input, whose time is limited

    def source(random: Random) -> Iterator[tuple[int, str, bytes, int | None]]:
        while True:
            which = random.randrange(len(bases))
            replay, document = bases[which][1:]
            packed = random.random() < 0.3
            step = None
            if random.random() < 0.1:  # one wrong frame, which must be named
                step = random.randrange(len(replay) + 1)
                at = step * WIDTH + random.randrange(WIDTH)
                digit = f"{(int(replay.digests[at], 16) + random.randrange(1, 16)) % 16:x}"
                document = document | {"digests": replay.digests[:at] + digit + replay.digests[at + 1 :]}
                data = json.dumps(document).encode()
                yield which, "a.json", data, step
                continue
            data = as_file(random, mutated(random, document), packed)
            yield which, "a.json.gz" if packed else "a.json", data, None

    def attempt(given: tuple[int, str, bytes, int | None]) -> None:
        which, name, data, step = given
        (folder / name).write_bytes(data)
        replay = Replay.load(folder / name)
        env, base, _ = bases[which]
        if step is not None:
            _names(replay, step, games[which].backends)
        same = (replay.id, dict(replay.overrides)) == (base.id, dict(base.overrides))
        # Another game would be compiled for one input.
        backends = games[which].backends if same else BACKENDS[:1]
        calls = [lambda backend=backend: replay.verify(backend) for backend in backends]
        agreed(*calls)
        # It plays as it says: then a recording of the same start and actions has the same sums.
        again = record(
            env if same else cogrid.make(replay.id, **replay.overrides), replay.actions, replay.start
        )
        if len(again) == len(replay) and (again.checksum, again.digests) != (replay.checksum, replay.digests):
            raise Wrong("it was verified, but playing it again gives other sums")

    return source, attempt


def _names(replay: Replay, step: int, backends: tuple[str, ...]) -> None:
    """The first wrong step is the one that was changed."""
    where = f"after step {step} of" if step else "at its start"
    for backend in backends:
        try:
            replay.verify(backend)
        except Mismatch as error:
            if where not in str(error):
                raise Wrong(f"the first wrong step is {step}, but it said: {error}") from None
        else:
            raise Wrong(f"step {step} is wrong, but {backend} verified it")


# Snapshots


def snapshots(folder: Path, games: Games) -> tuple[Source, Attempt]:
    """Snapshots with changed fields; what is accepted plays the same on all backends."""
    groups = [game.made() for game in games]
    bases = [_moments(group[0], number) for number, group in enumerate(groups)]
    for group, moments in zip(groups, bases, strict=True):
        for env in group:  # compiled before the first input, whose time is limited
            env.set_state(moments[0])
        played(group, Random(0), 1)

    def source(random: Random) -> Iterator[tuple[int, Any, int]]:
        while True:
            which = random.randrange(len(groups))
            rules, document = groups[which][0].rules, random.choice(bases[which])
            change = _moved if random.random() < 0.4 else lambda rules, random, one: mutated(random, one)
            yield which, change(rules, random, document), random.randrange(2**32)

    def attempt(given: tuple[int, Any, int]) -> None:
        which, document, seed = given
        envs = groups[which]
        before = [env.env_state for env in envs if env._state is not None]
        try:
            agreed(*[lambda env=env: env.set_state(document) for env in envs])
        except (ValueError, TypeError):
            if any(env.env_state is not state for env, state in zip(envs, before, strict=False)):
                raise Wrong("it was refused, but the state is another now") from None
            raise
        if any(env.get_state() != envs[0].get_state() for env in envs) or not _equal(envs[0], document):
            raise Wrong("it was accepted, but the state is not what it says")
        played(envs, Random(seed), 4)

    return source, attempt


def _moments(env: cogrid.CoGridEnv, seed: int) -> list[Any]:
    """Snapshots of an episode."""
    env.reset(seed=seed)
    random, found = Random(seed), [env.get_state()]
    while env.agents and len(found) < 9:
        env.step({agent: random.randrange(env.rules.n_actions) for agent in env.agents})
        found.append(env.get_state())
    return found


def _moved(rules: Rules, random: Random, document: Any) -> Any:
    """The same moment with agents, hands, clocks, keys or things that are elsewhere; most are possible."""
    state = dict(document["state"])
    n = len(state["pos"])
    for name in random.sample(sorted(state), 2):
        match name:
            case "pos":
                state[name] = [random.randrange(rules.n_cells) for _ in range(n)]
            case "agent_dir":
                state[name] = [random.randrange(4) for _ in range(n)]
            case "held":
                state[name] = [random.randrange(rules.n_items) for _ in range(n)]
            case "cells":
                at = random.randrange(len(state[name]))
                changed = state[name][:at] + [random.randrange(rules.n_things)] + state[name][at + 1 :]
                state[name] = changed
            case "time":
                state[name] = random.randrange(rules.spec.max_steps + 1)
            case "ended":
                state[name] = [random.random() < 0.3 for _ in range(n)]
            case "slots" if rules.slots is not None:
                state[name] = [random.randrange(len(rules.slots.things)) for _ in state[name]]
            case "places":
                at = random.randrange(len(state[name]))
                state[name] = [*state[name][:at], random.randrange(rules.n_cells), *state[name][at + 1 :]]
            case "rng_key":
                state[name] = [random.randrange(2**32) for _ in range(2)]
            case "shaping_weight":
                state[name] = random.choice((0.25, 1.0, -3.5, 0.1, 100.0, 101.0, float(np.float32(0.3))))
    return document | {"state": state}


def _equal(env: cogrid.CoGridEnv, document: Any) -> bool:
    """Whether the state tells what the document says, whatever the types of its numbers."""
    told = env.get_state()["state"]
    return all(np.array_equal(np.asarray(document["state"][name]), np.asarray(told[name])) for name in told)


# Results and baselines of the benchmarks


def results(folder: Path, games: Games) -> tuple[Source, Attempt]:
    """Files of bench/; what is accepted can be written again, judged and shown."""
    from bench.compare import findings
    from bench.records import Result
    from bench.show import diff, export, tables
    from bench.storage import baselines
    from bench.storage import results as storage

    bases = []
    for path in baselines.files():
        document = json.loads(path.read_bytes())
        document["rows"] = document["rows"][:2]
        document["accepted"] = []  # its digest would refuse every change
        bases.append(document)

    here = storage.machine.system()  # looks for devices, which takes its time

    def source(random: Random) -> Iterator[bytes]:
        while True:
            yield as_file(random, mutated(random, random.choice(bases)), False)

    def attempt(data: bytes) -> None:
        path = folder / "result.json"
        path.write_bytes(data)
        found = baselines.load(path)
        storage.write(path, found)
        if baselines.load(path) != found:
            raise Wrong("written and read again it is another")
        if isinstance(found, Result):
            tables.summary(found)
            export.to_csv(found)
        judged = findings.judge(found, baselines.Baselines.of(found)) if isinstance(found, Result) else []
        for style in diff.FORMATS:
            diff.text(judged, style)
        baselines.troubles(path)
        baselines.described(path, here)

    return source, attempt


# Policies


def policies(folder: Path, games: Games) -> tuple[Source, Attempt]:
    """Files of trained policies, with other arrays, another origin or damaged bytes."""
    env = cogrid.make(ROOM)
    state, path = env.reset_fn(np.zeros(2, np.uint32))[0], folder / "policy.npz"
    sizes = {"": ((len(env.feature_names), 8), (8, 7)), "memory_": ((8, 24), (8, 24))}
    arrays: dict[str, dict[str, Any]] = {part: {} for part in sizes}
    for part, number in ((part, number) for part in sizes for number in range(2)):
        draw = np.random.default_rng(number).normal(0, 0.1, sizes[part][number])
        arrays[part][f"{part}weight_{number}"] = draw.astype(np.float32)
        arrays[part][f"{part}bias_{number}"] = np.zeros(sizes[part][number][1], np.float32)

    def source(random: Random) -> Iterator[bytes]:
        while True:
            recurrent = random.random() < 0.5
            version = policy_file.VERSIONS[recurrent]
            meta = {"version": version, "id": ROOM, "observation": "features", "about": {"seed": 3}}
            changed = arrays[""] | (arrays["memory_"] if recurrent else {})
            changed["meta"] = np.array(json.dumps(meta))
            if random.random() < 0.3:
                changed["meta"] = np.array(json.dumps(mutated(random, meta)))
            for _ in range(random.choice((0, 1, 1, 2))):
                _change_array(random, changed)
            data = _archive(random, changed)
            yield damaged(random, data) if random.random() < 0.25 else data

    def attempt(data: bytes) -> None:
        path.write_bytes(data)
        chosen = [policy_of(str(path), env.rules, seed=3)(state) for _ in range(2)]
        if chosen[0] != chosen[1] or not all(0 <= one < env.rules.n_actions for one in chosen[0].values()):
            raise Wrong(f"it plays {chosen}")

    return source, attempt


def _change_array(random: Random, arrays: dict[str, Any]) -> None:
    name = random.choice(sorted(arrays))
    array = arrays[name]
    match random.randrange(8):
        case 0:
            del arrays[name]
        case 1:
            kind = random.choice(("f8", "i4", "c8", "f2", "U9", "?"))
            is_number = array.dtype.kind in "fic?"
            arrays[name] = array.astype(kind) if is_number else np.array(random.choice((0.5, b"x", "")))
        case 2 if array.ndim and array.shape[-1]:
            arrays[name] = array[..., : random.randrange(array.shape[-1])]
        case 3:
            arrays[name] = array[None]
        case 4 if array.dtype.kind == "f" and array.size:
            array = array.copy()
            array.flat[random.randrange(array.size)] = random.choice((np.nan, np.inf, 3e38, 1e-40))
            arrays[name] = array
        case 5:
            arrays[name.replace("0", random.choice(("7", "00", "-1", "²")))] = array
        case 6:
            value = random.choice([one for one in ODD if not isinstance(one, (list, dict))])
            arrays[name] = np.array(str(value).encode("utf-8", "replace"))
        case _ if array.dtype.kind == "f":
            arrays[name] = array * np.float32(random.choice((2, -1, 1e30, 0)))


def _archive(random: Random, arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if random.random() < 0.3 else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, array in arrays.items():
            data = io.BytesIO()
            np.save(data, array)
            whole = data.getvalue()
            if random.random() < 0.03:
                whole = damaged(random, whole)
            # A date of its own, else the clock would be part of the input.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), whole, method)
    return file.getvalue()


# Boards


def boards(folder: Path, games: Games) -> tuple[Source, Attempt]:
    """Damaged files with boards: the same as their text, or a sentence."""
    base = cogrid.make(ROOM).spec.layout[0].text

    def source(random: Random) -> Iterator[bytes]:
        while True:
            rows = [[*row] for row in base.split("\n")]
            for _ in range(random.choice((0, 0, 1, 2))):
                row = random.choice(rows)
                row[random.randrange(len(row))] = random.choice("XOPDS 12@\0é\n\r\t")
            whole = random.choice(("\n", "\n", "\r\n")).join(map("".join, rows)).encode()
            yield damaged(random, whole) if random.random() < 0.4 else whole

    def attempt(data: bytes) -> None:
        file = folder / "board.txt"
        file.write_bytes(data)
        env = cogrid.make(ROOM, layout=file, max_steps=3)
        (layout,) = env.spec.layout
        if cogrid.make(ROOM, layout=layout.text, max_steps=3).spec != env.spec:
            raise Wrong("the board's text makes another environment")
        env.reset(seed=0)

    return source, attempt


# Checkpoints of rollouts


def checkpoints(folder: Path, games: Games) -> tuple[Source, Attempt]:
    """Damaged folders: the rollout goes on to the same bits, or says that it cannot."""
    from tests.distributed import games as rooms

    env = rooms.room()

    def play(place: Path | None, steps: int = 15) -> dict[str, Any]:
        saves = {} if place is None else {"checkpoint": place, "checkpoint_every": 5}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a damaged save, where the older one is used
            return rooms.whole(cogrid.rollout(env, None, 2, 3, steps, chunk=5, devices=1, **saves))

    wanted, good = play(None), folder / "good"
    play(good, 10)  # two saves
    files = sorted(path.relative_to(good) for path in good.rglob("*") if path.is_file())

    def source(random: Random) -> Iterator[list[tuple[str, bytes | None]]]:
        while True:
            changes: list[tuple[str, bytes | None]] = []
            for path in random.sample(files, random.choice((1, 1, 2))):
                data = (good / path).read_bytes()
                kind = random.randrange(4)
                changed = None if kind == 0 else b"" if kind == 1 else damaged(random, data)
                changes.append((str(path), changed))
            yield changes

    def attempt(changes: list[tuple[str, bytes | None]]) -> None:
        place = folder / "tried"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(good, place)
        for name, data in changes:
            if data is None:
                (place / name).unlink()
            else:
                (place / name).write_bytes(data)
        found = play(place)
        if found.keys() != wanted.keys() or any(
            found[name].tobytes() != wanted[name].tobytes() for name in wanted
        ):
            raise Wrong("the rollout went on to another result")

    return source, attempt


TARGETS = (
    Target("replays", 200, replays),
    Target("snapshots", 250, snapshots),
    Target("results and baselines", 130, results),
    Target("policies (.npz)", 90, policies),
    Target("boards", 40, boards),
    *([Target("checkpoints of rollouts", 8, checkpoints, ("jax", "orbax"))] if HAS_JAX else []),
)
