"""Reading a pickled pandas table as data: the opcodes are interpreted here, and no pickled code is run."""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

MAX_BYTES = 2**28
# What such a table is made of. Any other name is an error.
NAMES = frozenset(
    {
        "pandas.core.frame.DataFrame",
        "pandas.core.internals.managers.BlockManager",
        "pandas.core.indexes.base._new_Index",
        "pandas.core.indexes.base.Index",
        "pandas.core.indexes.numeric.Int64Index",
        "numpy.core.multiarray._reconstruct",
        "numpy.ndarray",
        "numpy.dtype",
    }
)
PLAIN = frozenset(
    [
        *("BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES"),
        *("BININT", "BININT1", "BININT2", "BINFLOAT"),
    ]
)
CONSTANTS = MappingProxyType({"NONE": None, "NEWTRUE": True, "NEWFALSE": False})
EMPTY: Mapping[str, Callable[[], Any]] = MappingProxyType(
    {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
)
CELLS = (str, int, float, bool, type(None))
TUPLES = MappingProxyType({"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3})


class Stored:
    """An object that the pickle would have built: the callable, its arguments, and the object's state."""

    def __init__(self, name: str, arguments: Any) -> None:
        self.name, self.arguments, self.state = name, arguments, None

    def argument(self, name: str) -> Any:
        """A keyword of a call that took a dictionary."""
        return self.arguments[1][name]


class _Name(str):
    """A name of `NAMES`, which is never imported."""


def read_table(path: Path) -> dict[str, list[Any]]:
    """The columns of a pandas table by name; raises a ValueError of one sentence for anything else."""
    if path.exists() and not path.is_file():  # reading a pipe or a device may never end
        raise ValueError(f"{path} is not a regular file.")
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"{path} has more than the limit of {MAX_BYTES:,} bytes.")
    try:
        return _columns(_interpreted(data))
    except _Refused as error:
        raise ValueError(f"{path} is rejected: {error}") from None
    except Exception:  # a damaged pickle can fail anywhere
        raise ValueError(f"{path} is not a pickled pandas table, or it is damaged.") from None


class _Refused(Exception):
    """Something that a table of plain columns does not need."""


def _interpreted(data: bytes) -> Any:
    """The value of the pickle, with `Stored` instead of objects."""
    stack: list[Any] = []
    marks: list[int] = []
    memo: list[Any] = []

    def since_mark() -> list[Any]:
        start = marks.pop()
        items = stack[start:]
        del stack[start:]
        return items

    argument: Any
    for opcode, argument, _ in pickletools.genops(data):
        name = opcode.name
        if name in PLAIN:
            stack.append(argument)
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name == "MEMOIZE":
            memo.append(stack[-1])
        elif name == "MARK":
            marks.append(len(stack))
        elif name == "APPENDS":
            items = since_mark()
            _of(list, stack[-1]).extend(items)
        elif name in TUPLES:
            count = TUPLES[name]
            stack[-count:] = [tuple(stack[-count:])]
        elif name == "TUPLE":
            stack.append(tuple(since_mark()))
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in EMPTY:
            stack.append(EMPTY[name]())
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            _of(dict, stack[-1])[_of(str, key)] = value
        elif name == "SETITEMS":
            items = since_mark()
            keys = (_of(str, key) for key in items[::2])
            _of(dict, stack[-1]).update(zip(keys, items[1::2], strict=True))
        elif name == "STACK_GLOBAL":
            last, first = stack.pop(), stack.pop()
            stack.append(_named(f"{_of(str, first)}.{_of(str, last)}"))
        elif name in ("REDUCE", "NEWOBJ"):
            arguments, called = stack.pop(), stack.pop()
            stack.append(Stored(_of(_Name, called), arguments))
        elif name == "BUILD":
            state = stack.pop()
            _of(Stored, stack[-1]).state = state
        elif name not in ("PROTO", "FRAME", "STOP"):
            raise _Refused(f"it uses the opcode {name}, which such a table does not need.")
    (result,) = stack
    return result


def _named(name: str) -> _Name:
    if name not in NAMES:
        raise _Refused(f"it names {name[:80]!r}, which is not part of a pandas table.")
    return _Name(name)


def _of(kind: type, value: Any) -> Any:
    """The value, if it is of that very type.

    Nothing else is hashed, compared or printed: through the memo, a pickle of n bytes can nest tuples that
    take 2**n steps to walk.
    """
    if type(value) is not kind:
        raise TypeError(kind.__name__)
    return value


def _columns(frame: Any) -> dict[str, list[Any]]:
    """The blocks of a table's manager, taken apart into columns."""
    if _of(Stored, frame).name != "pandas.core.frame.DataFrame":
        raise TypeError(frame.name)
    _, blocks, indices, _ = frame.state["_data"].state
    columns: dict[str, list[Any]] = {}
    for block, index in zip(blocks, indices, strict=True):
        names, rows = _array(index.argument("data")), _array(block)
        columns |= {str(name): list(row) for name, row in zip(names, rows, strict=True)}
    if len({len(column) for column in columns.values()}) != 1:
        raise ValueError("ragged")
    return columns


def _array(stored: Any) -> Any:
    """A NumPy array from its stored shape, type and content."""
    _, shape, dtype, fortran, content = stored.state
    code = _of(str, dtype.arguments[0])
    if fortran or code not in ("O8", "b1", "f8", "i8"):
        raise TypeError(code)
    if code == "O8":
        array = np.empty(len(content), object)
        array[:] = _of(list, content)
        if not all(type(cell) in CELLS for cell in content):
            raise _Refused("a cell of its table is neither text nor a number.")
    else:
        array = np.frombuffer(_of(bytes, content), f"<{code}" if code != "b1" else "?")
    return array.reshape(shape)
