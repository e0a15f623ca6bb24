"""A server in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from cogrid._apps.play.server import Server
from cogrid._apps.play.session import Session


@contextlib.contextmanager
def serving(session: Session) -> Iterator[Server]:
    """The session's server, while it is needed."""
    server, ready = Server(session), threading.Event()
    ends: list[Callable[[], object]] = []

    async def run() -> None:
        task, loop = asyncio.ensure_future(server.run(ready.set)), asyncio.get_running_loop()
        ends.append(lambda: loop.call_soon_threadsafe(task.cancel))
        await asyncio.wait([task])

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert ready.wait(60)
    try:
        yield server
    finally:
        ends[0]()
        thread.join(60)
        assert not thread.is_alive(), "the server does not end"


def without_limits(serve: Callable[..., Any]) -> Callable[..., Any]:
    """The library's `serve`, with all the time for opening and closing that it is not told to limit."""
    patient = functools.partial(serve, open_timeout=None, close_timeout=None, ping_interval=None)
    return lambda *arguments, **options: patient(*arguments, **options)


def frozen_page(place: str, path: str, small: int = 2**12) -> socket.socket:
    """A page that says hello and then neither reads nor answers."""
    host, _, port = place.rpartition(":")
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, small)
    raw.connect((host, int(port)))
    lines = (
        *(f"GET {path}ws HTTP/1.1", f"Host: {place}", f"Origin: http://{place}", "Upgrade: websocket"),
        *("Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"),
    )
    raw.sendall("\r\n".join([*lines, "", ""]).encode())
    assert raw.recv(12) == b"HTTP/1.1 101"
    return raw
