"""C is compiled once, kept in a private folder, and nothing is run that another user or a fault put there."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cogrid._native import compiling
from cogrid._native.compiling import (
    ENDING,
    FLAGS,
    UNFINISHED,
    CompileError,
    find_compiler,
    load,
    private_folder,
)
from tests.support import full_disk, posix

SOURCE = """
#include <stdint.h>
__attribute__((visibility("default"))) void cogrid_add(int64_t first, int64_t end, void *const *p)
{ for (int64_t k = first; k < end; k++) ((int32_t *)p[1])[k] = ((const int32_t *)p[0])[k] + MORE; }
"""
#: A compiler that waits, notes in a file that it ran, and calls the real one.
SLOW = """
import os, subprocess, sys, time
time.sleep(float(os.environ["SECONDS"]))
with open(os.environ["RUNS"], "a") as file:
    file.write("run\\n")
sys.exit(subprocess.call([*{real!r}, *sys.argv[1:]]))
"""
LOAD = "import sys; from cogrid._native.compiling import load; load(sys.argv[1], 'test')"
REAL = compiling._system() or compiling._zig()
pytestmark = pytest.mark.skipif(not REAL, reason="there is no C compiler")


def source(more: int) -> str:
    return SOURCE.replace("MORE", str(more))


def added(library: ctypes.CDLL) -> int:
    """What the library adds to 0."""
    given, result = ctypes.c_int32(0), ctypes.c_int32(-1)
    pointers = (ctypes.c_void_p * 2)(ctypes.addressof(given), ctypes.addressof(result))
    library.cogrid_add(ctypes.c_int64(0), ctypes.c_int64(1), pointers)
    return result.value


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The empty folder where libraries are kept; messages come at once if they come."""
    monkeypatch.setenv(compiling.CACHE, str(tmp_path / "cache"))
    monkeypatch.setenv(compiling.CHOICE, shlex.join(REAL))
    return private_folder()


@pytest.fixture
def runs(tmp_path, monkeypatch) -> Path:
    """A file with a line for every run of the compiler, which is the slow one."""
    script, log = tmp_path / "slow compilers" / f"{Path(REAL[0]).stem}.py", tmp_path / "runs"  # zig stays zig
    script.parent.mkdir()
    script.write_text(SLOW.format(real=REAL), encoding="utf-8")
    log.touch()
    monkeypatch.setenv(compiling.CHOICE, shlex.join([sys.executable, str(script)]))
    monkeypatch.setenv("RUNS", str(log))
    monkeypatch.setenv("SECONDS", "0")
    return log


def libraries(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{ENDING}"))


def entries(folder: Path) -> list[Path]:
    """All but the cache of zig, if that is the compiler."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith("zig-"))


def count(log: Path) -> int:
    return len(log.read_text("utf-8").splitlines())


def plant(folder: Path, more: int, instead: Path) -> Path:
    """Another whole library under the name by which `instead` is looked up."""
    load(source(more), "other")
    (other,) = folder.glob(f"other-*{ENDING}")
    stem, digest = instead.stem.rsplit("-", 1)[0], other.stem.rsplit("-", 1)[1]
    instead.unlink()
    return other.rename(folder / f"{stem}-{digest}{ENDING}")


def test_a_library_is_compiled_once_and_kept(folder, runs) -> None:
    assert added(load(source(3), "a b/c")) == 3
    (path,) = libraries(folder)
    assert path.name.startswith("a-b-c-")
    assert added(load(source(3), "a b/c")) == 3
    assert (count(runs), libraries(folder)) == (1, [path])
    assert entries(folder) == [path]  # no lock, nothing unfinished


def test_another_source_or_compiler_is_compiled(folder, runs, monkeypatch) -> None:
    load(source(3), "test")
    assert added(load(source(4), "test")) == 4
    monkeypatch.setattr(compiling, "FLAGS", (*compiling.FLAGS, "-O1"))
    load(source(3), "test")
    assert (count(runs), len(libraries(folder))) == (3, 3)


def test_a_compiler_that_was_updated_is_another_one(tmp_path, monkeypatch) -> None:
    program = shutil.copy(sys.executable, tmp_path / "compiler")
    monkeypatch.setenv(compiling.CHOICE, shlex.quote(str(program)))
    before = find_compiler()
    assert find_compiler() == before
    os.utime(program, (1, 1))
    assert find_compiler() != before


def test_products_and_sums_are_rounded_one_by_one(folder) -> None:
    library = load(
        '__attribute__((visibility("default")))\n'
        "float cogrid_f(float a, float b, float c) { return a * b + c; }",
        "test",
    )
    library.cogrid_f.argtypes, library.cogrid_f.restype = [ctypes.c_float] * 3, ctypes.c_float
    a = 1 + 2.0**-12  # a · a = 1 + 2⁻¹¹ + 2⁻²⁴, of which float32 keeps no 2⁻²⁴
    assert library.cogrid_f(a, a, -(1 + 2.0**-11)) == 0
    assert not {"-march=native", "-ffast-math", "-Ofast"} & {*find_compiler().command}


# What is in the folder


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: data[:-1] + b"x"]
)
def test_a_damaged_library_is_compiled_again(folder, runs, damage) -> None:
    load(source(3), "test")
    (path,) = libraries(folder)
    data = path.read_bytes()
    path.unlink()  # the process has mapped it
    path.write_bytes(damage(data))
    assert added(load(source(3), "test")) == 3
    assert (count(runs), libraries(folder), path.read_bytes()) == (2, [path], data)


def test_a_planted_library_would_run(folder) -> None:
    """Or the tests below would show nothing."""
    load(source(3), "test")
    plant(folder, 666, libraries(folder)[0])
    assert added(load(source(3), "test")) == 666


@posix
def test_a_library_that_another_user_wrote_is_not_run(folder, monkeypatch) -> None:
    load(source(3), "test")
    planted = plant(folder, 666, libraries(folder)[0])
    inode, fstat = planted.stat().st_ino, os.fstat

    def foreign(handle: int) -> os.stat_result:
        there = fstat(handle)
        return (
            there if there.st_ino != inode else os.stat_result((*there[:4], there.st_uid + 1, *there[5:10]))
        )

    monkeypatch.setattr(os, "fstat", foreign)
    assert added(load(source(3), "test")) == 3


@posix
@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_a_library_that_others_can_write_to_is_not_run(folder, mode) -> None:
    load(source(3), "test")
    plant(folder, 666, libraries(folder)[0]).chmod(mode)
    assert added(load(source(3), "test")) == 3


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_write_to_is_an_error(folder, mode) -> None:
    load(source(3), "test")
    folder.chmod(mode)
    with pytest.raises(CompileError, match=r"others can write to .*native, .* \(chmod 700\)"):
        load(source(3), "test")


@posix
def test_a_folder_of_another_user_is_an_error(folder, monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(CompileError, match="others can write to"):
        load(source(3), "test")


@posix
def test_the_folder_is_private_whatever_the_umask(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(compiling.CACHE, str(tmp_path / "other"))
    before = os.umask(0)
    try:
        load(source(3), "test")
        assert added(load(source(3), "test")) == 3
    finally:
        os.umask(before)
    assert private_folder().stat().st_mode & 0o777 == 0o700
    assert libraries(private_folder())[0].stat().st_mode & 0o777 == 0o700


def test_beyond_the_limit_the_libraries_unused_for_longest_go(folder, monkeypatch) -> None:
    for more in range(3):
        load(source(more), f"test{more}")
    for age, path in enumerate(libraries(folder)):  # test0 was used last
        os.truncate(path, path.stat().st_size if age == 0 else 2**30)
        os.utime(path, (1000 - age, 1000 - age))
    monkeypatch.setattr(compiling, "LIMIT", 2**30 + 2**29)
    load(source(3), "test3")
    assert [path.name[:5] for path in libraries(folder)] == ["test0", "test1", "test3"]
    os.truncate(libraries(folder)[2], 2**31)
    load(source(4), "test4")
    assert [path.name[:5] for path in libraries(folder)] == ["test4"]


def test_a_library_larger_than_the_limit_stays(folder, monkeypatch) -> None:
    monkeypatch.setattr(compiling, "LIMIT", 1)
    assert added(load(source(3), "test")) == 3
    assert len(libraries(folder)) == 1


def test_a_folder_that_can_only_be_read_is_enough_for_what_is_kept(folder, runs, monkeypatch) -> None:
    load(source(3), "test")
    monkeypatch.setattr(os, "utime", raising(errno.EROFS))
    folder.chmod(0o500)
    try:
        assert added(load(source(3), "test")) == 3
    finally:
        folder.chmod(0o700)
    assert count(runs) == 1


# Faults


def raising(number: int):
    def fails(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fails


def test_two_processes_compile_once(folder, runs, monkeypatch) -> None:
    monkeypatch.setenv("SECONDS", "0.5")
    both = [subprocess.Popen([sys.executable, "-c", LOAD, source(3)]) for _ in range(2)]
    assert [one.wait(600) for one in both] == [0, 0]
    assert (count(runs), len(entries(folder))) == (1, 1)


@posix
def test_a_kill_while_compiling_leaves_nothing_that_matters(folder, runs, monkeypatch) -> None:
    monkeypatch.setenv("SECONDS", "600")
    process = subprocess.Popen([sys.executable, "-c", LOAD, source(3)], start_new_session=True)
    while not list(folder.glob(f"{UNFINISHED}*/source.c")):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)  # the compiler too
    process.wait()
    left = {path.name for path in entries(folder)}
    assert any(name.startswith(UNFINISHED) for name in left)
    monkeypatch.setenv("SECONDS", "0")
    assert added(load(source(3), "test")) == 3  # its lock does not hold others
    for path in folder.glob(f"{UNFINISHED}*"):
        os.utime(path, (1, 1))
    assert added(load(source(4), "test")) == 4
    assert entries(folder) == libraries(folder)


def test_an_interrupt_leaves_nothing(folder, monkeypatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load(source(3), "test")
    assert entries(folder) == []


@posix
def test_a_full_disk_is_one_sentence_and_leaves_nothing(folder) -> None:
    with (
        full_disk(64),
        pytest.raises(CompileError, match=r"kept in .*too large.*: set .* with space on its disk\.$"),
    ):
        load(source(3), "test")
    assert entries(folder) == []
    assert added(load(source(3), "test")) == 3


def test_a_compiler_that_fails_is_quoted(folder, tmp_path, monkeypatch) -> None:
    script = tmp_path / "fails.py"
    script.write_text(
        "print('note: x'); print('a.c:1: error: No space left on device'); raise SystemExit(3)", "utf-8"
    )
    monkeypatch.setenv(compiling.CHOICE, shlex.join([sys.executable, str(script)]))
    with pytest.raises(
        CompileError, match=r"could not compile test \(exit code 3: a.c:1: error: No space left on"
    ):
        load(source(3), "test")
    assert entries(folder) == []


def test_a_compiler_that_writes_nothing_has_failed(folder, monkeypatch) -> None:
    monkeypatch.setenv(compiling.CHOICE, shlex.join([sys.executable, "-c", "pass"]))
    with pytest.raises(CompileError, match=r"\(exit code 0: it said nothing\)"):
        load(source(3), "test")


@posix
def test_a_compiler_that_cannot_be_run_is_named(folder, tmp_path, monkeypatch) -> None:
    program = tmp_path / "compiler"
    program.write_text("no program", "utf-8")
    program.chmod(0o700)
    monkeypatch.setenv(compiling.CHOICE, str(program))
    with pytest.raises(CompileError, match=r"compiler could not compile test \(Exec format error\)"):
        load(source(3), "test")


def test_a_folder_from_which_nothing_may_run_is_named(folder, monkeypatch) -> None:
    def refused(path: str) -> None:
        raise OSError(f"{path}: failed to map segment from shared object")

    monkeypatch.setattr(ctypes, "CDLL", refused)
    with pytest.raises(CompileError, match=f"failed to map segment.*set {compiling.CACHE} to one from which"):
        load(source(3), "test")


def test_a_folder_that_cannot_be_made_is_named(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(compiling.CACHE, str(tmp_path / "file"))
    with pytest.raises(CompileError, match=r"cannot be kept in .*file.*: set .* to a folder of your own"):
        load(source(3), "test")


def test_without_a_home_the_variable_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv(compiling.CACHE, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as Python does where there is none
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CompileError, match=f"there is no home folder .*: set {compiling.CACHE}"):
        private_folder()
    assert list(tmp_path.iterdir()) == []


# Compilers


def test_without_a_compiler_everybody_hears_what_helps(monkeypatch) -> None:
    monkeypatch.delenv(compiling.CHOICE, raising=False)
    monkeypatch.setattr(compiling, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        CompileError, match=r"needs a C compiler, .*: install gcc or clang, or run pip install .*native\]"
    ):
        find_compiler()


@pytest.mark.parametrize("choice", ["no-such-compiler -m64", "gcc 'unclosed", "'' gcc", "/", "no such/gcc"])
def test_a_choice_that_is_no_program_is_an_error(choice, monkeypatch) -> None:
    monkeypatch.setenv(compiling.CHOICE, choice)
    with pytest.raises(CompileError, match=f"^COGRID_CC={re.escape(repr(choice))} names no program"):
        find_compiler()


def test_the_path_of_a_choice_may_have_spaces(tmp_path, monkeypatch) -> None:
    program = tmp_path / "my tools" / "my cc.exe"
    program.parent.mkdir()
    shutil.copy(sys.executable, program)
    monkeypatch.setenv(compiling.CHOICE, str(program))
    assert find_compiler().command[:2] == (str(program), FLAGS[0])
    monkeypatch.setenv(compiling.CHOICE, f'"{program}" -m64')
    assert find_compiler().command[:3] == (str(program), "-m64", FLAGS[0])


def test_the_choice_goes_before_zig_and_zig_before_the_system(tmp_path, monkeypatch) -> None:
    program = tmp_path / "ziglang" / ("zig.exe" if os.name == "nt" else "zig")
    program.parent.mkdir()
    (program.parent / "__init__.py").touch()
    shutil.copy(sys.executable, program)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ziglang", raising=False)
    monkeypatch.delenv(compiling.CHOICE, raising=False)
    found = find_compiler()
    assert (found.command[:2], found.is_zig) == ((str(program), "cc"), True)
    assert "-mcpu=baseline" in found.command
    monkeypatch.setenv(compiling.CHOICE, shlex.join([*REAL, "-m64"]))
    assert find_compiler().command[: len(REAL) + 1] == (*REAL, "-m64")
    monkeypatch.delenv(compiling.CHOICE)
    program.unlink()  # half of the package is gone
    monkeypatch.setattr(shutil, "which", lambda name, path=None: sys.executable if name == "gcc" else None)
    found = find_compiler()
    assert (found.command[0], found.is_zig) == (sys.executable, False)


@posix
def test_zig_keeps_its_own_cache_in_the_folder(folder, tmp_path, monkeypatch) -> None:
    zig = tmp_path / "zig"
    zig.write_text(
        '#!/bin/sh\ntouch "$ZIG_GLOBAL_CACHE_DIR/a" "$ZIG_LOCAL_CACHE_DIR/b" && '
        f"exec {shlex.join(REAL)} $(echo $* | sed s/-mcpu=baseline//)\n",
        "utf-8",
    )
    zig.chmod(0o700)
    monkeypatch.setenv(compiling.CHOICE, str(zig))
    assert added(load(source(3), "test")) == 3
    (cache,) = folder.glob("zig-*")
    assert (cache / "a").exists()
    assert entries(folder) == libraries(folder) != []


# Messages


def test_what_takes_long_is_announced(folder, runs, monkeypatch, capfd) -> None:
    load(source(3), "test")
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(compiling, "PATIENCE", 0.05)
    monkeypatch.setenv("SECONDS", "0.5")
    load(source(4), "kitchen")
    assert capfd.readouterr().err.startswith("compiling kitchen with ")
    load(source(4), "kitchen")
    assert capfd.readouterr().err == ""
