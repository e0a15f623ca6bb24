"""Processes that die, never come or do not fit together; and what is left on the disk."""

from __future__ import annotations

import os
import re
import signal
import socket

import pytest

from cogrid import distributed
from tests.distributed import games
from tests.distributed.support import alone, assert_same, free_port, processes

pytestmark = pytest.mark.xdist_group("faults")


def told(output: str) -> str:
    """The one sentence of ours; threads of JAX may write before it and after it."""
    (sentence,) = (line for line in output.splitlines() if line.startswith("cogrid: "))
    return sentence


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_process_ends_the_other_and_the_restart_has_the_same_end(tmp_path, victim) -> None:
    (tmp_path / "victim").write_text(str(victim), encoding="utf-8")
    ends = processes("killed", tmp_path)
    assert ends[victim].code == -signal.SIGKILL
    survivor = ends[1 - victim]
    assert survivor.code == distributed.DIED, survivor.output
    said = told(survivor.output)
    assert said.startswith(f"cogrid: process {victim} died")
    assert said.endswith(f", so process {1 - victim} ends too.")
    saves = tmp_path / "saves"
    assert any(name.isdigit() for name in os.listdir(saves))
    assert str(games.STEPS) not in os.listdir(saves)
    again = games.play("uneven", checkpoint=saves, checkpoint_every=games.EVERY, devices=3)
    assert_same(again, alone("uneven"))


def test_a_process_that_raises_ends_the_other_too(tmp_path) -> None:
    other, failed = processes("raises", tmp_path)
    assert (other.code, failed.code) == (distributed.DIED, 1), other.output + failed.output
    assert failed.output.endswith("ValueError: one's own mistake\n")
    assert told(other.output) == "cogrid: process 1 died, so process 0 ends too."


@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_leaves_by_sys_exit_ends_the_other(tmp_path, victim) -> None:
    (tmp_path / "victim").write_text(str(victim), encoding="utf-8")
    ends = processes("left", tmp_path)
    assert ends[victim].code == 3, ends[victim].output
    said = told(ends[victim].output)
    assert said == f"cogrid: not all processes ended within 5 s, so process {victim} ends alone."
    other = ends[1 - victim]
    assert other.code == distributed.DIED, other.output
    assert told(other.output).startswith(f"cogrid: process {victim} died")


@pytest.mark.parametrize("victim", [0, 1])
def test_the_sentence_comes_before_the_abort_also_on_a_machine_that_is_overloaded(tmp_path, victim) -> None:
    """JAX aborts the process at the moment in which the watch hears of it, and here that one takes long."""
    (tmp_path / "victim").write_text(str(victim), encoding="utf-8")
    (tmp_path / "delay").write_text("9", encoding="utf-8")
    other = processes("left", tmp_path)[1 - victim]
    assert other.code == distributed.DIED, other.output
    # A machine that is overloaded indeed may let the failed collective speak first, which knows no name.
    assert re.match(rf"cogrid: (process {victim}|another process) died", told(other.output))


@pytest.mark.parametrize(
    ("victim", "who"), [(0, "process 0 died or cannot be reached"), (1, "another process died")]
)
def test_the_abort_speaks_where_the_watch_does_not_hear(tmp_path, victim, who) -> None:
    """JAX's thread may abort before it passes on who is gone."""
    (tmp_path / "victim").write_text(str(victim), encoding="utf-8")
    (tmp_path / "deaf").touch()
    other = processes("left", tmp_path)[1 - victim]
    assert other.code == distributed.DIED, other.output
    assert told(other.output) == f"cogrid: {who}, so process {1 - victim} ends too."


@pytest.mark.parametrize("victim", [0, 1])
def test_the_failed_collective_speaks_where_neither_watch_nor_abort_does(tmp_path, victim) -> None:
    """As on a machine so overloaded that JAX hears of the death only later."""
    (tmp_path / "victim").write_text(str(victim), encoding="utf-8")
    for name in ("deaf", "late"):
        (tmp_path / name).touch()
    other = processes("left", tmp_path)[1 - victim]
    assert other.code == distributed.DIED, other.output
    # The loss of process 0 may be heard of by two ways at once.
    who = r"process 0 died or cannot be reached|another process died or cannot be reached"
    assert re.fullmatch(rf"cogrid: ({who}), so process {1 - victim} ends too\.", told(other.output))


def test_nobody_else_comes(tmp_path) -> None:
    for process in (0, 1):
        (tmp_path / f"port{process}").write_text(str(free_port()), encoding="utf-8")
    first, second = processes("alone", tmp_path)
    for end in (first, second):
        assert end.code == 0, end.output
        assert "RuntimeError: no cluster was found: give address=" in end.output
    assert "TimeoutError: not all of the 2 processes joined within 2 s" in first.output
    assert "TimeoutError: process 0 was not at localhost:" in second.output


def test_another_version(tmp_path) -> None:
    for end in processes("other", tmp_path):
        assert end.code == 0, end.output
        assert "ValueError: start: process 1 has cogrid=0.0.9 and process 0 has cogrid=" in end.output


def test_the_port_is_taken() -> None:
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(RuntimeError, match=rf"^port {port} of 'localhost:{port}' is taken: .*\.$"):
            distributed.start(f"localhost:{port}", 2, 0)
