"""`count`: the counters of a run without the run, compared, and accepted as baselines."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from bench import suites
from bench.measure import counting
from bench.measure.measures import measure
from bench.measure.plan import Plan
from bench.storage import baselines, results
from cogrid.benchmarks.case import Case
from tests.bench.commands.support import Measured, bench
from tests.bench.support import around
from tests.support import HAS_JAX

ONE = ("count", "--only", "CrampedRoom numpy-single cooperative")


def test_what_is_counted_is_compared_and_not_run(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(*ONE, "-o", tmp_path / "a.json") == 0
    (row,) = (found := results.load(tmp_path / "a.json")).rows
    assert (row.status, row.samples, row.statistics, row.checksum) == ("counted", [], None, None)
    assert row.counters["operations"] > 10
    capsys.readouterr()
    assert bench("baseline", "accept", tmp_path / "a.json", "--reason", "counted", "--allow-dirty") == 0
    assert [path.name.partition("-")[0] for path in folder.iterdir()] == ["counters"], "no times"
    assert "skipped" not in capsys.readouterr().err
    assert bench(*ONE, "-o", tmp_path / "b.json", "--strict") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 counted; no counter grew."
    fewer = {**row.counters, "operations": row.counters["operations"] - 9}
    results.write(tmp_path / "fewer.json", replace(found, rows=[replace(row, counters=fewer)]))
    assert bench(*ONE, "-o", tmp_path / "c.json", "--baseline", tmp_path / "fewer.json") == 20
    assert "operations grew" in capsys.readouterr().out


def test_the_results_of_a_count_are_no_run_of_the_folder() -> None:
    assert bench(*ONE) == 0
    assert [path.parent.name for path in results.RESULTS.rglob("*.json")] == ["counters"]


def test_what_is_counted_keeps_the_checksum_of_what_was_run(
    measured: Measured, tmp_path: Path, folder: Path
) -> None:
    measured.planted = {"samples": around(1000.0), "counters": {"operations": 100}}
    assert bench("run", *ONE[1:], "-o", tmp_path / "run.json") == 0
    accept = ("baseline", "accept", "--allow-dirty", "--reason", "why")
    assert bench(*accept, tmp_path / "run.json") == 0
    (played,) = results.load(tmp_path / "run.json").rows
    counted = replace(played, status="counted", samples=[], statistics=None, checksum=None)
    result = results.load(tmp_path / "run.json")
    results.write(
        tmp_path / "count.json", replace(result, rows=[replace(counted, counters={"operations": 90})])
    )
    assert bench(*accept, tmp_path / "count.json") == 0
    (kept,) = baselines.load(next(folder.glob("counters-*.json"))).rows
    assert (kept.counters, kept.checksum) == ({"operations": 90}, played.checksum)
    assert played.checksum is not None


CASES = [
    Case(suites.CRAMPED, "numpy-single", steps=8),
    Case(suites.ARENA, "numpy-batch", 16, 4),
    *(
        [Case(suites.CRAMPED, "jax-single", steps=8), Case(suites.CRAMPED, "jax-scan", 16, 8)]
        if HAS_JAX
        else []
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_counters_are_those_of_a_run(case: Case) -> None:
    assert counting.counted(case) == measure(case, Plan(1, seconds=0.0, warmup=0.0)).counters


def test_every_measure_with_counters_is_counted() -> None:
    """Of the CPU's: those that are compiled for a GPU have a command of their own."""
    committed = {
        row.case.measure
        for path in baselines.ROOT.glob("bench/baselines/counters-*.json")
        for row in baselines.load(path).rows
    }
    assert {name for name in committed if "-" not in name} <= set(counting.MEASURES)


def test_cases_without_counters_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("count", "--full", "--only", "latency") == 2
    assert "none of these cases has counters" in capsys.readouterr().err
