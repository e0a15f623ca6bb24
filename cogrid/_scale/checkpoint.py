"""Checkpoints of a rollout: what it carries from step to step, saved by Orbax in a folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cogrid._io import files
from cogrid.distributed import agree

KEPT = 2  # saves in the folder
CHECKSUMS = "checksums.json"  # of a save's other files; written last


class Checkpoints:
    """The saves of one rollout. Saves are atomic: Orbax renames a save once it is written.

    Checksums detect later damage: a damaged save is skipped, with a warning, and the one before it is used.
    """

    def __init__(self, folder: str | os.PathLike[str], about: dict[str, Any]) -> None:
        """Open or create the folder; raises an error if it holds another rollout."""
        import jax

        try:
            import orbax.checkpoint as ocp
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "checkpoints need Orbax: install cogrid with the extra [checkpoint]."
            ) from None
        options = ocp.CheckpointManagerOptions(
            max_to_keep=KEPT, create=True, enable_async_checkpointing=False
        )
        self.folder, self.about, self._args = Path(folder).absolute(), about, ocp.args
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"checkpoint={str(folder)!r} is a file: name a folder.")
        self._manager = ocp.CheckpointManager(self.folder, options=options)
        self.steps: int = self._last_good()  # of the last usable save, 0 if there is none
        if jax.process_count() > 1:  # before Orbax reads anything, for which the processes synchronise
            self._agree()
        self.rows: int = self._rows_of_ours() if self.steps else 0  # of its arrays

    def _agree(self) -> None:
        """Raise an error if hosts without a shared folder would resume from different saves."""
        try:
            agree("checkpoint", steps=self.steps)
        except ValueError:
            self.close()
            raise

    def _last_good(self) -> int:
        """The newest save with matching checksums; else the newest one that was interrupted before them."""
        wrong = {step: _damage(self.folder / str(step)) for step in sorted(self._manager.all_steps())[::-1]}
        saves = {step: reason for step, reason in wrong.items() if reason != EMPTY}
        good = [step for step, reason in saves.items() if reason is None]
        stopped = [step for step, reason in saves.items() if reason == UNFINISHED]
        chosen = next(iter(good + stopped), 0)
        for step, reason in saves.items():
            if not chosen:
                self.close()
                raise self._unusable(step, reason or "")
            if step > chosen:
                message = f"the save of step {step} in {self.folder} cannot be used ({reason})"
                message += f", so the rollout resumes from step {chosen}."
                warnings.warn(message, RuntimeWarning, stacklevel=4)
        return chosen

    def _unusable(self, step: int, reason: str) -> ValueError:
        return ValueError(
            f"the save of step {step} in {self.folder} cannot be used ({reason}), and there is no other: "
            f"delete {self.folder / str(step)} to start over, or name another folder."
        )

    def _rows_of_ours(self) -> int:
        about = self._restore(about=self._args.JsonRestore())["about"]
        if not isinstance(about, dict) or not isinstance(about.get("rows"), int):
            raise self._unusable(self.steps, "it does not say which rollout it is of")
        for name, value in self.about.items():
            if about.get(name) != value:
                self.close()
                raise ValueError(
                    f"{self.folder} holds another rollout, with {name}={about.get(name)!r} "
                    f"instead of {value!r}: name another folder."
                )
        return int(about["rows"])

    def _restore(self, **parts: Any) -> Any:
        try:
            return self._manager.restore(self.steps, args=self._args.Composite(**parts))
        except Exception as error:  # Orbax may raise anything for a file that it cannot read
            self.close()
            reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
            raise self._unusable(self.steps, reason) from None

    def save(self, steps: int, carry: Any, rows: int) -> None:
        """Save the state after this many steps; returns once it is on disk."""
        import jax

        for step in self._manager.all_steps():
            if step > self.steps:  # empty or damaged
                self._manager.delete(step)
        about = self._args.JsonSave({**self.about, "rows": rows})
        parts = {"carry": self._args.StandardSave(_by_name(carry)), "about": about}
        try:
            self._manager.save(steps, args=self._args.Composite(**parts))
        except BaseException:  # such as a full disk; the partial save is useless
            if jax.process_index() == 0:
                for begun in self.folder.glob(f"{steps}.orbax-checkpoint-tmp*"):
                    shutil.rmtree(begun, ignore_errors=True)
            raise
        self.steps = steps
        if jax.process_index() == 0:
            folder = self.folder / str(steps)
            files.write(folder / CHECKSUMS, json.dumps(_checksums(folder)))

    def load(self, like: Any) -> Any:
        """The last save, with the shapes, types and sharding of `like`."""
        import jax

        carry = self._restore(carry=self._args.StandardRestore(_by_name(like)))["carry"]
        return jax.tree.unflatten(jax.tree.structure(like), [carry[name] for name in _by_name(like)])

    def close(self) -> None:
        """Close the folder; nothing is written after this."""
        self._manager.close()

    def __enter__(self) -> Self:
        """For `with`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


EMPTY, UNFINISHED = "it is empty", "it is incomplete"


def _damage(save: Path) -> str | None:
    """What is wrong with the files of a save, if anything is."""
    try:
        if not any(save.iterdir()):
            return EMPTY
        expected = json.loads((save / CHECKSUMS).read_bytes())
        actual = _checksums(save)
    except FileNotFoundError:
        return UNFINISHED
    except (OSError, ValueError, RecursionError) as error:
        return f"{CHECKSUMS}: {type(error).__name__}"
    if not isinstance(expected, dict):
        return f"{CHECKSUMS} is not a JSON object"
    for name, checksum in expected.items():
        if actual.get(name) != checksum:
            return f"{name} is {'not what was saved' if name in actual else 'missing'}"
    return None


def _checksums(save: Path) -> dict[str, str]:
    """SHA-256 of every file but the one that keeps them."""
    sums = {}
    for path in save.rglob("*"):
        name = path.relative_to(save).as_posix()
        if path.is_file() and name != CHECKSUMS:
            with path.open("rb") as file:
                sums[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return sums


def _by_name(tree: Any) -> dict[str, Any]:
    """The arrays of a tree by their paths in it."""
    import jax

    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}
