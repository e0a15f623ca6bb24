"""Every text that is read or written names its encoding, since the default differs between systems."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("cogrid", "tests", "bench", "ci", "docs", "examples")

# What they read is ASCII. They measure: their code is part of the identity of committed rows
# (bench/storage/identity.py), so a change would make old numbers incomparable.
MEASURING = {
    "cogrid/benchmarks/clock.py": 1,
    "bench/measure/clock.py": 2,
    "bench/measure/times.py": 1,
    "bench/measure/gpu/compiling.py": 5,
    "bench/peers/libraries/c_limit.py": 1,
}

STARTERS = {"run", "Popen", "check_output", "check_call", "call"}
# `X.open` of these is no text file.
OTHERS = {"os", "webbrowser", "Image", "PIL.Image", "zipfile", "tarfile"}


def constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def modes(call: ast.Call, given: dict[str | None, ast.expr]) -> list[str]:
    """What looks like a mode among the arguments."""
    values = [*map(constant, call.args), constant(given.get("mode"))]
    return [value for value in values if isinstance(value, str) and value and set(value) <= set("rwxabt+")]


def is_silent(call: ast.Call) -> bool:
    """Whether a call reads or writes text in the default encoding."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    match call.func:
        case ast.Attribute(value=value, attr=name):
            owner = ast.unparse(value)
        case ast.Name(id=name):
            owner = ""
        case _:
            return False
    if "encoding" in given:
        return False
    if name in ("read_text", "write_text"):
        return len(call.args) < (1 if name == "read_text" else 2)
    if name in STARTERS:
        return any(constant(given.get(word)) is True for word in ("text", "universal_newlines"))
    if name in ("NamedTemporaryFile", "TemporaryFile", "SpooledTemporaryFile"):
        return any("b" not in mode for mode in modes(call, given))
    if name in ("fdopen", "TextIOWrapper") or (name == "open" and owner in ("", "io")):
        return not any("b" in mode for mode in modes(call, given))
    if name == "open" and owner not in OTHERS:  # a path's, unless it has arguments of another kind
        found = modes(call, given)
        return not any("b" in mode for mode in found) if found else not call.args
    return False


def silent_calls(text: str) -> Iterator[int]:
    """The lines of such calls."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and is_silent(node):
            yield node.lineno


@pytest.mark.parametrize(
    "line",
    [
        *("path.read_text()", "path.write_text(text)", "open(path)", "open(path, 'w')", "path.open('a')"),
        *("path.open()", "os.fdopen(1, 'w')", "tempfile.TemporaryFile('w+')", "io.TextIOWrapper(raw)"),
        *("subprocess.run(words, text=True)", "subprocess.Popen(words, universal_newlines=True)"),
    ],
)
def test_a_call_without_an_encoding_is_found(line: str) -> None:
    assert list(silent_calls(line)) == [1]


@pytest.mark.parametrize(
    "line",
    [
        *("path.read_text('utf-8')", "path.write_text(text, 'utf-8')", "open(path, 'rb')", "path.open('wb')"),
        *("os.open(path, 0)", "Image.open(path)", "scene.open(cell)", "tempfile.TemporaryFile()"),
        *("subprocess.run(words)", "subprocess.run(words, text=True, encoding='utf-8')", "run(text=words)"),
    ],
)
def test_other_calls_are_not_found(line: str) -> None:
    assert not list(silent_calls(line))


def test_every_text_names_its_encoding() -> None:
    files = [ROOT / "noxfile.py", *(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))]
    found = {
        file.relative_to(ROOT).as_posix(): list(silent_calls(file.read_text(encoding="utf-8")))
        for file in files
        if file.is_file()
    }
    assert {name: lines for name, lines in found.items() if lines and name not in MEASURING} == {}
    counted = Counter({name: len(lines) for name, lines in found.items() if name in MEASURING})
    assert counted == {name: number for name, number in MEASURING.items() if name in found}
