"""What the docs publish: blocks that say what the recorded runs say, and a run that takes their place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from bench import ROOT
from bench.exit_codes import UsageError
from bench.peers.targets import TARGETS
from bench.records import Result
from bench.show import published
from bench.show.published import BLOCK, BLOCKS, LARGE, PLANES, STEP_ENV, RecordedRuns, shown_part
from bench.storage import results
from tests.bench.commands.support import bench
from tests.bench.show.figures.test_bars import target
from tests.bench.support import around, result, row

SWEPT = {"workload": "random", "options": {}}


def full(speed: float = 2e6) -> Result:
    rows = [row(batch=batch, speed=speed, **SWEPT) for batch in (1, LARGE)]
    rows += [row(batch=batch, mode="numpy-batch", **SWEPT) for batch in (1, 10)]
    rows.append(row(batch=10, workload="cooperative"))
    found = result(rows)
    return replace(found, configuration=replace(found.configuration, suite="full"))


def beside(ratio: float = 4.26, **facts: object) -> Result:
    found = result()
    targets = [
        target(PLANES, ratio, against=STEP_ENV, **facts),
        target("slow", 3.0, verdict="missed: 3× of 4×"),
        target("memory", 2.0**31, unit="B", at_most=True, low=2.0**31, high=2.0**31, stretch=2.0**30),
        target("absent", None, verdict="not installed"),
        target("free", 1.0, enough=None),
        target("CartPole", 2e5, against="", unit="steps/s", enough=None, verdict="different work"),
    ]
    return replace(found, targets=targets, configuration=replace(found.configuration, suite="peers"))


def test_the_docs_say_what_the_recorded_runs_say() -> None:
    texts = published.pages(published.recorded())
    assert {match[2] for text in texts.values() for match in BLOCK.finditer(text)} == set(BLOCKS)
    for page, text in texts.items():
        assert page.read_text(encoding="utf-8") == text, "run `python -m bench publish` after an edit"


def test_the_readme_tells_a_large_batch_and_the_ratio_to_jaxmarl() -> None:
    text = published.speed(RecordedRuns(full(), beside()))
    assert "100,000 kitchens in one process make 2.0 million steps per second on 2 shared cores" in text
    assert "4.3 times as fast as JaxMARL (3.8 to 4.7), in one run" in text
    assert text.count("revision\n3fabcf2000") + text.count("revision 3fabcf2000") == 2


def test_a_line_for_each_batch() -> None:
    text = published.throughput(RecordedRuns(full(), beside()))
    assert "One run of 2026-11-16 at revision 3fabcf2000: AMD EPYC 7B13, 2 cores" in text
    shaky = [row(batch=LARGE, samples=around(2e6, 0.5), **SWEPT), *full().rows[:1]]
    doubtful = published.throughput(RecordedRuns(replace(full(), rows=shaky), beside()))
    assert doubtful.splitlines()[-1].startswith("| 100,000 | 2 M (unstable) |")
    assert text.splitlines()[-3:] == [
        "| 1 | 2 M | 1 M | 381 MiB |",
        "| 10 |  | 1 M |  |",
        "| 100,000 | 2 M |  | 467 MiB |",
    ]


def test_a_line_for_each_target_and_how_many_are_met() -> None:
    lines = published.peers(RecordedRuns(full(), beside())).splitlines()
    assert lines[1] == "2 of 4 targets are met; the 95 % interval is in brackets."
    assert lines[-12:-8] == [
        f"| {PLANES} | {STEP_ENV} | 4.26× (3.83× … 4.69×) | ≥ 4× |  |",
        "| slow | them | 3× (2.7× … 3.3×) | ≥ 4× |  |",
        "| memory | them | 2 GiB | ≤ 4 B | ≤ 1 GiB |",
        "| absent | them | not installed | ≥ 4× |  |",
    ]
    assert lines[-7:] == [
        "0 of 1 stretch goals are reached. Missed targets:",
        "",
        "- slow, beside them: 3× (2.7× … 3.3×), wanted ≥ 4×",
        "",
        "| for comparison, different work | beside | measured |",
        "| --- | --- | --- |",
        "| CartPole |  | 200 K steps/s (180 K steps/s … 220 K steps/s) |",
    ]


def test_gymnasium_and_gymnax_are_published() -> None:
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    different = [one for one in TARGETS if one.verdict(1.0) == published.DIFFERENT]
    assert {"Gymnasium", "gymnax"} <= {one.what.split()[0] for one in different}
    assert all(f"| {one.what} | {one.against} |" in text for one in different)


def test_no_target_is_missed() -> None:
    met = replace(beside(), targets=beside().targets[:1])
    assert published.peers(RecordedRuns(full(), met)).splitlines()[-1].endswith("No target is missed.")


def test_the_analysis_by_hand_is_of_targets_that_exist() -> None:
    """It says what bounds a row and never how the last run ended: that is generated."""
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    section = text.split("## What bounds each target\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| .+ \|$", section, re.M)[2:]
    assert len(rows) >= 8
    known = {target.what for target in TARGETS}
    assert [name for row in rows for name in row.split("; ") if name not in known] == []


def test_of_a_full_run_the_sweep_of_crampedroom_is_kept() -> None:
    kept = shown_part(full())
    assert [(one.case.mode, one.case.batch) for one in kept.rows] == [
        ("jax-scan", 1),
        ("jax-scan", LARGE),
        ("numpy-batch", 1),
        ("numpy-batch", 10),
    ]
    assert kept.configuration.planned == [one.case for one in kept.rows]
    assert shown_part(beside()) == beside()
    with pytest.raises(UsageError, match="no sweep of CrampedRoom"):
        shown_part(replace(full(), rows=[row()]))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a page and evidence of its own."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(
        "# x\n\n<!-- bench publish: speed -->\nold\n<!-- end -->\nkept\n", encoding="utf-8"
    )
    results.write(tmp_path / "throughput.json", full())
    results.write(tmp_path / "peers.json", beside())
    pages, recorded, place_of = published.pages, published.recorded, published.place_of
    monkeypatch.setattr(published, "pages", lambda found: pages(found, tmp_path))
    monkeypatch.setattr(published, "recorded", lambda: recorded(tmp_path))
    monkeypatch.setattr(published, "place_of", lambda found: place_of(found, tmp_path))
    monkeypatch.setattr(published, "IMAGES", tmp_path / "images")
    return tmp_path


def test_a_run_takes_the_place_of_the_recorded_one(project: Path) -> None:
    results.write(project / "new" / "r.json", full(speed=7e6))
    assert bench("publish", project / "new" / "r.json") == 0
    text = (project / "README.md").read_text(encoding="utf-8")
    assert "7.0 million steps per second" in text
    assert "old" not in text
    assert text.endswith("<!-- end -->\nkept\n")
    assert sorted(path.name for path in (project / "images").iterdir()) == [
        "memory.png",
        "ratios.png",
        "throughput.png",
    ]
    assert bench("publish") == 0
    assert (project / "README.md").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"git": {"sha": 40 * "a", "dirty": True}}, "is of a checkout with changes"),
        ({}, "and this is a quick run"),
    ],
)
def test_what_is_not_published(
    changes: dict[str, object], reason: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (project / "throughput.json").read_bytes()
    results.write(project / "new" / "r.json", result(**changes))
    assert bench("publish", project / "new" / "r.json") == 2
    assert reason in capsys.readouterr().err
    assert (project / "throughput.json").read_bytes() == before


def test_some_of_the_targets_do_not_take_the_place_of_all(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (project / "peers.json").read_bytes()
    every = [target(one.what, 4.26, against=one.against) for one in TARGETS]
    for targets, code in ((every[1:], 2), (every, 0)):
        results.write(project / "new" / "p.json", replace(beside(), targets=targets))
        assert bench("publish", project / "new" / "p.json") == code
        assert ((project / "peers.json").read_bytes() == before) is bool(code)
    assert f"lacks 1 of {len(TARGETS)} targets" in capsys.readouterr().err


def test_no_page_has_a_block_that_nobody_writes() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        assert text.count("<!-- bench publish:") == len(BLOCK.findall(text))
