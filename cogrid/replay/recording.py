"""Replays: an episode as its first state and its actions, played again bit for bit on either backend."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import json
import os
import re
import reprlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pettingzoo.utils import BaseParallelWrapper

import cogrid
from cogrid._core.compile.spec import Spec
from cogrid._core.rules import Rules, compile_rules
from cogrid._core.state import snapshot
from cogrid._core.state.pool import OPTIONS, environment
from cogrid._core.step import functions
from cogrid._env.guard import Guard, alone
from cogrid._io import files
from cogrid._io.messages import brief
from cogrid._io.reading import MAX_BYTES, check_depth, limited_bytes, strict_json
from cogrid.backend import rng
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.cogrid_env import AgentID, AgentRewards, CoGridEnv, Flags, Infos
from cogrid.envs import registry
from cogrid.replay.frames import (
    DIGITS,
    WIDTH,
    Choose,
    Frame,
    RunningChecksums,
    as_stored,
    from_policy,
    from_tape,
    joints,
    played,
)

FORMAT, VERSION = "cogrid replay", 1
#: The endings of replay files; the second is compressed.
SUFFIXES = (".replay.json", ".replay.json.gz")
# Browsers and file managers put the number of a copy before the last ending: "a.replay (1).json".
_ENDING = re.compile(r"\.replay[^.]*\.json([^.]*\.gz)?$")
MAX_VERSION = 60  # characters of `made_by`


class Mismatch(ValueError):
    """A replay that came out differently when it was played again."""


@dataclasses.dataclass(frozen=True)
class Replay:
    """One episode, or a part of one; made by `Recorder` or `record`, or loaded from a file."""

    id: str | None  # recreates the environment; None for a spec that no registered id makes
    overrides: Mapping[str, Any]
    seed: int | None  # of the reset that made the start, if one did
    start: Mapping[str, Any]  # the first snapshot; its "spec" is the fingerprint
    tape: str  # the actions: one of DIGITS per agent and step
    digests: str  # WIDTH hex digits of the running checksum per frame
    checksum: str  # sha256 of the fingerprint, the content of the frames, and the actions
    metadata: Mapping[str, Any]  # anything else to keep, such as names or a score
    made_by: str  # the version of cogrid

    def __len__(self) -> int:
        """Number of steps."""
        return len(self.digests) // WIDTH - 1

    @property
    def actions(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """(steps, n)"""
        return joints(self.tape, _n_agents(self.start))

    @property
    def knows_world(self) -> bool:
        """Whether the world that it was recorded in is registered; nothing is imported to find out."""
        with contextlib.suppress(ValueError, TypeError):
            return bool(registry.spec_of(self.id or "", {}))
        return False

    def play(
        self, backend: str | None = None, *, env: CoGridEnv | None = None, observation: str | None = None
    ) -> Iterator[Frame]:
        """The start and every step, on NumPy by default; raises `Mismatch` at the first that differs.

        A replay whose `id` is None takes the spec of `env`, and its backend unless one is given. With
        `observation`, such as "lossless", frames have that one instead of the recorded one.
        """
        rules = self._rules(backend, env)
        if self.start.get("spec") != snapshot.fingerprint(rules):
            reason = "the world has changed"
            if env is not None:
                reason = f"env= is another world, or {reason}"
            raise Mismatch(
                f"{reason} since cogrid {self.made_by} recorded this replay: play it in the old version."
            )
        frames = self._frames(rules, snapshot.from_plain(rules, self.start))
        if observation is None:
            return frames
        other = compile_rules(rules.spec.override(observation=observation), rules.backend.name)
        see = rules.backend.compiled(functions(other).observe)
        return (frame._replace(obs=see(frame.state.evolve(rules=other))) for frame in frames)

    def arrays(
        self, backend: str | None = None, *, env: CoGridEnv | None = None, observation: str | None = None
    ) -> dict[str, np.ndarray[Any, Any]]:
        """The episode as NumPy arrays, for offline learning; options are those of `play`.

        They are obs (steps + 1, n, …), actions (steps, n), rewards (steps, n) and done (steps,);
        `numpy.savez("episode.npz", **replay.arrays())` exports them.
        """
        frames = list(self.play(backend, env=env, observation=observation))
        return {
            "obs": np.stack([np.asarray(frame.obs) for frame in frames]),
            "actions": self.actions,
            "rewards": np.stack([np.asarray(frame.rewards) for frame in frames])[1:],
            "done": np.array([bool(frame.done) for frame in frames[1:]], bool),
        }

    def verify(self, backend: str | None = None, *, env: CoGridEnv | None = None) -> None:
        """Play all of it; raises `Mismatch` if anything differs, including a reset with the seed."""
        for _ in self.play(backend, env=env):
            pass
        rules = self._rules(backend, env)
        if self.seed is not None and snapshot.to_plain(rules, _first(rules, self.seed)) != self.start:
            raise Mismatch(f"the replay does not start as seed {self.seed} does on {rules.backend.name}.")

    def _rules(self, backend: str | None, env: CoGridEnv | None) -> Rules:
        if env is not None:
            return compile_rules(env.spec, backend or env.backend)
        if self.id is None:
            raise ValueError("this replay is of a spec without an id: give its environment with env=.")
        if not self.knows_world:
            remedy = f"call cogrid.make({brief(self.id)})"
            if not registry.is_own(self.id):
                remedy = "import the module that registers it"
            raise ValueError(
                f"this replay was recorded in {brief(self.id)}, which is not registered: {remedy} first, "
                "or give its environment with env=."
            )
        return compile_rules(registry.spec_of(self.id, dict(self.overrides), ()), backend or "numpy")

    def _frames(self, rules: Rules, first: EnvState) -> Iterator[Frame]:
        digest, name = RunningChecksums(rules), rules.backend.name
        for number, frame in enumerate(played(rules, first, from_tape(self.actions))):
            if digest.add(frame) != self.digests[number * WIDTH : (number + 1) * WIDTH]:
                where = f"after step {number} of {len(self)}" if number else "at its start"
                raise Mismatch(
                    f"the replay differs {where} on {name}: it is damaged, "
                    f"or the game has changed since cogrid {self.made_by} recorded it."
                )
            yield frame
        if digest.checksum(self.tape) != self.checksum:
            raise Mismatch(f"the replay is damaged: every step agrees on {name}, but not the checksum.")

    def text(self) -> str:
        """The JSON that `save` writes and `parse` reads."""
        content = {"format": FORMAT, "version": VERSION} | _fields(self)
        lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in content.items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file atomically, compressed if its name ends in .gz."""
        data = self.text().encode()
        if len(data) > MAX_BYTES:
            raise ValueError(
                f"this replay takes {len(data):,} bytes, but `load` reads at most {MAX_BYTES:,}."
            )
        if Path(path).suffix == ".gz":
            data = gzip.compress(data, mtime=0)  # without the time, equal replays are equal files
        files.write(path, data)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Replay:
        """Read what `save` wrote; raises a clear error for anything else."""
        try:
            text = limited_bytes(path)
        except ValueError as error:
            raise ValueError(f"{path} is not a replay, or it is damaged: {error}") from None
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str | bytes, name: str = "this") -> Replay:
        """Read the text of a replay; `name` is what errors call it."""
        try:
            content = strict_json(text)
        except ValueError as error:
            raise ValueError(f"{name} is not a replay, or it is damaged: {error}.") from None
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise ValueError(f"{name} is not a replay: Replay.save writes one.")
        if (version := content.pop("version", None)) != VERSION:
            raise ValueError(f"{name} has version {version!r:.40}, but this cogrid reads version {VERSION}.")
        if wrong := _wrong(content):
            raise ValueError(f"{name} is a damaged replay: {wrong}.")
        return cls(**content)


def is_replay_name(name: str) -> bool:
    """Whether a file's name ends in one of SUFFIXES, or in a browser's version of it for a second copy."""
    return _ENDING.search(name) is not None


def load_folder(folder: str | os.PathLike[str]) -> Iterator[tuple[Path, Replay]]:
    """Every replay in a folder and its subfolders, by path; see `is_replay_name`.

    A replay that cannot be read is skipped with a warning.
    """
    if not Path(folder).is_dir():
        raise ValueError(
            f"{folder} is not a folder: give one with files that end in {' or '.join(SUFFIXES)}."
        )
    for path in sorted(Path(folder).rglob("*")):
        if is_replay_name(path.name) and path.is_file():  # reading a pipe may never end
            try:
                replay = Replay.load(path)
            except (OSError, ValueError) as error:
                said = files.sentence(error) if isinstance(error, OSError) else error
                warnings.warn(f"skipped: {said}", stacklevel=2)
                continue
            yield path, replay


class Recorder(BaseParallelWrapper):
    """Wraps an environment, with the same PettingZoo API, and records its current episode as a `Replay`."""

    def __init__(self, env: CoGridEnv) -> None:
        super().__init__(env)
        self._guard = Guard("recorder", env.backend)
        self._tape: _Tape | None = None
        if env.agents:  # starts in the middle of an episode
            self._begin()

    @alone
    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[AgentID, Any], dict[AgentID, dict[str, Any]]]:
        """Start an episode and discard the previous recording."""
        obs, infos = self.env.reset(seed=seed, options=options)
        has_start = any((options or {}).get(name) is not None for name in OPTIONS)
        self._begin(None if seed is None or has_start else rng.seed(seed))
        return obs, infos

    @alone
    def step(
        self, actions: Mapping[AgentID, int]
    ) -> tuple[dict[AgentID, Any], AgentRewards, Flags, Flags, Infos]:
        """One step, recorded."""
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        assert self._tape is not None  # else the step raised an error
        joint = [actions.get(agent, self.env.rules.noop) for agent in self.env.possible_agents]
        self._tape.add(self._frame(rewards, joint))
        return obs, rewards, terminations, truncations, infos

    @alone
    def set_state(self, snapshot_: Mapping[str, Any] | EnvState) -> None:
        """Continue from a snapshot or a state; the recording starts there."""
        self.env.set_state(snapshot_)
        self._begin()

    def replay(self, metadata: Mapping[str, Any] | None = None) -> Replay:
        """The current episode so far; `metadata` is kept with it."""
        if self._tape is None:
            raise ValueError("there is nothing to replay before reset: call reset() first.")
        return self._tape.replay(metadata)

    def _begin(self, seed: int | None = None) -> None:
        self._tape = _Tape(self.env.rules, self._frame({}), seed, self.env.id)

    def _frame(self, rewards: Mapping[AgentID, float], joint: list[int] | None = None) -> Frame:
        env = self.env
        seen = env.state().reshape(env.spec.num_agents, *env.observation_space(env.possible_agents[0]).shape)
        paid = np.array([rewards.get(agent, 0.0) for agent in env.possible_agents], np.float32)
        return Frame(env.env_state, seen, paid, env.env_state.done, joint and np.array(joint, np.int32))


def record(
    env: CoGridEnv,
    actions: Array | Callable[[Array], Array],
    start: int | Array | Mapping[str, Any] | EnvState,
    *,
    index: int | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Replay:
    """Play with the pure functions, to the end of the episode or of the actions, and record it.

    `actions` are (steps, n), or a policy `obs (n, …) -> (n,)`; `start` is a seed, a key, a snapshot or a
    state. With `index`, actions (steps, B, n) and keys or states are those of a batch, of which the
    environment with that number is recorded.
    """
    if index is not None:
        start = _sliced(start, index)
        actions = actions if callable(actions) else np.asarray(actions)[:, index]
    choose = (
        from_policy(env.rules, actions)
        if callable(actions)
        else from_tape(as_stored(env.rules, actions, ("steps",)))
    )
    seed = rng.seed(start) if _is_seed(start) else None
    return _taped(env.rules, _first(env.rules, start), choose, seed, env.id).replay(metadata)


class _Tape:
    """A recording that grows."""

    def __init__(self, rules: Rules, first: Frame, seed: int | None, id: str | None) -> None:
        self._rules, self._seed, self._id = rules, seed, id
        self._start = snapshot.to_plain(rules, first.state)
        self._digest = RunningChecksums(rules)
        self._digits: list[str] = []
        self._digests = [self._digest.add(first)]

    def add(self, frame: Frame) -> None:
        """Append the actions that led to a frame, and its digits of the checksum."""
        assert frame.actions is not None  # only the start has none
        self._digits.append("".join(DIGITS[int(action)] for action in frame.actions))
        self._digests.append(self._digest.add(frame))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles replay the episode: a running checksum can be neither copied nor pickled."""
        rules, tape = self._rules, "".join(self._digits)
        return _revive, (rules.spec, rules.backend.name, self._start, self._seed, self._id, tape)

    def replay(self, metadata: Mapping[str, Any] | None) -> Replay:
        """The recording so far."""
        recipe, tape = registry.recipe(self._rules.spec, self._id), "".join(self._digits)
        id, overrides = recipe or (None, {})
        return Replay(
            id,
            overrides,
            self._seed,
            self._start,
            tape,
            "".join(self._digests),
            self._digest.checksum(tape),
            _plain(metadata or {}),
            cogrid.__version__,
        )


def _taped(rules: Rules, first: EnvState, choose: Choose, seed: int | None, id: str | None) -> _Tape:
    """The recording of a game, to the end of the actions or of the episode."""
    tape: _Tape | None = None
    for frame in played(rules, first, choose):
        if tape is None:
            tape = _Tape(rules, frame, seed, id)
        else:
            tape.add(frame)
        if frame.done:
            break
    assert tape is not None  # the start is always played
    return tape


def _revive(
    spec: Spec, backend: str, start: Mapping[str, Any], seed: int | None, id: str | None, tape: str
) -> _Tape:
    rules = compile_rules(spec, backend)
    actions = joints(tape, rules.n_agents)
    return _taped(rules, snapshot.from_plain(rules, start), from_tape(actions), seed, id)


def _first(rules: Rules, start: Any) -> EnvState:
    """The first state, from a seed, a key or a snapshot."""
    if isinstance(start, EnvState):
        if start.clock.ndim:
            raise ValueError(
                f"a replay starts from one state, not from states of shape {start.clock.shape}: give index=."
            )
        start = snapshot.to_plain(start.rules, start)  # raises an error below if it is of another spec
    if isinstance(start, Mapping):
        return snapshot.from_plain(rules, start)
    key = rng.key(start) if _is_seed(start) else rules.backend.words(start)
    if key.shape != (2,):
        raise ValueError(
            f"a replay starts from one key, not from keys of shape {key.shape[:-1]}: give index=."
        )
    state: EnvState = rules.backend.compiled(functions(rules).reset)(key)[0]
    return state


def _is_seed(start: Any) -> bool:
    return isinstance(start, (int, np.integer)) and not isinstance(start, bool)


def _sliced(start: Any, index: int) -> Any:
    """Environment `index` of a batch of states or keys."""
    size = start.clock.shape[:1] if isinstance(start, EnvState) else getattr(start, "shape", ())[:1]
    if size and not -size[0] <= index < size[0]:
        raise ValueError(f"index={index} is not one of the {size[0]} environments.")
    if isinstance(start, EnvState):
        return environment(start, index)
    if not hasattr(start, "ndim"):
        raise TypeError(f"with index= the start must be a batch of states or keys, not {start!r}.")
    return start[index]


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A copy as plain JSON values."""
    try:
        check_depth(dict(metadata))
        copy: dict[str, Any] = json.loads(json.dumps(dict(metadata), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"metadata={reprlib.repr(metadata):.80} is not made of plain JSON values: {error}."
        ) from None
    return copy


def _fields(replay: Replay) -> dict[str, Any]:
    return {field.name: getattr(replay, field.name) for field in dataclasses.fields(replay)}


def _n_agents(start: Mapping[str, Any]) -> int:
    return len(start["state"]["pos"])


def _wrong(content: dict[str, Any]) -> str | None:
    """What is wrong with the fields of a file; the snapshot's fields are checked when it is played."""
    kinds: dict[str, tuple[type, ...]] = {
        **{"id": (str, type(None)), "overrides": (dict,), "seed": (int, type(None)), "start": (dict,)},
        **{"tape": (str,), "digests": (str,), "checksum": (str,), "metadata": (dict,), "made_by": (str,)},
    }
    if content.keys() != kinds.keys():
        return f"its fields are not {', '.join(kinds)}"
    for name, kind in kinds.items():
        if not isinstance(content[name], kind):
            return f"{name} is {content[name]!r:.40}"
    if not content["made_by"].isprintable() or len(content["made_by"]) > MAX_VERSION:
        return f"made_by is {content['made_by']!r:.40}"
    state = content["start"].get("state")
    if not isinstance(state, dict) or not isinstance(state.get("pos"), list) or not state["pos"]:
        return "start is not a snapshot"
    tape, (frames, rest) = content["tape"], divmod(len(content["digests"]), WIDTH)
    if rest or tape.strip(DIGITS) or len(tape) != (frames - 1) * _n_agents(content["start"]):
        return f"tape does not have one digit per agent for {frames - 1} steps"
    return None
