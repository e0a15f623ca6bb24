"""The backends: what each one needs and what it is compared with, as data that noxfile.py reads too."""

# Only Python's own modules here: nox reads this file where nothing else is installed.
from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from shutil import which
from types import MappingProxyType
from typing import NamedTuple


class BackendEntry(NamedTuple):
    """What is known of a backend without importing it."""

    implementation: str  # "module:class", imported by the first environment that uses it
    shadow: str  # the backend that validates it step by step
    library: str = "NumPy"  # as messages call it
    needs: tuple[str, ...] = ()  # modules that must be installed
    extra: str | None = None  # the extra of pyproject.toml that installs them
    compilers: tuple[str, ...] = ()  # modules or commands of which one must be there


BACKENDS: Mapping[str, BackendEntry] = MappingProxyType(
    {
        "numpy": BackendEntry("cogrid.backend._numpy:NumpyBackend", shadow="jax"),
        "jax": BackendEntry(
            "cogrid.backend._jax:JaxBackend", "numpy", library="JAX", needs=("jax", "jaxlib"), extra="jax"
        ),
        "native": BackendEntry(
            "cogrid._native.backend:NativeBackend",
            shadow="numpy",
            library="a C compiler",
            extra="native",
            compilers=("ziglang", "cc", "gcc", "clang"),
        ),
    }
)


def installed() -> tuple[str, ...]:
    """The backends that can be used here."""
    return tuple(
        name for name, entry in BACKENDS.items() if all(map(find_spec, entry.needs)) and _compiles(entry)
    )


def _compiles(entry: BackendEntry) -> bool:
    return not entry.compilers or any(find_spec(name) or which(name) for name in entry.compilers)
