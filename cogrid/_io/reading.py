"""Reading user input: files, limited in size and depth, strict JSON, and settings."""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import reprlib
import shlex
import zlib
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from cogrid._io import files

MAX_BYTES = 2**26  # of a file when it is unpacked
MAX_BOARD = 2**20  # of a file with a board
MAX_DEPTH = 40  # of lists and objects inside each other
MAX_VALUES = 2**21  # of a JSON text: each takes many times the memory of its characters


def limited_bytes(path: str | os.PathLike[str], most: int = MAX_BYTES) -> bytes:
    """The content of a file, unpacked if its name ends in .gz; never reads more than `most` bytes."""
    with open(path, "rb") as file:
        if Path(path).suffix != ".gz":
            data = file.read(most + 1)
        else:
            try:
                data = gzip.GzipFile(fileobj=file).read(most + 1)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise ValueError(f"{path} is damaged: {error}.") from None
    if len(data) > most:
        raise ValueError(f"{path} has more than the limit of {most:,} bytes when it is unpacked.")
    return data


def board_of(path: str | os.PathLike[str]) -> str:
    """The board in a text file, one line for each row."""
    try:
        text = limited_bytes(path, MAX_BOARD).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text in UTF-8, which a board must be.") from None
    rows = text.replace("\r\n", "\n").strip("\n")
    if "\n" not in rows:
        raise ValueError(f"{path} is not a board: write a line for each row, with a letter for each cell.")
    return rows


def boards_read(layout: Any) -> Any:
    """A layout option with the boards of the files that it names as paths."""
    if isinstance(layout, Path):
        return board_of(layout)
    return tuple(map(boards_read, layout)) if isinstance(layout, (list, tuple)) else layout


def strict_json(text: str | bytes) -> Any:
    """The value of a JSON text; a ValueError for anything beyond the standard, too deep or too long."""
    marks = (b"[", b"{", b",") if isinstance(text, bytes) else ("[", "{", ",")
    if sum(map(text.count, marks)) > MAX_VALUES:  # type: ignore[arg-type]
        raise ValueError(f"it holds more than the limit of {MAX_VALUES:,} values")
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    check_depth([value])
    return value


def check_depth(value: Any) -> None:
    """Raise a ValueError if lists, tuples and dicts are nested too deeply."""
    layer = [value]
    for _ in range(MAX_DEPTH + 1):
        inside: dict[int, Any] = {}  # by id, so that references to the same object are not repeated
        for one in layer:
            parts = one.values() if isinstance(one, dict) else one
            inside |= {id(part): part for part in parts if isinstance(part, (dict, list, tuple))}
        if not (layer := list(inside.values())):
            return
    raise ValueError(_TOO_DEEP)


def setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE from a command line; the value is parsed as JSON, or else kept as text.

    `layout=@FILE` is the board in the file: only here do texts name files, so nothing that is saved does.
    """
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    try:
        found = json.loads(_PYTHON.get(value, value))
    except (ValueError, RecursionError):
        found = value
    found = tuple(found) if isinstance(found, list) else found
    if name != "layout":
        return name, found
    try:
        return name, boards_read(tuple(map(_path, found)) if isinstance(found, tuple) else _path(found))
    except OSError as error:
        raise argparse.ArgumentTypeError(files.sentence(error)) from None
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _path(value: Any) -> Any:
    """The path that @FILE means."""
    is_file = isinstance(value, str) and value.startswith("@") and "\n" not in value
    return Path(value[1:]) if is_file else value


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the argument for an environment's options to a parser."""
    text = "an option of the environment, such as cook_time=5; layout=@FILE reads a board; repeatable"
    parser.add_argument("--set", type=setting, action="append", default=[], metavar="NAME=VALUE", help=text)


def as_settings(options: Mapping[str, Any]) -> str:
    """Options for a message, each as NAME=VALUE, long values shortened."""
    return ", ".join(f"{name}={reprlib.repr(value)}" for name, value in options.items())


def as_arguments(options: Mapping[str, Any]) -> list[str]:
    """Options as the arguments of a command line that `setting` reads."""
    texts = (f"{k}={v if isinstance(v, str) else json.dumps(v, default=str)}" for k, v in options.items())
    return [f"--set {shlex.quote(text)}" for text in texts]


def whole_number(least: int | None = None, most: int | None = None) -> Callable[[str], int]:
    """The `type` of an argument that is a whole number, also written as 1e6 or 1_000_000."""
    low, high = -_LARGEST if least is None else least, _LARGEST if most is None else most
    limits = "" if least is None else f" of at least {least:,}"
    if most is not None:
        limits = f" from {low:,} to {high:,}"

    def read(text: str) -> int:
        try:
            found = Decimal(text)
            if found == found.to_integral_value() and low <= found <= high:
                return int(found)
        except ArithmeticError:  # not a number, or not comparable
            pass
        raise argparse.ArgumentTypeError(f"{text!r:.40} is not a whole number{limits}")

    return read


_LARGEST = 10**100  # a few characters can name a number that fills the memory
_PYTHON = MappingProxyType({"True": "true", "False": "false", "None": "null"})
_TOO_DEEP = f"lists and objects are nested more than {MAX_DEPTH} deep"


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text:.20} is too large")
    return number
