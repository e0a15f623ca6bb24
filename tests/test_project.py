"""The package keeps no state of its own, and no two classes share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# The only module-level state of the package: the registry of ids.
ALLOWED_STATE = {"cogrid/envs/registry.py": ("_SPECS",)}

# Names of several classes. Those in the code that measures are part of the identity of committed rows
# (bench/storage/identity.py), so renaming them would make old numbers incomparable.
ALLOWED_TWICE = {
    "Counted": "a game's part is public; bench/compare",
    "Mismatch": "the exception of replays is public; cogrid/benchmarks/modes.py measures",
    "Parts": "a game's parts; bench/measure/phases.py measures",
    "Plan": "bench/measure/plan.py and cogrid/envs/overcooked/planning.py measure",
    "Program": "two modules of bench/measure/gpu measure",
    "Scene": "cogrid/envs/overcooked/planning.py measures",
    "_Watch": "bench/measure/counters.py measures",
}

MUTABLE_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
MUTABLE_CALLS = frozenset(
    ("list", "dict", "set", "bytearray", "defaultdict", "OrderedDict", "Counter", "deque", "ChainMap")
    + ("WeakKeyDictionary", "WeakValueDictionary", "WeakSet")
)


def outside_functions(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement that runs when the module is imported, except in class bodies."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from outside_functions(getattr(statement, field, []))
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from outside_functions(part.body)


def is_mutable(value: ast.expr | None) -> bool:
    """Whether the expression plainly makes a container that can be written to; arguments do not count."""
    match value:
        case ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
            return any(is_mutable(part) for part in parts)
        case ast.IfExp(body=yes, orelse=no):
            return is_mutable(yes) or is_mutable(no)
        case ast.Call(func=ast.Subscript(value=called) | called):  # the first form is dict[str, int]()
            return ast.unparse(called).split(".")[-1] in MUTABLE_CALLS
    return isinstance(value, MUTABLE_DISPLAYS)


def module_state(source: str) -> list[tuple[str, int]]:
    """Names of mutable containers at module level and of `global` statements, each with its line."""
    tree = ast.parse(source)
    found = []
    for statement in outside_functions(tree.body):
        match statement:
            case ast.Assign(targets=targets, value=value) if is_mutable(value):
                names = [ast.unparse(target) for target in targets]
            case ast.AnnAssign(target=target, value=value) if is_mutable(value):
                names = [ast.unparse(target)]
            case _:
                continue
        found += [(name, statement.lineno) for name in names if name != "__all__"]
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.Global))
    found += [(f"global {', '.join(node.names)}", node.lineno) for node in statements]
    return found


def test_package_has_no_module_state() -> None:
    found = []
    for path in sorted((ROOT / "cogrid").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        state = module_state(path.read_text(encoding="utf-8"))
        allowed = ALLOWED_STATE.get(name, ())
        found += [f"{name}:{line}: {what}" for what, line in state if what not in allowed]
    assert not found, "module-level state (use a tuple, frozenset or MappingProxyType):\n" + "\n".join(found)


def test_no_two_classes_share_a_name() -> None:
    places = defaultdict(list)
    for path in sorted(path for folder in ("cogrid", "bench") for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT).as_posix()}:{node.lineno}")
    twice = {name: where for name, where in places.items() if len(where) > 1}
    new = {name: where for name, where in twice.items() if name not in ALLOWED_TWICE}
    assert not new, "name each class for what it is"
    assert twice.keys() == ALLOWED_TWICE.keys(), "remove from ALLOWED_TWICE what is unique by now"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("CACHE = {}", ["CACHE"]),
        ("names: list[str] = []", ["names"]),
        ("A = B = {1, 2}", ["A", "B"]),
        ("SQUARES = [i * i for i in range(3)]", ["SQUARES"]),
        ("SEEN = set()", ["SEEN"]),
        ("import collections\nHITS = collections.defaultdict(int)", ["HITS"]),
        ("TABLE = dict[str, int](a=1)", ["TABLE"]),
        ("PAIR = (1, [])", ["PAIR"]),
        ("try:\n    X = 1\nexcept ImportError:\n    X = []", ["X"]),
        ("count = 0\ndef f():\n    global count\n    count += 1", ["global count"]),
        ("__all__ = ['a']", []),
        ("KINDS = ('a', 'b')", []),
        ("COLOURS = MappingProxyType({'a': 1})", []),
        ("NAMES = frozenset({'a'})", []),
        ("def f():\n    seen = {}\n    return seen", []),
    ],
)
def test_module_state_is_recognised(source: str, names: list[str]) -> None:
    assert [name for name, _ in module_state(source)] == names
