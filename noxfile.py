"""One door for tests, oracles and lint: a person and CI call the same commands."""

from __future__ import annotations

from typing import NamedTuple

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = True
nox.options.sessions = ["lint", "tests"]

PYPROJECT = nox.project.load_toml("pyproject.toml")


class Backend(NamedTuple):
    """A row of the test matrix: what to install beside the project, and the environment to run in."""

    extra: str | None
    env: dict[str, str]


BACKENDS = {
    "numpy": Backend(extra=None, env={}),
    # NPROC=1 gives each pytest worker one XLA thread; without it the workers fight over the cores.
    "jax-cpu": Backend(extra="jax", env={"JAX_PLATFORMS": "cpu", "NPROC": "1"}),
}
NO_JAX = "import sys, importlib.util as u; sys.exit('JAX is installed here' if u.find_spec('jax') else 0)"


def install(session: nox.Session, *groups: str, extra: str | None = None) -> None:
    """Install the project with `extra` and the dependency groups, resolved together.

    Editable, because pytest has the checkout on its path anyway: so the tests and the processes that they
    start import the same files, and an edit needs no new install.
    """
    project = f".[{extra}]" if extra else "."
    session.install(*nox.project.dependency_groups(PYPROJECT, *groups), "-e", project)


@nox.session
@nox.parametrize("backend", [nox.param(name, id=name) for name in BACKENDS])
def tests(session: nox.Session, backend: str) -> None:
    """Run the tests on one backend (numpy: without JAX); what follows -- goes to pytest."""
    row = BACKENDS[backend]
    install(session, "tests", extra=row.extra)
    if row.extra is None:
        session.run("python", "-c", NO_JAX)
    session.run(
        *("pytest", "-n", "auto", "--dist", "loadgroup", "--ignore=tests/oracles"),
        *session.posargs,
        env=row.env,
    )


@nox.session
def oracles(session: nox.Session) -> None:
    """Compare the kitchens with overcooked_ai and JaxMARL, transition by transition."""
    row = BACKENDS["jax-cpu"]
    install(session, "tests", "oracles", extra=row.extra)
    session.run("pytest", "-n", "auto", "tests/oracles", *session.posargs, env=row.env)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, formatting and types."""
    install(session, "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("mypy")
