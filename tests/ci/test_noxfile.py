"""The sessions: what they run, when they fail, and what a machine without a GPU is spared."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import json
import os
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from cogrid.envs.registry import spec_of
from tests.ci.support import REPORTS, ROOT, calls, driver, needs_driver, nox, start, stubs
from tests.parity.test_parity import PLAYED
from tests.support import EVERY_ID

TOOLS = ("pytest", "ruff", "mypy", "zizmor", "check-jsonschema", "chromium")
GPU = ("tests-gpu", "bench-gpu")
CPU_INSTEAD = {
    "tests-gpu": 'nox -s "tests(jax-cpu)"',
    "bench-gpu": "nox -s bench",
}
HERE = ("--no-venv", "--no-install")  # the commands of a session, without its environment

# Session -> the tools that it runs, each of which must be able to fail it.
RUNS = {
    "tests(numpy)": ("pytest",),
    "tests(jax-cpu)": ("pytest",),
    "tests(native)": ("pytest",),
    "tests-minimums": ("pytest",),
    "tests-slow": ("pytest",),
    "oracles": ("pytest",),
    "oracles-full": ("pytest",),
    "distributed": ("pytest",),
    "examples(numpy)": ("pytest",),
    "examples(jax-cpu)": ("pytest",),
    "examples(native)": ("pytest",),
    "browser": ("pytest",),
    "clients(torch)": ("pytest",),
    "clients(jaxmarl)": ("pytest",),
    "clients(rllib)": ("pytest",),
    "clients(benchmarl)": ("pytest",),
    "lint": ("ruff", "mypy"),
    "workflows": ("zizmor", "check-jsonschema", "pytest"),
}


def names() -> set[str]:
    """The sessions that a person sees."""
    return set(re.findall(r"^[*-] (\S+)", nox("--list").stdout, re.MULTILINE))


def test_help_page_names_and_explains_every_session() -> None:
    lines = re.findall(r"^[*-] .*", nox("--list").stdout, re.MULTILINE)
    assert {re.split(r"\W", line[2:])[0] for line in lines} >= {"tests", "oracles", "examples", "lint"}
    assert all(re.search(r" -> [A-Z].{20,}\.$", line) for line in lines), lines
    assert set(RUNS) < names()


def test_plain_nox_runs_lint_tests_and_then_the_benchmark() -> None:
    listed = json.loads(nox("--list", "--json").stdout)
    assert [row["session"] for row in listed] == [
        "lint",
        "tests(numpy)",
        "tests(jax-cpu)",
        "tests(native)",
        "bench",
    ]


@pytest.mark.parametrize(("session", "tool"), [(s, tool) for s, tools in RUNS.items() for tool in tools])
def test_a_failing_command_fails_the_session(session: str, tool: str, tmp_path: Path) -> None:
    path = stubs(tmp_path / "bin", {name: int(name == tool) for name in TOOLS})
    done = nox("-s", session, *HERE, PATH=path)
    assert done.returncode == 1, done.stderr
    assert calls(tmp_path / "bin")[-1].startswith(tool)


@pytest.mark.parametrize("session", RUNS)
def test_sessions_pass_what_they_are_given(session: str, tmp_path: Path) -> None:
    done = nox(
        "-s", session, *HERE, "--", "-k", "word", PATH=stubs(tmp_path / "bin", dict.fromkeys(TOOLS, 0))
    )
    assert done.returncode == 0, done.stderr
    assert {line.split()[0] for line in calls(tmp_path / "bin")} == set(RUNS[session])
    for line in calls(tmp_path / "bin"):
        if line.startswith("pytest"):
            assert line.endswith(" -k word")
            assert f"--junitxml={REPORTS.as_posix()}/{session}.xml" in line


def test_tests_leave_out_only_what_another_session_runs(tmp_path: Path) -> None:
    path = stubs(tmp_path / "bin", dict.fromkeys(TOOLS, 0))
    others = ("oracles", "examples(jax-cpu)", "workflows", "browser", "distributed")
    for session in ("tests(numpy)", "tests(jax-cpu)", *others):
        assert nox("-s", session, *HERE, PATH=path).returncode == 0
    runs = [line.split() for line in calls(tmp_path / "bin") if line.startswith("pytest")]
    ignored, with_jax = (
        {word.removeprefix("--ignore=") for word in run if word.startswith("--ignore=")} for run in runs[:2]
    )
    assert ignored < with_jax  # the rest is what tests(numpy) runs
    assert all((ROOT / path).exists() for path in with_jax)
    ignored.remove("tests/clients")  # the next test's
    assert ignored == {word for run in runs[2:] for word in run if word.startswith("tests/")}


def test_every_client_is_run_by_one_session(tmp_path: Path) -> None:
    path = stubs(tmp_path / "bin", dict.fromkeys(TOOLS, 0))
    assert nox("-s", "clients", *HERE, PATH=path).returncode == 0
    runs = [line.split() for line in calls(tmp_path / "bin") if line.startswith("pytest")]
    files = sorted(word for run in runs for word in run if word.startswith("tests/"))
    assert files == sorted(str(one.relative_to(ROOT)) for one in (ROOT / "tests/clients").glob("test_*.py"))


@pytest.mark.parametrize(
    ("session", "script", "code"),
    [
        ("mutants", "-m tests.mutants", 0),
        ("mutants", "-m tests.mutants", 1),
        ("docs", "docs/generate/docs.py", 1),
    ],
)
def test_a_script_passes_what_it_is_given_and_fails(
    tmp_path: Path, session: str, script: str, code: int
) -> None:
    done = nox("-s", session, *HERE, "--", "--word", PATH=stubs(tmp_path / "bin", {"python": code}))
    assert done.returncode == code
    assert calls(tmp_path / "bin") == [f"python {script} --word"]


def test_compiled_programs_are_kept_in_one_place_wherever_a_test_goes(tmp_path: Path) -> None:
    path = stubs(tmp_path, {"pytest": 0})
    (tmp_path / "pytest").write_text(
        f'#!/bin/sh\necho "$JAX_COMPILATION_CACHE_DIR" >> "{tmp_path}/calls"\n', encoding="utf-8"
    )
    assert nox("-s", "oracles", *HERE, PATH=path).returncode == 0
    (cache,) = calls(tmp_path)
    assert Path(cache).is_absolute()


def test_only_the_tests_of_every_change_save_what_the_night_spends(tmp_path: Path) -> None:
    """XLA's effort, and the tests that are the same without JAX."""
    path = stubs(tmp_path, dict.fromkeys(TOOLS, 0))
    (tmp_path / "pytest").write_text(
        f'#!/bin/sh\necho "$XLA_FLAGS" "$@" >> "{tmp_path}/calls"\n', encoding="utf-8"
    )
    sessions = ("tests(jax-cpu)", "tests-minimums", "tests-slow", "oracles")
    for session in sessions:
        (tmp_path / "calls").unlink(missing_ok=True)
        assert nox("-s", session, *HERE, PATH=path).returncode == 0
        saves = session == "tests(jax-cpu)"
        assert ("optimization_level=0" in calls(tmp_path)[-1]) == saves
        assert ("tests.only_jax" in calls(tmp_path)[-1]) == saves


def test_nox_must_be_as_new_as_pyproject_says() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    wanted = re.findall(
        r'^nox.needs_version = "(.*)"', (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [f"nox{version}" for version in wanted] == groups["nox"]


def test_a_group_stays_on_one_worker(tmp_path: Path) -> None:
    """Or every layout compiles on each of them: nothing fails then, it only takes longer."""
    (tmp_path / "test_groups.py").write_text(
        "import pytest\n"
        "group = pytest.mark.xdist_group\n"
        "cases = [pytest.param(n, k, marks=group(f'parity:{n}')) for n in 'ab' for k in range(6)]\n"
        "@pytest.mark.parametrize(('name', 'k'), cases)\n"
        "def test_case(name, k): pass\n",
        encoding="utf-8",
    )
    options = ("-n", "2", "--dist", "loadgroup", "-v", "-p", "no:cacheprovider", "--rootdir", str(tmp_path))
    done = start(sys.executable, "-m", "pytest", *options, str(tmp_path))
    ran = re.findall(r"\[(gw\d)\].*test_case\[(\w)-\d\]", done.stdout)
    assert len(ran) == 12, done.stdout
    assert len(set(ran)) == 2, done.stdout


def test_an_unknown_session_is_an_error() -> None:
    assert nox("-s", "no-such-session").returncode != 0


def test_a_missing_interpreter_is_an_error(tmp_path: Path) -> None:
    done = nox("-s", "lint", "--force-python", "3.99", "--envdir", str(tmp_path))
    assert done.returncode != 0
    assert "3.99" in done.stderr


def test_without_a_browser_one_sentence_names_the_way_out(tmp_path: Path) -> None:
    done = nox("-s", "browser", *HERE, PATH=str(tmp_path))
    assert done.returncode == 1
    sentence = "no Chromium was found: install one, for example with apt-get install chromium."
    assert (done.stdout + done.stderr).count(sentence) == 1
    assert "pip install" not in done.stderr


@pytest.mark.parametrize("code", [0, 2, 20, 21, 22, 23, 69])
def test_inner_exit_code_of_a_benchmark_reaches_the_shell(tmp_path: Path, code: int) -> None:
    done = nox("-s", "bench", *HERE, "--", "--full", PATH=stubs(tmp_path / "bin", {"python": code}))
    assert done.returncode == code
    # The reports also tell of what went wrong. The script, unlike the test of its module, passes if its
    # trials differ, so that noise cannot fail the session.
    assert calls(tmp_path / "bin") == [
        "python -m bench run --full",
        "python -m bench report --html bench/results/report.html",
        "python -m cogrid.benchmarks.benchmark_suite",
    ]


@pytest.mark.parametrize(("run", "suite", "code"), [(0, 1, 1), (20, 0, 20), (20, 1, 20)])
def test_the_exit_code_of_the_run_comes_before_that_of_the_shipped_suite(
    tmp_path: Path, run: int, suite: int, code: int
) -> None:
    path = stubs(tmp_path / "bin", {"python": 0})
    (tmp_path / "bin/python").write_text(
        f'#!/bin/sh\ncase "$*" in *benchmark_suite) exit {suite};; *"bench run"*) exit {run};; esac\n',
        encoding="utf-8",
    )
    assert nox("-s", "bench", *HERE, PATH=path).returncode == code


@pytest.mark.parametrize("code", [0, 22])
def test_validation_passes_its_size_and_its_exit_code(tmp_path: Path, code: int) -> None:
    done = nox("-s", "validate", *HERE, "--", "soak", PATH=stubs(tmp_path / "bin", {"python": code}))
    assert done.returncode == code
    assert calls(tmp_path / "bin") == ["python -m bench validate soak"]


# The reports, by which the summary names what failed.


def test_every_session_leaves_a_report() -> None:
    """Except those without an environment, which only read and write what is there."""
    for node in ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and "nox.session" in ast.unparse(
            node.decorator_list[:1] or [node]
        ):
            words = [ast.unparse(decorator) for decorator in node.decorator_list]
            assert (words[-1] == "reported") != ("venv_backend='none'" in words[0]), node.name


def test_the_names_of_reports_are_in_the_folder_of_this_session() -> None:
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    assert 'os.environ.get("COGRID_REPORTS", "build/reports")' in text


@pytest.mark.parametrize(
    ("session", "tool", "code", "result"),
    [
        ("lint", "ruff", 1, "failure: Command ruff check failed with exit code 1"),
        ("lint", "ruff", 0, "passed"),
        ("docs", "python", 3, "failure: Command python docs/generate/docs.py failed with exit code 3"),
        (
            "bench-counters",
            "python",
            22,
            "failure: Command python -m bench count --full failed with exit code 22",
        ),
    ],
)
def test_a_session_without_tests_leaves_a_report(
    session: str, tool: str, code: int, result: str, tmp_path: Path
) -> None:
    path = stubs(tmp_path / "bin", {"mypy": 0, tool: code})
    nox("-s", session, *HERE, PATH=path, COGRID_REPORTS=str(tmp_path / "reports"))
    told = start(sys.executable, "-m", "ci.summary", str(tmp_path / "reports"))
    assert re.search(rf"(?m)^\| {session} \| {re.escape(result)} \| \d+\.\d \|$", told.stdout), told.stdout


def test_a_session_that_is_killed_has_left_a_report(tmp_path: Path) -> None:
    """As after a limit of time."""
    path = stubs(tmp_path / "bin", {"pytest": 0})
    (tmp_path / "bin/pytest").write_text("#!/bin/sh\nkill -KILL $PPID\n", encoding="utf-8")
    done = nox("-s", "oracles", *HERE, PATH=path, COGRID_REPORTS=str(tmp_path / "reports"))
    assert done.returncode != 0
    told = start(sys.executable, "-m", "ci.summary", str(tmp_path / "reports"))
    assert "| oracles | failure: it was stopped before its end |" in told.stdout
    assert "oracles: failure: it was stopped before its end" in told.stderr


def test_workers_are_as_many_as_logical_cores(tmp_path: Path) -> None:
    """`auto` would be two of the four of GitHub's machines; psutil counts them."""
    path = stubs(tmp_path / "bin", {"pytest": 0})
    assert nox("-s", "oracles", *HERE, PATH=path).returncode == 0
    assert calls(tmp_path / "bin")[-1].startswith("pytest -n logical --dist loadgroup ")
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    assert {"include-group": "bench"} in groups["tests"]
    assert any(requirement.startswith("psutil") for requirement in groups["bench"])


# Images for runners are prepared by --install-only, where commands do not run and print nothing.


class Preparing:
    """A session under --install-only, whose environment has JAX 0.10.2."""

    def __init__(self, place: Path) -> None:
        self.virtualenv = SimpleNamespace(location=str(place))
        self.installed: list[tuple[str, ...]] = []
        self.ran: list[tuple[str, ...]] = []
        self.venv_backend = "uv"

    def run(self, *command: str, **options: Any) -> None:
        return None

    def run_install(self, *command: str, **options: Any) -> str:
        self.ran.append(command)
        return "0.10.2\n"

    def install(self, *words: str) -> None:
        self.installed.append(words)


@pytest.fixture(scope="module")
def noxfile() -> ModuleType:
    spec = importlib.util.spec_from_file_location("noxfile_here", ROOT / "noxfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with contextlib.chdir(ROOT), pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
    return module


def test_an_image_gets_the_compiler_of_its_jax(noxfile: ModuleType, tmp_path: Path) -> None:
    session = Preparing(tmp_path)
    noxfile.install_compiler(session, "cuda12")
    assert session.installed == [("jax-cuda12-pjrt==0.10.2", "nvidia-cuda-nvcc-cu12")]


def test_an_image_gets_the_older_cogrid_with_its_jax(noxfile: ModuleType, tmp_path: Path) -> None:
    session = Preparing(tmp_path)
    noxfile.older_python(session)
    assert session.ran[1][1:3] == ("-m", "venv")
    assert session.ran[2][-2:] == (noxfile.OLDER, "jax==0.10.2")


@pytest.mark.parametrize("session", ["tests-gpu(cuda12)", "bench-gpu(cuda13)"])
def test_an_image_is_prepared_where_there_is_no_gpu(session: str, tmp_path: Path) -> None:
    library = "libno-such-driver.so"
    environment = {"COGRID_LIBCUDA": library, "COGRID_REPORTS": str(tmp_path / "reports"), **OFFLINE}
    done = nox("--install-only", "-s", session, "--envdir", str(tmp_path / "env"), **environment)
    assert done.returncode == 1, "the install fails, for lack of an index"
    assert "Error" not in done.stderr.replace("CommandFailed", "")
    extra = re.escape(session.partition("(")[2].rstrip(")"))
    assert re.search(rf"pip install .*-e '?\.\[{extra}\]", done.stderr)
    assert not (tmp_path / "reports").exists(), "nothing ran that could pass"


# GPU sessions. Nothing is downloaded in these tests: pip and uv find no index.

OFFLINE = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "UV_OFFLINE": "1", "UV_NO_INDEX": "1"}


@pytest.mark.parametrize("session", [*GPU, "tests-gpu(cuda13)", "bench-gpu(cuda12)"])
def test_without_a_gpu_nothing_is_installed(session: str, tmp_path: Path) -> None:
    done = nox("-s", session, "--envdir", str(tmp_path), COGRID_LIBCUDA="libno-such-driver.so", **OFFLINE)
    assert done.returncode == 69
    commands = done.stdout + done.stderr
    assert "install" not in commands
    sentence = (
        "No GPU to run on: the NVIDIA driver's library libno-such-driver.so cannot be loaded; "
        f"on the CPU, run {CPU_INSTEAD[session.partition('(')[0]]}"
    )
    assert commands.count(sentence) == 1
    packages = {path.name.split("-")[0] for path in tmp_path.rglob("site-packages/*.dist-info")}
    assert packages <= {"pip", "setuptools", "wheel"}, "only what a new environment comes with"


@needs_driver
@pytest.mark.parametrize("variant", ["cuda12", "cuda13"])
@pytest.mark.parametrize("name", GPU)
def test_with_a_gpu_the_right_extra_is_installed(name: str, variant: str, tmp_path: Path) -> None:
    session = f"{name}({variant})"
    done = nox("-s", session, "--envdir", str(tmp_path), COGRID_LIBCUDA=driver(tmp_path), **OFFLINE)
    assert done.returncode == 1, "the install fails, for lack of an index"
    assert f"{variant} can run: the driver is for CUDA 13.0" in done.stderr
    assert re.findall(r"pip install .*-e '?(\.\[\w+\])", done.stderr)[:1] == [f".[{variant}]"]


@needs_driver
def test_an_old_driver_skips_a_variant_with_a_message(tmp_path: Path) -> None:
    path = stubs(tmp_path / "bin", {"pytest": 0, "python": 0})
    # The stub answers for ci/gpu.py as well, so that the check itself runs by the real interpreter.
    (tmp_path / "bin/python").write_text(
        "#!/bin/sh\n"
        f'case "$*" in *--instead*) exec "{sys.executable}" "$@";; esac\n'
        f'echo "python $*" >> "{tmp_path}/bin/calls"\n',
        encoding="utf-8",
    )
    done = nox("-s", "tests-gpu", *HERE, PATH=path, COGRID_LIBCUDA=driver(tmp_path, 12080))
    assert done.returncode == 0
    words = "cuda13 is left out: the driver is for CUDA 12.8 and it needs 13.0"
    assert words in done.stderr
    ran = [line.split()[0] for line in calls(tmp_path / "bin")]
    assert ran == ["python", "pytest"], "ci/gpu.py --jax and the tests, once: for cuda12"


@needs_driver
def test_a_variant_asked_for_by_name_is_never_left_out(tmp_path: Path) -> None:
    library = driver(tmp_path, 12080)
    done = nox("-s", "tests-gpu(cuda13)", "--envdir", str(tmp_path), COGRID_LIBCUDA=library, **OFFLINE)
    assert done.returncode == 69
    assert "pip install" not in done.stderr


@needs_driver
def test_inner_exit_code_of_a_gpu_benchmark_reaches_the_shell(tmp_path: Path) -> None:
    path = stubs(tmp_path / "bin", {"python": 0})
    (tmp_path / "bin/python").write_text(
        f'#!/bin/sh\ncase "$*" in *--instead*) exec "{sys.executable}" "$@";; *"-m bench"*) exit 7;; esac\n',
        encoding="utf-8",
    )
    done = nox("-s", "bench-gpu(cuda12)", *HERE, PATH=path, COGRID_LIBCUDA=driver(tmp_path))
    assert done.returncode == 7


# Compiling for GPUs


@pytest.mark.parametrize("session", ["gpu-compile(cuda12)", "gpu-compile-full(cuda13)"])
def test_without_the_compiler_one_sentence_and_69(session: str, tmp_path: Path) -> None:
    nothing = {"UV_CACHE_DIR": str(tmp_path / "cache"), "PIP_CACHE_DIR": str(tmp_path / "cache")}
    done = nox("-s", session, "--envdir", str(tmp_path), **OFFLINE, **nothing)
    assert done.returncode == 69
    variant = session.partition("(")[2].rstrip(")")
    assert done.stderr.count(f"No compiler for {variant}: jax-{variant}-pjrt and nvidia-cuda-nvcc") == 1


@pytest.mark.parametrize("code", [0, 20, 69])
def test_compiling_for_gpus_passes_what_it_is_given_and_its_exit_code(tmp_path: Path, code: int) -> None:
    path = stubs(tmp_path / "bin", {"python": code})
    (tmp_path / "bin/python").write_text(
        f'#!/bin/sh\necho "python $*" >> "{tmp_path}/bin/calls"\n'
        f'case "$*" in *jaxlib*) echo 0.10.2;; *"-m bench"*) exit {code};; esac\n',
        encoding="utf-8",
    )
    done = nox("-s", "gpu-compile(cuda12)", *HERE, "--", "--only", "scan", PATH=path)
    assert done.returncode == code
    assert calls(tmp_path / "bin")[-1] == "python -m bench gpu --only scan"


def test_quick_compares_the_backends_in_every_family(noxfile: ModuleType) -> None:
    played = {package_of(id) for id in re.findall(r"\[([\w-]+-V\d+)-\w+\]", " ".join(noxfile.CASES))}
    played |= set(re.findall(r"tests/envs/(\w+)/", " ".join(noxfile.CASES)))
    assert played == {package_of(id) for id in EVERY_ID}
    parity = {f"{noxfile.PARITY}[{id}-{kind}]" for id, kind in PLAYED}
    elsewhere = {"tests/envs/commons/test_commons.py::test_parity"}
    assert {*noxfile.CASES} - parity == elsewhere
    for path in noxfile.LONG:
        assert (ROOT / path).exists(), path


def package_of(id: str) -> str:
    return type(spec_of(id, {}, ()).game).__module__.split(".")[2]
