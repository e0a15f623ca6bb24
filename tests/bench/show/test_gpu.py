"""Programs that were compiled and not run: their counters are gated, kept and shown, and called modelled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bench.compare.findings import codes, judge
from bench.exit_codes import Code
from bench.measure.plan import Plan
from bench.records import Row
from bench.show import diff, gpu, report, tables
from bench.show.history import history
from bench.storage import accepting, baselines, results
from bench.storage.baselines import Baselines
from bench.storage.identity import identity
from tests.bench.support import by_file, result, row

COUNTERS = {
    "kernels": 1800,
    "bytes": 163_840_000,
    "open_loops": 0,
    "conditionals": 0,
    "host_transfers": 0,
    "wide_values": 0,
    "collectives": 0,
    "temp_bytes": 43_840,
    "outside_graphs": 1,
    "registers": 29,
    "spill_bytes": 0,
}
DAYS = tuple(f"2026-11-{day}T10:30:00+00:00" for day in (10, 11))


def program(target: str = "cuda12-a100", speed: float = 49e6, **counters: int) -> Row:
    found = row(
        measure=f"{target}-scan",
        steps=128,
        unit="modelled steps/s",
        samples=[speed],
        counters=COUNTERS | counters,
        checksum=None,
    )
    return replace(found, identity=identity(found.case.case, Plan()))


def judged(before: Row, after: Row, **system: Any) -> Any:
    (found,) = judge(result([after], **system), Baselines.of(result([before])))
    return found


def test_a_kernel_more_is_a_regression_on_any_machine() -> None:
    found = judged(program(), program(kernels=1928), cpu="another", cores=64)
    assert [change.name for change in found.grown] == ["kernels"]
    assert Code.REGRESSION in codes([found])
    assert "kernels grew 7.1 %" in diff.text([found])


def test_a_host_transfer_is_a_regression() -> None:
    found = judged(program(), program(host_transfers=1))
    assert "host_transfers grew from 0 to 1" in diff.text([found])
    assert Code.REGRESSION in found.codes


def test_the_same_counters_are_fine_even_if_strict() -> None:
    found = judged(program(), program(speed=30e6), cpu="another")
    assert found.codes == {Code.FINE}
    assert found.text == "counted"


def test_counters_of_another_jaxlib_or_target_are_not_compared() -> None:
    assert judged(program(), program(kernels=9999), jaxlib="0.11.0").uncounted == (
        "no counters for jaxlib 0.11.0, platform cuda12-a100"
    )
    other = judged(program(), replace(program("cuda13-a100", kernels=9999), name=program().name))
    assert not other.grown


def test_a_baseline_goes_by_jaxlib_and_target_and_holds_no_times(tmp_path: Path, folder: Path) -> None:
    from bench.records import Configuration

    rows = [program(), program("cuda12-h100")]
    run = result(rows, configuration=Configuration.of("gpu", Plan(samples=1), []))
    results.write(tmp_path / "r.json", run)
    written = accepting.accept([tmp_path / "r.json"], "first").written
    assert sorted(path.name for path in written) == [
        "counters-0.10.2-cuda12-a100.json",
        "counters-0.10.2-cuda12-h100.json",
    ]
    assert [baselines.troubles(path) for path in written] == [[], []]
    assert [baselines.fit(baselines.load(path), run.system) for path in written] == ["fits", "fits"]


def test_the_table_is_per_step_and_says_what_is_modelled() -> None:
    text = tables.summary(result([program(), row()]))
    line = next(line for line in text.splitlines() if line.startswith("CrampedRoom features scan@1024"))
    assert line.split()[3:] == [
        *(
            "cuda12-a100",
            "14.1",
            "1250",
            "49",
            "M",
            "99.9",
            "%",
            "0",
            "0",
            "0",
            "0",
            "0",
            "29",
            "0",
            "42.8",
            "KiB",
        )
    ]
    assert gpu.MODEL in text
    assert "1 M" in text, "beside what was measured"


def test_eight_devices_share_the_bytes() -> None:
    assert gpu.bytes_per_environment(program("cuda12-a100x8")) == 8 * gpu.bytes_per_environment(program())


def test_a_program_that_was_not_compiled_says_why() -> None:
    failed = row(measure="cuda12-a100-scan", error="no memory")
    assert "failed: no memory" in tables.summary(result([failed]))


def test_the_history_compares_across_machines(tmp_path: Path) -> None:
    runs = [(program(), {}), (program(speed=98e6, kernels=900), {"cpu": "another"})]
    for number, (one, system) in enumerate(runs):
        results.write(tmp_path / f"benchmark_{number}.json", result([one], created=DAYS[number], **system))
    text = history(tmp_path)
    assert "49 M modelled steps/s" in text
    assert "98 M modelled steps/s, 100 % faster" in text


def test_the_report_has_both_what_was_measured_and_what_was_compiled() -> None:
    from bench.records import Configuration

    configuration = Configuration.of("gpu", Plan(samples=1), [])
    compiled = result([program()], configuration=configuration, created=DAYS[1])
    page = report.page(
        by_file(result(created=DAYS[0]), compiled), Baselines.of(result([program(kernels=1700)]))
    )
    for text in (
        "Results: compiled for GPUs",
        "kernels grew 5.9 %",
        "CrampedRoom features scan@1024",
        "Nothing in this table was run",
    ):
        assert text in page
    assert page.index('id="results"') < page.index('id="gpu-results"')


def test_modelled_and_measured_speeds_stand_beside_each_other() -> None:
    facts = {"measure": "run-scan", "unit": "steps/s", "samples": [20e6] * 5, "checksum": None}
    found, other = row(steps=128, **facts), row(steps=64, **facts)
    assert "measured / modelled" not in tables.summary(result([program(), row()]))
    run = result([program(speed=40e6), found, other])
    lines = gpu.beside(run.rows).splitlines()
    assert lines[0].split("  ")[0] == "program"
    assert lines[2].split()[-6:] == ["cuda12-a100", "40", "M", "20", "M", "0.50"]
    assert len(lines) == 3, "another program was not compiled"
    assert gpu.beside(run.rows) in tables.summary(run)
    assert "Modelled beside measured" in report.page(by_file(run), Baselines())
