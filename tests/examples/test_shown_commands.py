"""Every `python -m cogrid` line that the docs show can be parsed, and the quick ones run as shown."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from cogrid.__main__ import _parser, main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: A line of a block of commands; comments and what follows a pipe or && are left out.
SHOWN = re.compile(r"^python -m cogrid((?: [^`\n#|&]*)?)(?:[#|&].*)?$", re.M)
PLACEHOLDERS = ("…", "ID", "FILE", "my_", "POLICY", "runs/")
#: Those that neither serve, train nor need a file of the user's.
QUICK = ("list", "info", "zoo", "check", "render")


def commands(page: Path) -> list[list[str]]:
    """The arguments of each command of a page."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")  # one command over several lines
    blocks = re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", text, re.M | re.S)
    found = (match[1].strip() for block in blocks for match in SHOWN.finditer(block))
    return [shlex.split(text) for text in found if not any(word in text for word in PLACEHOLDERS)]


SHOWN_COMMANDS = sorted({tuple(words) for page in PAGES for words in commands(page)})


@pytest.mark.parametrize("words", SHOWN_COMMANDS, ids=" ".join)
def test_shown_commands_are_understood(words: tuple[str, ...]) -> None:
    if words[:1] == ("train",) and importlib.util.find_spec("optax") is None:
        pytest.skip("the options of training need the extra train")
    try:
        _parser(words[0] if words else "").parse_args(words)
    except SystemExit as ended:
        pytest.fail(f"`python -m cogrid {' '.join(words)}` exits with {ended.code}")


@pytest.mark.parametrize(
    "words", [words for words in SHOWN_COMMANDS if words and words[0] in QUICK], ids=" ".join
)
def test_quick_commands_run_as_shown(words: tuple[str, ...], monkeypatch: Any, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    assert main(list(words)) == 0


def test_enough_of_them_are_found() -> None:
    assert len(SHOWN_COMMANDS) >= 20
