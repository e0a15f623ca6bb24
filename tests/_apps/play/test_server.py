"""The server: who may come in, what it serves, and connections that break."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import http.client
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from cogrid._apps.play import server as module
from cogrid._apps.play.server import MAX_ERROR, MAX_MESSAGE, REPLACED, Server, hosts
from cogrid._apps.play.session import Session
from cogrid.replay.recording import Replay
from tests._apps.play.support import frozen_page, serving, without_limits

ROOM = "Overcooked-CrampedRoom-V0"


@pytest.fixture
def server() -> Iterator[Server]:
    """Its game has no clock."""
    with serving(Session(ROOM, seed=0, speed=0)) as found:
        yield found


def get(server: Server, path: str, host: str | None = None) -> tuple[int, dict[str, str], str]:
    place = urlsplit(server.address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    connection.request("GET", path, headers={"Host": host or place.netloc})
    response = connection.getresponse()
    found = response.status, dict(response.getheaders()), response.read().decode()
    connection.close()
    return found


def page(server: Server, origin: str | None = "same", token: str | None = None):
    place = urlsplit(server.address)
    path = place.path if token is None else f"/{token}/"
    return connect(
        f"ws://{place.netloc}{path}ws",
        origin=f"http://{place.netloc}" if origin == "same" else origin,
        compression=None,
        max_size=None,
        open_timeout=60,
    )


def receive(socket) -> dict:
    return json.loads(socket.recv(timeout=60))


def do(socket, **command) -> None:
    socket.send(json.dumps(command))


def test_the_page_needs_nothing_from_outside(server) -> None:
    place = urlsplit(server.address)
    status, headers, text = get(server, place.path)
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    rules = headers["Content-Security-Policy"].split("; ")
    assert rules[:2] == ["default-src 'self'", f"connect-src 'self' ws://{place.netloc}"]
    assert {*rules[2:]} == {f"{name} 'none'" for name in ("base-uri", "form-action", "frame-ancestors")}
    assert (headers["Referrer-Policy"], headers["Cache-Control"]) == ("no-referrer", "no-store")
    assert not re.findall(r"<style|<script(?! type=\"module\" src=)|\son\w+=|style=", text)
    todo, seen = [*re.findall(r'(?:href|src)="([^"]*)"', text)], {"replay.json"}
    while todo:
        if (name := todo.pop()) not in seen:
            seen.add(name)
            status, headers, text = get(server, place.path + name)
            assert (status, headers["X-Content-Type-Options"]) == (200, "nosniff")
            kinds = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
            assert headers["Content-Type"] == f"{kinds[name.rpartition('.')[2]]}; charset=utf-8"
            assert len(text.splitlines()) < 150  # read in a sitting
            todo += re.findall(r'from "\./([^"]*)"', text)
            if name == "socket.js":
                assert f"<= {MAX_MESSAGE}," in text
    files = {path.name for path in Path(module.__file__).with_name("page").iterdir()}
    assert seen == files - {"index.html"} | {"replay.json"}, "a file that the page does not load"


def test_it_listens_on_this_machine_only(server) -> None:
    assert urlsplit(server.address).hostname == "127.0.0.1"
    assert server._socket.getsockname()[0] == "127.0.0.1"
    assert len(urlsplit(server.address).path) > 20


def test_without_the_token_there_is_nothing(server) -> None:
    token = urlsplit(server.address).path.strip("/")
    wrong = (
        "",
        f"{token[:-1]}/",
        f"{token}x/",
        token,
        f"{token}/../",
        f"{token}/other",
        f"{token}/page.js/",
        f"{token}/../server.py",
        "%C3%A9/",
        "replay.json",
    )
    for path in wrong:
        status, _, text = get(server, f"/{path}")
        assert (status, text) == (404, "Not found: use the full address that `play` printed.\n"), path
    with pytest.raises(InvalidStatus, match="404"):
        page(server, token="guess")


def test_other_origins_and_names_are_refused(server) -> None:
    for origin in ("http://evil.example", "null", None, f"https://{urlsplit(server.address).netloc}"):
        with pytest.raises(InvalidStatus, match="403"):
            page(server, origin)
    assert get(server, urlsplit(server.address).path, host="evil.example")[0] == 403
    port = urlsplit(server.address).port
    assert get(server, urlsplit(server.address).path, host=f"localhost:{port}")[0] == 200
    assert server.session.paused


def test_a_game_over_the_wire(server) -> None:
    with page(server) as socket:
        assert [receive(socket)["kind"] for _ in range(2)] == ["game", "frame"]
        do(socket, do="act", agent=0, action="up")
        assert receive(socket)["paused"] is False
        assert receive(socket)["time"] == 1
        do(socket, do="act", agent=5, action="up")
        assert receive(socket) == {"kind": "error", "words": "Agent 5 cannot do 'up' here."}
        do(socket, do="act", agent=0, action={"long": "\n" * 5000})
        assert len(receive(socket)["words"]) < 300
        for broken in ("{", b"\xff\xfe", "[" * 100_000):
            socket.send(broken)
            words = "The page sent a command that is not JSON: reload the page."
            assert receive(socket) == {"kind": "error", "words": words}
    status, headers, text = get(server, urlsplit(server.address).path + "replay.json")
    assert status == 200
    assert headers["Content-Disposition"] == f'attachment; filename="{server.session.file_name}"'
    replay = Replay.parse(text)
    replay.verify()
    assert len(replay) == 1


def test_the_clock_ticks(server) -> None:
    with page(server) as socket:
        receive(socket), receive(socket)
        do(socket, do="speed", speed=12)
        receive(socket)
        do(socket, do="pause", paused=False)
        receive(socket)
        assert [receive(socket)["time"] for _ in range(3)] == [1, 2, 3]
        do(socket, do="pause")
        while "time" in receive(socket):
            pass


def test_a_broken_connection_pauses_and_resumes(server) -> None:
    with page(server) as socket:
        receive(socket), receive(socket)
        do(socket, do="act", agent=0, action="up")
        receive(socket), receive(socket)
        socket.socket.close()  # without a word
    with page(server) as socket:
        assert receive(socket)["paused"] is False
        assert receive(socket)["time"] == 1


def test_the_newest_page_is_the_one(server) -> None:
    with page(server) as old:
        receive(old), receive(old)
        do(old, do="act", agent=0, action="up")
        receive(old), receive(old)
        with page(server) as new:
            assert receive(new)["paused"] is False
            with pytest.raises(ConnectionClosed) as closed:
                old.recv(timeout=60)
            assert closed.value.rcvd.code == REPLACED
            assert receive(new)["time"] == 1
            do(new, do="act", agent=0, action="up")
            assert receive(new)["time"] == 2


class Slow:
    """A connection that says nothing, and takes its time to close."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.code, self.closed = 0, asyncio.Event()

    async def send(self, text: str) -> None:
        self.kinds.append(json.loads(text)["kind"])

    async def close(self, code: int, reason: str) -> None:
        self.code = code
        await self.closed.wait()

    async def __aiter__(self):
        await self.closed.wait()
        return
        yield


def test_of_two_pages_that_open_while_one_closes_the_newest_is_the_one(server) -> None:
    async def meet() -> list[Slow]:
        pages = [Slow() for _ in range(3)]
        talks = [asyncio.create_task(server._talk(each)) for each in pages]
        for closed in pages:
            for _ in range(9):  # more turns than there are awaits
                await asyncio.sleep(0)
            assert server._connection is pages[2]
            closed.closed.set()
        await asyncio.wait(talks)
        return pages

    pages = asyncio.run(meet())
    assert [each.code for each in pages] == [REPLACED, REPLACED, 0]
    assert [each.kinds for each in pages] == [["game", "frame"]] * 3


def frozen(server: Server, small: int = 2**12) -> socket.socket:
    """A page that says hello and then neither reads nor answers."""
    place = urlsplit(server.address)
    return frozen_page(place.netloc, place.path, small)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server does not limit itself takes for ever."""
    monkeypatch.setattr("websockets.asyncio.server.serve", without_limits(serve))


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("film", [False, True])
def test_a_page_is_not_kept_waiting_by_one_that_never_answers(server, film) -> None:
    """As when it was reloaded in the midst of a film."""
    if film:
        server.session._film = {"kind": "film", "views": "x" * 20_000_000}
    with frozen(server):
        with page(server) as socket:
            assert [receive(socket)["kind"] for _ in range(2)] == ["game", "film" if film else "frame"]
            do(socket, do="leave")
            assert [receive(socket)["kind"] for _ in range(2)] == ["game", "frame"]
        with page(server) as socket:
            assert [receive(socket)["kind"] for _ in range(2)] == ["game", "frame"]


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("kind", ["idle", "half a request", "frozen", "film", "page"])
def test_the_end_waits_for_nobody(kind) -> None:
    with contextlib.ExitStack() as held, serving(Session(ROOM, seed=0, speed=0)) as server:
        place = urlsplit(server.address)
        if kind == "film":
            server.session._film = {"kind": "film", "views": "x" * 20_000_000}
        if kind in ("frozen", "film"):
            held.enter_context(frozen(server))
        elif kind == "page":
            receive(held.enter_context(page(server)))
        else:
            idle = held.enter_context(socket.create_connection((place.hostname, place.port)))
            idle.sendall(b"GET / HTTP/1.1\r\n" if kind != "idle" else b"")
        assert get(server, place.path)[0] == 200  # it has accepted those before


@pytest.mark.parametrize("names", [0, 2, 3])
def test_a_request_has_one_host(server, names) -> None:
    place = urlsplit(server.address)
    for path in (place.path, f"{place.path}ws", "/"):
        with socket.create_connection((place.hostname, place.port), timeout=60) as raw:
            lines = [f"GET {path} HTTP/1.1", *[f"Host: {place.netloc}"] * names, "Connection: close", "", ""]
            raw.sendall("\r\n".join(lines).encode())
            answer = b"".join(iter(lambda: raw.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert answer.endswith(b"\r\n\r\nA request must have one Host.\n")


def test_a_fault_of_the_clock_is_told_and_pauses(server, monkeypatch, caplog) -> None:
    def broken(state: object) -> None:
        raise KeyError("pots")

    monkeypatch.setattr(server.session, "_policy", broken)
    with page(server) as socket:
        receive(socket), receive(socket)
        do(socket, do="speed", speed=12)
        do(socket, do="pause", paused=False)
        assert [receive(socket)["paused"] for _ in range(3)] == [True, False, True]
        assert receive(socket) == {"kind": "error", "words": "the game cannot continue: 'pots'"}
        assert "a step failed" in caplog.text
        do(socket, do="choose")  # another episode, with another partner's policy
        assert [receive(socket)["kind"] for _ in range(2)] == ["game", "frame"]


def test_browsers_leave_out_the_port_of_http() -> None:
    assert hosts(80) == ["127.0.0.1", "localhost"]
    assert hosts(8080) == ["127.0.0.1:8080", "localhost:8080"]


def test_messages_are_bounded(server) -> None:
    with page(server) as socket:
        receive(socket), receive(socket)
        socket.send("x" * (MAX_MESSAGE + 1))
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=60)
        assert closed.value.rcvd.code == 1009
    with page(server) as socket:  # and the game is still there
        assert receive(socket)["kind"] == "game"


@pytest.mark.parametrize(
    "command",
    [
        {"do": "speed", "speed": "\N{SNOWMAN}" * 100_000},
        {"do": "choose", "people": [0] * 50_000},
        {"do": "choose", "people": [10**4000]},
        {"do": "choose", "people": "\N{SNOWMAN}" * 100_000},
        {"do": "choose", "id": "\N{SNOWMAN}" * 100_000},
        {"do": "act", "agent": 0, "action": ["up"] * 50_000},
        {"do": "show", "text": json.dumps({"format": "x" * 100_000})},
        {"\N{SNOWMAN}" * 100_000: 1},
    ],
)
def test_errors_quote_little_of_what_was_sent(server, command) -> None:
    with page(server) as socket:
        receive(socket), receive(socket)
        do(socket, **command)
        text = socket.recv(timeout=60)
        assert json.loads(text)["kind"] == "error"
        assert len(text) < 2_000


def test_a_long_error_of_a_world_is_cut(server, monkeypatch) -> None:
    def fail() -> list:
        raise ValueError("\N{SNOWMAN}" * 100_000)

    monkeypatch.setattr(server.session, "step", fail)
    assert len(server._step()[-1]["words"]) <= MAX_ERROR + 1


def test_a_replays_metadata_is_not_sent_back(server) -> None:
    replay = server.session.replay()
    replay = dataclasses.replace(replay, metadata={"notes": "x" * 100_000})
    with page(server) as socket:
        receive(socket), receive(socket)
        do(socket, do="show", text=replay.text())
        receive(socket)
        film = socket.recv(timeout=60)
        assert json.loads(film)["kind"] == "film"
        assert "xxx" not in film
