"""How cogrid was installed: the distribution's name and version, and the command that adds an extra."""

from __future__ import annotations

import contextlib
from importlib import metadata
from pathlib import Path

DISTRIBUTION = "cogrid-worlds"  # the package is `cogrid`, which is another project's name on PyPI
OTHER = "cogrid"
PACKAGE = Path(__file__).parents[1]


def version() -> str:
    """The version of the installed distribution."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:  # a bare checkout on the path
        return "0+unknown"


def remedy(extra: str) -> str:
    """What to run where the packages of an extra are missing: in a checkout, or for an installed wheel."""
    if (PACKAGE.parent / "pyproject.toml").is_file():
        return f"run pip install '.[{extra}]' in the checkout"
    return f"run pip install '{DISTRIBUTION}[{extra}]'"


def check_alone() -> None:
    """Raise an error if the other project's distribution is installed in the folder of this package."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        other = metadata.distribution(OTHER)
        if Path(str(other.locate_file("cogrid"))).resolve() == PACKAGE.resolve():
            raise ImportError(
                f"{OTHER} {other.version}, another project, is installed in the same environment, and its "
                f"files and those of {DISTRIBUTION} overwrite each other: "
                f"run pip uninstall {OTHER} {DISTRIBUTION}, then install the one that you want."
            )
