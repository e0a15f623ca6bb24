"""Compiled functions are pure: with arrays of any memory, in any thread, on several cores, after a fork."""

from __future__ import annotations

import ctypes
import itertools
import math
import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from cogrid._native import calling, compiling
from cogrid._native.calling import KEPT, OutputMemory, caller, usable_cores
from cogrid._native.signature import Leaf, Signature
from tests.support import posix

#: out = in · table[0] + table[1] for three numbers, whether the sum is above 10, and nothing.
SOURCE = """
#include <stdint.h>
#ifdef _WIN32
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
void cogrid_scale(int64_t first, int64_t end, void *const *p)
{
    const int32_t *table = p[1];
    for (int64_t k = first; k < end; k++) {
        int32_t sum = 0;
        for (int j = 0; j < 3; j++) {
            const int32_t value = ((const int32_t *)p[0])[3 * k + j] * table[0] + table[1];
            ((int32_t *)p[3])[3 * k + j] = value;
            sum += value;
        }
        ((uint8_t *)p[4])[k] = sum > 10;
    }
}
"""
INT, BOOL = np.dtype(np.int32), np.dtype(bool)
SCALE = Signature(
    "scale",
    (Leaf((3,), INT, True), Leaf((2,), INT, False), Leaf((0, 2), INT, True)),
    (Leaf((3,), INT, True), Leaf((), BOOL, True), Leaf((0,), INT, True)),
)
TABLE = np.array([2, 1], np.int32)
SMALL, LARGE = 2, 40_000  # batches that are copied, and that are passed as they are
pytestmark = pytest.mark.skipif(
    not (compiling._system() or compiling._zig()), reason="there is no C compiler"
)
each_size = pytest.mark.parametrize("size", [SMALL, LARGE])


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return compiling.load(SOURCE, "scale")


def numbers(*batch: int) -> np.ndarray:
    return np.arange(3 * math.prod(batch), dtype=np.int32).reshape(*batch, 3) % 1000


def check(call, values: np.ndarray) -> list[np.ndarray]:
    """Call with these values, compare with NumPy, and return the results."""
    batch = values.shape[:-1]
    found = call([values, TABLE, np.zeros((*batch, 0, 2), np.int32)])
    scaled = values * 2 + 1
    wanted = [scaled, scaled.sum(-1) > 10, np.zeros((*batch, 0), np.int32)]
    for one, other in zip(found, wanted, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert np.array_equal(one, other)
    return found


@pytest.mark.parametrize("batch", [(), (1,), (0,), (2, 3), (LARGE,), (4, 3, 5000)])
def test_any_batch(library, batch) -> None:
    check(caller(library, SCALE)(batch), numbers(*batch))


@each_size
def test_what_was_returned_is_never_written_to_again(library, size) -> None:
    call = caller(library, SCALE)((size,))
    kept = [check(call, numbers(size) + shift) for shift in range(2 * KEPT)]
    for shift, (scaled, over, nothing) in enumerate(kept):
        assert np.array_equal(scaled, (numbers(size) + shift) * 2 + 1)
        assert all(one.flags.writeable for one in (scaled, over, nothing))
    arrays = [one for outputs in kept for one in outputs if one.size]
    assert not any(np.shares_memory(one, other) for one, other in itertools.combinations(arrays, 2))


HOLDS = {
    "array": lambda array: array,
    "view of a view": lambda array: np.asarray(array[2:5])[:, 1],
    "memoryview": memoryview,
    "memoryview of a part": lambda array: memoryview(array)[2:4],
    "buffer": lambda array: np.frombuffer(array, np.uint8),
    "base": lambda array: array.base,
    "iterator": lambda array: iter(array.flat),
    "generator": lambda array: (row for row in array),
    "function": lambda array: lambda: array,
    "ctypes": lambda array: np.ctypeslib.as_ctypes(array),
    "ctypes pointer": lambda array: array.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
    "DLPack": np.from_dlpack,
    "DLPack capsule": lambda array: array.__dlpack__(),
    "strides": lambda array: np.lib.stride_tricks.as_strided(array, (5,)),
    "entry": lambda array: array.view([(name, "i4") for name in "xyz"])[5],
    "masked": np.ma.asarray,
    "subclass": lambda array: array.view(np.recarray),
}


@pytest.mark.parametrize("hold", HOLDS.values(), ids=HOLDS)
def test_memory_is_used_again_only_when_nobody_can_see_it(hold) -> None:
    memory = OutputMemory([((1000, 3), INT), ((), BOOL)])

    def take() -> np.ndarray:
        (array, flag), addresses = memory.take()
        assert addresses == [array.ctypes.data, flag.ctypes.data]
        assert (array.shape, array.dtype, flag.shape, flag.dtype) == ((1000, 3), INT, (), BOOL)
        return array

    address = take().ctypes.data
    assert take().ctypes.data == address  # the first was dropped
    held = hold(take())
    assert take().ctypes.data != address
    del held
    assert take().ctypes.data == address
    all_held = [take() for _ in range(KEPT + 3)]
    assert len({array.ctypes.data for array in all_held}) == KEPT + 3


def test_a_call_in_the_middle_of_another_gets_other_memory(monkeypatch) -> None:
    """As in a signal handler, or in a fork while another thread was there."""
    memory, count = OutputMemory([((1000, 3), INT)]), calling._references
    address = memory.take()[1]
    inner: list[list[int]] = []

    def counted(places) -> int:
        found = count(places)
        monkeypatch.setattr(calling, "_references", count)
        inner.append(memory.take()[1])
        return found

    monkeypatch.setattr(calling, "_references", counted)
    assert memory.take()[1] == address
    assert inner != [address]
    assert len(inner) == 1


def test_without_a_global_lock_no_memory_is_used_again(monkeypatch) -> None:
    monkeypatch.setattr(calling, "UNUSED", 0)
    memory = OutputMemory([((1000, 3), INT)])
    bases = [memory.take()[0][0].base for _ in range(2 * KEPT)]
    assert len({id(base) for base in bases}) == 2 * KEPT


@each_size
@pytest.mark.parametrize("change", ["read-only", "every second", "Fortran", "unaligned"])
def test_any_memory_is_read_and_none_is_written(library, size, change) -> None:
    values = numbers(size)
    if change == "every second":
        values = numbers(2 * size)[::2]
    elif change == "Fortran":
        values = np.asfortranarray(values)
    elif change == "unaligned":
        memory = np.zeros(values.nbytes + 1, np.uint8)
        values = memory[1:].view(np.int32).reshape(values.shape)
        values[...] = numbers(size)
    values.flags.writeable = change != "read-only"
    before = values.copy()
    check(caller(library, SCALE)((size,)), values)
    assert np.array_equal(values, before)


@each_size
def test_threads_at_the_same_time(library, size) -> None:
    call, start = caller(library, SCALE, threads=2)((size,)), threading.Barrier(8)

    def many(shift: int) -> None:
        start.wait()
        for _ in range(50):
            check(call, numbers(size) + shift)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(many, range(8)))


def used(monkeypatch) -> list[str]:
    """The names of the threads that will run parts of a batch."""
    names: list[str] = []
    run = calling._run

    def noted(*values) -> None:
        names.append(threading.current_thread().name)
        run(*values)

    monkeypatch.setattr(calling, "_run", noted)
    monkeypatch.setattr(calling, "WORTH", 1)
    return names


@pytest.mark.parametrize(("threads", "others"), [(1, 0), (2, 1), (5, 4)])
def test_a_large_batch_is_shared_out(library, monkeypatch, threads, others) -> None:
    names = used(monkeypatch)
    call = caller(library, SCALE, threads)((LARGE,))
    for _ in range(calling.TRIALS):
        check(call, numbers(LARGE))
    assert names == []  # it was timed
    check(call, numbers(LARGE))
    assert len(names) == others
    assert all(name.startswith("cogrid") for name in names)


def test_a_batch_with_little_work_is_not_shared_out(library, monkeypatch) -> None:
    names = used(monkeypatch)
    monkeypatch.setattr(calling, "WORTH", 10**12)
    call = caller(library, SCALE, 2)((LARGE,))
    for _ in range(calling.TRIALS + 2):
        check(call, numbers(LARGE))
    assert names == []


def test_by_default_all_usable_cores_run(library, monkeypatch) -> None:
    names = used(monkeypatch)
    monkeypatch.setattr(calling, "usable_cores", lambda: 3)
    call = caller(library, SCALE)((LARGE,))
    for _ in range(calling.TRIALS + 1):
        check(call, numbers(LARGE))
    assert len(names) == 2


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no process to a core")
def test_usable_cores_are_those_of_the_process() -> None:
    before = os.sched_getaffinity(0)
    assert usable_cores() == len(before)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_cores() == 1
    finally:
        os.sched_setaffinity(0, before)


def _in_worker(connection) -> None:
    connection.send(usable_cores())


def in_fresh_process(function, *values) -> None:
    """Call a function of this module where no JAX runs, whose threads a fork may not have."""
    code = f"from tests._native import test_calling; test_calling.{function.__name__}(*{values!r})"
    # Python warns of forks of processes with threads, which is what these tests are about.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    run = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, encoding="utf-8"
    )
    assert run.returncode == 0, run.stderr


def start_worker(method: str) -> None:
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    worker = context.Process(target=_in_worker, args=(there,))
    worker.start()
    assert here.recv() == 1
    worker.join()
    assert worker.exitcode == 0


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_uses_one_core(method) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    in_fresh_process(start_worker, method)


def fork_after_calls(threads: int | None) -> None:
    names = used(pytest.MonkeyPatch())
    library = compiling.load(SOURCE, "scale")
    calls = [(caller(library, SCALE, threads)((size,)), numbers(size)) for size in (SMALL, LARGE)]
    for call, values in calls * (calling.TRIALS + 1):
        check(call, values)
    names.clear()
    child = os.fork()
    if not child:  # with threads of its own if it asked for them
        code = 1
        try:
            for call, values in calls:
                check(call, values)
            code = 0 if len(names) == (0 if threads is None else threads - 1) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    check(*calls[1])


@posix
@pytest.mark.parametrize("threads", [None, 2])
def test_a_fork_of_a_process_with_threads_goes_on(threads) -> None:
    in_fresh_process(fork_after_calls, threads)
