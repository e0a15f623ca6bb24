"""Markdown for GitHub: tables with all markup escaped, and the job summary (standard library only)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

LIMIT = 1024 * 1024  # bytes that GitHub shows of one step's summary
CUT = "\n… cut here: GitHub shows 1 MiB.\n"
# Characters that Markdown or HTML would read as markup, and the "@" that would mention a user.
PLAIN = str.maketrans({mark: f"&#{ord(mark)};" for mark in "&<>\\`*_~[]|@#!"})


def summary_file() -> Path | None:
    """The file that GitHub shows as the summary of this step; None elsewhere."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    return Path(path) if path else None


def cell(value: object) -> str:
    """A value as the escaped text of a table cell, since reports come from untrusted code."""
    return " ".join(str(value).split())[:300].translate(PLAIN)


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """A Markdown table with a column for each key, in order of appearance."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [[cell(name) for name in names], ["---"] * len(names)]
    lines += [[cell(row.get(name, "")) for name in names] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def publish(title: str, parts: Iterable[str], output: Path | None) -> None:
    text = _fitted("\n".join(part for part in (f"## {cell(title)}\n", *parts) if part))
    if output is None:
        print(text, end="")
    else:
        with output.open("a", encoding="utf-8") as file:
            file.write(text)


def _fitted(text: str) -> str:
    """The text, cut after a whole line if it is longer than GitHub shows."""
    data = text.encode()
    if len(data) <= LIMIT:
        return text
    kept = data[: LIMIT - len(CUT.encode())]
    return kept[: kept.rfind(b"\n") + 1].decode() + CUT
