"""Print pip constraints that pin each dependency to the lowest version that pyproject.toml allows."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def lowest(requirement: Requirement) -> Version | None:
    """The lower bound of a requirement: its >=, ~= or == version."""
    bounds = [Version(part.version) for part in requirement.specifier if part.operator in (">=", "~=", "==")]
    return max(bounds, default=None)


def minimums(requirements: Iterable[str], python: str | None = None) -> dict[str, Version]:
    """Name -> lowest version, from the requirements that apply here (or to that Python); the highest wins."""
    found: dict[str, Version] = {}
    for requirement in map(Requirement, requirements):
        environment = {} if python is None else {"python_version": python}
        if requirement.marker is not None and not requirement.marker.evaluate(environment):
            continue
        version = lowest(requirement)
        if version is None:
            raise ValueError(f"{requirement} has no lower bound: give it one in pyproject.toml.")
        found[requirement.name] = max(version, found.get(requirement.name, version))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--extra", action="append", default=[], help="take this extra as well; can be repeated"
    )
    parser.add_argument("--python", help="for this Python version, such as 3.13, rather than the running one")
    parser.add_argument("--output", type=Path, help="write to this file rather than to the terminal")
    arguments = parser.parse_args()
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    requirements = list(project["dependencies"])
    for extra in arguments.extra:
        if extra not in project["optional-dependencies"]:
            parser.error(
                f"unknown extra {extra!r}: choose from {', '.join(project['optional-dependencies'])}"
            )
        requirements += project["optional-dependencies"][extra]
    pins = minimums(requirements, arguments.python)
    text = "".join(f"{name}=={version}\n" for name, version in sorted(pins.items()))
    if arguments.output is None:
        print(text, end="")
    else:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
