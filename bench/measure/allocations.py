"""NumPy's allocations one by one, seen by the memory routines that its C API lets a program replace."""

from __future__ import annotations

import ctypes
import importlib
from types import CodeType, TracebackType
from typing import Any

_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_size_t
# Entries of NumPy's table of C functions; their numbers are part of its ABI.
_SET_HANDLER, _GET_HANDLER = 304, 305
_HANDLER = b"mem_handler"  # the name of capsules that hold one

#: The types of the routines, which take a context first and are called with Python's lock held.
_TYPES: dict[str, Any] = {
    "malloc": ctypes.PYFUNCTYPE(_POINTER, _POINTER, _SIZE),
    "calloc": ctypes.PYFUNCTYPE(_POINTER, _POINTER, _SIZE, _SIZE),
    "realloc": ctypes.PYFUNCTYPE(_POINTER, _POINTER, _POINTER, _SIZE),
    "free": ctypes.PYFUNCTYPE(None, _POINTER, _POINTER, _SIZE),
}


class _Routines(ctypes.Structure):
    """`PyDataMemAllocator`."""

    _fields_ = (("context", _POINTER), *_TYPES.items())


class _Handler(ctypes.Structure):
    """`PyDataMem_Handler`."""

    _fields_ = (("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("routines", _Routines))


_pointer = ctypes.PYFUNCTYPE(_POINTER, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, _POINTER, ctypes.c_char_p, _POINTER)(
    ("PyCapsule_New", ctypes.pythonapi)
)


class Allocations:
    """The bytes that arrays took within a `with` block: of all of them, and the most held at once."""

    def __init__(self) -> None:
        self.total = self.peak = self._held = 0
        self._sizes: dict[int, int] = {}

    def __enter__(self) -> Allocations:
        module = importlib.import_module("numpy._core._multiarray_umath")
        functions = ctypes.cast(_pointer(module._ARRAY_API, None), ctypes.POINTER(_POINTER))
        self._set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(functions[_SET_HANDLER])
        self._before = ctypes.PYFUNCTYPE(ctypes.py_object)(functions[_GET_HANDLER])()
        numpys = _Handler.from_address(_pointer(self._before, _HANDLER)).routines
        self._own = _Routines.from_buffer_copy(numpys)
        counting = {name: kind(getattr(self, f"_{name}")) for name, kind in _TYPES.items()}
        self._handler = _Handler(b"counted", 1, _Routines(self._own.context, **counting))
        # An array that outlives the block finds its routines here, even while Python shuts down.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._handler))
        self._set(_capsule(ctypes.addressof(self._handler), _HANDLER, None))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._set(self._before)
        self._handler.routines = self._own  # frees what is left, without Python

    def _malloc(self, context: int | None, size: int) -> int | None:
        return self._noted(self._own.malloc(context, size), size)

    def _calloc(self, context: int | None, number: int, size: int) -> int | None:
        return self._noted(self._own.calloc(context, number, size), number * size)

    def _realloc(self, context: int | None, place: int | None, size: int) -> int | None:
        self._held -= self._sizes.pop(place or 0, 0)
        return self._noted(self._own.realloc(context, place, size), size)

    def _free(self, context: int | None, place: int | None, size: int) -> None:
        self._held -= self._sizes.pop(place or 0, 0)
        self._own.free(context, place, size)

    def _noted(self, place: int | None, size: int) -> int | None:
        if place:
            self._sizes[place] = size
            self.total += size
            self._held += size
            self.peak = max(self.peak, self._held)
        return place


#: What NumPy calls instead of its own routines: no part of what is counted.
CALLBACKS: frozenset[CodeType] = frozenset(
    getattr(Allocations, name).__code__ for name in (*(f"_{name}" for name in _TYPES), "_noted")
)
