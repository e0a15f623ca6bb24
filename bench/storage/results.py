"""Result files: creating them, writing them atomically, and reading them with clear errors for bad ones."""

from __future__ import annotations

import datetime
import json
import sys
import time
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bench import ROOT
from bench.exit_codes import UsageError
from bench.records import SCHEMA_VERSION, Configuration, Result
from bench.storage import machine
from bench.units import size
from cogrid._io import files

RESULTS = ROOT / "bench" / "results"
MAX_BYTES = 2**28  # of a file to read; that of the full suite has a megabyte

Kind = TypeVar("Kind")


def new(configuration: Configuration, tag: str = "", description: str = "") -> Result:
    here = machine.system()
    return Result(
        schema=SCHEMA_VERSION,
        created=now(),
        tag=tag,
        description=description,
        configuration=configuration,
        git=machine.git_state(),
        system=here,
        fingerprint=machine.fingerprint(here),
        rows=[],
    )


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def default_path(result: Result) -> Path:
    while (path := RESULTS / file_name(result)).exists():
        time.sleep(0.1)  # another run started in the same second
        result.created = now()
    return path


def file_name(result: Result) -> str:
    """benchmark_[TAG_]YYYYMMDD_HHMMSS.json: the default name of a run's file."""
    tag = f"{result.tag}_" if result.tag else ""
    return f"benchmark_{tag}{result.when.astimezone():%Y%m%d_%H%M%S}.json"


def path_of(kind: str) -> Path:
    """The path of a file that is not a benchmark, in a folder for its kind."""
    return RESULTS / kind / f"{kind}_{datetime.datetime.now():%Y%m%d_%H%M%S_%f}.json"


def short(path: Path) -> str:
    """A path as a person would type it here."""
    path = path.resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def encoded(record: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


def write(path: Path, record: Any) -> None:
    """Write a record, after checking that it can be read back."""
    data = encoded(record)
    decoded(data, type(record), str(path))
    write_bytes(path, data)


def write_bytes(path: Path, data: bytes) -> None:
    """Write atomically: a crash or a full disk leaves the old file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, data)


def load(path: Path) -> Result:
    return decoded(read(path), Result, str(path))


def raw(path: Path) -> bytes:
    """The bytes of a regular file of a sensible size."""
    try:
        if path.exists() and not path.is_file():  # reading a pipe or a device may never end
            raise UsageError(f"{path} is not a regular file.")
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} has more than the limit of {size(MAX_BYTES)}.")
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None


def read(path: Path) -> bytes:
    data = raw(path)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is damaged, it is not JSON: {error}.") from None
    version = found.get("schema") if isinstance(found, dict) else None
    if version != SCHEMA_VERSION:
        raise UsageError(
            f"{path} has schema version {version!r:.40} and this program reads {SCHEMA_VERSION}: "
            "measure again."
        )
    return data


def decoded(data: bytes, kind: type[Kind], name: str) -> Kind:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(f"{name} is damaged: {str(error)[:200]}.") from None


def all_in(folder: Path, pattern: str = "*.json") -> dict[str, Result]:
    """The results with rows, by their path in the folder, oldest first; damaged ones are named on stderr."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: give the one that holds the result files.")
    found = {}
    for path in sorted(folder.glob(pattern)):
        try:
            found[str(path.relative_to(folder))] = load(path)
        except UsageError as error:
            print(f"bench: skipped: {error}", file=sys.stderr)
    if not (found := {name: result for name, result in found.items() if result.rows}):
        raise UsageError(f"{folder} holds no results: `python -m bench run` writes them.")
    return dict(sorted(found.items(), key=lambda one: one[1].when))
