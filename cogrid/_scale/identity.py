"""Identity: digests that tell whether two runs have the same policies and parameters."""

from __future__ import annotations

import contextlib
import dataclasses
import dis
import enum
import functools
import re
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.rules import Rules
from cogrid._core.state.snapshot import fingerprint
from cogrid.cogrid_env import CoGridEnv

_PLAIN = (bool, int, float, complex, str, bytes, range, slice, type(None), type(...))
#: What counts of some kinds of values: of code, everything but its file and its lines.
_CODE = "co_code co_consts co_names co_varnames co_freevars co_cellvars co_flags co_exceptiontable "
_ATTRIBUTES = (
    (types.CodeType, _CODE + "co_argcount co_posonlyargcount co_kwonlyargcount"),
    (types.MethodType, "__func__ __self__"),
    (functools.partial, "func args keywords __dict__"),
    (property, "fget"),
)
_READS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_INSTALLED = re.compile(rf"{re.escape(sysconfig.get_path('stdlib'))}[/\\]|[/\\](site|dist)-packages[/\\]")


class Digest(NamedTuple):
    """Hex digits of a sha256, and descriptions of what it does not cover."""

    digits: str
    unknown: tuple[str, ...]


#: Kinds without content: a sentinel, and a field in a class with slots or of named tuples.
_EMPTY = (object, types.MemberDescriptorType, type(vars(Digest)["digits"]))


def digest_of(value: Any) -> Digest:
    """The digest of a policy, the same in every process with the same version of Python.

    A function is its code, defaults, closure and the globals that it reads; a class of the user's is what it
    defines, a dataclass also its fields; what a library defines is its name. Other objects are unknown.
    """
    unknown: list[str] = []
    known: dict[int, tuple[bytes, Any]] = {}  # the value too, so that no other gets its id

    def read(value: Any, depth: int = 0) -> bytes:
        kind = type(value)
        if kind in _PLAIN or isinstance(value, np.dtype):
            content = value if kind is bytes else repr(value).encode()
            return sha256(kind.__name__.encode() + content).digest()
        if id(value) not in known:
            known[id(value)] = b"%32d" % depth, value  # for what refers to itself
            parts = _parts(value)
            if parts is None:
                is_module = kind is types.ModuleType
                parts = (value.__name__ if is_module else f"{kind.__module__}.{kind.__qualname__}",)
                unknown.append(f"{'the module' if is_module else 'a'} {parts[0]}")
            digests = [read(part, depth + 1) for part in parts]
            digests = sorted(digests) if kind in (set, frozenset) else digests
            known[id(value)] = sha256(b"".join(digests)).digest(), value
        return known[id(value)][0]

    return Digest(read(value).hex()[:16], tuple(dict.fromkeys(unknown)))


def digest_of_tree(tree: Any) -> Digest:
    """The digest of parameters, a tree of arrays: its structure, and the bytes, type and shape of leaves."""
    import jax

    leaves, structure = jax.tree.flatten(tree)
    return digest_of((re.sub(r" at 0x[0-9a-f]+", "", str(structure)), leaves))


def python() -> str:
    """The Python version, such as cpython-311: code can be compared only within one."""
    return sys.implementation.cache_tag or sys.version


def _parts(value: Any) -> Iterable[Any] | None:
    """What makes up a value; None if that cannot be seen."""
    import jax

    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    if isinstance(value, jax.Array) and (value.is_fully_addressable or value.is_fully_replicated):
        value = np.asarray(value)  # else other processes hold the rest
    kind = type(value)
    if kind is np.ndarray or isinstance(value, np.generic):
        return None if value.dtype.hasobject else (value.dtype, value.shape, value.tobytes())
    if name := _library_name(value):
        return (name,)
    if kind is types.FunctionType:
        return _function(value)
    if isinstance(value, type):
        own = ((name, getattr(value, name, None)) for name in sorted(vars(value)))
        members = (one for one in own if callable(one[1]) or not one[0].startswith(("__", "_abc_")))
        return value.__qualname__, value.__bases__, *members
    for base, names in _ATTRIBUTES:
        if isinstance(value, base):
            return kind, *(getattr(value, name) for name in names.split())
    if kind in (list, set, frozenset) or (isinstance(value, tuple) and not getattr(value, "__dict__", None)):
        return kind, *value
    if kind is dict:
        return kind, *value.items()
    if isinstance(value, Rules) or kind is CoGridEnv:  # an environment's episode is its own
        return kind, fingerprint(getattr(value, "rules", value))
    if isinstance(value, enum.Enum):
        return kind, value.name, value.value
    if dataclasses.is_dataclass(value):
        return kind, *(getattr(value, field.name, None) for field in dataclasses.fields(value))
    if _is_library(kind.__module__) and hasattr(value, "__wrapped__"):  # such as a function under jax.jit
        return kind, value.__wrapped__
    return (kind,) if kind in _EMPTY else None


def _function(function: types.FunctionType) -> Iterator[Any]:
    codes, known = [function.__code__], function.__globals__
    for cell in function.__closure__ or ():  # of jax.vmap(act) too: there is act
        with contextlib.suppress(ValueError):  # nothing in it yet
            yield cell.cell_contents
    if _is_library(known.get("__name__", "")):
        yield from (known["__name__"], codes[0].co_qualname)
        return
    yield from (codes[0], function.__defaults__, function.__kwdefaults__)
    for code in codes:
        codes += [part for part in code.co_consts if isinstance(part, types.CodeType)]
        for step in dis.get_instructions(code):
            if step.opname == "IMPORT_NAME":
                yield types.ModuleType(step.argval)
            elif step.opname in _READS and step.argval in known:
                yield from (step.argval, known[step.argval])


def _library_name(value: Any) -> str | None:
    """Where a library has this very value, such as numpy.add; its modules and classes are always named."""
    name: Any = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    module: Any = getattr(value, "__module__", None) or type(value).__module__
    if isinstance(value, types.ModuleType):
        return name if _is_library(name) else None
    found: Any = sys.modules.get(module)
    for part in str(name).split("."):
        found = getattr(found, part, None)
    return f"{module}.{name}" if _is_library(module) and (found is value or isinstance(value, type)) else None


def _is_library(module: str) -> bool:
    """Whether a module is cogrid's own, built in or installed."""
    top = module.partition(".")[0]
    if top == "__main__":
        return False
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return top in ("cogrid", *sys.builtin_module_names) or bool(_INSTALLED.search(file))
