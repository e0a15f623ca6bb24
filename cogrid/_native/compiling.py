"""Compiling C at first use: which compiler, and the private folder where libraries are kept."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from cogrid._io import files
from cogrid._io.installed import remedy

WINDOWS = os.name == "nt"
CHOICE = "COGRID_CC"  # the variable that names a compiler
CACHE = "LOCALAPPDATA" if WINDOWS else "XDG_CACHE_HOME"  # and the one that names the folder of caches
USUAL = "~/AppData/Local" if WINDOWS else "~/.cache"
ENDING = ".dll" if WINDOWS else ".so"
UNFINISHED = "compiling-"  # folders in which a compiler is at work
LIMIT = 500 * 2**20  # bytes in the folder
PATIENCE, ABANDONED = 2.0, 3600.0  # seconds until a message; until what a killed process left is removed

# Not for this very processor: homes are shared between machines, and -march=native made nothing faster.
# Results equal NumPy's bit for bit: a·b+c is two operations, and integers wrap.
FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fwrapv", "-fvisibility=hidden", "-shared")
POSITION = () if WINDOWS else ("-fPIC",)
# zig compiles for this very processor unless told otherwise, and keeps paths unless stripped. Its runtime
# takes seconds to make, and nothing needs it but memcpy on Windows.
ZIG = ("-mcpu=baseline", "-s", *(() if WINDOWS else ("-nostdlib", "-lc")))


class CompileError(OSError):
    """A program cannot be compiled, kept or loaded here; the message says what helps."""


class Compiler(NamedTuple):
    """A C compiler that takes the options of gcc and clang."""

    command: tuple[str, ...]  # with all options
    version: tuple[object, ...]  # changes when the program does
    is_zig: bool


def load(source: str, name: str) -> ctypes.CDLL:
    """The library of a C source, kept from an earlier time or compiled now; messages use the name."""
    compiler = find_compiler()
    path = library(source, name, compiler, private_folder())
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise CompileError(
            f"{path} was compiled and cannot be loaded ({error}): if programs may not run from that folder, "
            f"set {CACHE} to one from which they may."
        ) from None


def find_compiler() -> Compiler:
    """The compiler of COGRID_CC, else zig where its package is installed, else the system's."""
    words = _chosen() or _zig() or _system()
    if not words:
        raise CompileError(
            "backend 'native' needs a C compiler, and there is none: install gcc or clang, or "
            f"{remedy('native')}, which brings one."
        )
    is_zig = any(Path(word).stem in ("zig", "ziglang") for word in words)
    program = os.stat(words[0])
    version = (os.path.realpath(words[0]), program.st_size, program.st_mtime_ns)
    return Compiler((*words, *FLAGS, *POSITION, *(ZIG if is_zig else ())), version, is_zig)


def _chosen() -> list[str]:
    choice = os.environ.get(CHOICE, "")
    try:
        words = [choice] if shutil.which(choice) else shlex.split(choice, posix=not WINDOWS)
    except ValueError:  # a quotation mark that is not closed
        words = [choice]
    if not words:
        return []
    program = shutil.which(words[0].strip('"') if WINDOWS else words[0])
    if program is None:
        raise CompileError(
            f"{CHOICE}={choice!r} names no program: set it to a C compiler, such as gcc, "
            "with its path in quotation marks if it has spaces."
        )
    return [os.path.abspath(program), *words[1:]]


def _zig() -> list[str]:
    spec = find_spec("ziglang")
    for folder in (spec and spec.submodule_search_locations) or ():
        if program := shutil.which("zig", path=folder):
            return [program, "cc"]
    return []


def _system() -> list[str]:
    found = filter(None, map(shutil.which, ("cc", "gcc", "clang")))
    return [os.path.abspath(program) for program in found][:1]


# The folder


def private_folder() -> Path:
    """Where libraries are kept: a folder of the user's own that nobody else can write to."""
    chosen = os.environ.get(CACHE, "")
    home = chosen if os.path.isabs(chosen) else os.path.expanduser(USUAL)
    folder = Path(home, "cogrid", "native")
    with _disk(folder):
        if not os.path.isabs(folder):
            raise CompileError(
                f"there is no home folder to keep compiled programs in: set {CACHE} to a folder."
            )
        os.makedirs(folder.parent, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        if not _is_own(os.stat(folder)):
            raise CompileError(
                f"others can write to {folder}, so no program is run from it: "
                f"make it your own (chmod 700), remove it, or set {CACHE} to another folder."
            )
    return folder


def _is_own(entry: os.stat_result) -> bool:
    """Whether only this user can have written it; on Windows, the folder of applications is private."""
    if sys.platform == "win32":
        return True
    return entry.st_uid == os.geteuid() and not entry.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@contextlib.contextmanager
def _disk(folder: Path) -> Iterator[None]:
    """Errors of the system as one sentence that says what helps."""
    try:
        yield
    except CompileError:
        raise
    except OSError as error:
        raise CompileError(
            f"compiled programs cannot be kept in {folder} ({error.strerror or error}): "
            f"set {CACHE} to a folder of your own with space on its disk."
        ) from None


def library(source: str, name: str, compiler: Compiler, folder: Path) -> Path:
    """The file of the compiled source. It is named by what it is made of and by its own digest."""
    made_of = (source, compiler, sysconfig.get_platform(), sys.maxsize)
    stem = f"{files.plain_name(name)}-{_digest(repr(made_of).encode())}"
    with _disk(folder):
        if found := _kept(folder, stem):
            return found
        with _patience(f"compiling {name} with {compiler.command[0]}; the result is kept in {folder}"):
            while True:
                with contextlib.suppress(BlockingIOError), files.locked(folder / f"{stem}.lock"):
                    return _kept(folder, stem) or _compiled(source, name, compiler, folder, stem)
                time.sleep(0.05)  # another process compiles it


def _kept(folder: Path, stem: str) -> Path | None:
    """The library, if the folder has a whole one that this user has written."""
    for path in folder.glob(f"{stem}-*{ENDING}"):
        with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
            if _is_own(os.fstat(file.fileno())) and path.stem == f"{stem}-{_digest(file.read())}":
                with contextlib.suppress(OSError):  # a folder that is only read
                    os.utime(path)
                return path
    return None


def _compiled(source: str, name: str, compiler: Compiler, folder: Path, stem: str) -> Path:
    """Compile in a folder beside, and move the library to its place when it is whole."""
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=folder, ignore_cleanup_errors=True) as here:
        result = Path(here, f"library{ENDING}")
        Path(here, "source.c").write_text(source, encoding="utf-8")
        _run(compiler, name, here)
        os.chmod(result, 0o700)  # whatever the umask
        path = folder / f"{stem}-{_digest(result.read_bytes())}{ENDING}"
        os.replace(result, path)
    _tidy(folder, path)
    return path


def _run(compiler: Compiler, name: str, here: str) -> None:
    zig = Path(here).parent / f"zig-{_digest(repr(compiler.version).encode())}"
    if compiler.is_zig:  # its own cache; its age is that of its last use
        os.makedirs(zig, exist_ok=True)
        os.utime(zig)
    folders = {"TMPDIR": here, "ZIG_LOCAL_CACHE_DIR": here, "ZIG_GLOBAL_CACHE_DIR": str(zig)}
    try:
        done = subprocess.run(
            [*compiler.command, "-o", f"library{ENDING}", "source.c"],
            cwd=here,
            env=os.environ | folders,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise _failed(compiler, name, str(error.strerror or error)) from None
    if done.returncode or not Path(here, f"library{ENDING}").is_file():
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        bad = [line for line in lines if "error" in line.lower() or "failed" in line]
        said = bad or lines[-1:] or ["it said nothing"]
        raise _failed(compiler, name, f"exit code {done.returncode}: {said[0][:300]}")


def _failed(compiler: Compiler, name: str, why: str) -> CompileError:
    return CompileError(
        f"{compiler.command[0]} could not compile {name} ({why}): "
        f"name another compiler by {CHOICE}, or {remedy('native')}, which brings one."
    )


@contextlib.contextmanager
def _patience(message: str) -> Iterator[None]:
    """Print the message if this takes long."""
    timer = threading.Timer(PATIENCE, lambda: print(message, file=sys.stderr))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tidy(folder: Path, new: Path) -> None:
    """Remove what killed processes left, and beyond the limit what was not used for longest."""
    now = time.time()
    entries = []
    for path in folder.iterdir():
        with contextlib.suppress(OSError):  # another process tidies as well
            used = path.stat().st_mtime
            if path.name.startswith(UNFINISHED) or path.suffix == ".lock":
                if now - used > ABANDONED:
                    _remove(path)
            elif path != new:
                entries.append((used, path, _size(path)))
    total = _size(new) + sum(size for _, _, size in entries)
    for _, path, size in sorted(entries):
        if total > LIMIT:
            _remove(path)
            total -= size


def _size(path: Path) -> int:
    return sum(one.stat().st_size for one in ([path] if path.is_file() else path.rglob("*")))


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):  # Windows removes no library that is in use
            path.unlink()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
