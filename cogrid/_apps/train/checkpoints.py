"""Checkpoints of training: one file of plain arrays, with the options and the history as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from cogrid import distributed
from cogrid._apps.train.learner import Run
from cogrid._apps.train.options import Options, environment, from_json
from cogrid._core.state.difference import Difference
from cogrid._core.state.snapshot import fingerprint
from cogrid._env.shadow import ShadowMismatch, ShadowReport
from cogrid._io import files
from cogrid.backend.array import Array

CHECKPOINT, PREVIOUS = "checkpoint.npz", "checkpoint.previous.npz"


class History(NamedTuple):
    """The record of a run so far."""

    scores: list[list[float]]  # of every chunk, by seed
    seconds: float  # of training, compilation included
    shadow: ShadowReport | None = None  # of all steps replayed on NumPy so far


class Checkpoint(NamedTuple):
    """A file's content."""

    options: Options
    history: History
    spec: str  # the environment's fingerprint
    arrays: dict[str, Array]  # of the run, by their paths in it


class CheckpointError(ValueError):
    """A checkpoint cannot be used; its message is one sentence."""


def save(path: Path, options: Options, run: Run, history: History) -> None:
    """Write a checkpoint atomically, so that a kill damages nothing.

    The previous one is kept next to it, in case the disk damages the new one.
    """
    run = distributed.gather(run)
    if jax.process_index() > 0:
        return
    shadow = history.shadow and dataclasses.asdict(history.shadow)
    meta = json.dumps(
        {
            "options": dataclasses.asdict(options),
            "history": {"scores": history.scores, "seconds": history.seconds, "shadow": shadow},
            "spec": fingerprint(environment(options).rules),
        }
    )
    arrays: dict[str, Any] = {name: np.asarray(leaf) for name, leaf in _named(run)}
    _keep_previous(path, path.with_name(PREVIOUS))
    with files.replacing(path) as file:
        np.savez(file, meta=np.array(meta), **arrays)


def _keep_previous(path: Path, previous: Path) -> None:
    """Keep the file at `path`, which will be replaced, by a hard link, or a copy if links are unsupported."""
    if _is_whole(path):  # a damaged file must not replace a good one
        previous.unlink(missing_ok=True)
        try:
            os.link(path, previous)
        except OSError:
            files.write(previous, path.read_bytes())


def _is_whole(path: Path) -> bool:
    """Whether the file exists and its bytes are unchanged since it was written."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
        return False


def load(path: Path) -> Checkpoint:
    """Read what `save` wrote; anything else raises a CheckpointError."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            if sum(info.file_size for info in file.zip.infolist()) > path.stat().st_size:
                raise ValueError("packed")  # `save` never compresses; unpacked, it could be of any size
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(str(arrays.pop("meta")))
        options, history = from_json(meta["options"]), History(**meta["history"])
        np.reshape(history.scores, (-1, options.seeds))
        history = history._replace(shadow=_shadow_report(meta["history"]["shadow"]))
        return Checkpoint(options, history, meta["spec"], arrays)
    except Exception as error:  # a damaged file may raise anything
        raise CheckpointError(
            f"{path} is not a training checkpoint, or it is damaged ({type(error).__name__})."
        ) from None


def newest(paths: Sequence[Path]) -> Checkpoint:
    """The first of the files that can be read; unreadable ones are reported on stderr."""
    damaged: list[CheckpointError] = []
    for path in paths:
        try:
            checkpoint = load(path)
        except CheckpointError as error:
            damaged.append(error)
            continue
        if damaged:
            instead = f"Resuming from {path.name}, after {len(checkpoint.history.scores)} chunks."
            print(f"{damaged[0]} {instead}", file=sys.stderr)
        return checkpoint
    raise damaged[0]


def _shadow_report(values: dict[str, Any] | None) -> ShadowReport | None:
    """The report of a shadow, from JSON."""
    if values is None:
        return None
    if first := values["first"]:
        difference = Difference(*first["difference"])
        first = ShadowMismatch(**first | {"difference": difference, "backends": tuple(first["backends"])})
    return ShadowReport(**values | {"first": first})


def restore(checkpoint: Checkpoint, like: Run) -> Run:
    """The run of a checkpoint, with the shapes of `like`."""
    shapes = {name: (leaf.shape, leaf.dtype) for name, leaf in _named(like)}
    if {name: (array.shape, array.dtype) for name, array in checkpoint.arrays.items()} != shapes:
        raise CheckpointError("the checkpoint's arrays do not match its options.")
    leaves = [jnp.asarray(checkpoint.arrays[name]) for name in shapes]
    run: Run = jax.tree.unflatten(jax.tree.structure(like), leaves)
    return run


def _named(run: Run) -> Iterator[tuple[str, Array]]:
    """Every array of a run by its path."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(run):
        yield jax.tree_util.keystr(path), leaf
