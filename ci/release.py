"""Check a wheel and an sdist before they are published, and for a tag what it names; --help."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
OTHER = "cogrid"  # a name that another project has on PyPI
PLACEHOLDER = "OWNER"  # as long as nobody hosts the repository
RELATIVE = re.compile(r"\]\((?!\w+:|#)([^)\s]+)\)")


class Built(NamedTuple):
    """What was built: the files of the wheel and of the sdist, and the metadata that both have."""

    wheel: str
    in_wheel: frozenset[str]
    in_sdist: frozenset[str]
    metadata: Message


def read(folder: Path) -> Built:
    """Read the one wheel and the one sdist of a folder."""
    wheels, sdists = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if (len(wheels), len(sdists)) != (1, 1):
        raise SystemExit(f"{folder} has {len(wheels)} wheels and {len(sdists)} sdists: build one of each.")
    with zipfile.ZipFile(wheels[0]) as wheel:
        in_wheel = frozenset(wheel.namelist())
        (name,) = (name for name in in_wheel if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(wheel.read(name).decode())
    with tarfile.open(sdists[0]) as sdist:
        names = [PurePosixPath(member.name) for member in sdist if member.isfile()]
    in_sdist = frozenset("/".join(name.parts[1:]) for name in names)
    return Built(wheels[0].name, in_wheel, in_sdist, metadata)


def tracked() -> frozenset[str] | None:
    """The files of the commit; None outside of a repository."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return frozenset(filter(None, done.stdout.decode().split("\0")))


def complaints(built: Built, files: frozenset[str] | None) -> list[str]:
    """What is wrong with the files, whatever they are built for."""
    found = []
    if not built.wheel.endswith("-py3-none-any.whl"):
        found.append(f"{built.wheel} is not for every Python and system")
    package = frozenset(name for name in built.in_sdist if name.startswith("cogrid/"))
    for name in sorted(package ^ frozenset(n for n in built.in_wheel if n.startswith("cogrid/"))):
        found.append(f"{name} is in one of wheel and sdist only")
    for name in sorted((files or frozenset()) - built.in_sdist):
        found.append(f"{name} of the commit is not in the sdist")
    for name in sorted(built.in_sdist - (files or built.in_sdist) - {"PKG-INFO"}):
        found.append(f"{name} is in the sdist and not in the commit")
    for target in RELATIVE.findall(str(built.metadata.get_payload())):
        found.append(f"the page of the release has a link to {target}, which leads nowhere there")
    return found


def not_ready(metadata: Message, tag: str, hosted_at: str | None) -> list[str]:
    """What a tag still needs, whose run is at this address."""
    version = metadata["Version"]
    found = [] if tag == f"v{version}" else [f"the tag is {tag}, and the version {version}"]
    heading = rf"(?m)^## \[{re.escape(version)}\] - (\d{{4}}-\d\d-\d\d)$"
    dated = re.search(heading, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if dated is None:
        found.append(f"CHANGELOG.md has no heading ## [{version}] - YYYY-MM-DD")
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    if dated and f"\ndate-released: {dated[1]}\n" not in cited:
        found.append(f"CITATION.cff does not have date-released: {dated[1]}, the changelog's")
    address = repository(metadata)
    if f"/{PLACEHOLDER}/" in address:
        found.append(f"{address} is not an address: write that of the repository into pyproject.toml")
    elif hosted_at not in (None, address):
        found.append(f"the repository is {hosted_at}, and pyproject.toml says {address}")
    return found


def repository(metadata: Message) -> str:
    urls = dict(url.split(", ", 1) for url in metadata.get_all("Project-URL", ()))
    return urls["Repository"]


def extras(metadata: Message, wheel: Path) -> list[str]:
    """What is wrong with the packages that each extra installs, by the registry."""
    found = []
    for extra in metadata.get_all("Provides-Extra", ()):
        wanted = f"{metadata['Name']}[{extra}] @ {wheel.resolve().as_uri()}"
        command = ["uv", "pip", "compile", "-", "--quiet", "--no-header", "--no-annotate"]
        command += ["--python-platform", "linux"]
        done = subprocess.run(
            command, input=wanted, capture_output=True, text=True, check=False, encoding="utf-8"
        )
        if done.returncode:
            found.append(f"{extra} cannot be resolved: {done.stderr.strip()}")
        names = {re.split(r"[ =@\[]", line)[0] for line in done.stdout.splitlines()}
        if OTHER in names:
            found.append(f"{extra} installs {OTHER}, which is another project")
        print(f"{extra}: {len(names)} packages.")
    return found


def address_of_run() -> str | None:
    """Where GitHub runs this; None elsewhere."""
    place = os.environ.get("GITHUB_REPOSITORY")
    return place and f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{place}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="Exits with 1 if anything is wrong. What only a tag needs is a note, unless there is a tag.",
    )
    parser.add_argument("folder", type=Path, help="where the wheel and the sdist are")
    ref = os.environ.get("GITHUB_REF", "")
    parser.add_argument(
        "--tag",
        default=ref.removeprefix("refs/tags/") if ref.startswith("refs/tags/") else None,
        help="what a release of this tag needs is an error; default the tag that GitHub runs for",
    )
    parser.add_argument("--resolve", action="store_true", help="also resolve every extra, by the registry")
    arguments = parser.parse_args()
    built = read(arguments.folder)
    wrong = complaints(built, tracked())
    if arguments.resolve:
        wrong += extras(built.metadata, arguments.folder / built.wheel)
    version = built.metadata["Version"]
    waiting = not_ready(built.metadata, arguments.tag or f"v{version}", address_of_run())
    for line in wrong + waiting * bool(arguments.tag):
        print(f"ci/release.py: {line}.", file=sys.stderr)
    if not arguments.tag:
        print("\n".join(f"Before a tag: {line}." for line in waiting))
    print(f"{built.wheel}: {len(built.in_wheel)} files, the sdist {len(built.in_sdist)}.")
    return 1 if wrong or (waiting and arguments.tag) else 0


if __name__ == "__main__":
    sys.exit(main())
