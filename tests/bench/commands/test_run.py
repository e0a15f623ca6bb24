"""`run`: what is printed where, exit codes, resuming, and an A/B."""

from __future__ import annotations

import shutil
from dataclasses import replace as replace_case
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bench import ROOT, ab, runner, suites
from bench.commands.parser import parse
from bench.commands.run import exit_code
from bench.exit_codes import Code
from bench.measure.plan import Plan
from bench.processes import checkout
from bench.records import Git
from bench.storage import machine, results
from cogrid.envs import registry
from tests.bench.commands.support import Measured, bench
from tests.bench.support import around, paired, result, row
from tests.support import HAS_JAX


def test_a_run_prints_the_table_on_stdout_and_progress_on_stderr(
    measured: Measured, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.json"
    assert bench("run", "-o", path, "-t", "mine", "-d", "why", "--seed", 7, "--rounds", 5) == 0
    out, err = capsys.readouterr()
    noisy = f"{len(measured)} too noisy to compare"
    assert f"\n{len(measured)} measured, {noisy}; all checksums agree.\n" in out
    assert out.splitlines()[-1].startswith("There is no baseline to compare with")
    assert out.count("too few samples") == out.count("\nAll rows: too few samples.\n") == 1
    assert "[1/" in err
    assert "results are in" in err
    assert "CrampedRoom numpy-single" in out
    found = results.load(path)
    assert (found.tag, found.description, found.configuration.samples) == ("mine", "why", 5)
    assert {case.seed for case in measured} == {7}
    expected = [case for case in suites.quick() if HAS_JAX or case.backend == "numpy"]
    assert [case.name for case in measured] == [case.name for case in expected]


def test_the_toy_is_changed_by_its_options(measured: Measured, tmp_path: Path) -> None:
    options = ("--agents", 3, "--map-size", 9, "--density", 0.2, "--layout", "Arena", "--backend", "numpy")
    assert bench("run", "-o", tmp_path / "r.json", *options) == 0
    assert [dict(case.options) for case in measured] == [
        {"num_agents": 3, "map_size": 9, "density": 0.2} for _ in range(2)
    ]


def test_a_world_of_ones_own(
    measured: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its file, in the modes of the suite; a worker, which knows only the name, measures it too."""
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    own = str(ROOT / "examples" / "own_environment.py")
    choice = ("--layout", own, "--backend", "numpy", "--set", "growth=2")
    assert bench("run", *choice, "-o", tmp_path / "r.json") == 0
    measured.planted = {"unit": "s", "samples": [2e-4], "parts": {"interact": 5e-5, "move": 1e-4}}
    assert bench("profile", "--layout", own, "--batch", 16, "-o", tmp_path / "p.json") == 0
    first, second, *profiled = measured
    assert [(case.id, case.mode) for case in (first, second)] == [(own, "numpy-single"), (own, "numpy-batch")]
    assert {(case.id, case.measure) for case in profiled} == {(own, "profile")}
    (tmp_path / "mine").mkdir()
    shutil.copy(own, tmp_path / "mine" / "world.py")
    monkeypatch.chdir(tmp_path)
    for id in (own, "mine/world.py"):  # a path that begins where the command was started
        case = replace_case(second, id=registry.adopt(id), batch=4, steps=2)
        found = runner.in_own_process(case, Plan(1, iterations=1))
        assert (found.status, found.agents) == ("ok", 2), found.error
    capsys.readouterr()
    assert bench("run", "--layout", own, "--against", "HEAD") == 2
    assert "is one of your own" in capsys.readouterr().err
    assert bench("run", "--layout", "nowhere.py:Spec") == 2
    assert "nowhere.py cannot be imported" in capsys.readouterr().err


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


def test_a_run_ends_with_what_changed(
    measured: Measured, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [*around(1000.0), *around(1000.0)]
    run, against = ("run", "--backend", "numpy", "-o"), ("--baseline", tmp_path / "a.json")
    measured.planted = {"samples": many, "counters": {"operations": 100}}
    assert bench(*run, tmp_path / "a.json", "--strict") == 23, "no baseline"
    capsys.readouterr()
    assert bench(*run, tmp_path / "b.json", *against, "--strict") == 0
    last = "Nothing slower, 6 same; no counter grew."
    assert capsys.readouterr().out.splitlines()[-1] == last
    measured.planted = {"samples": many, "counters": {"operations": 102}}
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("# before\n", encoding="utf-8")
    assert bench(*run, tmp_path / "c.json", *against) == 20
    assert "operations grew 2.0 %" in capsys.readouterr().out
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("# before\n## Benchmarks\n\n| case | verdict |")
    assert "operations grew 2.0 %" in summary
    measured.planted = {"samples": [value / 2 for value in many], "counters": {"operations": 100}}
    assert bench(*run, tmp_path / "d.json", *against, "--strict") == 21
    assert bench(*run, tmp_path / "e.json", *against) == 0
    assert "SLOWER than the baseline: 6." in capsys.readouterr().out


def test_noisy_rows_are_counted_once(
    measured: Measured, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the rows that were noisy in the baseline, where there is one."""
    case, noisy = ("run", "--only", "CrampedRoom numpy-single", "-o"), "too noisy"
    measured.planted = {"samples": around(1000.0, 0.5)}
    assert bench(*case, tmp_path / "a.json") == 0
    rows = len(measured)
    assert capsys.readouterr().out.count(noisy) == 1
    for name, spread in (("b.json", 0.02), ("c.json", 0.5)):
        measured.planted = {"samples": around(1000.0, spread)}
        assert bench(*case, tmp_path / name, "--baseline", tmp_path / "a.json") == 0
        out = capsys.readouterr().out
        assert f"{rows} measured; all checksums agree." in out
        assert out.count(noisy) == 1
        assert f"{rows} of {rows} rows {noisy}" in out


def test_a_wrong_result_outranks_a_failure() -> None:
    rows = [row(error="x"), row(error="y", status="mismatch"), row()]
    assert exit_code(result(rows=rows)) == 22
    assert exit_code(result(rows=rows[:1])) == 1


if HAS_JAX:

    def test_a_device_that_jax_cannot_use_exits_69(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("JAX_PLATFORMS", "abacus")
        machine._device.cache_clear()
        try:
            assert bench("run", "--require-platform", "gpu") == 69
        finally:
            machine._device.cache_clear()
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
        (("run", "--only", "nothing like it"), "no case matches these options"),
        (("export", "nowhere.json", "--to", "csv"), "nowhere.json cannot be read"),
        (("run", "--map-size", "1"), "map_size=1"),
        (
            ("run", "--layout", "Nowhere"),
            "--layout 'Nowhere' matches no id: `python -m cogrid list` shows all",
        ),
        *(
            (
                (command, "--layout", "CrampedRom"),
                "'CrampedRom' matches no id: did you mean Overcooked-CrampedRoom-V0? `python -m cogrid list`",
            )
            for command in ("run", "profile", "list")
        ),
        (
            ("run", "--setting", "cook_time=5", "--only", "CrampedRoom jax-vmap@1024 cooperative"),
            "An A/B has cases of its own:\n  CrampedRoom numpy-single",
        ),
        (
            ("run", "--setting", "cook_time=5", "--only", "CrampedRoom jax-vmap@1024 cooperative"),
            "\n  CrampedRoom jax-vmap@1024 ×16 cooperative\n",
        ),
        (("run", "--layout", "CrampedRoom", "--agents", "3"), "toy arena, which is not selected"),
        (("profile", "--layout", "CrampedRoom", "--agents", "3"), "toy arena, which is not selected"),
        (("run", "--tag", "a/b"), "--tag 'a/b' becomes part of a file's name"),
        (("run", "--resume", "--full"), "--resume finishes what was planned, so leave out --full"),
        (("run", "--output", __file__), "already exists"),
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
    [
        *(("--batch", text) for text in ("0", "x", "²", "1.5", "nan", "inf", "")),
        *(
            ("--agents", "0"),
            ("--rounds", "0"),
            ("--iterations", "-1"),
            ("--seed", "-1"),
            ("--map-size", "0"),
        ),
    ],
)
def test_wrong_numbers_are_refused_by_name(
    option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        bench("run", *option)
    assert ended.value.code == 2
    assert f"argument {option[0]}: '{option[1]}' is not a whole number" in capsys.readouterr().err


def test_a_number_that_no_result_can_store_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        bench("run", "--batch", "1e99")
    assert ended.value.code == 2
    assert "argument --batch: '1e99' is too large: a result file stores at most" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "number"), [("1e6", 10**6), ("1_000", 1000), ("2.5e3", 2500), ("7", 7)])
def test_a_number_can_be_written_in_several_ways(text: str, number: int) -> None:
    assert parse(["run", "--batch", text])[1].batch == [number]


def test_nothing_to_resume_is_said(
    measured: Measured, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.json"
    assert bench("run", "--backend", "numpy", "-o", path) == 0
    assert bench("run", "--resume", "-o", path) == 2
    assert "there is nothing to resume" in capsys.readouterr().err


def test_a_plan_that_is_no_longer_known_is_one_sentence(
    measured: Measured, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.json"
    assert bench("run", "--backend", "numpy", "-o", path) == 0
    found = results.load(path)
    strange = replace(found.configuration.planned[0], workload="jazz")
    results.write(path, replace(found, configuration=replace(found.configuration, planned=[strange])))
    assert bench("run", "--resume", "-o", path) == 2
    assert "workload='jazz' is unknown" in capsys.readouterr().err


def test_the_newest_unfinished_file_is_resumed(
    measured: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    for name in ("benchmark_1.json", "benchmark_2.json"):
        assert bench("run", "--backend", "numpy", "-o", tmp_path / name) == 0
    (tmp_path / "benchmark_3.json").write_text("damaged", encoding="utf-8")
    found = results.load(tmp_path / "benchmark_1.json")
    results.write(tmp_path / "benchmark_1.json", replace(found, rows=found.rows[:2]))
    measured.clear()
    assert bench("run", "--resume") == 0
    assert [case.name for case in measured] == [row.name for row in found.rows[2:]]
    assert results.load(tmp_path / "benchmark_1.json").rows[:2] == found.rows[:2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fingerprint": "0" * 16}, "another machine or with other versions"),
        ({"git": Git(sha="f" * 40, dirty=False)}, "another state of the checkout"),
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
    results.write(path, replace(results.load(path), rows=[], **changes))
    measured.clear()
    assert bench("run", "--resume", "-o", path) == 2
    assert words in capsys.readouterr().err
    assert not measured


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
        why = "ValueError: no such observation."
        none = replace(paired(verdict="new", why_new=why), ratio=None, low=None, high=None, smallest=None)
        new = row(samples=around(100.0), ab=none)
        monkeypatch.setattr(ab, "run", lambda found, *_: setattr(found, "rows", [new]))
        monkeypatch.setattr(checkout, "sha_of", lambda revision: "a" * 40)

    def test_a_base_that_runs_nothing_is_no_success(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert bench("run", "--against", "HEAD", "-o", tmp_path / "r.json") == Code.USAGE
        assert "HEAD runs none of the cases: ValueError: no such observation." in capsys.readouterr().err

    def test_a_checkout_that_changed_meanwhile_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        states = iter([Git(sha="a" * 40, dirty=dirty) for dirty in (False, False, True)])
        monkeypatch.setattr(machine, "git_state", lambda: next(states))
        assert bench("run", "--against", "HEAD", "-o", tmp_path / "r.json") == Code.USAGE
        assert "the checkout changed during the comparison" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "verdicts", "strict", "code"),
    [
        (("--against", "HEAD"), ("slower",), False, 20),
        (("--setting", "COGRID_PROFILING=1"), ("slower",), True, 0),
        (("--setting", "COGRID_PROFILING=1"), ("slower", "failed"), False, 1),
        (("--setting", "COGRID_PROFILING=1"), ("slower", "inconclusive"), False, 0),
        (("--setting", "COGRID_PROFILING=1"), ("slower", "inconclusive"), True, 21),
        (("--setting", "COGRID_PROFILING=1"), ("slower", "failed", "mismatch"), False, 22),
    ],
)
def test_a_slower_setting_is_no_failure_and_hides_none(
    option: tuple[str, str],
    verdicts: tuple[str, ...],
    strict: bool,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = {name: {"error": "broken", "status": name} for name in ("failed", "mismatch")}
    rows = [row(name=name, ab=paired(1.2, name), **broken.get(name, {})) for name in verdicts]
    monkeypatch.setattr(ab, "run", lambda found, *_: setattr(found, "rows", rows))
    monkeypatch.setattr(checkout, "sha_of", lambda revision: "a" * 40)
    arguments = ("run", *option, "-o", tmp_path / "r.json", *(["--strict"] if strict else []))
    assert bench(*arguments) == code
    assert ("If that is intended: commit the change" in capsys.readouterr().out) == (code in (20, 22))


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("NPROC=1", "'NPROC=1' is not more than the one core that it is compared with"),
        ("NPROC=all", "'NPROC=all' is not more than the one core"),
        ("OMP_NUM_THREADS=2", "'OMP_NUM_THREADS=2' has no effect on one core: NPROC=N gives N cores"),
    ],
)
def test_settings_that_one_core_cannot_show_are_refused(
    setting: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(["run", "--setting", setting])
    assert f"argument --setting: {reason}" in capsys.readouterr().err
