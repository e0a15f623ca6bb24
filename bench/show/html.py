"""HTML: sortable tables, paragraphs, sections and figures, with all text escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

# The colours of a figure that follow the page's theme: black for the foreground, white for the background.
THEMED = {
    "#000000": "currentColor",
    "#ffffff": "var(--card)",
    "#dddddd": "var(--line)",
    "#767676": "var(--muted)",
    "#0072b2": "var(--line-blue)",
}


class Cell(NamedTuple):
    html: str
    value: float | None = None
    css_class: str = ""


class Section(NamedTuple):
    name: str
    title: str
    html: str

    def render(self) -> str:
        return f'<section id="{self.name}">\n<h2>{escape(self.title)}</h2>\n{self.html}\n</section>'


def paragraph(text: str, css_class: str = "") -> str:
    return f"<p{_class(css_class)}>{escape(text)}</p>"


def text(value: str, css_class: str = "") -> Cell:
    return Cell(escape(value), css_class=css_class)


def note(value: str) -> Cell:
    """A sentence, in a wide cell."""
    return text(value, "wide" if value else "")


def number(value: float | None, shown: str) -> Cell:
    return Cell(escape(shown), value, "number") if value is not None else Cell("", css_class="number")


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A sortable table; columns of numbers are right-aligned."""
    lines = list(rows)
    classes = [lines[0][place].css_class if lines else "" for place in range(len(columns))]
    head = "".join(
        f'<th scope="col"{_class(css_class)}>{escape(name)}</th>'
        for name, css_class in zip(columns, classes, strict=True)
    )
    body = "\n".join(f"<tr>{''.join(map(_cell, line))}</tr>" for line in lines)
    return (
        f'<div class="scroll"><table class="sortable"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _cell(cell: Cell) -> str:
    value = f' data-value="{cell.value!r}"' if cell.value is not None else ""
    return f"<td{_class(cell.css_class)}{value}>{cell.html}</td>"


def _class(css_class: str) -> str:
    return f' class="{css_class}"' if css_class else ""


def picture(name: str, title: str, svg: str) -> str:
    """A matplotlib drawing embedded in the page, with unique ids and the colours of the page's theme."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    # Without a size of its own, it takes the width of the page.
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    for colour, themed in THEMED.items():
        svg = svg.replace(colour, themed)
    labelled = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)
    return f'<figure><div class="scroll">{labelled}</div></figure>'
