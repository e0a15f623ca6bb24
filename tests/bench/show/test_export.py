"""Results as CSV and as pyperf suites, read back by other programs."""

from __future__ import annotations

import csv
import io
import json

import pyperf
import pytest
from msgspec.structs import asdict

from bench import ROOT
from bench.exit_codes import UsageError
from bench.show.export import COLUMNS, HEADER, to_csv, to_pyperf
from bench.storage import baselines
from tests.bench.support import result, row

OUT_OF_MEMORY = {"status": "out of memory", "error": "RESOURCE_EXHAUSTED: 9 GB"}


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_a_line_for_each_row_with_its_facts() -> None:
    found = table(
        to_csv(result([row(batch=10), row(batch=100, **OUT_OF_MEMORY)], tag="t", description='a "b", c'))
    )
    assert [line["batch"] for line in found] == ["10", "100"]
    assert [line["status"] for line in found] == ["ok", "out of memory"]
    first = found[0]
    assert first["tag"] == "t"
    assert first["description"] == 'a "b", c'
    assert first["cpu"] == "AMD EPYC 7B13"
    assert first["sha"].startswith("3fabcf2")
    assert first["dirty"] == "False"
    assert json.loads(first["options"]) == {"observation": "features"}
    assert first["equations"] == "153"
    assert first["state_bytes"] == "43"
    assert first["steal"] == "0.01"


def test_csv_keeps_numbers_exactly() -> None:
    measured = row(samples=[1 / 3, 2 / 3, 1e6 / 7])
    found = table(to_csv(result([measured])))[0]
    assert [float(sample) for sample in found["samples"].split(";")] == measured.samples
    for name, value in asdict(measured.numbers).items():
        assert float(found[name]) == value


def test_csv_has_a_column_for_every_counter() -> None:
    committed = baselines.committed((ROOT / "bench" / "baselines").glob("*.json"))
    counted = {name for one in committed.counters for row in one.rows for name in row.counters}
    assert {"equations", "operations"} <= counted <= set(COLUMNS["counters"])


def test_csv_leaves_empty_what_is_not_known() -> None:
    found = table(
        to_csv(result([row(**OUT_OF_MEMORY, counters={}, memory={}, noise={})], git=None, jax=None))
    )[0]
    empty = ("sha", "dirty", "jax", "median", "cv", "flops", "peak_rss_bytes", "load", "samples")
    assert {name: found[name] for name in empty} == dict.fromkeys(empty, "")


def test_csv_header_is_the_same_for_every_result() -> None:
    assert len(set(HEADER)) == len(HEADER)
    for rows in ([], [row()], [row(measure="profile", parts={"move": 1.0}, counters={"new": 1})]):
        assert to_csv(result(rows)).splitlines()[0] == ",".join(HEADER)


def test_pyperf_reads_seconds_per_step() -> None:
    suite = pyperf.BenchmarkSuite.loads(to_pyperf(result([row(name="a", samples=[4.0, 5.0, 8.0])])))
    found = suite.get_benchmark("a")
    assert found.get_values() == (0.25, 0.2, 0.125)
    assert found.get_unit() == "second"
    assert found.median() == 0.2


def test_pyperf_keeps_what_was_measured_in_seconds() -> None:
    suite = pyperf.BenchmarkSuite.loads(
        to_pyperf(result([row(name="a", measure="reset", samples=[0.5, 0.25])]))
    )
    assert suite.get_benchmark("a").get_values() == (0.5, 0.25)


def test_pyperf_has_pyperfs_names_for_the_machine() -> None:
    text = to_pyperf(result([row(name="a")], description="two\nlines", tag="t"))
    found = pyperf.BenchmarkSuite.loads(text).get_benchmark("a")
    metadata = found.get_metadata()
    assert metadata["cpu_model_name"] == "AMD EPYC 7B13"
    assert metadata["cpu_count"] == 2
    assert metadata["platform"] == "Linux-6.1-x86_64"
    assert metadata["python_version"] == "3.11.7"
    assert metadata["jax_version"] == "0.10.2"
    assert metadata["git_sha"].startswith("3fabcf2")
    assert metadata["description"] == "two lines"
    assert metadata["tag"] == "t"
    assert metadata["mem_max_rss"] == 400_000_000 + 900 * 1024
    assert str(found.get_dates()[0]) == "2026-11-16 04:40:00"


def test_pyperf_leaves_out_failed_rows_and_what_is_not_known() -> None:
    rows = [row(name="good", memory={}), row(name="bad", **OUT_OF_MEMORY)]
    suite = pyperf.BenchmarkSuite.loads(to_pyperf(result(rows, git=None, jax=None)))
    assert suite.get_benchmark_names() == ["good"]
    assert not {"git_sha", "jax_version", "tag", "description", "mem_max_rss"} & suite.get_metadata().keys()


def test_pyperf_keeps_every_row_apart() -> None:
    rows = [row(batch=batch, speed=batch) for batch in (1, 10, 100)]
    suite = pyperf.BenchmarkSuite.loads(to_pyperf(result(rows)))
    assert [found.median() for found in suite.get_benchmarks()] == [1, 0.1, 0.01]


def test_pyperf_needs_a_row_that_succeeded() -> None:
    with pytest.raises(UsageError, match="no successful row"):
        to_pyperf(result([row(**OUT_OF_MEMORY)]))
