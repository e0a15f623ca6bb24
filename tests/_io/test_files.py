"""Files are written whole or not at all, and what a path leads to stays what it is."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cogrid._io import files
from cogrid.render.film import Film
from cogrid.replay.episode import play
from cogrid.replay.recording import record
from tests.episodes import shared
from tests.support import full_disk, posix, with_dev_full

ROOM = "Overcooked-CrampedRoom-V0"
BEFORE, LIMIT = b"before", 64


def save_film(path: Path) -> None:
    env = shared(ROOM, "numpy")
    episode = play(env, "random", 0, 3, 1)
    Film(env.rules, episode.states, episode.scores, 8).save(path)


def save_replay(path: Path) -> None:
    record(shared(ROOM, "numpy"), [[0, 0]] * 5, 0).save(path)


def save_bytes(path: Path) -> None:
    files.write(path, bytes(LIMIT + 1))


WRITERS: dict[str, Callable[[Path], None]] = {
    "a.gif": save_film,
    "a.apng": save_film,
    "a.png": save_film,
    "a.json": save_replay,
    "a.json.gz": save_replay,
    "a.bin": save_bytes,
}
each_writer = pytest.mark.parametrize(("name", "save"), WRITERS.items(), ids=WRITERS)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_lock_is_held_once_and_leaves_nothing(tmp_path) -> None:
    path = tmp_path / "lock"
    with files.locked(path), pytest.raises(BlockingIOError), files.locked(path):
        pass
    assert not path.exists()
    with files.locked(path):
        assert path.exists()


def test_a_lock_ends_with_its_process(tmp_path) -> None:
    path = tmp_path / "lock"
    program = (
        "import sys\nfrom cogrid._io import files\nwith files.locked(sys.argv[1]): print(flush=True), input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline()
        with pytest.raises(BlockingIOError), files.locked(path):
            pass
        holder.kill()
        holder.wait()
    assert path.exists()
    with files.locked(path):
        pass


def test_a_lock_file_that_was_removed_meanwhile_locks_nothing(tmp_path, monkeypatch) -> None:
    """Its holder may remove it after another process has opened it."""
    path, opened = tmp_path / "lock", []

    def claimed(path) -> int:
        opened.append(claim(path))
        if len(opened) == 1:
            os.unlink(path)
        return opened[-1]

    claim = files._claimed
    monkeypatch.setattr(files, "_claimed", claimed)
    with files.locked(path), pytest.raises(BlockingIOError), files.locked(path):
        pass
    assert len(opened) == 2


@each_writer
def test_a_full_disk_leaves_the_old_file(name, save, tmp_path) -> None:
    path = tmp_path / name
    path.write_bytes(BEFORE)
    with full_disk(LIMIT), pytest.raises(OSError, match="File too large") as caught:
        save(path)
    assert str(caught.value) == f"[Errno {errno.EFBIG}] File too large: {str(path)!r}"
    assert path.read_bytes() == BEFORE
    assert os.listdir(tmp_path) == [name]
    save(path)  # the limit was what failed
    assert len(path.read_bytes()) > LIMIT


@posix
@each_writer
def test_modes_and_links_stay(name, save, tmp_path) -> None:
    real, link = tmp_path / "real", tmp_path / name
    real.write_bytes(BEFORE)
    real.chmod(0o646)
    link.symlink_to("real")
    save(link)
    assert (os.readlink(link), mode(real)) == ("real", 0o646)
    assert real.read_bytes() != BEFORE
    assert sorted(os.listdir(tmp_path)) == sorted([name, "real"])


@with_dev_full
@each_writer
def test_a_device_stays_and_says_that_it_is_full(name, save, tmp_path) -> None:
    path = tmp_path / name
    path.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught:
        save(path)
    assert caught.value.filename == str(path)
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    assert path.is_symlink()
    path.unlink()
    path.symlink_to("/dev/null")
    save(path)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert os.listdir(tmp_path) == [name]


@posix
@each_writer
def test_a_pipe_gets_all_of_it(name, save, tmp_path) -> None:
    path, plain, read = tmp_path / name, tmp_path / f"plain-{name}", []
    save(plain)
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    save(path)
    assert stat.S_ISFIFO(path.stat().st_mode)
    reader.join()
    assert read == [plain.read_bytes()]


@posix
def test_a_new_file_has_the_mode_that_others_have(tmp_path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    files.write(tmp_path / "ours", "text — as UTF-8")
    assert mode(tmp_path / "ours") == mode(tmp_path / "plain")
    assert (tmp_path / "ours").read_text(encoding="utf-8") == "text — as UTF-8"


@posix
def test_a_private_file_is_never_readable_by_others(tmp_path) -> None:
    path = tmp_path / "secret"
    path.touch(0o600)
    with files.replacing(path) as file:
        file.write(b"password")
        (beside,) = (one for one in tmp_path.iterdir() if one != path)
        assert mode(beside) == 0o600
    assert mode(path) == 0o600


def test_what_fails_or_is_stopped_leaves_nothing(tmp_path) -> None:
    path = tmp_path / "a"
    path.write_bytes(BEFORE)

    def fail(error: BaseException) -> None:
        with files.replacing(path) as file:
            file.write(b"half")
            assert len(os.listdir(tmp_path)) == 2
            raise error

    for error in (KeyboardInterrupt(), SystemExit(3), ValueError("mine"), OSError("no number")):
        with pytest.raises(type(error)) as caught:
            fail(error)
        assert caught.value is error
    foreign = FileNotFoundError(errno.ENOENT, "of another file", "another")
    with pytest.raises(FileNotFoundError, match="of another file: 'another'"):
        fail(foreign)
    assert path.read_bytes() == BEFORE
    assert os.listdir(tmp_path) == ["a"]


def test_writers_at_once_do_not_share_a_temporary_file(tmp_path) -> None:
    path = tmp_path / "a"
    with files.replacing(path) as one, files.replacing(path) as other:
        one.write(b"one")
        other.write(b"other")
        assert len(os.listdir(tmp_path)) == 2
    assert path.read_bytes() == b"one"  # the last to end
    assert os.listdir(tmp_path) == ["a"]


@posix
def test_a_link_that_leads_nowhere_gets_its_file(tmp_path) -> None:
    (tmp_path / "link").symlink_to("later")
    files.write(tmp_path / "link", b"new")
    assert (tmp_path / "later").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_a_long_name_is_no_obstacle(tmp_path) -> None:
    path = tmp_path / ("ü" * 125 + ".json")  # 255 bytes, all that a name can have
    files.write(path, b"new")
    assert path.read_bytes() == b"new"


@posix
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("none/a", FileNotFoundError),
        (".", IsADirectoryError),
        ("file/a", NotADirectoryError),
        ("loop", OSError),
    ],
)
def test_impossible_places_are_named(path, kind, tmp_path) -> None:
    (tmp_path / "file").write_bytes(BEFORE)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(kind) as caught:
        files.write(tmp_path / path, b"new")
    assert caught.value.filename == str(tmp_path / path)
    assert sorted(os.listdir(tmp_path)) == ["file", "loop"]


AS_NOBODY = """
import os, sys
from cogrid._io import files
if os.getuid() == 0:
    os.setuid(65534)
try:
    files.write(sys.argv[1], b"new")
except PermissionError as error:
    sys.exit(f"refused: {error.filename}")
"""


@posix
def test_a_read_only_file_is_refused_although_its_folder_is_not() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are for one user
        os.chmod(folder, 0o777)
        path = Path(folder, "a")
        path.write_bytes(BEFORE)
        path.chmod(0o444)
        command = [sys.executable, "-c", AS_NOBODY, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
        assert (done.returncode, done.stderr) == (1, f"refused: {path}\n")
        assert path.read_bytes() == BEFORE


KILLED = """
import os, signal, sys
from cogrid._io import files
with files.replacing(sys.argv[1]) as file:
    file.write(b"half" * 100_000)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
def test_a_kill_leaves_the_old_file(tmp_path) -> None:
    path = tmp_path / "a"
    path.write_bytes(BEFORE)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == BEFORE


def test_a_file_is_on_the_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And then the folder, so that the name is there after a power failure too."""
    happened: list[str] = []
    synced, replaced = os.fsync, os.replace

    def fsync(handle: int) -> None:
        happened.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        synced(handle)

    def replace(old: str, new: str) -> None:
        happened.append("rename")
        replaced(old, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    for save in (save_bytes, save_replay, save_film):
        happened.clear()
        save(tmp_path / "a.gif")
        assert happened == ["file", "rename", "folder"], save.__name__
