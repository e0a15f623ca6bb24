"""The python blocks of the README and of docs/ and the examples run, each in a process of its own."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from cogrid._core.author.kinds import KINDS
from cogrid.author import Game, Looks, Planes
from tests._apps.humans.recordings import played, write
from tests.support import HAS_JAX

ROOT = Path(__file__).parents[1]
# What needs another library; `nox -s clients` runs these.
ELSEWHERE = ("docs/with-your-learner.md", "examples/torch_ppo.py")
# For the examples whose defaults take a person's time, and not a test's.
ARGUMENTS = {
    "examples/behaviour_cloning.py": ("games.pickle", "--epochs", "2", "--hidden", "8", "--episodes", "2"),
    "examples/performance_demo.py": ("--id", "Arena-V0", "--num-envs", "1e3", "--seconds", "0.5"),
    "examples/ippo.py": ("--steps", "2048", "--num-envs", "16", "--num-steps", "32"),
    "examples/two_cores.py": ("--num-envs", "8", "--rounds", "2"),
    "examples/numpy_policy_gradient.py": ("--steps", "4.096e3", "--num-envs", "8"),
}


class Sample(NamedTuple):
    name: str
    source: str

    @property
    def runs_here(self) -> bool:
        return HAS_JAX or "jax" not in self.source


def python_blocks(name: str, markdown: str) -> list[Sample]:
    """The fenced python blocks of a Markdown text, each named by the line it starts on."""
    return [
        Sample(f"{name}:{markdown.count(chr(10), 0, match.start(1)) + 1}", match[1])
        for match in re.finditer(r"^```python[^\n]*\n(.*?)^```", markdown, re.DOTALL | re.MULTILINE)
    ]


def whole_page(name: str, markdown: str) -> list[Sample]:
    """All python blocks of a page as one script, on the lines where they stand; none if it has none."""
    lines = [""] * markdown.count("\n")
    for block in python_blocks(name, markdown):
        first, code = int(block.name.rpartition(":")[2]) - 1, block.source.splitlines()
        lines[first : first + len(code)] = code
    return [Sample(name, "\n".join(lines))] if any(lines) else []


def samples() -> list[Sample]:
    examples = sorted((ROOT / "examples").glob("*.py"))
    pages = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "docs").rglob("*.md"))}
    found = [
        *python_blocks("README.md", (ROOT / "README.md").read_text(encoding="utf-8")),
        *(s for name, path in pages.items() for s in whole_page(name, path.read_text(encoding="utf-8"))),
        *(Sample(f"examples/{path.name}", path.read_text(encoding="utf-8")) for path in examples),
    ]
    assert {sample.name for sample in found} >= {*ELSEWHERE}
    return [sample for sample in found if sample.name not in ELSEWHERE]


def recorded_games(folder: Path) -> None:
    """Two games that scripted cooks played."""
    first, second = played(60, pair=1), played(60, pair=2)
    write(folder / "games.pickle", {name: first[name] + second[name] for name in first})


# Examples that read a file.
FILES = {"examples/behaviour_cloning.py": recorded_games}


@pytest.mark.parametrize("sample", [pytest.param(s, id=s.name) for s in samples() if s.runs_here])
def test_sample_runs(sample: Sample, tmp_path: Path) -> None:
    """In a process and a directory of its own: a sample neither leans on another nor litters the checkout."""
    example = ROOT / sample.name
    if example.suffix != ".py":
        example = tmp_path / f"{sample.name.replace(':', '_line_').replace('/', '_')}.py"
        example.write_text(sample.source, encoding="utf-8")
    FILES.get(sample.name, lambda folder: None)(tmp_path)
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example), *ARGUMENTS.get(sample.name, ())],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, f"{sample.name} failed:\n{done.stdout}{done.stderr}"


def fails(hidden: str, *arguments: str) -> str:
    """What the demo of the speed prints before it ends with an error, if a library is not installed."""
    demo = ROOT / "examples" / "performance_demo.py"
    program = (
        f"import runpy, sys; sys.modules.update(dict.fromkeys({hidden.split()!r})); "
        f"sys.argv[0] = {str(demo)!r}; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False, encoding="utf-8"
    )
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


def test_the_demo_of_the_speed_fails_in_one_sentence() -> None:
    assert fails("jax") == (
        "performance_demo.py needs JAX, which is not installed: run pip install '.[jax]' in the checkout.\n"
    )
    if HAS_JAX:
        assert fails("", "--id", "Nowhere").startswith(
            "performance_demo.py: unknown environment id 'Nowhere'"
        )


BOOK = ROOT / "docs" / "own-environment.md"


def book() -> list[Sample]:
    """The worlds of the page on environments of one's own."""
    return python_blocks(BOOK.name, BOOK.read_text(encoding="utf-8"))


@pytest.mark.parametrize("block", [pytest.param(b, id=b.name) for b in book() if "(Game)" in b.source])
def test_a_world_of_the_book_is_short_and_whole(block: Sample) -> None:
    """At most 40 lines, with all that it needs: whoever copies one section has a world that runs."""
    assert block.source.count("\n") <= 40
    names = [node for node in ast.walk(ast.parse(block.source)) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)} | {*dir(builtins)}
    for node in ast.walk(ast.parse(block.source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            bound.add(node.name)
    assert not {node.id for node in names} - bound


def test_the_book_has_every_name() -> None:
    """Names of `Game` and kinds of parts, in the code of a world; these and all fields, in the text."""
    text = BOOK.read_text(encoding="utf-8")
    code = "".join(block.source for block in book())
    kinds = (*KINDS, Planes, Looks)
    names = [*(name for name in vars(Game) if name[0] != "_"), *(kind.__name__ for kind in kinds)]
    assert not [name for name in names if not re.search(rf"\b{name}\b", code) and name not in TOLD]
    fields = [field.name for kind in kinds for field in dataclasses.fields(kind)]
    assert not [name for name in (*names, *fields) if not re.search(rf"`[^`]*\b{name}\b", text)]


#: Names that the book describes and no world of it writes.
TOLD = {"state_type", "timed"}


def test_python_blocks_are_found_by_line() -> None:
    text = "# Title\n\n```python\na = 1\n```\n\n```bash\nls\n```\n\n```python\nimport jax\n```\n"
    assert python_blocks("x.md", text) == [("x.md:4", "a = 1\n"), ("x.md:12", "import jax\n")]


def test_blocks_of_a_page_are_one_script_with_the_page_s_lines() -> None:
    text = "# Title\n\n```python\na = 1\n```\n\n```sh\nls\n```\n\n```python\n    b = a\n```\nend"
    (page,) = whole_page("x.md", text)
    assert page == ("x.md", "\n\n\na = 1\n\n\n\n\n\n\n\n    b = a\n")
    assert page.source.splitlines()[11] == text.splitlines()[11]
    assert whole_page("y.md", "no code\n") == []
