"""The identity of a measurement: a hash of its case and of the code that measures it.

Only executed code counts: when comments, docstrings or annotations change, or a module moves and with it the
imports of others, old numbers stay comparable.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench import ROOT
from bench.measure import measures
from bench.measure.plan import Plan
from cogrid.benchmarks.case import Case

#: All code between a case and its numbers, except the engine; the measure's own module is added.
MEASURING = (
    *(f"cogrid/benchmarks/{name}.py" for name in ("case", "clock", "modes", "workloads")),
    *(f"bench/measure/{name}.py" for name in ("clock", "plan", "counters", "allocations")),
    # The cooks of the cooperative tapes.
    *(f"cogrid/envs/overcooked/{name}.py" for name in ("floor_plan", "planning", "policies")),
)
#: What the measures of one module also run.
ALSO: Mapping[str, str] = MappingProxyType({"phases": "cogrid/_core/profiling.py"})


def identity(case: Case, plan: Plan) -> str:
    """12 hex digits: rows with different identities were measured differently.

    The number of samples is left out: more of them measure the same thing more precisely.
    """
    sampling = {name: value for name, value in plan._asdict().items() if name != "samples"}
    return hashed([case.parameters(), sampling], code_of(*_measuring(case.measure)))


def _measuring(measure: str) -> list[Path]:
    """The files of a measure. One with a folder of its own uses neither tapes nor the clock."""
    module = Path(str(sys.modules[measures.named(measure).__module__].__file__))
    if module.parent == ROOT / "bench" / "measure":
        also = [ALSO[module.stem]] if module.stem in ALSO else []
        return [*(ROOT / name for name in (*MEASURING, *also)), module]
    return [ROOT / "cogrid" / "benchmarks" / "case.py", *sorted(module.parent.glob("*.py"))]


def hashed(facts: Any, code: str) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode() + code.encode()).hexdigest()[:12]


@functools.cache
def code_of(*files: Path) -> str:
    """The executed code of the files; the whole text of files that are not Python."""
    texts = ((file, file.read_text(encoding="utf-8")) for file in files)
    return "\n".join(executed(text) if file.suffix == ".py" else text for file, text in texts)


def executed(source: str) -> str:
    """The executed part of a module's syntax tree, as the same text in every Python version."""
    return " ".join(_parts(ast.parse(source)))


#: Fields of a syntax tree without effect at run time.
_SILENT = frozenset({"annotation", "returns", "type_comment", "type_params", "ctx", "kind", "type_ignores"})


def _parts(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        yield "["
        for one in node:
            yield from _parts(one)
        yield "]"
    elif not isinstance(node, ast.AST):
        yield repr(node)
    elif not _is_silent(node):
        yield type(node).__name__
        for name, value in ast.iter_fields(node):
            if name not in _SILENT and value not in (None, []):  # newer Pythons have more empty fields
                yield name
                yield from _parts(value)


def _is_silent(node: ast.AST) -> bool:
    """An import, a docstring, or another unused constant."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
