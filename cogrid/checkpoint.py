"""Checkpoints of a rollout: what it carries from step to step, in a folder of Orbax's."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cogrid.distributed import agree

KEPT = 2  # saves in the folder


class Checkpoints:
    """The saves of one rollout. A save is there whole or not at all: Orbax renames it when it is written."""

    def __init__(self, folder: str | os.PathLike[str], about: dict[str, Any]) -> None:
        """Open the folder, or make it; refuse one that holds another rollout."""
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
        self._manager = ocp.CheckpointManager(self.folder, options=options)
        self.steps: int = self._manager.latest_step() or 0  # of the last save, 0 if there is none
        if jax.process_count() > 1:  # before anything is read, for which Orbax has them wait for each other
            self._agree()
        self.rows: int = self._rows_of_ours() if self.steps else 0  # of its arrays

    def _agree(self) -> None:
        """Processes on hosts that share no folder would go on from different saves."""
        try:
            agree("checkpoint", steps=self.steps)
        except ValueError:
            self.close()
            raise

    def _rows_of_ours(self) -> int:
        args = self._args.Composite(about=self._args.JsonRestore())
        found = self._manager.restore(self.steps, args=args)["about"]
        for name, value in self.about.items():
            if found.get(name) != value:
                self.close()
                raise ValueError(
                    f"{self.folder} is of another rollout, with {name}={found.get(name)!r} "
                    f"and not {value!r}: name another folder."
                )
        return int(found["rows"])

    def save(self, steps: int, carry: Any, rows: int) -> None:
        """After so many steps; returns when it is on the disk."""
        about = self._args.JsonSave({**self.about, "rows": rows})
        parts = {"carry": self._args.StandardSave(_by_name(carry)), "about": about}
        self._manager.save(steps, args=self._args.Composite(**parts))

    def load(self, like: Any) -> Any:
        """The last save; `like` it in shapes, types and places."""
        import jax

        args = self._args.Composite(carry=self._args.StandardRestore(_by_name(like)))
        found = self._manager.restore(self.steps, args=args)["carry"]
        return jax.tree.unflatten(jax.tree.structure(like), [found[name] for name in _by_name(like)])

    def close(self) -> None:
        """Nothing is written after this."""
        self._manager.close()

    def __enter__(self) -> Self:
        """For `with`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


def _by_name(tree: Any) -> dict[str, Any]:
    """The arrays of a tree by their places in it."""
    import jax

    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}
