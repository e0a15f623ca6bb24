"""Starting several processes: what is refused before anybody is waited for."""

from __future__ import annotations

import _thread
import errno
import os
import socket
import threading

import pytest

from cogrid import distributed
from tests.support import HAS_JAX


@pytest.mark.skipif(not HAS_JAX, reason="needs JAX")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"address": "here"}, "num_processes= is missing"),
        ({"address": "here", "num_processes": 2, "process_id": 0}, "address='here' is not of the form"),
        ({"address": "here:1", "num_processes": 2, "process_id": 2}, "process_id=2 must be below"),
        ({"address": "here:1", "num_processes": 2, "process_id": -1}, "process_id=-1 must be a whole number"),
        ({"address": "here:1", "num_processes": True, "process_id": 0}, "num_processes=True must be"),
        ({"wait": 0}, "wait=0 must be a whole number of at least 1"),
        ({"wait": None}, "wait=None must be"),
        ({"heartbeat": 2.5}, "heartbeat=2.5 must be a whole number"),
    ],
)
def test_mistakes(options, text) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        distributed.start(**options)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not HAS_JAX, reason="needs JAX")
def test_too_late() -> None:
    import jax

    jax.devices()
    with pytest.raises(RuntimeError, match=r"^start comes too late, .*\.$"):
        distributed.start("localhost:1", 2, 1)


@pytest.mark.skipif(not HAS_JAX, reason="needs JAX")
def test_more_facts_than_can_be_compared_are_refused() -> None:
    facts = {f"fact{number}": number for number in range(distributed.FACTS + 1)}
    with pytest.raises(ValueError, match=rf"^all: {len(facts)} facts were given, .*\.$"):
        distributed.agree("all", **facts)


def test_long_facts_differ_where_their_ends_do() -> None:
    start = b"policy=" + b"x" * distributed.LETTERS
    one, other = (distributed._short(start + end) for end in (b"1", b"2"))
    assert one != other
    assert len(one) == len(other) == distributed.LETTERS
    assert distributed._short(b"x" * distributed.LETTERS) == b"x" * distributed.LETTERS


def test_a_port_is_looked_at_where_there_is_no_ipv6(monkeypatch) -> None:
    class Socket(socket.socket):
        def __init__(self, family=socket.AF_INET, *options, **more) -> None:
            if family == socket.AF_INET6:
                raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
            super().__init__(family, *options, **more)

    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setattr(socket, "socket", Socket)
        with pytest.raises(RuntimeError, match=rf"^port {port} of 'here:{port}' is taken: .*\.$"):
            distributed._port_is_free(f"here:{port}")
    distributed._port_is_free(f"here:{port}")


@pytest.mark.parametrize(
    "address", ["192.0.2.77:0", "no-such-host.invalid:0", "[2001:db8::1]:0", "here:70000"]
)
def test_an_address_of_another_machine_is_refused(address) -> None:
    with pytest.raises(RuntimeError, match=r"^process 0 cannot listen at .* to one\.$") as caught:
        distributed._own(address)
    assert repr(address) in str(caught.value)


@pytest.mark.parametrize("address", ["127.0.0.1:0", "localhost:0", "0.0.0.0:0"])
def test_an_own_address_is_taken_as_it_is(address) -> None:
    assert distributed._own(address) == address


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "Barrier failed because: Task 1 heartbeat timeout. Barrier Id: cogrid-0::0, Task: 1",
            "process 1 died",
        ),
        ("/job:jax_worker/replica:0/task:12 is unhealthy", "process 12 died"),
        (
            "Failed to send RPC to coordination service. Either the leader",
            "process 0 died or cannot be reached",
        ),
        ("something new", "another process died"),
    ],
)
def test_who_died(text, sentence) -> None:
    assert distributed._who_died(text) == sentence


@pytest.mark.skipif(not HAS_JAX, reason="needs JAX")
def test_an_abort_of_which_the_watch_never_hears_is_reported_without_delay(monkeypatch) -> None:
    said, codes, exited, ended = [], [], threading.Event(), threading.Event()
    monkeypatch.setattr(distributed, "GRACE", 0.1)
    monkeypatch.setattr(distributed, "LINGER", 0)
    monkeypatch.setattr(distributed, "_say", said.append)
    monkeypatch.setattr(os, "_exit", lambda code: (codes.append(code), exited.set()))
    watch = distributed._Watch(heartbeat=100)
    watch.run = ended.wait
    watch.start()
    try:
        _thread.start_new_thread(watch._wait_in_abort, (6,))  # unknown to threading, as one of the runtime's
        assert exited.wait(30)
    finally:
        ended.set()
    assert (said, codes) == (["another process died, so process 0 ends too."], [distributed.DIED])
