"""The other commands, and --help."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import cogrid
from bench import ROOT, suites
from bench.commands import profile
from bench.commands.options import overrides_of
from bench.commands.parser import GROUPS, parse
from bench.measure import training
from bench.storage import results
from tests.bench.commands.support import Measured, bench
from tests.bench.support import paired, result, row
from tests.support import HAS_JAX


def test_a_file_without_sweeps_is_not_plotted_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results.write(tmp_path / "r.json", result())
    assert bench("plot", tmp_path / "r.json", "--folder", tmp_path / "plots") == 2
    assert "no plot has enough rows" in capsys.readouterr().err


def test_two_files_are_drawn_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in ("before", "after"):
        results.write(tmp_path / file, result([row(batch=n) for n in (1, 10)]))
    assert bench("plot", tmp_path / "before", tmp_path / "after", "--folder", tmp_path / "plots") == 0
    drawn = (tmp_path / "plots" / "throughput.svg").read_text(encoding="utf-8")
    assert "run=before" in drawn
    assert "run=after" in drawn
    assert capsys.readouterr().err == ""


def test_an_export_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results.write(tmp_path / "r.json", result())
    arguments = ("export", tmp_path / "r.json", "--to", "csv", "-o", tmp_path / "r.csv")
    assert bench(*arguments) == 0
    assert "written to" in capsys.readouterr().err
    text = (tmp_path / "r.csv").read_text(encoding="utf-8")
    assert bench(*arguments) == 2
    assert (tmp_path / "r.csv").read_text(encoding="utf-8") == text


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
    assert out.count("phases of a step, ") == out.count("parts of the flat observation, ") == len(modes)
    assert re.search(r"interact +50\.0 +– +33% +25%", out)
    assert re.search(r"step +150\.0 +– +100% +75%", out)
    assert "too few samples" in out
    assert bench("profile", "--layout", "nowhere") == 2
    assert "--layout 'nowhere' matches no id" in capsys.readouterr().err


def test_an_id_of_lbforaging_that_is_not_registered_is_an_environment_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    id = "Foraging-9x9-2p-3f-V0"
    assert id not in cogrid.registered()
    assert bench("list", "--layout", id, "--backend", "numpy") == 0
    assert capsys.readouterr().out.count("Foraging-9x9-2p-3f") > 1


def test_a_report_is_written_again_and_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results.write(tmp_path / "results" / "r.json", result([row(ab=paired())]))
    (tmp_path / "results" / "damaged.json").write_text("{", encoding="utf-8")
    html = tmp_path / "new" / "report.html"
    for _ in range(2):
        assert bench("report", tmp_path / "results", "--html", html) == 0
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>")
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == str(html)
    assert "skipped: " in err
    (tmp_path / "empty").mkdir()
    for command in (("report", tmp_path / "empty", "--html", html), ("compare", tmp_path / "empty")):
        assert bench(*command) == 2
        assert "holds no results" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "unneeded"),
    [("--help", ("numpy", "cogrid", "msgspec", "scipy")), ("list", ("scipy", "matplotlib", "rich"))],
)
def test_a_command_does_not_wait_for_what_only_others_need(words: str, unneeded: tuple[str, ...]) -> None:
    program = (
        "import sys\nfrom bench.__main__ import main\n"
        f"try: main([{words!r}])\nexcept SystemExit: pass\n"
        f"print([name for name in {unneeded} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        encoding="utf-8",
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("words", [(), ("nothing",), ("--strict", "run")])
def test_a_command_is_needed(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        bench(*words)
    assert ended.value.code == 2
    assert "python -m bench: error: " in capsys.readouterr().err


def configurations(*arguments: str) -> list[tuple[str, dict[str, object]]]:
    _, options = parse(["profile", *arguments])
    cases = suites.overridden(suites.profile(profile.configurations(options), [8]), overrides_of(options))
    return [(case.id, dict(case.options)) for case in cases if case.mode == "numpy-single"]


def test_several_configurations_are_profiled_side_by_side() -> None:
    kitchen, features, toy, window = configurations("--agents", "5")
    assert (kitchen, features) == ((suites.CRAMPED, {}), (suites.CRAMPED, {}))
    assert toy == (suites.ARENA, {"num_agents": 5, "map_size": 40, "density": 0.04})
    assert window[1]["num_agents"] == 16


def test_one_s_own_configuration_is_profiled() -> None:
    (own,) = configurations(
        "--layout", "Arena", "--agents", "20", "--observation", "window", "--set", "window=7"
    )
    size = {"num_agents": 20, "map_size": 40, "density": 0.04}
    assert own == (suites.ARENA, {**size, "observation": "window", "window": 7})
    cooks = configurations("--layout", "CounterCircuit", "--set", "cook_time=5", "--set", 'layout=["a", "b"]')
    assert cooks[0] == ("Overcooked-CounterCircuit-V0", {"cook_time": 5, "layout": ("a", "b")})


def test_all_environments_of_a_name_are_profiled() -> None:
    found = [id for id, _ in configurations("--layout", "Commons")]
    assert found == suites.matching("Commons")
    assert len(found) > 1


def test_all_batch_sizes_are_profiled(measured: Measured, tmp_path: Path) -> None:
    measured.planted = {"unit": "s", "samples": [2e-4], "parts": {"move": 1e-4}}
    chosen = ("profile", "--layout", "arena", "-o")
    assert bench(*chosen, tmp_path / "a", "--batch", 10, "--batch", 20) == 0
    batches = [(case.mode, case.batch) for case in measured if case.backend == "numpy"]
    assert batches == [("numpy-single", 1), ("numpy-batch", 10), ("numpy-batch", 20)]
    measured.clear()
    assert bench(*chosen, tmp_path / "b") == 0
    assert {case.batch for case in measured} == {1, 1024}


def test_an_option_that_the_environment_has_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("list", "--layout", "Arena", "--set", "cook_tim=5") == 2
    assert "has no option 'cook_tim'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        bench("list", "--set", "cook_time")
    assert "argument --set: 'cook_time' is not of the form NAME=VALUE" in capsys.readouterr().err


def test_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("list", "--full", "--backend", "numpy", "--only", "latency") == 0
    assert capsys.readouterr().out == "CrampedRoom numpy-single latency\n"


@pytest.mark.skipif(not HAS_JAX, reason="without JAX only NumPy is measured")
@pytest.mark.parametrize("missing", [[], ["optax"]])
def test_training_is_left_out_in_words_where_its_packages_are_missing(
    missing: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(training, "missing", lambda: missing)
    assert bench("list", "--full", "--layout", "Cramped", "--backend", "jax", "--batch", 64) == 0
    out, err = capsys.readouterr()
    assert ("jax-scan@64 ×128 train" in out) is not bool(missing)
    assert ("without optax training is skipped: pip install '.[train]'." in err) is bool(missing)


COMMANDS = [name for names in GROUPS.values() for name in names]


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        bench(*arguments, "--help")
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_help_fits_one_screen_and_groups_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys)
    assert len(out.splitlines()) <= 32
    assert max(map(len, out.splitlines())) <= 110
    for title, names in GROUPS.items():
        assert f"\n{title}:\n" in out
        assert all(f"\n  {name} " in out for name in names)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_that_can_be_parsed(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shown(capsys, command)
    example = out[out.index("example:") :].splitlines()[1].strip()
    assert example.startswith(f"python -m bench {command} ")
    module, _ = parse(shlex.split(example)[3:])
    assert module.__name__ == f"bench.commands.{command}"


def test_every_command_module_is_in_a_group() -> None:
    files = {path.stem for path in (ROOT / "bench" / "commands").glob("*.py")}
    assert files - {"__init__", "parser", "options"} == set(COMMANDS)


def test_an_unwritable_place_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results.write(tmp_path / "r.json", result())
    arguments = ("export", tmp_path / "r.json", "--to", "csv", "-o", tmp_path / "r.json" / "r.csv")
    assert bench(*arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1
