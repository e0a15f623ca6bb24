"""The commands: what is printed where, and the exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as command
from bench import cases, results, runner
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.measures import Plan
from tests.bench.support import result, row
from tests.bench.test_runner import fake
from tests.support import HAS_JAX


class Measured(list[Case]):
    """The cases that were asked for; their rows say what is planted."""

    planted: dict[str, Any]

    def measure(self, case: Case, plan: Plan) -> dict[str, Any]:
        self.append(case)
        return {**fake(case, plan), **self.planted}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    """`run` without the work."""
    found = Measured()
    found.planted = {}
    run = runner.run
    monkeypatch.setattr(runner, "run", lambda *arguments: run(*arguments, found.measure))
    return found


def bench(*arguments: object) -> int:
    return command.main(list(map(str, arguments)))


def test_a_run_prints_the_table_on_stdout_and_progress_on_stderr(
    measured: Measured, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.json"
    assert bench("run", "-o", path, "-t", "mine", "-d", "why", "--seed", 7, "--rounds", 5) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == f"{len(measured)} measured, 0 unstable; all checksums agree."
    assert out.count("too few samples") == len(measured)
    assert "[1/" in err
    assert "results are in" in err
    assert "CrampedRoom numpy-single" in out
    found = results.load(path)
    assert (found["tag"], found["description"], found["configuration"]["samples"]) == ("mine", "why", 5)
    assert {case.seed for case in measured} == {7}
    expected = [case for case in cases.quick() if HAS_JAX or case.backend == "numpy"]
    assert [case.name for case in measured] == [case.name for case in expected]


def test_the_toy_is_changed_by_its_options(measured: Measured, tmp_path: Path) -> None:
    options = ("--agents", 3, "--map-size", 9, "--density", 0.2, "--layout", "Arena", "--backend", "numpy")
    assert bench("run", "-o", tmp_path / "r.json", *options) == 0
    assert [dict(case.options) for case in measured] == [
        {"num_agents": 3, "map_size": 9, "density": 0.2} for _ in range(2)
    ]


@pytest.mark.parametrize(
    ("planted", "code"),
    [
        ({}, 0),
        ({"status": "out of memory", "error": "too large", "samples": [], "checksum": None}, 0),
        ({"status": "failed", "error": "broken", "samples": [], "checksum": None}, 1),
        ({"status": "mismatch", "error": "wrong", "samples": [], "checksum": None}, 22),
    ],
)
def test_exit_codes_of_a_run(measured: Measured, tmp_path: Path, planted: dict[str, Any], code: int) -> None:
    measured.planted = planted
    assert bench("run", "-o", tmp_path / "r.json", "--backend", "numpy") == code


def test_a_wrong_result_outranks_a_failure() -> None:
    rows = [row(error="x"), row(error="y", status="mismatch"), row()]
    assert command.exit_code(result(rows=rows)) == 22
    assert command.exit_code(result(rows=rows[:1])) == 1


if HAS_JAX:

    def test_a_device_that_jax_cannot_use_exits_69(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("JAX_PLATFORMS", "abacus")
        results._device.cache_clear()
        try:
            assert bench("run", "--require-platform", "gpu") == 69
        finally:
            results._device.cache_clear()
        assert "JAX finds no device (JAX_PLATFORMS='abacus')" in capsys.readouterr().err


def test_a_required_platform_that_is_absent_exits_69(
    measured: Measured, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench("run", "--require-platform", "abacus") == 69
    assert "the platform is cpu, and abacus was required." in capsys.readouterr().err
    assert not measured


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--only", "nothing like it"), "no case fits what was asked for"),
        (("export", "nowhere.json", "--to", "csv"), "nowhere.json cannot be read"),
        (("run", "--map-size", "1"), "map_size=1"),
        (("run", "--layout", "Nowhere"), "--layout 'Nowhere' is unknown: known are Arena-V0, "),
        (("run", "--layout", "CrampedRoom", "--agents", "3"), "toy arena, which is not selected"),
        (("run", "--tag", "a/b"), "--tag 'a/b' becomes a part of a file's name"),
        (("run", "--resume", "--full"), "--resume finishes what was planned, so leave out --full"),
        (("run", "--output", __file__), "exists already"),
    ],
)
def test_usage_errors_are_one_sentence_and_exit_2(
    measured: Measured, arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(*arguments) == 2
    assert words in capsys.readouterr().err
    assert not measured


@pytest.mark.parametrize(
    "option",
    [("--batch", "0"), ("--agents", "0"), ("--rounds", "0"), ("--iterations", "-1"), ("--batch", "x")],
)
def test_wrong_numbers_are_refused_by_name(
    option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        bench("run", *option)
    assert ended.value.code == 2
    assert f"argument {option[0]}: '{option[1]}' is not a whole number" in capsys.readouterr().err


def test_a_file_without_sweeps_is_not_plotted_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results.write(tmp_path / "r.json", result())
    assert bench("plot", tmp_path / "r.json", "--folder", tmp_path / "plots") == 2
    assert "no plot has enough rows" in capsys.readouterr().err


def test_an_export_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results.write(tmp_path / "r.json", result())
    arguments = ("export", tmp_path / "r.json", "--to", "csv", "-o", tmp_path / "r.csv")
    assert bench(*arguments) == 0
    assert "written to" in capsys.readouterr().err
    text = (tmp_path / "r.csv").read_text()
    assert bench(*arguments) == 2
    assert (tmp_path / "r.csv").read_text() == text


def test_nothing_to_resume_is_said(
    measured: Measured, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.json"
    assert bench("run", "--backend", "numpy", "-o", path) == 0
    assert bench("run", "--resume", "-o", path) == 2
    assert "there is nothing to resume" in capsys.readouterr().err


def test_the_newest_unfinished_file_is_resumed(
    measured: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    for name in ("benchmark_1.json", "benchmark_2.json"):
        assert bench("run", "--backend", "numpy", "-o", tmp_path / name) == 0
    (tmp_path / "benchmark_3.json").write_text("damaged")
    found = results.load(tmp_path / "benchmark_1.json")
    results.write(tmp_path / "benchmark_1.json", {**found, "rows": found["rows"][:2]})
    measured.clear()
    assert bench("run", "--resume") == 0
    assert [case.name for case in measured] == [row["name"] for row in found["rows"][2:]]
    assert results.load(tmp_path / "benchmark_1.json")["rows"][:2] == found["rows"][:2]


def test_a_profile_has_configurations_side_by_side(
    measured: Measured, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured.planted = {"unit": "s", "samples": [2e-4], "parts": {"interact": 5e-5, "move": 1e-4}}
    assert bench("profile", "--layout", "ring", "--layout", "arena", "--batch", 64, "-o", tmp_path / "p") == 0
    out = capsys.readouterr().out
    modes = ["numpy-single", "numpy-batch", *(["jax-single", "jax-vmap"] if HAS_JAX else [])]
    kitchen, arena = "Overcooked-CoordinationRing-V0", "Arena-V0"
    assert [(case.id, case.measure, case.mode) for case in measured] == [
        (id, measure, mode)
        for id, measure in ((kitchen, "profile"), (kitchen, "features"), (arena, "profile"))
        for mode in modes
    ]
    assert {case.batch for case in measured} == {1, 64}
    assert out.count("phases of a step") == out.count("parts of the flat observation") == 1
    assert "interact  50.0 µs  25%" in out
    assert "sum       150.0 µs  75%" in out
    assert bench("profile", "--layout", "nowhere") == 2
    assert "unknown environment id 'nowhere'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fingerprint": "0" * 16}, "another machine or with other versions"),
        ({"git": None}, "another state of the checkout"),
    ],
)
def test_what_was_measured_elsewhere_is_not_resumed(
    measured: Measured,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any],
    words: str,
) -> None:
    path = tmp_path / "r.json"
    assert bench("run", "--backend", "numpy", "-o", path) == 0
    results.write(path, {**results.load(path), "rows": [], **changes})
    measured.clear()
    assert bench("run", "--resume", "-o", path) == 2
    assert words in capsys.readouterr().err
    assert not measured


def test_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("list", "--full", "--backend", "numpy", "--only", "latency") == 0
    assert capsys.readouterr().out == "CrampedRoom numpy-single latency\n"


def test_the_fingerprint_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("baseline", "show") == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == f"fingerprint   {results.fingerprint(results.system())}"
    assert "memory_bytes" in out


def test_help_helps(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ((), ("run",), ("compare",), ("export",), ("plot",), ("baseline",)):
        with pytest.raises(SystemExit) as ended:
            bench(*arguments, "--help")
        assert ended.value.code == 0
        assert len(capsys.readouterr().out) > 150
