"""The report in a real browser, from disk: both themes, desktop and phone, with and without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page

from bench.show import report
from bench.storage import results
from bench.storage.baselines import Baselines
from tests.bench.show.figures.support import ab_run, everything
from tests.bench.show.test_report import run
from tests.bench.support import around, by_file, row

PICTURES = Path(__file__).parents[2] / "build" / "reports"
WIDTHS = {"desktop": 1280, "phone": 390}
SCHEMES = ("light", "dark")
#: What a page must not do, asked in the page itself.
TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
SIZES = "figures => figures.map(figure => [figure.getBoundingClientRect().width, figure.getBBox().height])"


class Opened(NamedTuple):
    """A page, and what it complained about and asked for."""

    page: Page
    complaints: list[str]
    requests: list[str]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with every section, long names and long reasons."""
    name = "Arena jax-vmap@1024 ×8 density=0.04 map_size=40 num_agents=20"
    late = row(name="late", measure="latency", samples=around(1e-3, 0.9), parts={"trace": 0.1, "lower": 0.2})
    rows = [
        *everything()[:-1],  # without the pair, which would make it an A/B run
        late,
        row(name=name, speed=3e5),
        row(name="shaky", samples=around(1e6, 0.9)),
        row(name="broken", error="XlaRuntimeError: " + "a_very_long_word" * 12),
    ]
    path = tmp_path_factory.mktemp("report") / "report.html"
    before = run(row(name=name, speed=9e5), created="2026-11-16T10:00:00+00:00")
    path.write_text(report.page(by_file(ab_run(), run(*rows)), Baselines.of(before)), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Browser, file: Path, request: pytest.FixtureRequest) -> Iterator[Opened]:
    """The report as the parameters say."""
    width, scheme, scripts = getattr(request, "param", ("desktop", "light", True))
    context = browser.new_context(
        viewport={"width": WIDTHS[width], "height": 844}, color_scheme=scheme, java_script_enabled=scripts
    )
    page = context.new_page()
    found = Opened(page, [], [])
    page.on("console", lambda message: found.complaints.append(message.text))
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("request", lambda asked: found.requests.append(asked.url))
    page.goto(file.as_uri())
    yield found
    context.close()


WAYS = [(width, scheme, scripts) for width in WIDTHS for scheme in SCHEMES for scripts in (True, False)]


@pytest.mark.parametrize("opened", WAYS, indirect=True, ids=lambda way: "-".join(map(str, way)))
def test_it_reads_well(opened: Opened, file: Path, request: pytest.FixtureRequest) -> None:
    page = opened.page
    assert page.locator(".headline").is_visible()
    assert "1 slower, 3 same, 1 failed" in page.locator(".headline").inner_text()
    sections = page.locator("section").evaluate_all("found => found.map(one => one.id)")
    assert " ".join(sections) == "speeds pairs baselines results plots noise history runs machine data"
    sizes = page.locator("figure svg").evaluate_all(SIZES)
    assert len(sizes) == 8
    assert all(width > 300 and height > 50 for width, height in sizes), sizes
    assert not page.evaluate(TOO_WIDE)
    assert page.locator("tbody tr").first.is_visible()
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith("data:")] == [file.as_uri()]
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{request.node.callspec.id}.png", full_page=True)


def light(colour: str) -> float:
    """How light a colour of CSS is, 0 to 1."""
    return sum(float(part) for part in colour[4:-1].split(",")[:3]) / 3 / 255


@pytest.mark.parametrize("opened", [("desktop", scheme, True) for scheme in SCHEMES], indirect=True)
def test_words_and_plots_stand_out_from_the_paper(opened: Opened, request: pytest.FixtureRequest) -> None:
    page = opened.page
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    paper, ink, axis = (
        light(page.locator(where).first.evaluate(f"found => getComputedStyle(found).{what}"))
        for where, what in (
            ("section", "backgroundColor"),
            ("section h2", "color"),
            ("figure svg [style*='currentColor']", "stroke"),
        )
    )
    assert (paper < 0.3) == dark
    for found in (ink, axis):
        assert abs(found - paper) > 0.6


def column(page: Page, number: int) -> list[Any]:
    """The values of a column of the results, as they stand."""
    return page.locator(f"#results table >> nth=0 >> tbody tr td:nth-child({number})").evaluate_all(
        "cells => cells.map(cell => cell.dataset.value === undefined ? null : Number(cell.dataset.value))"
    )


def test_headings_sort_up_and_down(opened: Opened) -> None:
    heading = opened.page.locator("#results table >> nth=0 >> th:nth-child(2)")
    before = column(opened.page, 2)
    known = sorted(value for value in before if value is not None)
    missing = [None] * (len(before) - len(known))
    assert before != known + missing
    heading.get_by_role("button").click()
    assert column(opened.page, 2) == known + missing
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.get_by_role("button").press("Enter")
    assert column(opened.page, 2) == known[::-1] + missing
    assert heading.get_attribute("aria-sort") == "descending"
    opened.page.locator("#results table >> nth=0 >> th:nth-child(1) button").click()
    assert heading.get_attribute("aria-sort") is None
    names = opened.page.locator("#results table >> nth=0 >> tbody td:first-child").all_inner_texts()
    assert names[0].startswith("Arena")
    assert opened.complaints == []


@pytest.mark.parametrize("opened", [("desktop", "light", False)], indirect=True)
def test_without_scripts_nothing_pretends_to_sort(opened: Opened) -> None:
    assert opened.page.locator("th button").count() == 0


@pytest.mark.parametrize(
    "opened", [("phone", "dark", scripts) for scripts in (True, False)], indirect=True, ids=str
)
def test_the_raw_data_can_be_downloaded(opened: Opened, tmp_path: Path) -> None:
    links = opened.page.locator("#data a")
    assert links.count() == 2
    for number in range(2):
        with opened.page.expect_download() as started:
            links.nth(number).click()
        assert started.value.suggested_filename.endswith(".json")
        started.value.save_as(tmp_path / "data.json")
        assert results.load(tmp_path / "data.json").rows
