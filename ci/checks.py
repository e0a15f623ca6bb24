"""Find tests that check nothing, and tests that are skipped without a reason."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parents[1]
# Functions of libraries and of ours that raise an error where something is wrong.
CHECKS = frozenset(
    ("raises", "warns", "fail", "verify", "check_env", "check_pure")
    + ("parallel_api_test", "parallel_seed_test", "test_benchmark_reproducibility")
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def complaints(sources: dict[str, str]) -> list[str]:
    """One line for each test without a check and each skip without a reason; path -> text."""
    trees = {path: ast.parse(text) for path, text in sources.items()}
    checking = _checking([node for tree in trees.values() for node in ast.walk(tree) if _is_function(node)])
    found = []
    for path, tree in trees.items():
        for test in _tests(tree):
            if not _calls(test) & checking:
                found.append(f"{path}:{test.lineno}: {test.name} checks nothing: assert what must hold.")
        for node in ast.walk(tree):
            if isinstance(node, ast.expr | ast.stmt) and _is_bare_skip(node):
                found.append(f"{path}:{node.lineno}: a test is skipped without a reason: give one.")
    return found


def _checking(functions: list[Function]) -> frozenset[str]:
    """The names of functions that check something, themselves or by calling others that do."""
    known, before = CHECKS, frozenset[str]()
    calls = [(function.name, _calls(function)) for function in functions]
    while known != before:
        before = known
        known |= {name for name, called in calls if called & known}
    return known


def _calls(function: Function) -> frozenset[str]:
    """The names that a function calls; a statement that raises counts as `raises`."""
    nodes = list(ast.walk(function))
    called = {_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    checks = any(isinstance(node, ast.Assert | ast.Raise) for node in nodes)
    checks = checks or any(name.startswith("assert_") for name in called)
    return frozenset(called | {"raises"} if checks else called)


def _tests(tree: ast.Module) -> Iterator[Function]:
    """The test functions of a module and of its classes, also those under an `if`."""
    todo: list[ast.AST] = [tree]
    while todo:
        for node in ast.iter_child_nodes(todo.pop()):
            if _is_function(node):
                if node.name.startswith("test"):
                    yield node
            elif isinstance(node, ast.ClassDef | ast.If | ast.Try | ast.With):
                todo.append(node)


def _is_function(node: ast.AST) -> TypeGuard[Function]:
    return isinstance(node, Function)


def _is_bare_skip(node: ast.AST) -> bool:
    """`pytest.skip()`, `mark.skip` and `mark.skip()`; `skipif` without a reason is pytest's own error."""
    if isinstance(node, ast.Call):
        return _name(node.func) == "skip" and not node.args and not node.keywords
    decorators = node.decorator_list if isinstance(node, Function | ast.ClassDef) else []
    return any(isinstance(one, ast.Attribute) and one.attr == "skip" for one in decorators)


def _name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 if every test checks something."""
    argparse.ArgumentParser(description=__doc__).parse_args(arguments)
    paths = sorted((ROOT / "tests").rglob("*.py"))
    found = complaints(
        {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    )
    print("\n".join(found) or f"Every test of {len(paths)} files checks something.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
