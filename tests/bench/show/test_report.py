"""The report: one file that needs nothing else, whose every text is text."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bench.records import Against, Result, Row
from bench.show import overview, report
from bench.storage import results
from bench.storage.baselines import Baselines
from tests.bench.show.figures.support import ab_run
from tests.bench.support import around, by_file, paired, result, row

EVIL = "<script>alert('&amp;')</script>\" onload=\"x"


class Page(HTMLParser):
    """The tags, their attributes and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attributes]

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, name: str) -> list[str]:
        """All values of an attribute."""
        return [value for found, value in self.attributes if found == name]


def sweep() -> list[Row]:
    return [row(name=f"sweep {batch}", batch=batch, speed=1e4 * batch) for batch in (1, 10, 100)]


def run(*rows: Row, **changes: Any) -> Result:
    return result([*sweep(), *rows], **{"created": "2026-11-17T10:00:00+00:00", **changes})


@pytest.fixture(scope="module")
def whole() -> str:
    """A page with all that a page can have."""
    late = row(name="late", measure="latency", samples=around(1e-3, 0.9), parts={"a": 1e-4})
    rows = (late, row(name="shaky", samples=around(1e6, 0.9)), row(name="broken", error="no"))
    before = run(row(name="shaky"), created="2026-11-16T10:00:00+00:00")
    return report.page(by_file(ab_run(), run(*rows)), Baselines.of(before))


def test_all_sections_are_there_and_linked(whole: str) -> None:
    page = Page(whole)
    names = [
        "speeds",
        "pairs",
        "baselines",
        "results",
        "plots",
        "noise",
        "history",
        "runs",
        "machine",
        "data",
    ]
    assert [value for value in page.named("href") if value.startswith("#") and "-" not in value] == [
        f"#{name}" for name in names
    ]
    assert set(names) <= set(page.named("id"))
    for text in (
        "1 slower, 1 faster, 1 same, 1 inconclusive, 1 failed, 1 not comparable, 1 new",
        "the base is main aaaaaaaaaa",
        "12 % slower, confirmed",
        "failed: no",
        "AMD EPYC 7B13",
        "2026-11-17 10:00:00 UTC",
        "unstable",
        "vary by more than 20 %, if it has fewer than 5, or if more than half of them were disturbed",
    ):
        assert text in page.text, text


def test_nothing_is_fetched(whole: str) -> None:
    page = Page(whole)
    assert not {"img", "iframe", "object", "embed"} & set(page.tags)
    assert not page.named("src")
    assert all(value.startswith(("#", "data:")) for value in page.named("href") + page.named("xlink:href"))
    assert "@import" not in whole
    assert not re.findall(r"url\((?!#)", whole)
    # The names of XML's own vocabularies are no addresses.
    without = whole.replace("http://www.w3.org/2000/svg", "").replace("http://www.w3.org/1999/xlink", "")
    assert not re.findall(r"https?://", without)


def test_ids_are_unique_and_what_they_are_referred_by_exists(whole: str) -> None:
    ids = Page(whole).named("id")
    assert len(ids) == len(set(ids))
    referred = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', whole))
    assert {one or other for one, other in referred} <= set(ids)


def downloaded(link: str) -> Result:
    return results.decoded(base64.b64decode(link.partition("base64,")[2]), Result, "the download")


def test_the_raw_data_is_in_the_link(whole: str) -> None:
    (pairs, found) = (value for value in Page(whole).named("href") if value.startswith("data:application"))
    assert downloaded(found).rows[-1].name == "broken"
    assert downloaded(pairs) == ab_run()


def test_colours_follow_the_theme(whole: str) -> None:
    drawings = "".join(re.findall(r"<svg.*?</svg>", whole, flags=re.DOTALL))
    assert "var(--line-blue)" in drawings
    assert not re.findall(r"#(?:000000|ffffff)", drawings)
    assert "prefers-color-scheme: dark" in whole


def test_the_same_results_give_the_same_bytes(whole: str) -> None:
    found = run(row(name="x"))
    assert report.page(by_file(found), Baselines()) == report.page(by_file(found), Baselines())


def test_text_is_never_markup() -> None:
    rows = (row(name=EVIL), row(name="b", error=EVIL), row(name="c", measure="reset", parts={EVIL: 1.0}))
    pairs = ab_run()
    pairs.rows = [replace(pairs.rows[0], name=EVIL)]
    pairs.configuration.against = Against(revision=EVIL, sha="a" * 40, head=None)
    text = report.page(by_file(pairs, run(*rows, tag=EVIL, description=EVIL, cpu=EVIL)), Baselines())
    page = Page(text)
    assert page.tags.count("script") == 1, "the page's own"
    assert not page.named("onload")
    assert page.text.count(EVIL) >= 6


def test_a_page_of_little(tmp_path: Path) -> None:
    text = report.page(by_file(run()), Baselines())
    assert "There is no baseline to compare with." in text
    assert Page(text).text.count("3 measured; all checksums agree.") == 2
    only = report.page(by_file(ab_run()), Baselines())
    assert 'id="results"' not in only
    assert 'id="pairs"' in only
    assert report.page(by_file(result([row(error="x")])), Baselines())


def test_the_newest_run_is_shown_and_every_run_is_listed() -> None:
    older = run(
        row(name="older row"), created="2026-11-01T10:00:00+00:00", tag="first", description="a cold start"
    )
    found = {"cold.json": older, "mine.json": run(row(name="newer row"))}
    page = Page(report.page(found, Baselines()))
    text = page.text
    shown, _, rest = text.partition("The newest run comes first.")
    assert "newer row" in shown
    assert "older row" not in shown
    history, _, listed = rest.partition("Every run here")
    assert history.index("newer row") < history.index("older row")
    assert "2 runs, the newest first." in listed
    assert listed.index("2026-11-17 10:00") < listed.index("2026-11-01 10:00") < listed.index("a cold start")
    assert listed.index("mine.json") < listed.index("cold.json"), "the names that the files have"
    assert page.named("download") == ["mine.json"]


def test_it_begins_with_how_fast_it_is_in_words_and_as_a_picture() -> None:
    quick = [
        row(name="one", mode="numpy-single", batch=1, speed=1e4),
        row(name="batch", mode="numpy-batch", batch=1024, speed=2e5),
        row(name="scan", mode="jax-scan", batch=1024, speed=4e6),
        row(name="shaky", id="Arena-V0", mode="jax-vmap", batch=8, samples=around(1e6, 0.9)),
    ]
    text = report.page(by_file(result(quick)), Baselines())
    words = Page(text).text
    kitchen = (
        "cooperative actions: fastest is jax-scan@1024 with 4 M steps/s, "
        "400 times as fast as one NumPy environment (10 K steps/s)."
    )
    assert kitchen in words
    assert "jax-vmap@8 with 1 M steps/s; that is doubtful, the machine was too noisy." in words
    assert words.index(kitchen) < words.index("There is no baseline")
    assert 'aria-label="Steps per second"' in text


def test_a_profile_after_a_run_does_not_hide_its_speeds() -> None:
    profile = row(name="phases", measure="profile", mode="numpy-single", samples=around(1e-4), parts={"a": 1})
    counted = row(name="counters", status="counted", samples=[], statistics=None)
    later = [
        result([one], created=f"2026-11-18T1{i}:00:00+00:00") for i, one in enumerate((profile, counted))
    ]
    page = Page(report.page(by_file(run(), *later), Baselines.of(run())))
    assert "No speed was measured" not in page.text
    assert "Nothing slower, 3 same" in page.text
    assert page.text.lstrip().startswith("cogrid benchmarks, 2026-11-17 10:00")
    assert page.named("download") == [results.file_name(run())]
    alone = Page(report.page(by_file(later[0]), Baselines()))
    assert "No speed was measured in this run." in alone.text


def beginning(page: str) -> tuple[str, str]:
    """The title and the headline."""
    title, headline = re.search("<title>(.*)</title>", page), re.search('class="headline">(.*)</p>', page)
    assert title
    assert headline
    return title[1], headline[1]


def test_it_begins_with_the_latest_of_the_runs_that_it_shows() -> None:
    pairs, other = ab_run(), run(cpu="another CPU")
    title, headline = beginning(report.page(by_file(pairs, other), Baselines()))
    assert title == "cogrid benchmarks, 2026-11-17 10:00"
    assert headline == "3 measured; all checksums agree."
    later = replace(pairs, created="2026-11-18T10:00:00+00:00")
    text = report.page(by_file(other, later), Baselines())
    title, headline = beginning(text)
    assert title == "cogrid benchmarks, 2026-11-18 10:00"
    assert headline.startswith("1 slower, 1 faster")
    header = text[: text.index("<nav")]
    assert "AMD EPYC 7B13" in header
    assert "another CPU" not in header


def test_it_shows_the_history_of_every_row() -> None:
    before = result(
        [row(name="a", speed=1e6), row(name="gone", error="no memory")], created="2026-11-01T10:00:00+00:00"
    )
    after = result([row(name="a", speed=2e6)], created="2026-11-02T10:00:00+00:00", tag="later")
    page = report.page(by_file(before, after), Baselines())
    section = page[page.index('<section id="history">') : page.index('<section id="runs">')]
    text = Page(section).text
    assert text.index("later") < text.index("2026-11-01 10:00"), "the newest run first"
    assert text.index("2 M steps/s, 100 % faster") < text.index("1 M steps/s")
    assert "2026-11-01 10:00: gone: no memory" in text
    assert 'id="history"' not in report.page(by_file(after), Baselines())


def test_a_noisy_ab_row_is_counted_as_its_verdict_alone() -> None:
    pair = result([row(name="pair", samples=around(1e6, 0.9), ab=paired())])
    page = report.page(by_file(pair), Baselines())
    assert beginning(page)[1].startswith("Nothing slower, 1 same;")
    listed = page[page.index('<section id="runs">') :]
    assert '<td class="number" data-value="0">0</td>' in listed, "too noisy"


def test_the_figure_of_an_ab_shows_the_run_that_the_text_is_about() -> None:
    """Not the rows of another A/B run of the same folder, machine and revision."""
    older = ab_run()
    newer = result([row(name="same", ab=paired(), error="unknown flag")], created="2026-11-17T10:00:00+00:00")
    newer.configuration.against = Against("without x=1", "a" * 40, "a" * 40, "x=1")
    text = report.page(by_file(older, newer), Baselines())
    section = text[text.index('<section id="pairs">') : text.index('<section id="history">')]
    assert 'aria-label="A/B with and without x=1"' in section
    assert "<h2>A/B with and without x=1</h2>" in section
    assert "the base is this checkout without x=1." in section
    assert "<!-- same -->" in section
    assert "<!-- slow -->" not in section, "a row of the older run"
    assert "against without" not in text


def test_workloads_are_not_mixed() -> None:
    rows = [
        row(mode="numpy-single", batch=1, speed=1e4),
        row(speed=4e6),
        row(workload="noop", speed=9e6),
    ]
    cooperative, noop = overview.in_words(result(rows))
    assert "400 times as fast as one NumPy environment" in cooperative
    assert noop == "CrampedRoom features, noop actions: fastest is jax-scan@1024 with 9 M steps/s."
