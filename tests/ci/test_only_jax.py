"""Which tests `tests(jax-cpu)` leaves to `tests(numpy)`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.ci.support import ROOT, start

SOURCE = """
import functools, pytest
import numpy as jax
BACKENDS = ("numpy", "jax")

class Held:
    def method(self): jax.sum(0)

def plain(): return 0
def through(): return jax.sum(0)
def made(backend): return jax.sum(0) if backend == "jax" else 0

@pytest.fixture
def given(): return jax.sum(0)
@pytest.fixture(params=BACKENDS)
def backend(request): return request.param

def test_without(): assert plain() == 0
def test_kept_direct(): assert jax.sum(0) == 0
def test_kept_through(): assert through() == 0
def test_kept_class(): assert Held() is not None
def test_kept_inside(): assert (lambda: through())() == 0
def test_kept_local():
    import jax.numpy
def test_kept_fixture(given): assert given == 0
def test_kept_shadow(): assert plain() or "shadow"
@pytest.mark.skipif(False, reason="needs JAX")
def test_kept_skipped(): assert plain() == 0
@pytest.mark.parametrize("call", [plain, through, functools.partial(through)], ids="abc")
def test_parameter(call): assert call() == 0
@pytest.mark.parametrize("name", BACKENDS)
def test_each(name): assert made(name) == 0
def test_each_by_fixture(backend): assert made(backend) == 0
@pytest.mark.parametrize("name", BACKENDS)
def test_kept_both(name): assert made("jax") == made(name)
def test_numpy_alone(): assert made("numpy") == 0
def test_kept_for_both(): assert made("numpy") == made("jax")
"""


@pytest.mark.parametrize("jobs", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_only_what_jax_can_change_is_run(jobs: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_some.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts=--import-mode=importlib\n", encoding="utf-8")
    command = (sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "tests.only_jax")
    done = start(*command, *jobs, "--rootdir", str(tmp_path), str(folder), PYTHONPATH=str(ROOT))
    ran = set(re.findall(r"::test_(\w+(?:\[\w+\])?)", done.stdout))
    names = set(re.findall(r"def test_(kept_\w+)", SOURCE)) - {"kept_both"}
    expected = {"kept_both[numpy]", "kept_both[jax]", "parameter[b]", "parameter[c]"}
    assert ran == names | expected | {"each[jax]", "each_by_fixture[jax]"}, done.stdout
