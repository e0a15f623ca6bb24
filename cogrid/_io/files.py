"""Files: names, locks, and atomic writes that replace the old file only when the new one is on disk."""

from __future__ import annotations

import contextlib
import io
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from typing import IO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def write(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Write bytes, or text as UTF-8, atomically; see `replacing`."""
    with replacing(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def plain_name(text: str) -> str:
    """Text as part of a file's name on every system, without folders."""
    return re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII).strip("-.")[:80]


def sentence(error: OSError) -> str:
    """The file and the system's error message, as one sentence."""
    where = "" if error.filename is None else f"{error.filename}: "
    return f"{where}{error.strerror or error}".rstrip(".") + "."


@contextlib.contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a lock file; raises a BlockingIOError if another process holds it.

    The system drops the lock of a process that was killed; what remains of the file then locks nothing.
    """
    handle = _claimed(path)
    while (there := _stat(path)) is None or not os.path.samestat(os.fstat(handle), there):
        os.close(handle)  # its holder removed the file between our opening and locking it
        handle = _claimed(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows removes no open file
            os.unlink(path)
        os.close(handle)


def _claimed(path: str | os.PathLike[str]) -> int:
    """The file, opened and locked."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # the second is Windows'
        os.close(handle)
        raise BlockingIOError(None, "another process has the lock", os.fspath(path)) from None
    except OSError:
        pass  # a file system without locks, on which a run is still better than none
    return handle


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to, which replaces `path` when the `with` block ends.

    If the block or the disk fails, an old file stays as it is, and no temporary file is left behind. The new
    file has the mode of the old one. A symbolic link is followed and stays a link; a device or a pipe is
    written to, never replaced. Errors of the disk name `path`.
    """
    old, target = _stat(path), os.path.realpath(path)
    folder, name = os.path.split(target)
    beside = os.path.join(folder, f".{name[:40]}.{secrets.token_hex(8)}.part")
    whole = old is None or stat.S_ISREG(old.st_mode)
    try:
        with _renamed(beside, target, old) if whole else _device(path) as file:
            yield file
    except OSError as error:
        # The error of a full disk names no file, and a temporary name would not help.
        if error.errno is not None and error.filename in (None, beside, target):
            why = error.strerror if os.path.isdir(folder) else f"there is no folder {folder}"
            raise OSError(error.errno, why, os.fspath(path)) from None
        raise


def _stat(path: str | os.PathLike[str]) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _renamed(beside: str, target: str, old: os.stat_result | None) -> Iterator[IO[bytes]]:
    mode = 0o666 if old is None else old.st_mode & 0o777
    if old is not None:
        os.close(os.open(target, os.O_WRONLY))  # raises for a read-only file, which a rename would replace
    try:
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            if old is not None:
                os.chmod(beside, mode)  # whatever the umask
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
    _sync(os.path.dirname(target))


@contextlib.contextmanager
def _device(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Buffered in memory, since a writer may seek."""
    whole = io.BytesIO()
    with open(path, "wb") as device:
        yield whole
        device.write(whole.getbuffer())


def _sync(folder: str) -> None:
    """Flush the rename to disk, if the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
