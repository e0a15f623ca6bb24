"""Notices: whose boards are in an exported folder, and under which licences, as files for it."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from cogrid._io import installed

_LINK = re.compile(r"\[([^]]+)\]\(([^)]+)\)")


def notices(id: str, own_boards: bool) -> dict[str, str]:
    """Files by name: the notice, and the texts of the licences that it names.

    With boards that are not the id's own, the notice has everything that cogrid ships.
    """
    texts = installed.licences()
    lines = [
        "# Notices",
        "",
        "The code was made by cogrid from rules that are licensed under Apache-2.0 (LICENSE).",
        "",
    ]
    names = {"LICENSE"}
    for what, row in _rows(texts["NOTICE.md"]):
        if own_boards or any(fnmatchcase(id, pattern) for pattern in what):
            boards, origin, licence = row
            names |= {target.rpartition("/")[2] for _, target in _LINK.findall(licence)}
            ids = ", ".join(what)
            lines.append(f"- {ids}: {boards}{f', from {_told(origin)}' if origin else ''}; {_told(licence)}.")
    if own_boards:
        lines[3:3] = ["", "The world is not one of cogrid's, or has other boards; these are cogrid's:"]
    return {"NOTICE.md": "\n".join(lines) + "\n"} | {name: texts[name] for name in sorted(names)}


def _rows(notice: str) -> list[tuple[list[str], list[str]]]:
    """Of each row of the table, the patterns of ids, and what, whose and under which licence."""
    rows = [line.split("|")[1:-1] for line in notice.splitlines() if line.startswith("| `")]
    return [(re.findall(r"`([^`]+)`", ids), [cell.strip() for cell in rest]) for ids, *rest in rows]


def _told(text: str) -> str:
    """Links as text: the files of licences lie beside the notice."""
    return _LINK.sub(lambda link: f"{link[1]} ({_place(link[2])})", text)


def _place(target: str) -> str:
    return target if "://" in target else target.rpartition("/")[2]
