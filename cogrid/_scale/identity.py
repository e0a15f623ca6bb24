"""Identity: digests that tell whether two runs have the same policies and parameters."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import dis
import functools
import hashlib
import re
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cogrid._core.rules import Rules
from cogrid._core.state.snapshot import fingerprint

#: Where installed libraries are. Their functions are identified by name, not by code.
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.dtype)
_CODE = (
    *("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
)


class Digest(NamedTuple):
    """Hex digits of a sha256, and descriptions of what it does not cover."""

    digits: str
    unknown: tuple[str, ...]


def digest_of(value: Any) -> Digest:
    """The digest of a policy, or of anything made of plain values, arrays, functions and user objects.

    It is the same in every process with the same version of Python. A function is its code, its defaults, the
    values that it closes over and the globals that it reads; code of installed libraries counts by name.
    """
    reader = _Reader()
    return Digest(reader.read(value).hex()[:16], tuple(dict.fromkeys(reader.unknown)))


def digest_of_tree(tree: Any) -> Digest:
    """The digest of parameters, a tree of arrays: its structure, and the bytes, type and shape of leaves."""
    import jax

    leaves, structure = jax.tree_util.tree_flatten_with_path(tree)
    named = [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves]
    return digest_of((re.sub(r" at 0x[0-9a-f]+", "", str(structure)), named))


def python() -> str:
    """The Python version, such as cpython-311: code can be compared only within one."""
    return sys.implementation.cache_tag or sys.version


def _hashed(*parts: Any) -> bytes:
    total = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        total.update(len(data).to_bytes(8, "little") + data)
    return total.digest()


class _Reader:
    """Digests values part by part; each only once, however often it is referenced."""

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self._arrays = _array_types()
        self._read: dict[int, tuple[bytes, Any]] = {}  # the value too, so that no other gets its id
        self._path: list[int] = []  # ids of the values that are being read

    def read(self, value: Any) -> bytes:
        if isinstance(value, _PLAIN):
            return _hashed(type(value).__name__, repr(value))
        if id(value) in self._read:
            return self._read[id(value)][0]
        if id(value) in self._path:  # it refers to itself
            return _hashed("above", len(self._path) - self._path.index(id(value)))
        self._path.append(id(value))
        self._read[id(value)] = digest, _ = self._digest(value), value
        self._path.pop()
        return digest

    def _digest(self, value: Any) -> bytes:
        if isinstance(value, Rules):
            return _hashed("rules", fingerprint(value))
        if isinstance(value, self._arrays):
            return self._array(value)
        for kind, parts in _PARTS.items():
            if isinstance(value, kind):
                # A user's subclass of a kind may have other methods and attributes.
                own = (type(value), getattr(value, "__dict__", {})) if _extends(value, kind) else ()
                return self._all(kind.__name__, (*own, *parts(value)))
        return self._object(value)

    def _all(self, kind: str, parts: Iterable[Any]) -> bytes:
        return _hashed(kind, *map(self.read, parts))

    def _array(self, value: Any) -> bytes:
        array = _on_host(value)
        if array is None or array.dtype.hasobject:
            return self._unknown(f"an array of {value.dtype} and shape {value.shape}")
        return _hashed("array", array.dtype, array.shape, array.tobytes())

    def _object(self, value: Any) -> bytes:
        """Anything else: what it wraps, its name if it belongs to a library, or its class and attributes."""
        kind = type(value)
        if hasattr(value, "__wrapped__"):  # a function under jax.jit, or in a decorator of the user's
            own = () if _is_library(kind) else (kind, getattr(value, "__dict__", {}))
            return self._all("wrapped", (value.__wrapped__, *own))
        if dataclasses.is_dataclass(value):
            values = (getattr(value, field.name, None) for field in dataclasses.fields(value))
            return self._all("dataclass", (kind, *values))
        if _is_environment(value):  # its episode is its own
            return self._all(kind.__qualname__, (value.rules,))
        if _is_library(kind) and callable(value) and hasattr(value, "__name__"):
            return _hashed("library", getattr(value, "__module__", ""), value.__name__)
        if (_is_library(kind) and not _is_cogrid(kind)) or not hasattr(value, "__dict__"):
            return self._unknown(f"a {kind.__module__}.{kind.__qualname__}")
        return self._all("object", (kind, vars(value)))

    def _unknown(self, what: str) -> bytes:
        self.unknown.append(what)
        return _hashed("unknown", what)


def _function(function: types.FunctionType) -> Iterator[Any]:
    yield from (_content(cell) for cell in function.__closure__ or ())  # of jax.vmap(act) too: there is act
    if function.__code__.co_filename.startswith(_LIBRARIES) or _is_library(function):
        yield from (function.__module__, function.__qualname__)
        return
    code, known = function.__code__, function.__globals__
    yield from (code, function.__defaults__, function.__kwdefaults__)
    yield from (part for name in _globals(code) if name in known for part in (name, known[name]))
    yield from (sys.modules.get(name, name) for name in _named_by(code, "IMPORT_NAME"))


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing in it yet
        return "empty cell"


def _globals(code: types.CodeType) -> list[str]:
    """The names of the globals that code reads."""
    return _named_by(code, "LOAD_GLOBAL")


def _named_by(code: types.CodeType, instruction: str) -> list[str]:
    """The names used by such instructions of code, including those of nested functions."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname == instruction}
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return sorted(found.union(*(_named_by(part, instruction) for part in inner)))


def _module(module: types.ModuleType) -> Iterator[Any]:
    """For a user's module, its whole file: code may read anything in it."""
    yield module.__name__
    file = getattr(module, "__file__", None)
    if file and not file.startswith(_LIBRARIES) and module.__name__.partition(".")[0] != "cogrid":
        with contextlib.suppress(OSError):
            yield Path(file).read_bytes()


def _code(code: types.CodeType) -> Iterator[Any]:
    """Code without its file name and line numbers."""
    yield from (getattr(code, name) for name in _CODE)
    yield from code.co_consts


def _class(kind: type) -> Iterator[Any]:
    yield kind.__qualname__
    if _is_library(kind):
        yield kind.__module__
        return
    yield kind.__bases__
    for name, value in sorted(vars(kind).items()):
        if callable(value) or not name.startswith(("__", "_abc_")):
            yield from (name, _behind(value))


def _behind(value: Any) -> Any:
    """The function behind a property or the like; None for a plain slot."""
    for name in ("fget", "func", "__func__"):
        if hasattr(value, name):
            return getattr(value, name)
    return None if hasattr(value, "__set__") or (hasattr(value, "__get__") and not callable(value)) else value


def _items(mapping: Mapping[Any, Any]) -> Iterator[Any]:
    return (part for pair in mapping.items() for part in pair)


#: Kinds of values, in the order in which they are tried, and the parts of each.
_PARTS: Mapping[type, Any] = types.MappingProxyType(
    {
        types.FunctionType: _function,
        types.CodeType: _code,
        functools.partial: lambda value: (value.func, value.args, value.keywords),
        types.MethodType: lambda value: (value.__func__, value.__self__),
        types.ModuleType: _module,
        type: _class,
        tuple: iter,
        list: iter,
        set: lambda value: sorted(value, key=repr),
        frozenset: lambda value: sorted(value, key=repr),
        dict: _items,
        argparse.Namespace: lambda value: (vars(value),),
        types.SimpleNamespace: lambda value: (vars(value),),
        types.MappingProxyType: _items,
    }
)


def _extends(value: Any, kind: type) -> bool:
    return type(value) is not kind and kind in (tuple, list, set, frozenset, dict)


def _is_cogrid(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "cogrid"


def _is_environment(value: Any) -> bool:
    """Whether it is one of cogrid's environments; a policy may have rules too, next to its parameters."""
    rules = getattr(value, "rules", None)
    return isinstance(rules, Rules) and _is_cogrid(type(value)) and hasattr(value, "reset")


def _is_library(value: Any) -> bool:
    """Whether a class or function is installed or built in; cogrid's own are identified by its version."""
    name = getattr(value, "__module__", None) or ""
    if name.partition(".")[0] == "cogrid":
        return True
    module = sys.modules.get(name)
    if module is None or name == "__main__":
        return False
    file = getattr(module, "__file__", None)
    return file is None or file.startswith(_LIBRARIES)


def _array_types() -> tuple[type, ...]:
    if "jax" not in sys.modules:
        return (np.ndarray, np.generic)
    import jax

    return (np.ndarray, np.generic, jax.Array)


def _on_host(array: Any) -> np.ndarray[Any, Any] | None:
    """The values, or the words of typed keys; None if other processes hold some of them."""
    if isinstance(array, (np.ndarray, np.generic)):
        return np.asarray(array)
    import jax

    if jax.numpy.issubdtype(array.dtype, jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    if array.is_fully_replicated:
        array = array.addressable_data(0)
    return np.asarray(array) if array.is_fully_addressable else None
