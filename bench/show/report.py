"""The report: the results of a folder as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import json
import re
import string
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from bench import diff, judge, plots, tables, words
from bench.judge import Earlier, Finding
from bench.sweeps import Result, Row, when
from bench.units import engineering

TEMPLATE = Path(__file__).parent / "report.html"
# What a verdict looks like; the word itself is always there too.
LOOKS = {
    **dict.fromkeys(("mismatch", "failed", "slower"), "bad"),
    **dict.fromkeys(("out of memory", "inconclusive", "unstable"), "doubt"),
    "faster": "good",
}
# The colours of a figure that follow the theme of the page: black is the ink, white the paper.
THEMED = {
    "#000000": "currentColor",
    "#ffffff": "var(--card)",
    "#dddddd": "var(--line)",
    "#767676": "var(--muted)",
    "#0072b2": "var(--line-blue)",
}
NOISE = ("steal", "others", "dropped", "disturbed")


class Cell(NamedTuple):
    """A cell of a table: HTML, the number that it is sorted by, and how it is set."""

    html: str
    value: float | None = None
    look: str = ""


class Part(NamedTuple):
    """A section of the page."""

    name: str
    title: str
    html: str
    headline: str = ""  # what the page begins with where this is its first section


def page(results: Sequence[Result], earlier: Earlier) -> str:
    """The whole file, from results in time order and the baselines: the newest run, and the newest A/B."""
    run = next((one for one in reversed(results) if one["rows"] and not is_paired(one)), None)
    pairs = next((one for one in reversed(results) if is_paired(one)), None)
    shown = [one for one in (pairs, run) if one]
    figures = {name: picture(name, figure) for name, figure in plots.drawn(results).items()}
    parts = [paired(pairs, figures.pop("forest"))] if pairs else []
    if run:
        parts += [compared(run, earlier), measured(run)]
    if figures:
        parts.append(Part("plots", "Plots", "\n".join(figures.values())))
    if run:
        parts.append(noise(run))
    parts += [Part("machine", "Machine", "".join(map(machine, shown))), raw(shown)]
    return string.Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=escape(f"cogrid benchmarks, {when(shown[0]):%Y-%m-%d %H:%M}"),
        headline=escape(parts[0].headline),
        machine=escape(tables.machine(shown[0])),
        links=" ".join(f'<a href="#{part.name}">{escape(part.title)}</a>' for part in parts),
        sections="\n".join(map(section, parts)),
    )


def is_paired(result: Result) -> bool:
    """Whether it is an A/B run."""
    return any("ab" in row for row in result["rows"])


def section(part: Part) -> str:
    """With its heading."""
    return f'<section id="{part.name}">\n<h2>{escape(part.title)}</h2>\n{part.html}\n</section>'


def paragraph(text: str, look: str = "") -> str:
    """Plain text as a paragraph."""
    return f'<p class="{look}">{escape(text)}</p>' if look else f"<p>{escape(text)}</p>"


# Tables


def text(value: str, look: str = "") -> Cell:
    """Plain text."""
    return Cell(escape(value), look=look)


def number(value: float | None, shown: str) -> Cell:
    """A number as people read it, sorted by its value."""
    return Cell(escape(shown), value, "number") if value is not None else Cell("", look="number")


def tag(finding: Finding) -> Cell:
    """A verdict, sorted by how bad it is."""
    rank = judge.VERDICTS.index(finding.verdict)
    look = LOOKS.get(finding.verdict, "")
    return Cell(f'<span class="tag {look}">{escape(finding.told)}</span>', rank, "verdict")


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A table that a script can sort; columns of numbers are set to the right."""
    lines = list(rows)
    looks = [lines[0][place].look if lines else "" for place in range(len(columns))]
    head = "".join(
        f'<th scope="col" class="{look}">{escape(name)}</th>'
        for name, look in zip(columns, looks, strict=True)
    )
    body = "\n".join(f"<tr>{''.join(map(cell, line))}</tr>" for line in lines)
    return (
        f'<div class="scroll"><table class="sortable"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def cell(found: Cell) -> str:
    """One of its cells."""
    value = f' data-value="{found.value!r}"' if found.value is not None else ""
    look = f' class="{found.look}"' if found.look else ""
    return f"<td{look}{value}>{found.html}</td>"


# Sections


def compared(run: Result, earlier: Earlier) -> Part:
    """The run beside the committed baselines."""
    if not (earlier.timings or earlier.counts):
        none = paragraph("There is no baseline to compare with.")
        return Part("baselines", "Against the baselines", none, tables.headline(run))
    findings = judge.judge(run, earlier)
    return Part("baselines", "Against the baselines", verdicts(findings), diff.headline(findings))


def paired(result: Result, forest: str) -> Part:
    """What an A/B run found."""
    against = result["configuration"].get("against", {})
    base = " ".join(filter(None, [against.get("revision"), str(against.get("sha", ""))[:10]])) or "unknown"
    said = paragraph(f"Both sides were measured by turns on this machine; the base is {base}.", "fine")
    findings = judge.judge(result, Earlier())
    return Part("pairs", "A/B", said + verdicts(findings) + forest, diff.headline(findings))


def verdicts(findings: Sequence[Finding]) -> str:
    """The diff."""
    rows = []
    for finding in findings:
        name, _, span, before, after, counters, note = diff.cells(finding)
        ratio = finding.ratio.median if finding.ratio else None
        rows.append(
            [
                text(name),
                tag(finding),
                number(ratio, span),
                number(finding.before, before),
                number(finding.after, after),
                text(counters, "words" if counters else ""),
                text(note, "words" if note else ""),
            ]
        )
    kept = [place for place in range(len(diff.COLUMNS)) if any(row[place].html for row in rows)]
    columns = [diff.COLUMNS[place] for place in kept]
    sentences = [diff.headline(findings), *diff.averages(findings).splitlines(), diff.advice(findings)]
    told = "".join(paragraph(sentence) for sentence in sentences if sentence)
    return told + table(columns, [[row[place] for place in kept] for row in rows])


def measured(result: Result) -> Part:
    """All rows: speeds, then times."""
    rows = result["rows"]
    speeds = [row for row in rows if row["unit"] == "steps/s"]
    times = [row for row in rows if row["unit"] != "steps/s"]
    html = paragraph(tables.headline(result))
    if speeds:
        columns = ("case", "steps/s", "agent steps/s", "one environment", "memory", "note")
        html += table(columns, map(speed, speeds))
    if times:
        html += "<h3>Times</h3>" + table(("case", "median", "p95", "p99", "parts", "note"), map(time, times))
    return Part("results", "Results", html)


def speed(row: Row) -> list[Cell]:
    """A row in steps/s."""
    if row["status"] != "ok":
        return [text(row["name"]), *4 * [number(None, "")], text(words.reading(row), "words")]
    median, batch = row["statistics"]["median"], row["case"]["batch"]
    rss = row["memory"].get("peak_rss_bytes")
    return [
        text(row["name"]),
        number(median, f"{engineering(median)} ± {words.percent(row['statistics']['cv'])}"),
        number(median * row["agents"], engineering(median * row["agents"])),
        number(median / batch, engineering(median / batch)),
        number(rss, words.size(rss) if rss else ""),
        text(", ".join(filter(None, [words.share(row), words.doubt(row)])), "words"),
    ]


def time(row: Row) -> list[Cell]:
    """A row in seconds."""
    if row["status"] != "ok":
        return [text(row["name"]), *3 * [number(None, "")], text(""), text(words.reading(row), "words")]
    found = row["statistics"]
    parts = ", ".join(f"{name} {engineering(value, 's')}" for name, value in row["parts"].items())
    return [
        text(row["name"]),
        *(number(found[p], engineering(found[p], row["unit"])) for p in ("median", "p95", "p99")),
        text(parts, "words"),
        text(words.doubt(row)),
    ]


def picture(name: str, figure: Figure) -> str:
    """A figure of matplotlib inside of the page: ids of its own, colours of the page's theme."""
    svg = plots.svg(figure, name, transparent=True)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    # Without a size of its own it takes the width that the page has.
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    for colour, themed in THEMED.items():
        svg = svg.replace(colour, themed)
    title = escape(figure.get_suptitle())
    labelled = svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
    return f'<figure><div class="scroll">{labelled}</div></figure>'


def noise(result: Result) -> Part:
    """What disturbed the machine, row by row."""
    said = (
        "Steal is the share of the cores' time that the hypervisor took, others are the cores that other "
        f"processes used. A row that varies by more than {words.percent(words.UNSTABLE)} is unstable, and is "
        "not compared."
    )
    rows = [
        [
            text(row["name"]),
            spread(row),
            *(number(row["noise"].get(name), noted(name, row["noise"].get(name))) for name in NOISE),
        ]
        for row in result["rows"]
        if row["status"] == "ok"
    ]
    columns = ("case", "variation", "steal", "others", "samples dropped", "disturbed but kept")
    return Part("noise", "Noise", paragraph(said, "fine") + table(columns, rows))


def noted(name: str, value: float | None) -> str:
    """What was noted beside the samples, with its unit."""
    if value is None:
        return ""
    return {"steal": words.percent(value), "others": f"{value:.2f} cores"}.get(name, f"{value:.0f}")


def spread(row: Row) -> Cell:
    """The coefficient of variation with a bar that is full at the limit."""
    share = row["statistics"]["cv"]
    filled = min(100.0, 100 * share / words.UNSTABLE)
    over = " over" if words.doubt(row) == "unstable" else ""
    bar = f'<span class="bar{over}"><i style="width: {filled:.0f}%"></i></span>'
    return Cell(f"{escape(words.percent(share))}{bar}", share)


def machine(result: Result) -> str:
    """Where the numbers of a run come from."""
    git = result["git"] or {"sha": "none", "dirty": False}
    facts = {
        "measured": f"{when(result):%Y-%m-%d %H:%M:%S %Z}",
        "tag": result["tag"],
        "description": result["description"],
        "revision": git["sha"] + (" with changes" if git["dirty"] else ""),
        "fingerprint": result["fingerprint"],
        **result["system"],
        "memory_bytes": words.size(result["system"]["memory_bytes"]),
        "flags": " ".join(f"{name}={value}" for name, value in result["system"]["flags"].items()),
    }
    lines = (
        f"<dt>{escape(name.replace('_bytes', ''))}</dt><dd>{escape(str(value))}</dd>"
        for name, value in facts.items()
        if value not in ("", None)
    )
    return f"<h3>{escape(file_name(result))}</h3><dl>{''.join(lines)}</dl>"


def file_name(result: Result) -> str:
    """What a run is called, here and on the disk of who downloads it."""
    return f"benchmark_{result['configuration']['suite']}_{when(result):%Y%m%d_%H%M%S}.json"


def raw(results: Sequence[Result]) -> Part:
    """The result files themselves, inside of the links."""
    links = (f"<li>{download(result)}</li>" for result in results)
    return Part("data", "Raw data", f"<ul>{''.join(links)}</ul>")


def download(result: Result) -> str:
    """A link that holds its file."""
    data = base64.b64encode(json.dumps(result, indent=1).encode()).decode()
    name = file_name(result)
    shown = f"{escape(name)}, {words.size(len(data) * 3 // 4)}: all samples, counters and noise"
    return f'<a download="{escape(name)}" href="data:application/json;base64,{data}">{shown}</a>'
