"""Every `python -m bench` line that the docs show can be parsed: its command and options exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from bench import ROOT
from bench.commands.parser import parse

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "bench/README.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
#: In a block of commands or between backticks; an option may be set before it.
SHOWN = re.compile(r"(?:^|`)(?:[A-Z_]+=\S+ )*python -m bench((?: [^`\n#]*)?)(?:`|#|$)", re.M)
PLACEHOLDERS = ("…", "COMMAND")


def commands(page: Path) -> list[str]:
    found = [match[1].strip() for match in SHOWN.finditer(page.read_text(encoding="utf-8"))]
    return [text for text in found if text and not any(word in text for word in PLACEHOLDERS)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_shown_commands_are_understood(page: Path) -> None:
    for text in commands(page):
        words = shlex.split(text)
        if words in (["baseline", "accept"], ["peers"], ["run"]) or words[-1] == "--help":
            continue
        try:
            parse(words)
        except SystemExit as ended:
            pytest.fail(f"{page.name} shows `python -m bench {text}`, which exits {ended.code}")


def test_enough_of_them_are_found() -> None:
    assert sum(len(commands(page)) for page in PAGES) > 25
