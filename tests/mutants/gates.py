"""Plant faults of several kinds, each in a clone, and check that a gate of every change finds it."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .planting import ROOT, Mutant, wrong_text

NUMPY = "cogrid/backend/_numpy.py"
JAX = "cogrid/backend/_jax.py"
COUNTERS = "bench/baselines/counters-numpy-*.json"
PYTEST = ("pytest", "-x", "-q", "-p", "no:cacheprovider")


class Gate(NamedTuple):
    """A fault, how it is planted in a folder, and the part of a session that must find it."""

    fault: str
    plant: Callable[[Path], None]
    session: str  # as GitHub runs it on every change
    command: tuple[str, ...]  # python -m …
    code: int = 1  # the exit code with the fault; 0 without


def wrong_line(file: str, old: str, new: str) -> Callable[[Path], None]:
    """Plants a mutant."""

    def plant(folder: Path) -> None:
        mutant = Mutant(f"{old} in {file}", file, old, new)
        (folder / file).write_text(wrong_text(mutant), encoding="utf-8")

    return plant


def edited_baseline(folder: Path) -> None:
    """One more operation is allowed than was accepted."""
    (file,) = folder.glob(COUNTERS)
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r'"operations": (\d+)', r'"operations": 1\1', text, count=1), encoding="utf-8")


def unchecked_test(folder: Path) -> None:
    """A test that cannot fail."""
    text = "import cogrid\n\n\ndef test_a_kitchen_is_made() -> None:\n    cogrid.make('Goals-V0')\n"
    (folder / "tests/test_planted.py").write_text(text, encoding="utf-8")


GATES = (
    Gate(
        "a sign in a reward",
        wrong_line(
            "cogrid/envs/overcooked/game.py",
            '"deliver", self.value_of(items))',
            '"deliver", -self.value_of(items))',
        ),
        "tests(numpy)",
        (*PYTEST, "-p", "tests.without_jax", "tests/test_golden.py"),
    ),
    Gate(
        "an off-by-one on the GPU path",
        wrong_line(JAX, "inside = (array >= kind(first))", "inside = (array > kind(first))"),
        "tests(jax-cpu)",
        (*PYTEST, "tests/backend/test_elsewhere.py"),
    ),
    Gate(
        # Both backends draw alike, and the odds stay: no parity and no statistics can show it.
        "agents and cells that exchange their draws",
        wrong_line(
            "cogrid/_core/compile/odds.py",
            "return drawn[..., self._slices[purpose]]",
            "return drawn[..., self._slices[purpose]][..., ::-1]",
        ),
        "tests(numpy)",
        (*PYTEST, "-p", "tests.without_jax", "tests/test_golden_replays.py"),
    ),
    Gate(
        "one kernel more on a GPU",
        wrong_line(JAX, "_FEW_COLUMNS, _FEW_WRITES = 4, 2", "_FEW_COLUMNS, _FEW_WRITES = 4, 1"),
        "gpu-compile(cuda12)",
        ("bench", "gpu", "--only", "CrampedRoom"),
        20,
    ),
    Gate(
        "a copy that nobody needs",
        wrong_line(NUMPY, "return table[index] if", "return table[index.copy()] if"),
        "bench-counters",
        ("bench", "count", "--quick", "--backend", "numpy"),
        20,
    ),
    Gate(
        # No operation more: rows of tables are read by an index, which takes longer than `take`.
        "a slowdown by a fifth that no counter shows",
        wrong_line(NUMPY, "if table.ndim == 1 else", "if table.size > 100 else"),
        "bench",
        ("bench", "run", "--against", "HEAD", "--backend", "numpy"),
        20,
    ),
    Gate(
        "a baseline edited by hand",
        edited_baseline,
        "bench-counters",
        ("bench", "baseline", "check"),
        23,
    ),
    Gate("a test without a check", unchecked_test, "lint", ("ci.checks",)),
)


@contextmanager
def clone() -> Iterator[Path]:
    """A clone of the current commit, so without uncommitted changes."""
    with tempfile.TemporaryDirectory(prefix="cogrid-gates-") as name:
        folder = Path(name).resolve() / "cogrid"
        subprocess.run(("git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(folder)), check=True)
        yield folder


def run(gate: Gate, folder: Path) -> tuple[int, str]:
    """The exit code of the gate in the folder, and its last line."""
    done = subprocess.run(
        (sys.executable, "-m", *gate.command), cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return done.returncode, lines[-1] if lines else ""


def found(gate: Gate) -> bool:
    """Whether the gate passes on the clone as it is, and fails as it should with the fault."""
    with clone() as folder:
        code, last = run(gate, folder)
        if code:
            print(f"cannot tell: {gate.fault}: {gate.session} exits with {code} without it ({last[:150]})")
            return False
        gate.plant(folder)
        code, last = run(gate, folder)
    verdict = "found" if code == gate.code else "NOT FOUND"
    print(f"{verdict}: {gate.fault}, by {gate.session}, exit {code} ({last[:150]})", flush=True)
    return code == gate.code


def main() -> int:
    """0 if every fault was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.gates", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="only faults whose name contains TEXT")
    parser.add_argument("--list", action="store_true", help="print the faults and their gates, and stop")
    options = parser.parse_args()
    chosen = [gate for gate in GATES if options.only in gate.fault]
    if options.list:
        for gate in chosen:
            print(f"{gate.fault}: {gate.session}")
        return 0
    missed = sum(not found(gate) for gate in chosen)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
