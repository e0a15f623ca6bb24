"""A server in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator

from cogrid.play.server import Server
from cogrid.play.session import Session


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
