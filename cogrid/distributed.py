"""Several processes as one machine, on JAX's own runtime: starting, agreeing and ending."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import errno
import inspect
import os
import re
import signal
import socket
import sys
import threading
import time
import traceback
import zlib
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np

from cogrid._io import installed

__all__ = ("agree", "gather", "start")

FACTS, LETTERS = 32, 96  # the number of facts that processes exchange, and the length of each
DIED = 70  # the exit code of a process that ends because another one died
DAY = 86_400  # seconds
MAX_PORT = 65_535
FOREVER = 10**12  # milliseconds
GRACE = 5  # seconds in which the watch hears of a death after JAX has noticed it, if it hears at all
SLOW = 120  # seconds that the watch may take to report what it has heard, on an overloaded machine
LINGER = 2  # seconds in which process 0 tells the others who died, before they find that it is gone too
JAX_HEARTBEAT = 100  # seconds, JAX's own default
# Errors of a collective when a peer is gone.
LOST = re.compile(r"Gloo|NCCL|UNAVAILABLE|[Cc]onnection|[Bb]arrier|heartbeat")
TIME_IS_UP = re.compile(r"DEADLINE_EXCEEDED|timed out")  # errors of a barrier


def start(
    address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    wait: int = 300,
    heartbeat: int | None = None,
) -> None:
    """Join the processes of this run; call it in each of them, before any other use of JAX.

    Under SLURM, Open MPI, Kubernetes and on cloud TPUs, JAX detects the processes of a run. Elsewhere,
    `address` is "host:port" of process 0, and the processes are numbered from 0. Process 0 listens only
    there; set JAX_COORDINATOR_BIND_ADDRESS if the host's own address is a different one. Nothing is encrypted
    and there is no password: everyone who can reach the ports of a run must be trusted.

    A process waits for the others for `wait` seconds. Later, if one sends no heartbeat for `heartbeat`
    seconds (100 by default), or exits that much earlier than the others, all of them end.
    """
    import jax

    _check(address, num_processes, process_id, wait, heartbeat)
    if jax.distributed.is_initialized():
        raise RuntimeError("this process has already joined its run: call start only once.")
    options: dict[str, Any] = {}
    known = inspect.signature(jax.distributed.initialize).parameters
    if heartbeat is not None:
        if "heartbeat_timeout_seconds" not in known:
            raise ValueError(f"jax {jax.__version__} has a fixed heartbeat: heartbeat= needs 0.7 or newer.")
        options["heartbeat_timeout_seconds"] = heartbeat
    if address is not None and process_id == 0:
        _port_is_free(address)
        options["coordinator_bind_address"] = _own(os.environ.get("JAX_COORDINATOR_BIND_ADDRESS", address))
    _join(address, num_processes, process_id, wait, options)
    _Watch(heartbeat or JAX_HEARTBEAT).begin()
    if len(jax.devices()) != jax.process_count() * jax.local_device_count():
        raise RuntimeError(
            f"process {jax.process_index()} has {jax.local_device_count()} of {len(jax.devices())} devices "
            f"in {jax.process_count()} processes: give every process the same number."
        )
    agree("start", **versions())


def versions() -> dict[str, str]:
    """Versions that must be the same in all processes, or their results may differ."""
    return {"cogrid": installed.version()} | {name: version(name) for name in ("jax", "jaxlib", "numpy")}


def agree(what: str, **facts: Any) -> None:
    """Raise an error in every process if one differs from process 0; all processes must call it."""
    from jax.experimental import multihost_utils

    table = np.zeros((FACTS, LETTERS), np.uint8)
    if len(facts) > FACTS:
        raise ValueError(f"{what}: {len(facts)} facts were given, but at most {FACTS} can be compared.")
    for row, (name, value) in zip(table, facts.items(), strict=False):
        text = _short(f"{name}={value}".encode())
        row[: len(text)] = np.frombuffer(text, np.uint8)
    with named():
        tables = multihost_utils.process_allgather(table)  # (processes, FACTS, LETTERS)
    for process, row in np.argwhere((tables != tables[0]).any(axis=-1)):
        theirs, first = (bytes(tables[p, row]).rstrip(b"\0").decode(errors="replace") for p in (process, 0))
        raise ValueError(
            f"{what}: process {process} has {theirs or 'nothing'} and process 0 has {first or 'nothing'}, "
            "but all processes must have the same."
        )


def _short(text: bytes) -> bytes:
    """At most LETTERS; a checksum replaces what is cut off, so that long facts with different ends differ."""
    return text if len(text) <= LETTERS else text[: LETTERS - 10] + b"..%08x" % zlib.crc32(text)


def gather(tree: Any) -> Any:
    """Arrays that are sharded over processes, such as a rollout's, whole and as NumPy; all must call it."""
    import jax
    from jax.experimental import multihost_utils

    def whole(value: Any) -> Any:
        if not isinstance(value, jax.Array) or value.is_fully_addressable or value.is_fully_replicated:
            return np.asarray(value)
        return multihost_utils.process_allgather(value, tiled=True)

    with named():
        return jax.tree.map(whole, tree)


@contextlib.contextmanager
def named() -> Iterator[None]:
    """When a peer dies, a collective fails without naming it: let the watch name it and end this process."""
    try:
        yield
    except Exception as error:  # JAX raises many types for it; only the message tells
        if (watch := _watch()) and LOST.search(str(error)):
            watch.wait(heartbeats=3)  # JAX needs one, or a little more, to notice
            traceback.print_exc()  # nothing named the process: print what is known before our sentence
            watch.leave("another process died or cannot be reached")
        raise


def _check(address: Any, num_processes: Any, process_id: Any, wait: Any, heartbeat: Any) -> None:
    """Raise a clear error for mistakes that JAX would report later, or never."""
    address_parts = {"address": address, "num_processes": num_processes, "process_id": process_id}
    if address is not None and None in address_parts.values():
        missing = next(name for name, value in address_parts.items() if value is None)
        raise ValueError(
            f"{missing}= is missing: give it with the address, or leave all three out in a cluster."
        )
    if address is not None and not re.fullmatch(r".+:\d{1,5}", str(address)):
        raise ValueError(f"address={address!r} is not of the form 'host:port'.")
    if address is not None and int(str(address).rpartition(":")[2]) > MAX_PORT:
        raise ValueError(f"address={address!r} has a port above {MAX_PORT}.")
    numbers = {"num_processes": (num_processes, 1), "wait": (wait, 1), "heartbeat": (heartbeat, 1)}
    for name, (number, least) in {**numbers, "process_id": (process_id, 0)}.items():
        if number is None and name != "wait":
            continue
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise ValueError(f"{name}={number!r} must be a whole number of at least {least}.")
    if num_processes is not None and process_id is not None and process_id >= num_processes:
        raise ValueError(f"process_id={process_id} must be below num_processes={num_processes}.")


def _port_is_free(address: str) -> None:
    """Raise an error if the port is taken: JAX's server would share it, and both would wait forever."""
    port = int(address.rpartition(":")[2])
    for family in (socket.AF_INET6, socket.AF_INET):
        try:
            with socket.socket(family) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("", port))
        except OSError as error:  # any other, such as a host without IPv6, is left to JAX
            if error.errno == errno.EADDRINUSE:
                raise RuntimeError(f"port {port} of {address!r} is taken: choose another one.") from None


def _own(address: str) -> str:
    """The address, if process 0 can listen there: if it cannot, JAX crashes with a segmentation fault."""
    host, _, port = address.rpartition(":")
    try:
        addresses = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
        for family, *_, place in addresses:
            with contextlib.suppress(OSError), socket.socket(family) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(place)
                return address
    except (OSError, ValueError):  # an unknown name
        pass
    raise RuntimeError(
        f"process 0 cannot listen at {address!r}, which is not an address of this machine: "
        "give one that is, or set JAX_COORDINATOR_BIND_ADDRESS to one."
    )


def _join(address: str | None, count: int | None, process: int | None, wait: int, options: Any) -> None:
    """JAX's own start, in a thread: it would abort the process if a peer is missing."""
    import jax

    failures: list[Exception] = []

    def initialize() -> None:
        try:
            # JAX's own limit is far above ours, which raises an error.
            jax.distributed.initialize(address, count, process, initialization_timeout=wait + DAY, **options)
        except Exception as error:  # whatever it is, it is raised again in the caller
            failures.append(error)

    thread = threading.Thread(target=initialize, daemon=True, name="cogrid-join")
    thread.start()
    thread.join(wait)
    if thread.is_alive():
        raise TimeoutError(_who_is_missing(address, count, process, wait))
    if failures:
        raise RuntimeError(_why_not(str(failures[0]))) from failures[0]


def _who_is_missing(address: str | None, count: int | None, process: int | None, wait: int) -> str:
    if address is not None and process != 0 and not _answers(address):
        return f"process 0 was not at {address} within {wait} s: start it, or correct the address."
    of = "the" if count is None else f"the {count}"
    return f"not all of {of} processes joined within {wait} s: check that each one was started."


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=2).close()
    except OSError:
        return False
    return True


def _why_not(text: str) -> str:
    if "before any JAX calls" in text or "initialise the XLA backend" in text:
        return (
            "start comes too late, as JAX has already initialised its devices: call it before any JAX code."
        )
    if "should be defined" in text or "must be defined" in text:
        return "no cluster was found: give address='host:port', num_processes= and process_id=."
    return f"the processes could not be joined: {' '.join(text.split())}"


class _Watch(threading.Thread):
    """Waits until JAX reports the death of another process, prints which one it was, and ends this process.

    JAX itself would print a page of text and abort. All that Python sees is that a barrier failed, so this
    waits at one that no other process ever reaches.
    """

    def __init__(self, heartbeat: int) -> None:
        """Prepare the watch without starting it."""
        super().__init__(daemon=True, name="cogrid-watch")
        from jax._src.distributed import global_state  # there is no public way to wait

        self.heartbeat, self.jax = heartbeat, global_state
        self.heard = self.ending = False
        self.client, self.service = global_state.client, global_state.service
        self.process, self._first = global_state.process_id, threading.Lock()

    def run(self) -> None:
        """Wait until this process ends, or another one dies."""
        try:
            self.client.wait_at_barrier(f"cogrid-{self.process}", FOREVER)
        except Exception as error:  # JAX raises many types; all mean that a process is gone
            self.heard = True
            self.leave(_who_died(str(error)))

    def leave(self, who: str) -> None:
        """Print one sentence and exit; a second thread that comes here waits for the exit."""
        if not self.ending:
            self._first.acquire()  # and never released
            try:
                _say(f"{who}, so process {self.process} ends too.")
            finally:  # stderr may be closed
                if self.process == 0:
                    time.sleep(LINGER)
                os._exit(DIED)

    def wait(self, heartbeats: int) -> None:
        """Let the watch hear of the death and end this process; it may never hear, or nobody died."""
        self.join(heartbeats * self.heartbeat + GRACE)
        if self.heard:
            self.join(SLOW)

    def begin(self) -> None:
        """Watch until the interpreter exits."""
        # JAX aborts at the same moment, in a thread of its own: make it wait while we report.
        self._aborting = ctypes.CFUNCTYPE(None, ctypes.c_int)(self._wait_in_abort)
        _on_abort(self._aborting)
        self.start()
        atexit.register(self.end)

    def _wait_in_abort(self, number: int) -> None:
        """Let the watch report first; if the aborting thread is the one that would notify it, report here."""
        aborting = threading.current_thread()
        if aborting is self:
            return
        self.wait(heartbeats=0)
        if isinstance(aborting, threading._DummyThread):  # the runtime's own
            reachable = self.process == 0 or _answers(self.jax.coordinator_address)
            self.leave("another process died" if reachable else "process 0 died or cannot be reached")

    def end(self) -> None:
        """Exit together with the others, or alone: then they notice by the missing heartbeat.

        This may be the end of the work, or `sys.exit` in the middle of it with the others waiting for us in a
        collective. So we wait for them too, but not forever.
        """
        sys.stdout.flush()
        sys.stderr.flush()
        # An uncaught error has been printed. An interactive prompt prints errors too, but continues.
        if getattr(sys, "last_value", None) is not None and not hasattr(sys, "ps1"):
            os._exit(1)
        try:
            self.client.wait_at_barrier("cogrid-end", 1000 * self.heartbeat)
        except Exception as error:  # the same
            if not TIME_IS_UP.search(str(error)):  # a process died: the watch reports which
                self.wait(heartbeats=3)
            self.ending = True
            _say(f"not all processes ended within {self.heartbeat} s, so process {self.process} ends alone.")
            self.jax.client = self.jax.service = None  # or JAX would wait for the others again
        else:
            self.ending = True
            self.jax.shutdown()
            self.join()
        _on_abort(None)  # Python will soon be gone


def _on_abort(handler: Any) -> None:
    """Set the SIGABRT handler; the default sleeps, for SIGABRT seconds, while the process ends."""
    with contextlib.suppress(OSError, AttributeError):  # not on Windows
        library = ctypes.CDLL(None)
        library.signal(signal.SIGABRT, ctypes.cast(handler or library.sleep, ctypes.c_void_p))


def _say(sentence: str) -> None:
    """Print to stderr on a line of its own, whatever Python is doing."""
    os.write(sys.stderr.fileno(), f"\ncogrid: {sentence}\n".encode())


def _watch() -> _Watch | None:
    return next((thread for thread in threading.enumerate() if isinstance(thread, _Watch)), None)


def _who_died(text: str) -> str:
    """A description of the dead process, from JAX's message about a failed barrier."""
    if "leader" in text or "Failed to send RPC" in text:  # process 0 serves the others
        return "process 0 died or cannot be reached"
    numbers = sorted(set(re.findall(r"[Tt]ask:?\s?(\d+)", text)), key=int)
    return f"process {' and '.join(numbers)} died" if numbers else "another process died"
