"""The single entry point for tests, benchmarks and checks: people and CI run the same commands."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import runpy
import shutil
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import nox
from nox.command import CommandFailed
from nox.logger import logger
from nox.sessions import _SessionSkip as SessionSkip

# The first version that reports a failed command's exit code. nox reads this line before it runs the file.
nox.needs_version = ">=2026.7.11"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = True
nox.options.sessions = ["lint", "tests", "bench"]  # the benchmark last: it needs the machine to itself

PYPROJECT = nox.project.load_toml("pyproject.toml")
REPORTS = Path(os.environ.get("COGRID_REPORTS", "build/reports"))


#: The backends, as data that needs no NumPy.
BACKENDS = runpy.run_path("cogrid/backend/backends.py")["BACKENDS"]


class Row(NamedTuple):
    """A row of the matrix: a backend, the environment to run in, the extra, the machine and its workers."""

    backend: str
    env: dict[str, str]
    extra: str | None = None
    runner: str = "any"  # or "gpu"
    workers: str = "logical"  # `auto` counts physical cores, which are half of those of GitHub's machines
    at_night: tuple[str, ...] = ()  # tags: what its tests meet at night, besides

    @property
    def uses_jax(self) -> bool:
        """Whether the backend needs JAX, which compiles, and whose programs are cached."""
        return "jax" in BACKENDS[self.backend].needs


# A GPU is one device: one worker, and no process preallocates all of its memory.
CUDA = {"JAX_PLATFORMS": "cuda", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
# JAX's default thresholds skip what is small or quick to compile, which is most of what tests compile.
KEEP_ALL = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
# Tests run most programs a few times, and XLA's effort would be most of their time. Parity has all of it
# (tests/support.py), as the sessions of the night have in every test.
LITTLE_EFFORT = (
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    " --xla_cpu_parallel_codegen_split_count=1"
)
MATRIX = {
    "numpy": Row("numpy", {}, at_night=("systems", "free-threaded")),
    # NPROC=1 gives each pytest worker one XLA thread; without it the workers fight over the cores.
    "jax-cpu": Row(
        "jax", {"JAX_PLATFORMS": "cpu", "NPROC": "1"}, BACKENDS["jax"].extra, at_night=("systems",)
    ),
    # Everything that is asked of all backends, compiled by the system's compiler or, without one, by zig.
    "native": Row(
        "native", {"COGRID_TEST_BACKENDS": "numpy native"}, None if shutil.which("cc") else "native"
    ),
    "cuda12": Row("jax", CUDA, "cuda12", runner="gpu", workers="0"),
    "cuda13": Row("jax", CUDA, "cuda13", runner="gpu", workers="0"),
}
# What other sessions run, and `tests` leaves to them.
ELSEWHERE = (
    *("tests/oracles", "tests/ci", "tests/browser", "tests/distributed", "tests/examples", "tests/clients"),
    *("tests/_apps/train", "tests/test_examples.py"),
)
# What names JAX, and is the same without it: `tests(numpy)` runs it.
SAME = tuple(f"tests/bench/{name}" for name in ("test_ab.py", "test_runner.py", "show"))
# What `quick` leaves out beside these: what plays long, starts processes or measures.
LONG = (
    *("tests/parity", "tests/conformance", "tests/worlds", "tests/fuzz", "tests/benchmarks", "tests/render"),
    *(f"tests/bench/{name}" for name in ("commands", "experiments", "measure", "peers", "processes")),
    *(f"tests/bench/test_{name}.py" for name in ("ab", "accepted", "additions", "bisect", "main")),
    "tests/bench/test_other_benchmarks.py",
    *(f"tests/_core/test_{name}.py" for name in ("everything", "purity")),
    *(f"tests/test_{name}.py" for name in ("additions", "golden", "golden_v2", "golden_replays", "main")),
    *("tests/test_own_worlds.py", "tests/test_vmap_correctness.py", "tests/_io/test_interrupt.py"),
    *("tests/_apps", "tests/policies/zoo", "tests/bench/show/figures"),
)
PARITY = "tests/parity/test_parity.py::test_numpy_equals_jax"
# Where `quick` compares NumPy with JAX: a case of each family.
CASES = (
    *(f"{PARITY}[Arena-V0-none]", f"{PARITY}[Foraging-8x8-2p-3f-V0-none]", f"{PARITY}[Goals-V0-features]"),
    *(f"{PARITY}[SearchRescue-Ruins-V0-none]", f"{PARITY}[Overcooked-CrampedRoom-V0-features]"),
    *(f"{PARITY}[OvercookedV2-CrampedRoomV2-V0-features]", "tests/envs/commons/test_commons.py::test_parity"),
)
# Other libraries by environment: those that conflict have separate ones. Each has a dependency group.
CLIENTS = {
    "torch": ("stable_baselines3", "torchrl", "torch", "gymnasium"),
    "jaxmarl": ("jaxmarl",),
    "rllib": ("rllib",),
    "benchmarl": ("benchmarl",),
}
# The names of Chromium executables.
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# The older implementation on PyPI: its import name is ours, so it never shares an environment with us.
OLDER = "cogrid==0.3.2"
NO_JAX = "import sys, importlib.util as u; sys.exit('JAX is installed here' if u.find_spec('jax') else 0)"


# Tags are how GitHub finds the sessions (ci/matrix.py): `ci` for every change, `nightly` for the sweep at
# night, `pythons` for those that run on each Python of pyproject.toml, `lowest-pythons` for those that run on
# the lowest release of each, or also do. Those tagged `systems` also run on macOS and Windows, those tagged
# `free-threaded` also on Pythons without a global lock.


def reported(session_function: Callable[..., None]) -> Callable[..., None]:
    """Leave the session's result in build/reports for the summary, also if it has no tests or is killed."""

    @functools.wraps(session_function)
    def run(session: nox.Session, *arguments: Any, **parameters: Any) -> None:
        if "--install-only" in sys.argv:
            return session_function(session, *arguments, **parameters)
        started = time.monotonic()
        report(session.name, "failure", "it was stopped before its end", 0)
        outcome, message = "", ""
        try:
            with LastError() as log:
                session_function(session, *arguments, **parameters)
        except BaseException as error:
            outcome = "skipped" if isinstance(error, SessionSkip) else "failure"
            # An exit code says less than what nox has written of the command.
            code = isinstance(error, SystemExit | CommandFailed)
            message = (log.line if code else str(error)) or type(error).__name__
            raise
        finally:
            report(session.name, outcome, message, time.monotonic() - started)

    return run


class LastError(logging.Handler):
    """Keeps the last line in which nox wrote that a command failed."""

    line = ""

    def __enter__(self) -> LastError:
        logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith(("Command ", "Program ")):
            self.line = record.getMessage().rstrip(":")


def report(name: str, outcome: str, message: str, seconds: float) -> None:
    """Write a report of one case, the session; ci/summary.py knows it by the file's name."""
    suite = ET.Element("testsuite", tests="1", errors="0", time=f"{seconds:.1f}")
    suite.set("failures", str(int(outcome == "failure")))
    suite.set("skipped", str(int(outcome == "skipped")))
    case = ET.SubElement(suite, "testcase", classname="nox", name=name)
    if outcome:
        ET.SubElement(case, outcome, message=message)
    REPORTS.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(suite).write(REPORTS / f"{name}.session.xml", encoding="utf-8", xml_declaration=True)


def backends(runner: str, at_night: bool = False) -> Any:
    """Parametrise a session over the rows of one kind of machine, with the tags of their nights."""
    rows = {name: row for name, row in MATRIX.items() if row.runner == runner}
    tags = {name: list(row.at_night) if at_night else [] for name, row in rows.items()}
    return nox.parametrize("backend", [nox.param(name, id=name, tags=tags[name]) for name in rows])


def install(
    session: nox.Session, *groups: str, extra: str | None = None, constraints: Sequence[str] = ()
) -> None:
    """Install the project with `extra` and the dependency groups, resolved together.

    Editable, because pytest has the checkout on its path anyway: the tests and the processes that they start
    import the same files, and an edit needs no reinstall.
    """
    project = f".[{extra}]" if extra else "."
    session.install(*constraints, *nox.project.dependency_groups(PYPROJECT, *groups), "-e", project)


def pytest(session: nox.Session, row: Row, *arguments: str) -> None:
    """Run pytest with a report for the job summary; what follows -- goes to pytest."""
    tests = f"--junitxml={REPORTS.as_posix()}/{session.name}.xml"
    workers = ("-n", row.workers, "--dist", "loadgroup")
    # Most of a JAX run is compilation, which the cache makes a one-time cost.
    cache = compilation_cache(session) if row.uses_jax else {}
    # What tests start writes to a pipe, for which Windows has another encoding.
    pipes = {"PYTHONIOENCODING": "utf-8"} if sys.platform == "win32" else {}
    env = row.env | cache | pipes
    session.run("pytest", *workers, tests, *arguments, *session.posargs, env=env)


def compilation_cache(session: nox.Session) -> dict[str, str]:
    """The environment variables that make JAX cache everything that it compiles."""
    return {"JAX_COMPILATION_CACHE_DIR": str(session.cache_dir.resolve() / "jax"), **KEEP_ALL}


def asked(session: nox.Session, *command: str) -> str:
    """What a command prints, also under --install-only; exits with its code if it fails.

    Nothing under --no-install, where an environment is taken as it is.
    """
    try:
        return str(session.run_install(*command, silent=True) or "").strip()
    except CommandFailed as error:
        raise SystemExit(error.return_code or 1) from None


def run_through(session: nox.Session, *command: str, **options: Any) -> Any:
    """Run a command and pass its exit code on to the shell; nox itself would turn it into 1."""
    try:
        return session.run(*command, **options)
    except CommandFailed as error:
        raise SystemExit(error.return_code or 1) from None


def pins(session: nox.Session, name: str) -> tuple[str, ...]:
    """Options that pin everything by version and hash; pip, unlike uv, cannot do that for a checkout."""
    if session.venv_backend != "uv":
        session.warn("without uv the packages are not pinned.")
        return ()
    file = f"ci/constraints/{name}.txt"
    return ("-c", file, "--build-constraints", file)


def gpu_environment(session: nox.Session, backend: str, instead: str) -> Row:
    """Install a CUDA variant and check that JAX uses the GPU; exits with 69 first if no GPU can run it."""
    # When all variants are requested, those too new for the driver are skipped with a message. When one is
    # requested by name, skipping it would be a silent success, so it exits with 69.
    named = any(session.name in word for word in sys.argv)
    variants = [backend] if named else [name for name, row in MATRIX.items() if row.runner == "gpu"]
    verdicts = run_through(session, "python", "ci/gpu.py", "--instead", instead, *variants, silent=True)
    if verdicts is not None:  # with --install-only nothing runs: an image can be made where there is no GPU
        verdict = next(line for line in verdicts.splitlines() if line.startswith(backend))
        if "left out" in verdict:
            session.skip(verdict)
        session.log(verdict)
    row = MATRIX[backend]
    install(session, "tests", extra=row.extra, constraints=pins(session, backend))
    session.run("python", "ci/gpu.py", "--jax", env=row.env)
    return row


@nox.session(tags=["ci"])
@reported
def lint(session: nox.Session) -> None:
    """Check style, formatting and types."""
    install(session, "lint", "bench")
    linters(session)


def linters(session: nox.Session) -> None:
    """Style, formatting, types, and tests that check nothing."""
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("mypy")
    session.run("mypy", "noxfile.py", "ci", "docs/generate", "examples/ippo.py")
    session.run("python", "ci/checks.py")


@nox.session
@reported
def quick(session: nox.Session) -> None:
    """Lint, the unit tests on NumPy, and one parity case of each family; -- PATH for these tests instead."""
    row = MATRIX["jax-cpu"]
    install(session, "lint", "tests", extra=row.extra)
    linters(session)
    if session.posargs:
        pytest(session, row)
        return
    # Most of the time of tests with JAX is compilation, and the tables that both backends read are NumPy's.
    pytest(
        session,
        MATRIX["numpy"],
        "-p",
        "tests.without_jax",
        *(f"--ignore={path}" for path in (*ELSEWHERE, *LONG)),
    )
    pytest(session, row, *CASES)
    session.log(
        "Left out: JAX but for these cases, " + ", ".join(LONG) + ", and what has sessions of its own."
    )
    session.log("nox -s tests runs all tests; GitHub runs them and the other sessions on a pull request.")


@nox.session(tags=["ci", "pythons"])
@backends("any", at_night=True)
@reported
def tests(session: nox.Session, backend: str) -> None:
    """Run the tests on one backend (numpy: without JAX); what follows -- goes to pytest."""
    row = MATRIX[backend]
    install(session, "tests", extra=row.extra)
    arguments = [f"--ignore={path}" for path in ELSEWHERE]
    if row.uses_jax:
        row = row._replace(env=row.env | {"XLA_FLAGS": LITTLE_EFFORT})
        if not session.posargs:
            session.log("What is the same without JAX is left to tests(numpy).")
            arguments += ["-p", "tests.only_jax", *(f"--ignore={path}" for path in SAME)]
    else:
        session.run("python", "-c", NO_JAX)
    pytest(session, row, *arguments)


@nox.session(name="tests-gpu", tags=["gpu"])
@backends("gpu")
@reported
def tests_gpu(session: nox.Session, backend: str) -> None:
    """Run the tests on an NVIDIA GPU; exits with 69 if there is none."""
    row = gpu_environment(session, backend, instead='nox -s "tests(jax-cpu)"')
    pytest(session, row, *(f"--ignore={path}" for path in ELSEWHERE))


@nox.session(name="tests-minimums", tags=["nightly", "pythons", "lowest-pythons"])
@reported
def tests_minimums(session: nox.Session) -> None:
    """Run the tests with the lowest versions that pyproject.toml allows."""
    row, constraints = MATRIX["jax-cpu"], "build/minimums.txt"
    minimums = (sys.executable, "ci/minimums.py", "--extra", str(row.extra), "--output", constraints)
    session.run_install(*minimums, external=True)
    install(session, "tests", "minimums", extra=row.extra, constraints=("-c", constraints))
    pytest(session, row, *(f"--ignore={path}" for path in ELSEWHERE))


@nox.session(name="tests-prereleases", tags=["nightly", "newest-python", "may-fail"])
@reported
def tests_prereleases(session: nox.Session) -> None:
    """Run the tests with the newest NumPy and JAX, released or not; what follows -- goes to pytest."""
    row = MATRIX["jax-cpu"]
    install(session, "tests", extra=row.extra)
    # JAX publishes its nightly builds elsewhere; release candidates are on PyPI.
    allowed = ("--prerelease", "allow") if session.venv_backend == "uv" else ("--pre",)
    session.install("--upgrade", *allowed, "numpy", "jax", "jaxlib")
    session.run(
        "python", "-c", "import jax, numpy; print('jax', jax.__version__, 'numpy', numpy.__version__)"
    )
    pytest(session, row, *(f"--ignore={path}" for path in ELSEWHERE))


@nox.session(name="tests-slow", tags=["nightly"])
@reported
def tests_slow(session: nox.Session) -> None:
    """Run the tests marked slow, which the other sessions skip."""
    row = MATRIX["jax-cpu"]
    install(session, "tests", extra="train")
    others = (path for path in ELSEWHERE if path not in ("tests/examples", "tests/_apps/train"))
    pytest(session, row, "-m", "slow", *(f"--ignore={path}" for path in others))


@nox.session(tags=["ci"])
@reported
def oracles(session: nox.Session) -> None:
    """Compare kitchens with overcooked_ai and JaxMARL, foraging with lbforaging, step by step."""
    row = MATRIX["jax-cpu"]
    install(session, "tests", "oracles", extra=row.extra)
    pytest(session, row, "tests/oracles")


@nox.session(tags=["nightly"])
@nox.parametrize("client", [nox.param(name, id=name) for name in CLIENTS])
@reported
def clients(session: nox.Session, client: str) -> None:
    """Run docs/with-your-learner.md and tests/clients against the real libraries; some GB to install."""
    row = MATRIX["jax-cpu"]
    install(session, "tests", f"clients-{client}", extra=f"{row.extra},render")
    files = (f"tests/clients/test_{name}.py" for name in CLIENTS[client])
    # Their warnings are not ours to fix. One worker, since a learner uses all cores.
    pytest(session, row._replace(workers="0"), "-W", "default", *files)


@nox.session(name="oracles-full", tags=["nightly"])
@reported
def oracles_full(session: nox.Session) -> None:
    """Compare as `oracles` does, with as many states and episodes as fit in a night."""
    row = MATRIX["jax-cpu"]
    install(session, "tests", "oracles", extra=row.extra)
    pytest(session, row, "tests/oracles", "--full")


@nox.session(tags=["ci"])
@reported
def distributed(session: nox.Session) -> None:
    """Run rollouts in several local processes, kill some of them, and resume from checkpoints."""
    row = MATRIX["jax-cpu"]
    install(session, "tests", extra=f"{row.extra},checkpoint")
    pytest(session, row, "tests/distributed")


@nox.session(tags=["ci"])
@backends("any")
@reported
def examples(session: nox.Session, backend: str) -> None:
    """Run the samples of the README and docs/, examples/ and training (numpy: those without JAX)."""
    row = MATRIX[backend]
    install(session, "tests", extra="train" if row.uses_jax else row.extra)
    pytest(session, row, "tests/test_examples.py", "tests/examples", "tests/_apps/train")


@nox.session
@reported
def train(session: nox.Session) -> None:
    """Train three seeds in CrampedRoom and print their scores; -- ID for another world, -- --help."""
    install(session, extra="train")
    run_through(session, "python", "-m", "cogrid", "train", *session.posargs)


@nox.session(tags=["ci"])
@reported
def docs(session: nox.Session) -> None:
    """Build the site into build/docs/html, without the network; a warning is an error; -- --help."""
    install(session, "docs", extra="render")
    session.run("python", "docs/generate/docs.py", *session.posargs)


DIST = Path("build/dist")
BUILT = {"wheel": "*.whl", "sdist": "*.tar.gz"}


@nox.session(name="release-build", tags=["nightly"])
@reported
def release_build(session: nox.Session) -> None:
    """Build a wheel and an sdist into build/dist, check both and what extras install; -- --tag v1.2.3."""
    tools = (*nox.project.dependency_groups(PYPROJECT, "release"), *PYPROJECT["build-system"]["requires"])
    session.install(*pins(session, "release"), *tools)
    shutil.rmtree(DIST, ignore_errors=True)
    session.run("python", "-m", "build", "--no-isolation", "--outdir", str(DIST))
    session.run("twine", "check", "--strict", *(str(built(kind)) for kind in BUILT))
    run_through(session, "python", "ci/release.py", "--resolve", str(DIST), *session.posargs)


@nox.session(name="release-install", reuse_venv=False)
@nox.parametrize(
    ("kind", "extra"),
    [nox.param(kind, extra, id=f"{kind}{extra and '-'}{extra}") for kind in BUILT for extra in ("", "all")],
)
@reported
def release_install(session: nox.Session, kind: str, extra: str) -> None:
    """Install what release-build built into a new environment, all or no extras, and use it elsewhere."""
    name = PYPROJECT["project"]["name"] + (f"[{extra}]" if extra else "")
    session.install(f"{name} @ {built(kind).resolve().as_uri()}")
    if not extra:
        session.run("python", "-c", NO_JAX)
    smoke = Path("ci/smoke.py").resolve()
    with tempfile.TemporaryDirectory() as empty, session.chdir(empty):
        session.run("python", "-P", str(smoke), env={"JAX_PLATFORMS": "cpu"})


@nox.session(name="release-sdist")
@reported
def release_sdist(session: nox.Session) -> None:
    """Unpack the sdist that release-build built, and run `nox -s quick` there."""
    session.install(*nox.project.dependency_groups(PYPROJECT, "nox"), "uv")
    with tempfile.TemporaryDirectory() as folder:
        session.run("python", "-m", "tarfile", "-e", str(built("sdist")), folder)
        (unpacked,) = Path(folder).iterdir()
        with session.chdir(unpacked):
            session.run("nox", "-s", "quick", env={"COGRID_REPORTS": str(REPORTS.resolve() / "sdist")})


def built(kind: str) -> Path:
    """The wheel or the sdist of release-build."""
    files = list(DIST.glob(BUILT[kind]))
    if len(files) != 1:
        raise SystemExit(f"{DIST} has no {kind}, or several: run nox -s release-build first.")
    return files[0]


@nox.session(venv_backend="none", requires=["release-build", "release-install", "release-sdist"])
def release(session: nox.Session) -> None:
    """Do all that a release does up to the upload: the three sessions release-…; -- --tag v1.2.3."""
    session.log(f"Nothing was uploaded: {', '.join(str(built(kind)) for kind in BUILT)}.")


@nox.session(tags=["ci"])
@reported
def workflows(session: nox.Session) -> None:
    """Check the GitHub workflows, offline, and test this file and the scripts of ci/."""
    install(session, "workflows")
    files = sorted(str(path) for path in Path(".github/workflows").glob("*.yml"))
    actions = sorted(str(path) for path in Path(".github/actions").glob("*/action.yml"))
    session.run("zizmor", "--offline", "--no-progress", *files, *actions, ".github/dependabot.yml")
    for schema in ("vendor.github-workflows", "custom.github-workflows-require-timeout"):
        session.run("check-jsonschema", "--builtin-schema", schema, *files)
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-actions", *actions)
    session.run("check-jsonschema", "--builtin-schema", "vendor.dependabot", ".github/dependabot.yml")
    pytest(session, MATRIX["numpy"], "tests/ci")


@nox.session(tags=["ci"])
@reported
def browser(session: nox.Session) -> None:
    """Play in Chromium, and open the benchmarks' HTML report, in both themes, on desktop and phone."""
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    if chromium is None:
        session.error("no Chromium was found: install one, for example with apt-get install chromium.")
    install(session, "tests", "browser")
    pytest(session, Row("numpy", {"COGRID_BROWSER": chromium}, workers="0"), "tests/browser")


@nox.session(tags=["nightly"])
@reported
def audit(session: nox.Session) -> None:
    """Check dependencies for known vulnerabilities and write an SBOM; exits with 75 without the service."""
    install(session, "audit", extra="train,render,play,checkpoint")
    run_through(session, "python", "ci/audit.py", *session.posargs)


@nox.session(tags=["nightly"])
@reported
def mutants(session: nox.Session) -> None:
    """Plant wrong rules in a copy and check that tests catch each; what follows -- goes to tests.mutants."""
    row = MATRIX["jax-cpu"]
    install(session, "tests", extra=row.extra)
    session.run("python", "-m", "tests.mutants", *session.posargs, env=row.env)


@nox.session(tags=["nightly"])
@reported
def gates(session: nox.Session) -> None:
    """Plant faults that a gate of every change must find, one kind after the other; -- --only, --help."""
    install_gpu_compiler(session, "cuda12")
    env = {"JAX_PLATFORMS": "cpu"}
    session.run("python", "-m", "tests.mutants.gates", *session.posargs, env=env)


@nox.session(tags=["nightly"])
@reported
def fuzz(session: nox.Session) -> None:
    """Try hostile inputs, kills, full disks and random worlds, and count what broke; -- --seed, --only."""
    row = MATRIX["jax-cpu"]
    install(session, "tests", extra="train,checkpoint")
    env = row.env | compilation_cache(session)
    run_through(session, "python", "-m", "tests.fuzz", *session.posargs, env=env)


@nox.session
@reported
def validate(session: nox.Session) -> None:
    """Train and play on both backends; exits with 22 if any bit differs; -- smoke, soak, or a number."""
    row = MATRIX["jax-cpu"]
    install(session, "bench", extra="train")
    # One process: it may use every core.
    env = {"JAX_PLATFORMS": row.env["JAX_PLATFORMS"], **compilation_cache(session)}
    run_through(session, "python", "-m", "bench", "validate", *session.posargs, env=env)


def measure(session: nox.Session, *arguments: str, env: dict[str, str]) -> None:
    """Run a suite, write the report whatever the outcome, and pass the exit code on to the shell."""
    try:
        run_through(session, "python", "-m", "bench", "run", *arguments, *session.posargs, env=env)
    finally:
        try:
            session.run("python", "-m", "bench", "report", "--html", "bench/results/report.html", env=env)
        except CommandFailed:
            session.warn("no report was written.")


@nox.session
@reported
def bench(session: nox.Session) -> None:
    """Measure all backends and compare with the baselines; -- --quick, --full, --strict, --help."""
    install(session, "bench", extra="train", constraints=published(session))
    env = {"JAX_PLATFORMS": "cpu"}  # unlike the tests, it may use every core, and recompiles everything
    try:
        measure(session, env=env)
    except SystemExit:
        with contextlib.suppress(SystemExit):  # the run's exit code comes first
            reproducibility(session, env)
        raise
    reproducibility(session, env)


def reproducibility(session: nox.Session, env: dict[str, str]) -> None:
    """After a whole suite, report whether trials agree; only a wrong result, a crash or a leak fails."""
    if set(session.posargs) <= {"--quick", "--full", "--strict"}:
        run_through(session, "python", "-m", "cogrid.benchmarks.benchmark_suite", env=env)


@nox.session(name="bench-counters")
@reported
def bench_counters(session: nox.Session) -> None:
    """Count the full suite, without timing it, and check the committed baselines; -- --quick, --help."""
    install(session, "bench", extra="train", constraints=published(session))
    env = {"JAX_PLATFORMS": "cpu"}
    suite = [] if "--quick" in session.posargs else ["--full"]
    run_through(session, "python", "-m", "bench", "count", *suite, *session.posargs, env=env)
    run_through(session, "python", "-m", "bench", "baseline", "check")


# What the A/B runs of the nights compare with. Another reference begins new series in `bench history`.
REFERENCE = "2770d6072d66ff5322d0f4e6dc93058f9eb76b14"


@nox.session(name="bench-history")
@reported
def bench_history(session: nox.Session) -> None:
    """Compare with a fixed revision, for `python -m bench history`; a slowdown is no failure; -- --help."""
    install(session, "bench", extra="train", constraints=COUNTED)
    command = ("python", "-m", "bench", "run", "--against", REFERENCE, "--tag", "history", *session.posargs)
    run_through(session, *command, env={"JAX_PLATFORMS": "cpu"}, success_codes=[0, 20])


@nox.session(name="bench-peers")
@reported
def bench_peers(session: nox.Session) -> None:
    """Measure cogrid against other libraries, and print which targets are met; -- --quick, --only, --help."""
    try:
        install(session, "tests", "oracles", extra="train", constraints=published(session))
    except CommandFailed:
        session.warn("the peers cannot be installed, so their rows say so.")
        install(session, "tests", extra="train", constraints=published(session))
    try:
        install_compiler(session, "cuda12")
    except CommandFailed:
        session.warn("there is no compiler for GPUs, so the rows of programs compiled for one say so.")
    command = ("python", "-m", "bench", "peers", *older_python(session), *session.posargs)
    run_through(session, *command, env={"JAX_PLATFORMS": "cpu"})


def older_python(session: nox.Session) -> tuple[str, ...]:
    """The option that names the Python with the older cogrid; empty if its environment cannot be made."""
    place = Path(session.virtualenv.location).resolve() / "older"
    python = str(place / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
    try:
        jax = asked(session, "python", "-c", "import jax; print(jax.__version__)")
        session.run_install("python", "-m", "venv", str(place))
        session.run_install(python, "-m", "pip", "install", "--quiet", OLDER, f"jax=={jax}", external=True)
    except CommandFailed:
        session.warn(f"{OLDER} cannot be installed, so its rows say so.")
        return ()
    return ("--older", python) if Path(python).exists() else ()  # with --no-install it may be missing


@nox.session(name="bench-gpu", tags=["gpu"])
@backends("gpu")
@reported
def bench_gpu(session: nox.Session, backend: str) -> None:
    """Measure JAX on an NVIDIA GPU and compare; exits with 69 if there is none; -- --full, --help."""
    row = gpu_environment(session, backend, instead="nox -s bench")
    measure(session, "--require-platform", "gpu", "--backend", "jax", env=row.env)
    if not session.posargs:  # a GPU that the model does not know is not a failure
        command = ("python", "-m", "bench", "gpu", "--measure")
        run_through(session, *command, env=row.env, success_codes=[0, 69])


# The versions for which counters are committed, so that CI and every machine can compare with them.
COUNTED = ("-c", "ci/constraints/bench.txt")


def published(session: nox.Session) -> Sequence[str]:
    """Options that pin all that runs whose figures are published; without uv, the counted versions."""
    return pins(session, "published") or COUNTED


# JAX's compiler for GPUs and NVIDIA's assembler, without the runtime libraries.
COMPILERS = {
    "cuda12": ("jax-cuda12-pjrt", "nvidia-cuda-nvcc-cu12"),
    "cuda13": ("jax-cuda13-pjrt", "nvidia-cuda-nvcc"),
}


def install_compiler(session: nox.Session, variant: str, constraints: Sequence[str] = ()) -> None:
    """Install the compiler of a variant for the installed jaxlib; raises CommandFailed if there is none."""
    plugin, assembler = COMPILERS[variant]
    jaxlib = asked(session, "python", "-c", "import jaxlib; print(jaxlib.__version__)")
    session.install(*constraints, f"{plugin}=={jaxlib}", assembler)


def install_gpu_compiler(session: nox.Session, variant: str) -> None:
    """Install CPU JAX and the tests with the compiler of a variant; exits with 69 if unavailable."""
    constraints = pins(session, variant) or COUNTED
    try:
        install(session, "tests", extra="jax", constraints=constraints)
        install_compiler(session, variant, constraints)
    except CommandFailed:
        wheels = " and ".join(COMPILERS[variant])
        print(
            f"No compiler for {variant}: {wheels} cannot be installed here, they are for Linux "
            "and come over the network; the counters of the CPU are in nox -s bench.",
            file=sys.stderr,
        )
        raise SystemExit(69) from None


def compile_for_gpus(session: nox.Session, variant: str, *arguments: str) -> None:
    """Compile with the compiler of a variant and compare; exits with 69 if it is unavailable."""
    install_gpu_compiler(session, variant)
    env = {"JAX_PLATFORMS": "cpu"}
    run_through(session, "python", "-m", "bench", "gpu", *arguments, *session.posargs, env=env)


@nox.session(name="gpu-compile", tags=["ci"])
@nox.parametrize("variant", [nox.param(name, id=name) for name in COMPILERS])
@reported
def gpu_compile(session: nox.Session, variant: str) -> None:
    """Compile for an A100 without a GPU and compare kernels and bytes; exits with 69 without the compiler."""
    whole = not session.posargs
    # Strict: a gate that found nothing to compare with must not pass.
    compile_for_gpus(session, variant, *["--strict"] * whole)
    if whole and variant == "cuda12":  # the tests of the gate, which other sessions skip without a compiler
        tested = ("tests/bench/measure/gpu", "tests/bench/peers/test_modelled.py")
        session.run("pytest", *tested, env={"JAX_PLATFORMS": "cpu"})


@nox.session(name="gpu-compile-full", tags=["nightly"])
@nox.parametrize("variant", [nox.param(name, id=name) for name in COMPILERS])
@reported
def gpu_compile_full(session: nox.Session, variant: str) -> None:
    """Compile all ids for one and eight A100s and H100s, and compare; exits with 69 without the compiler."""
    compile_for_gpus(session, variant, "--full")


@nox.session(venv_backend="none")
def matrix(session: nox.Session) -> None:
    """Show which sessions GitHub runs when, and on which Pythons; -- --event nightly, --json, --help."""
    session.run(sys.executable, "ci/matrix.py", *session.posargs)


@nox.session(venv_backend="none")
def base(session: nox.Session) -> None:
    """Print the commit that GitHub's benchmark of this one compares with, and why; -- --help."""
    session.run(sys.executable, "ci/base.py", *session.posargs)


@nox.session(venv_backend="none")
def summary(session: nox.Session) -> None:
    """Write what a GitHub run found as one table; -- build/reports, --help."""
    run_through(session, sys.executable, "-m", "ci.summary", *session.posargs)
