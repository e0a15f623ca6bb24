"""The GPU check: causes in one sentence, exit 69, and variants that a driver is too old for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ci.support import driver, needs_driver, script


def test_without_a_driver_one_sentence_and_69() -> None:
    done = script("gpu.py", "--instead", "something else", COGRID_LIBCUDA="libno-such-driver.so")
    assert done.returncode == 69
    assert done.stdout == ""
    assert done.stderr == (
        "No GPU to run on: the NVIDIA driver's library libno-such-driver.so cannot be loaded; "
        "on the CPU, run something else\n"
    )


def test_an_unknown_variant_is_an_error() -> None:
    done = script("gpu.py", "cuda9")
    assert done.returncode == 2
    assert "unknown variant 'cuda9': choose from cuda12, cuda13" in done.stderr


def test_jax_must_use_the_gpu(tmp_path: Path) -> None:
    """With a package in JAX's place, because this environment has none."""
    (tmp_path / "jax.py").write_text(
        "import types, os\n"
        "def default_backend(): return os.environ['BACKEND']\n"
        "def devices(): return [types.SimpleNamespace(device_kind='A Card')]\n",
        encoding="utf-8",
    )
    good, bad = (script("gpu.py", "--jax", PYTHONPATH=str(tmp_path), BACKEND=name) for name in ("gpu", "cpu"))
    assert (good.returncode, good.stdout) == (0, "A Card\n")
    assert (bad.returncode, bad.stderr) == (1, "JAX runs on cpu, not on the GPU.\n")


@needs_driver
@pytest.mark.parametrize(
    ("version", "able", "left_out"),
    [
        (13000, ["cuda12", "cuda13"], []),
        (12080, ["cuda12"], ["cuda13"]),
        (14010, ["cuda12", "cuda13"], []),
    ],
)
def test_variants_that_a_driver_can_run(
    version: int, able: list[str], left_out: list[str], tmp_path: Path
) -> None:
    done = script("gpu.py", COGRID_LIBCUDA=driver(tmp_path, version))
    assert done.returncode == 0
    number = f"{version // 1000}.{version % 1000 // 10}"
    assert done.stdout.splitlines() == [
        *(f"{name} can run: the driver is for CUDA {number}" for name in able),
        *(f"{name} is left out: the driver is for CUDA {number} and it needs 13.0" for name in left_out),
    ]


@needs_driver
@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"devices": 0}, "the driver finds no CUDA device"),
        ({"code": 100}, "the driver finds no CUDA device"),
        ({"code": 999}, "the driver does not start (cuInit returns 999)"),
        (
            {"version": 11080},
            "cuda12 is left out: the driver is for CUDA 11.8 and it needs 12.0 and cuda13",
        ),
    ],
)
def test_causes(options: dict[str, int], cause: str, tmp_path: Path) -> None:
    done = script("gpu.py", COGRID_LIBCUDA=driver(tmp_path, **options))
    assert done.returncode == 69
    assert done.stderr.startswith(f"No GPU to run on: {cause}")
    assert done.stderr.count("\n") == 1


@needs_driver
def test_one_variant_alone_that_cannot_run(tmp_path: Path) -> None:
    done = script("gpu.py", "cuda13", COGRID_LIBCUDA=driver(tmp_path, 12080))
    assert done.returncode == 69
    assert "cuda13 is left out: the driver is for CUDA 12.8 and it needs 13.0" in done.stderr
