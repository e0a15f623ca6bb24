"""The zoo: trained policies that come with the package, by name; they need no JAX."""

from __future__ import annotations

from pathlib import Path

__all__ = ("find", "names")

FOLDER = Path(__file__).parent


def names(id: str | None = None) -> list[str]:
    """The names of all policies, or of those trained in one environment: its id, no version, and a seed."""
    stems = sorted(path.stem for path in FOLDER.glob("*.npz"))
    return [name for name in stems if id is None or name.rpartition("-")[0] == id.rpartition("-")[0]]


def find(name: str) -> Path:
    """The file of the policy with that name; any other name is a path."""
    return FOLDER / f"{name}.npz" if name in names() else Path(name)
