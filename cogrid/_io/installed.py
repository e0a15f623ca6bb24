"""How cogrid was installed: the distribution's name and version, and the command that adds an extra."""

from __future__ import annotations

import contextlib
import sys
from importlib import metadata
from pathlib import Path

DISTRIBUTION = "cogrid-worlds"  # the package is `cogrid`, which is another project's name on PyPI
OTHER = "cogrid"
UNKNOWN = "0+unknown"
PACKAGE = Path(__file__).parents[1]


def version() -> str:
    """The version of the installed distribution."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:  # a bare checkout on the path
        return UNKNOWN


def remedy(extra: str) -> str:
    """What to run where the packages of an extra are missing: in a checkout, or for an installed wheel."""
    if _is_checkout():
        return f"run pip install '.[{extra}]' in the checkout"
    return f"run pip install '{DISTRIBUTION}[{extra}]'"


def _is_checkout() -> bool:
    return (PACKAGE.parent / "pyproject.toml").is_file()


def check_alone(*, as_command: bool = False) -> None:
    """Raise an error if the other project is installed in the folder of this package; a command prints it."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        other = metadata.distribution(OTHER)
        if Path(str(other.locate_file("cogrid"))).resolve() != PACKAGE.resolve():
            return
        sentence = (
            f"{OTHER} {other.version}, another project, is installed in the same environment, and its "
            f"files and those of {DISTRIBUTION} overwrite each other: "
            f"run pip uninstall {OTHER} {DISTRIBUTION}, then install the one that you want."
        )
        if not as_command:
            raise ImportError(sentence)
        print(f"python -m cogrid: {sentence}", file=sys.stderr)
        sys.exit(2)


def licences() -> dict[str, str]:
    """The texts of cogrid's licence, its notice and the licences that the notice names, by file."""
    if _is_checkout():
        paths = [PACKAGE.parent / "LICENSE", *(PACKAGE.parent / "licenses").iterdir()]
    else:
        listed = metadata.files(DISTRIBUTION) or () if version() != UNKNOWN else ()
        paths = [Path(str(path.locate())) for path in listed if "licenses" in path.parts]
    if not paths:
        raise FileNotFoundError(f"the licences that come with cogrid are missing: install {DISTRIBUTION}.")
    return {path.name: path.read_text(encoding="utf-8") for path in paths}
