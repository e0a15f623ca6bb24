"""Memory: sizes from shapes are those of real arrays, the README's, and those of the recorded run."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bench import ROOT, suites
from bench.measure import memory
from bench.records import Row
from bench.storage import results
from bench.units import size
from cogrid._core.compile.spec import OBSERVATIONS
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.modes import bytes_per_environment, ready
from tests.bench.commands.support import bench
from tests.support import HAS_JAX

RECORDED = [
    row for row in results.load(ROOT / "bench/evidence/throughput.json").rows if row.case.id == suites.CRAMPED
]
SECTION = (
    (ROOT / "bench/README.md")
    .read_text(encoding="utf-8")
    .split("\n## How much memory\n")[1]
    .split("\n## ")[0]
)
TABLE = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("| `")][1:]
needs_jax = pytest.mark.skipif(not HAS_JAX, reason="sizes on JAX")


def kitchen(mode: str, batch: int = 1, **overrides: Any) -> Case:
    return Case(suites.CRAMPED, mode, batch, 4, options=suites.options(**overrides))


@pytest.mark.parametrize("mode", ["numpy-batch", pytest.param("jax-vmap", marks=needs_jax)])
@pytest.mark.parametrize("id", [suites.CRAMPED, suites.ARENA])
def test_shapes_are_as_large_as_what_is_measured(id: str, mode: str) -> None:
    case = Case(id, mode, 3, 4)
    prepared = ready(case)
    found = bytes_per_environment(case, prepared.end(prepared.work.once()))
    assert memory.per_environment(case) == found
    assert memory.at_least(case) == 2 * 3 * sum(found.values())


@needs_jax
@pytest.mark.parametrize("cells", TABLE, ids=lambda cells: cells[0].strip("`"))
def test_the_table_of_the_readme(cells: list[str]) -> None:
    seen = cells[0].strip("`")
    on_numpy = memory.per_environment(kitchen("numpy-batch", observation=seen))
    batches = [kitchen("jax-scan", batch, observation=seen) for batch in (1_000_000, 5_000_000)]
    on_jax = memory.per_environment(batches[0])
    assert on_numpy["observation_bytes"] == on_jax["observation_bytes"]
    sizes = [on_numpy["state_bytes"], *on_jax.values(), *map(memory.at_least, batches)]
    assert cells[1:] == [size(value) for value in sizes]


def test_every_observation_of_a_kitchen_is_in_the_table() -> None:
    assert [cells[0].strip("`") for cells in TABLE] == [*OBSERVATIONS]


@needs_jax
def test_the_recorded_run_is_what_the_readme_says() -> None:
    rows = {row.case.batch: row for row in RECORDED if row.case.mode == "jax-scan"}
    sweep = {batch: peak(row) for batch, row in rows.items()}
    for batch in (1_000_000, 5_000_000):
        assert size(sweep[batch]) in SECTION
        assert size(rows[batch].counters["peak_bytes"]) in SECTION
    assert sweep[5_000_000] < 0.8 * 8e9  # "8 GB are enough"
    taken = (sweep[5_000_000] - sweep[1_000_000]) / 4_000_000
    excess = taken / memory.at_least(kitchen("jax-scan")) - 1
    assert excess > 0
    assert f"{excess:.0%} more".replace("%", " %") in SECTION
    assert f"{size(sweep[1])} with JAX" in SECTION


def test_the_recorded_run_on_numpy_is_what_the_readme_says() -> None:
    sweep = {row.case.batch: peak(row) for row in RECORDED if row.case.mode == "numpy-batch"}
    taken = (sweep[100_000] - sweep[1]) / 100_000
    assert f"{taken / memory.at_least(kitchen('numpy-batch')):.1f} times their" in SECTION
    assert f"{size(sweep[1])} with NumPy" in SECTION


@pytest.mark.parametrize("mode", ["numpy-batch", pytest.param("jax-scan", marks=needs_jax)])
def test_recorded_sizes_are_those_of_today(mode: str) -> None:
    rows = [row for row in RECORDED if row.case.mode == mode]
    assert rows
    for row in rows:
        assert row.memory.items() >= memory.per_environment(row.case.case).items()
        assert peak(row) > memory.at_least(row.case.case)


def test_list_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ("--layout", "CrampedRoom", "--only", "numpy-batch", "--batch", "1e6")
    assert bench("list", *chosen, "--memory") == 0
    title, _, first, *_ = capsys.readouterr().out.splitlines()
    assert re.split(r"  +", title) == ["case", "state", "observations", "batch, at least"]
    whole = size(memory.at_least(kitchen("numpy-batch", 1_000_000)))
    assert re.split(r"  +", first)[1:] == ["196 B", "520 B", whole]
    assert bench("list", *chosen) == 0
    assert capsys.readouterr().out.splitlines()[0] == "CrampedRoom numpy-batch@1000000 ×4 cooperative"


def peak(row: Row) -> int:
    found = row.memory["peak_rss_bytes"]
    assert found is not None
    return found
