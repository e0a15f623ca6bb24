"""The server of a session: one page on this machine, at a secret address."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
import socket
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cogrid._apps.play.session import Message, Session
from cogrid._core.author.options import checked_integer
from cogrid._io import installed

HOST = "127.0.0.1"
MAX_MESSAGE = 2**20  # bytes; a replay of an episode has about ten thousand
MAX_ERROR = 500  # characters of an error, which may quote what the page sent
#: The page loads its own files and nothing else; nothing inside a file's markup runs.
POLICY = (
    "default-src 'self'; connect-src 'self' ws://{host}; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
INDEX = "index.html"
KINDS: Mapping[str, str] = MappingProxyType(
    {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
)
REPLACED = 4001  # the page was opened again
CLOSING = 0.5  # seconds that a page has to close its connection; a frozen page never does

log = logging.getLogger(__name__)


class Server:
    """Serves the page, its connection and the replay, at addresses that contain a secret token."""

    def __init__(self, session: Session, port: int = 0) -> None:
        self._websockets = _library()
        self.session = session
        self._token = secrets.token_urlsafe(16)
        self._files = _page()
        self._socket = _listening(checked_integer("port", port, 0, 65535))
        self._hosts = hosts(self._socket.getsockname()[1])
        self._connection: Any = None
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()
        self._leaving: set[asyncio.Task[None]] = set()  # connections that are being closed

    @property
    def address(self) -> str:
        """With the token, which keeps other users of the machine out."""
        return f"http://{self._hosts[0]}/{self._token}/"

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until cancelled."""
        serve = self._websockets.asyncio.server.serve(
            self._talk,
            sock=self._socket,
            process_request=self._answer,
            origins=[f"http://{host}" for host in self._hosts],
            max_size=MAX_MESSAGE,
            compression=None,
            close_timeout=CLOSING,
            create_connection=self._connected,
        )
        server = await serve
        try:
            ready()
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()
            closed = asyncio.ensure_future(server.wait_closed())
            await asyncio.wait([closed], timeout=CLOSING)
            for connection in self._connections:  # frozen, or connected without a request
                connection.transport.abort()
            await closed

    def _connected(self, *arguments: Any, **options: Any) -> Any:
        connection = self._websockets.asyncio.server.ServerConnection(*arguments, **options)
        self._connections.add(connection)
        return connection

    # Requests

    def _answer(self, connection: Any, request: Any) -> Any:
        """Answer everything but the websocket; None continues with the websocket."""
        names = request.headers.get_all("Host")
        if len(names) != 1:
            return self._response(400, b"A request must have one Host.\n")
        if names[0] not in self._hosts:  # another name for this machine: an attack
            return self._response(403, b"This page is only available on this machine.\n")
        token, slash, rest = request.path.removeprefix("/").partition("/")
        known = secrets.compare_digest(token.encode(), self._token.encode())
        if not known or not slash or rest not in ("", "ws", "replay.json", *self._files):
            return self._response(404, b"Not found: use the full address that `play` printed.\n")
        if rest == "ws":
            return None
        if rest == "replay.json":
            name = f'attachment; filename="{self.session.file_name}"'
            data = self.session.replay().text().encode()
            return self._response(200, data, "application/json", {"Content-Disposition": name})
        name = rest or INDEX
        policy = {"Content-Security-Policy": POLICY.format(host=names[0])}
        return self._response(200, self._files[name], KINDS[Path(name).suffix], policy)

    def _response(
        self, status: int, body: bytes, kind: str = "text/plain", more: dict[str, str] | None = None
    ) -> Any:
        headers = self._websockets.datastructures.Headers(
            {
                "Content-Type": f"{kind}; charset=utf-8",
                "Content-Length": str(len(body)),
                "Connection": "close",
                "Cache-Control": "no-store",
                "Referrer-Policy": "no-referrer",
                "X-Content-Type-Options": "nosniff",
                **(more or {}),
            }
        )
        reason = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found"}[status]
        return self._websockets.http11.Response(status, reason, headers, body)

    # The page

    async def _talk(self, connection: Any) -> None:
        """Serve one page at a time: the newest."""
        old, self._connection = self._connection, connection  # before any await: there is one newest page
        if old is not None:
            self.session.drop()
            self._close(old)
        clock = asyncio.create_task(self._tick(connection))
        try:
            await self._send(connection, self.session.greet())
            async for text in connection:
                if self._connection is not connection:  # sent before the page knew that it was replaced
                    break
                await self._send(connection, self._obey(text))
        except self._websockets.exceptions.ConnectionClosed:
            pass
        finally:
            clock.cancel()
            if self._connection is connection:
                self._connection = None
                self.session.drop()

    def _close(self, connection: Any) -> None:
        """Close it in the background: a page that was reloaded, or is frozen, may never answer."""
        task = asyncio.create_task(connection.close(REPLACED, "the page was opened once more"))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    def _obey(self, text: str | bytes) -> list[Message]:
        try:
            command = json.loads(text)
        except (ValueError, RecursionError):
            return [_error("The page sent a command that is not JSON: reload the page.")]
        try:
            return self.session.do(command)
        except (ValueError, TypeError, RecursionError) as error:
            return [_error(str(error))]

    async def _tick(self, connection: Any) -> None:
        """Step by the clock, polled often, since a page may change the speed at any time."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        with contextlib.suppress(self._websockets.exceptions.ConnectionClosed):
            while self._connection is connection:
                interval = self.session.interval
                if interval is None:
                    due = loop.time()
                elif loop.time() >= due + interval:
                    due = max(due + interval, loop.time() - interval)
                    await self._send(connection, self._step())
                await asyncio.sleep(0.01)

    def _step(self) -> list[Message]:
        """A step; an error in it pauses the game and is sent to the page, since nobody awaits the clock."""
        try:
            return self.session.step()
        except Exception as error:
            log.exception("a step failed")
            text = f"the game cannot continue: {error or type(error).__name__}"
            return [*self.session.do({"do": "pause"}), _error(text)]

    async def _send(self, connection: Any, messages: list[Message]) -> None:
        for message in messages:
            await connection.send(json.dumps(message))


def _page() -> dict[str, bytes]:
    """The page's files by their names; what it must know of the server is written into them."""
    files = {path.name: path for path in Path(__file__).with_name("page").iterdir() if path.suffix in KINDS}
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    return {name: text.replace("MAX_MESSAGE", str(MAX_MESSAGE)).encode() for name, text in texts.items()}


def _error(text: str) -> Message:
    return {"kind": "error", "words": text if len(text) <= MAX_ERROR else f"{text[:MAX_ERROR]}…"}


def hosts(port: int) -> list[str]:
    """The host names that browsers use for this machine; they omit HTTP's default port."""
    return [name if port == 80 else f"{name}:{port}" for name in (HOST, "localhost")]


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise ValueError(f"port {port} cannot be used ({why}): leave it out to use a free one.") from None


def _library() -> Any:
    try:
        import websockets.asyncio.server
    except ModuleNotFoundError:
        raise ValueError(
            f"playing in a browser needs websockets, which is not installed: {installed.remedy('play')}."
        ) from None
    return websockets
