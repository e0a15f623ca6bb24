"""The commands: what is printed where, and the exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as command
from bench import ab, cases, results, runner, training
from bench.codes import Code
from cogrid.benchmarks.case import Case
from cogrid.benchmarks.measures import Plan
from tests.bench.support import around, paired, result, row
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
    assert f"\n{len(measured)} measured, 0 unstable; all checksums agree.\n" in out
    assert out.splitlines()[-1].startswith("There is no baseline to compare with")
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


# Exit codes of a diff, and of a run that ends with one

SLOW, SHAKY = row(speed=0.5e6), row(samples=around(1e6, 0.5))
GROWN = row(counters={"equations": 153, "flops": 1020, "bytes_accessed": 2000})
WRONG, BROKEN = row(checksum="f" * 16), row(error="broken")
ELSEWHERE = row(identity="f" * 12)


@pytest.mark.parametrize(
    ("rows", "plain", "strict"),
    [
        ([row()], 0, 0),
        ([SLOW], 0, 21),
        ([SHAKY], 0, 21),
        ([ELSEWHERE], 0, 23),
        ([SHAKY, ELSEWHERE], 0, 23),
        ([BROKEN, ELSEWHERE, SHAKY], 1, 1),
        ([GROWN], 20, 20),
        ([GROWN, BROKEN, ELSEWHERE, SHAKY], 20, 20),
        ([row(ab=paired(1.2, "slower")), SHAKY], 20, 20),
        ([WRONG], 22, 22),
        ([SHAKY, WRONG, GROWN, BROKEN, ELSEWHERE], 22, 22),
        ([{**SHAKY, "checksum": "f" * 16}], 22, 22),
    ],
)
def test_exit_codes_of_a_diff(tmp_path: Path, rows: list[dict[str, Any]], plain: int, strict: int) -> None:
    names = [f"case {number}" for number in range(len(rows))]
    before = [row(name=name) for name in names]
    after = [{**found, "name": name} for found, name in zip(rows, names, strict=True)]
    results.write(tmp_path / "a.json", result(before))
    results.write(tmp_path / "b.json", result(after))
    assert bench("diff", tmp_path / "a.json", tmp_path / "b.json") == plain
    assert bench("diff", tmp_path / "a.json", tmp_path / "b.json", "--strict") == strict


def test_a_diff_of_one_file_is_against_the_baselines(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results.write(folder / "mine.json", result([row(name="a", speed=2e6)]))
    results.write(tmp_path / "b.json", result([row(name="a"), row(name="b")]))
    assert bench("diff", tmp_path / "b.json") == 0
    first = capsys.readouterr().out
    assert "100 % slower" in first
    assert bench("diff", tmp_path / "b.json") == 0
    assert capsys.readouterr().out == first
    assert bench("diff", *[tmp_path / "b.json"] * 3) == 2
    assert "takes one or two files, and here are 3" in capsys.readouterr().err


@pytest.mark.parametrize(("style", "start"), [("json", "{"), ("github", "| case"), ("terminal", "case")])
def test_formats_of_a_diff(
    tmp_path: Path, style: str, start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    results.write(tmp_path / "a.json", result())
    assert bench("diff", tmp_path / "a.json", tmp_path / "a.json", "--format", style) == 0
    assert capsys.readouterr().out.startswith(start)


def test_another_machine_is_reported_and_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results.write(tmp_path / "a.json", result(cpu="another"))
    results.write(tmp_path / "b.json", result([row(speed=1.0)]))
    assert bench("diff", tmp_path / "a.json", tmp_path / "b.json") == 0
    out = capsys.readouterr().out
    assert "not comparable: other cpu" in out
    assert "% slower" not in out
    assert bench("diff", tmp_path / "a.json", tmp_path / "b.json", "--strict") == 23


@pytest.mark.parametrize("text", ["{", '{"schema": 0}', '{"schema": 1}'])
def test_a_damaged_or_older_file_is_a_sentence_and_left_untouched(
    tmp_path: Path, text: str, measured: Measured, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    bad.write_text(text)
    results.write(good, result())
    run = ("run", "--backend", "numpy", "-o", tmp_path / "new.json")
    for arguments in (("diff", bad, good), ("diff", good, bad), (*run, "--baseline", bad)):
        assert bench(*arguments) == 2
        assert f"{bad} " in capsys.readouterr().err
    assert bad.read_text() == text
    assert not measured, "a run says it before it measures"
    assert not (tmp_path / "new.json").exists()


def test_a_run_ends_with_what_changed(
    measured: Measured, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [*around(1000.0), *around(1000.0)]
    run, against = ("run", "--backend", "numpy", "-o"), ("--baseline", tmp_path / "a.json")
    measured.planted = {"samples": many, "counters": {"operations": 100}}
    assert bench(*run, tmp_path / "a.json", "--strict") == 23, "no baseline"
    capsys.readouterr()
    assert bench(*run, tmp_path / "b.json", *against, "--strict") == 0
    last = "0 slower, 0 faster, 4 same, 0 inconclusive; no counter grew."
    assert capsys.readouterr().out.splitlines()[-1] == last
    measured.planted = {"samples": many, "counters": {"operations": 102}}
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("# before\n")
    assert bench(*run, tmp_path / "c.json", *against) == 20
    assert "operations grew 2.0 %" in capsys.readouterr().out
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("# before\n## Benchmarks\n\n| case | verdict |")
    assert "operations grew 2.0 %" in summary
    measured.planted = {"samples": [value / 2 for value in many], "counters": {"operations": 100}}
    assert bench(*run, tmp_path / "d.json", *against, "--strict") == 21
    assert bench(*run, tmp_path / "e.json", *against) == 0
    assert "SLOWER than the baseline: 4." in capsys.readouterr().out


def test_baselines_are_accepted_shown_and_checked(
    measured: Measured, tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured.planted = {"samples": around(1000.0), "counters": {"operations": 100}}
    path = tmp_path / "r.json"
    assert bench("run", "--backend", "numpy", "-o", path) == 0
    assert bench("baseline", "accept", path, "--reason", "a first set", "--allow-dirty") == 0
    written = capsys.readouterr().out.splitlines()[-2:]
    assert {Path(line).name for line in written} == {file.name for file in folder.iterdir()}
    assert bench("baseline", "check") == 0
    assert capsys.readouterr().out.count(" is fine.") == 2
    assert bench("baseline", "show") == 0
    out = capsys.readouterr().out
    assert out.count("  fits  ") == 2
    assert out.count("a first set") == 2
    assert bench("diff", path, "--strict") == 0
    (folder / "damaged.json").write_text("{")
    assert bench("baseline", "check") == 23
    assert "is damaged" in capsys.readouterr().out
    assert bench("diff", path) == 2


def test_a_baseline_needs_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        bench("baseline", "accept", tmp_path / "r.json")
    assert ended.value.code == 2
    assert "--reason" in capsys.readouterr().err


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
    assert f"fingerprint   {results.fingerprint(results.system())}\n" in out
    assert out.splitlines()[-1] == "No baseline is committed."
    assert "memory_bytes" in out


def test_help_helps(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ((), ("run",), ("diff",), ("compare",), ("export",), ("plot",), ("baseline",)):
        with pytest.raises(SystemExit) as ended:
            bench(*arguments, "--help")
        assert ended.value.code == 0
        assert len(capsys.readouterr().out) > 150


@pytest.mark.parametrize(
    "option", [["--rounds", 3], ["--seed", 1], ["--full"], ["--resume"], ["--baseline", "f"]]
)
def test_an_ab_refuses_what_it_would_ignore(option: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("run", "--against", "HEAD", *option) == Code.USAGE
    assert f"leave out {option[0]}." in capsys.readouterr().err


class TestWhatAnAbFound:
    """The command after a comparison that found what is planted."""

    @pytest.fixture(autouse=True)
    def planted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        verdict = {"verdict": "new", "why_new": "ValueError: no such observation."}
        new = {**row(samples=around(100.0)), "ab": verdict}
        monkeypatch.setattr(ab, "run", lambda found, *_: found.update(rows=[new]))

    def test_a_base_that_runs_nothing_is_no_success(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert bench("run", "--against", "HEAD", "-o", tmp_path / "r.json") == Code.USAGE
        assert "HEAD runs none of the cases: ValueError: no such observation." in capsys.readouterr().err

    def test_a_checkout_that_changed_meanwhile_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        states = iter([{"sha": "a" * 40, "dirty": False}, {"sha": "a" * 40, "dirty": True}])
        monkeypatch.setattr(results, "git_state", lambda: next(states))
        assert bench("run", "--against", "HEAD", "-o", tmp_path / "r.json") == Code.USAGE
        assert "the checkout changed during the comparison" in capsys.readouterr().err


@pytest.mark.skipif(not HAS_JAX, reason="without JAX only NumPy is measured")
@pytest.mark.parametrize("missing", [[], ["optax"]])
def test_training_is_left_out_in_words_where_its_packages_are_missing(
    missing: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(training, "missing", lambda: missing)
    assert bench("list", "--full", "--layout", "Cramped", "--backend", "jax", "--batch", 64) == 0
    out, err = capsys.readouterr()
    assert ("jax-scan@64 ×128 train" in out) is not bool(missing)
    assert ("without optax training is left out: pip install '.[train]'." in err) is bool(missing)
