"""The report: the results of a folder as one self-contained HTML file."""

from __future__ import annotations

import base64
import string
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path

from msgspec.structs import asdict

from bench.compare.findings import VERDICTS, Finding, environment_share, in_short, judge
from bench.records import MIN_SAMPLES, UNSTABLE, Result, Row
from bench.show import diff, gpu, overview, tables
from bench.show.figures import files
from bench.show.history import kind
from bench.show.html import Cell, Section, note, number, paragraph, picture, table, text
from bench.storage import results
from bench.storage.baselines import Baselines
from bench.units import engineering, percent, size

TEMPLATE = Path(__file__).parent / "report.html"
# The CSS class of a verdict's tag; the word itself is always shown too.
TAGS = {
    **dict.fromkeys(("mismatch", "failed", "slower"), "bad"),
    **dict.fromkeys(("out of memory", "inconclusive", "unstable"), "doubt"),
    "faster": "good",
}
SPEEDS = ("case", "steps/s", "agent steps/s", "one environment", "memory", "note")
# The noise recorded with the samples of a row, and its format.
NOTED: dict[str, Callable[[float], str]] = {
    "steal": percent,
    "others": "{:.2f} cores".format,
    "dropped": "{:.0f}".format,
    "disturbed": "{:.0f}".format,
}


def page(runs: Mapping[str, Result], baselines: Baselines) -> str:
    """The whole file, from results by name in chronological order: speeds, changes, noise, every run."""
    newest = [one for one in reversed(list(runs.values())) if one.rows]
    ab = next((one for one in newest if one.is_ab), None)
    compiled = next((one for one in newest if one.configuration.suite == "gpu"), None)
    others = [one for one in newest if not one.is_ab and one.configuration.suite != "gpu"]
    run = next(filter(overview.has_speeds, others), next(iter(others), None))
    named = [(file, one) for file, one in runs.items() if any(one is other for other in (ab, run, compiled))]
    _, latest = named[-1]
    figures = {
        name: picture(name, figure.get_suptitle(), files.svg(figure, name, transparent=True))
        for name, figure in files.drawn([one for one in runs.values() if one is ab or not one.is_ab]).items()
    }
    picked = figures.pop("speeds", "")
    sections = [overview.speeds(run, picked)] if run else []
    if ab:
        sections.append(ab_section(ab, figures.pop("forest")))
    if run:
        sections += [comparison(run, baselines), measurements(run, baselines)]
    if compiled:
        sections += map(_as_compiled, [comparison(compiled, baselines), measurements(compiled, baselines)])
    if figures:
        sections.append(Section("plots", "Plots", "\n".join(figures.values())))
    if run:
        sections.append(noise(run))
    if len(runs) > 1:
        sections.append(overview.history(list(runs.values())))
    sections.append(overview.runs(runs))
    links = "".join(f"<li>{download(*one)}</li>" for one in named)
    sections.append(Section("machine", "Machine", "".join(machine(*one) for one in named)))
    sections.append(Section("data", "Raw data", f"<ul>{links}</ul>"))
    return string.Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=escape(f"cogrid benchmarks, {latest.when:%Y-%m-%d %H:%M}"),
        headline=escape(headline(latest, baselines)),
        machine=escape(tables.machine(latest)),
        links=" ".join(f'<a href="#{section.name}">{escape(section.title)}</a>' for section in sections),
        sections="\n".join(section.render() for section in sections),
    )


# Verdicts


def headline(run: Result, baselines: Baselines) -> str:
    if run.is_ab:
        return diff.headline(judge(run, Baselines()))
    return tables.headline(run) if baselines.is_empty else diff.headline(judge(run, baselines))


def comparison(run: Result, baselines: Baselines) -> Section:
    none = "There is no baseline to compare with."
    html = paragraph(none) if baselines.is_empty else verdicts(judge(run, baselines))
    return Section("baselines", "Against the baselines", html)


def _as_compiled(section: Section) -> Section:
    """A section of the newest run that compiled for GPUs, next to that of the newest measuring run."""
    return section._replace(name=f"gpu-{section.name}", title=f"{section.title}: compiled for GPUs")


def ab_section(result: Result, figure: str) -> Section:
    against = result.configuration.against
    base = " ".join(filter(None, [against.revision, against.sha[:10]])) if against else ""
    if against and against.setting:
        base = f"this checkout without {against.setting}"
    how = f"Both sides were measured alternately on this machine; the base is {base or 'unknown'}."
    html = paragraph(how, "fine") + verdicts(judge(result, Baselines())) + figure
    return Section("pairs", kind(result) if against else "A/B", html)


def verdicts(findings: Sequence[Finding]) -> str:
    rows = []
    for finding in findings:
        name, _, span, before, after, counters, remark = diff.cells(finding)
        rows.append(
            [
                text(name),
                tag(finding),
                number(finding.ratio.median if finding.ratio else None, span),
                number(finding.before, before),
                number(finding.after, after),
                note(counters),
                note(remark),
            ]
        )
    kept = [place for place in range(len(diff.COLUMNS)) if any(row[place].html for row in rows)]
    columns = [diff.COLUMNS[place] for place in kept]
    sentences = [diff.headline(findings), *diff.averages(findings).splitlines(), diff.advice(findings)]
    paragraphs = "".join(paragraph(sentence) for sentence in sentences if sentence)
    return paragraphs + table(columns, [[row[place] for place in kept] for row in rows])


def tag(finding: Finding) -> Cell:
    """A verdict; it sorts by severity."""
    html = f'<span class="tag {TAGS.get(finding.verdict, "")}">{escape(finding.text)}</span>'
    return Cell(html, VERDICTS.index(finding.verdict), "verdict")


# Measurements


def measurements(result: Result, baselines: Baselines) -> Section:
    compiled, speeds, times = tables.parted(result.rows)
    html = paragraph(tables.headline(result, not baselines.is_empty))
    if compiled:
        html += "<h3>Compiled for GPUs, not run</h3>" + table(gpu.COLUMNS, map(program, compiled))
        html += paragraph(gpu.MODEL, "fine")
    if lines := [[*map(text, line)] for line in gpu.measured(result.rows)]:
        html += "<h3>Modelled beside measured</h3>" + table(gpu.MEASURED, lines)
    if speeds:
        html += table(SPEEDS, map(speed, speeds))
    if times:
        html += "<h3>Times</h3>" + table(tables.TIME, map(time, times))
    return Section("results", "Results", html)


def program(row: Row) -> list[Cell]:
    name, target, *numbers = gpu.cells(row)
    if not row.is_ok:
        return [text(name), text(target), *map(note, numbers)]
    return [text(name), text(target), *(Cell(escape(shown), css_class="number") for shown in numbers)]


def speed(row: Row) -> list[Cell]:
    if not row.is_ok:
        return [text(row.name), *4 * [number(None, "")], note(in_short(row))]
    median, rss = row.numbers.median, row.memory.get("peak_rss_bytes")
    agents, single = median * row.agents, median / row.case.batch
    return [
        text(row.name),
        number(median, f"{engineering(median)} ± {percent(row.numbers.cv)}"),
        number(agents, engineering(agents)),
        number(single, engineering(single)),
        number(rss, size(rss) if rss else ""),
        note(", ".join(filter(None, [environment_share(row), row.doubt]))),
    ]


def time(row: Row) -> list[Cell]:
    if not row.is_ok:
        return [text(row.name), *3 * [number(None, "")], text(""), note(in_short(row))]
    times = (row.numbers.median, row.numbers.p95, row.numbers.p99)
    return [
        text(row.name),
        *(number(value, engineering(value, row.unit)) for value in times),
        note(tables.parts_of(row)),
        text(row.doubt),
    ]


def noise(result: Result) -> Section:
    how = (
        "Steal is the share of the cores' time that the hypervisor took, others are the cores that other "
        f"processes used. A row is not compared if its samples vary by more than {percent(UNSTABLE)}, "
        f"if it has fewer than {MIN_SAMPLES}, or if more than half of them were disturbed but kept."
    )
    rows = [
        [
            text(row.name),
            variation(row),
            *(number(row.noise.get(name), show(row.noise.get(name, 0))) for name, show in NOTED.items()),
        ]
        for row in result.rows
        if row.is_ok and not row.is_modelled
    ]
    columns = ("case", "variation", "steal", "others", "samples dropped", "disturbed but kept")
    return Section("noise", "Noise", paragraph(how, "fine") + table(columns, rows))


def variation(row: Row) -> Cell:
    """The coefficient of variation with a bar that is full at the limit."""
    share = row.numbers.cv
    filled = min(100.0, 100 * share / UNSTABLE)
    over = " over" if row.doubt == "unstable" else ""
    bar = f'<span class="bar{over}"><i style="width: {filled:.0f}%"></i></span>'
    return Cell(f"{escape(percent(share))}{bar}", share)


# Where the numbers come from


def machine(file: str, result: Result) -> str:
    git = result.git
    lines = {
        "measured": f"{result.when:%Y-%m-%d %H:%M:%S %Z}",
        "tag": result.tag,
        "description": result.description,
        "revision": git.sha + (" with changes" if git.dirty else "") if git else "none",
        "fingerprint": result.fingerprint,
        **asdict(result.system),
        "memory_bytes": size(result.system.memory_bytes),
        "flags": " ".join(f"{name}={value}" for name, value in result.system.flags.items()),
    }
    html = "".join(
        f"<dt>{escape(name.replace('_bytes', ''))}</dt><dd>{escape(str(value))}</dd>"
        for name, value in lines.items()
        if value not in ("", None)
    )
    return f"<h3>{escape(file)}</h3><dl>{html}</dl>"


def download(file: str, result: Result) -> str:
    data, name = results.encoded(result), escape(file)
    label = f"{name}, {size(len(data))}: all samples, counters and noise"
    return (
        f'<a download="{name}" href="data:application/json;base64,{base64.b64encode(data).decode()}">'
        f"{label}</a>"
    )
