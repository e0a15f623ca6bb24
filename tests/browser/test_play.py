"""The page to play on in a real browser: keys and touch, both themes, desktop and phone, replays."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from cogrid._apps.play.session import Session
from cogrid.author import Act, Game, Outcome, Spec
from cogrid.envs import registry
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.render.picture import picture
from cogrid.replay.recording import Replay
from tests._apps.play.support import serving

PICTURES = Path(__file__).parents[2] / "build" / "reports"
ROOM = "Overcooked-CrampedRoom-V0"
KEYS = {"up": "ArrowUp", "down": "s", "left": "a", "right": "ArrowRight", "interact": "Space", "noop": "x"}
SIZES = {"desktop": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}
TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
HAS_TEXT = "([id, words]) => document.getElementById(id).textContent === words"


@dataclasses.dataclass
class Opened:
    """A page, its session, and what the page complained about and asked for."""

    page: Page
    session: Session
    complaints: list[str]
    requests: list[str]

    def shows(self, id: str, words: str) -> None:
        """Wait until an element has this text."""
        self.page.wait_for_function(HAS_TEXT, arg=[id, words])

    def until(self, condition: str) -> None:
        """Wait until this is true of the newest `game` and `frame`."""
        read = "const { state: { game, frame } } = await import('./state.js')"
        asked = f"async () => {{ {read}; return {condition}; }}"
        for _ in range(1000):
            if self.page.evaluate(asked):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"it did not happen that {condition}")

    def receive(self, changes: str) -> None:
        """Let the page receive its frame once more, changed."""
        modules = "{ receive } = await import('./page.js'), { state } = await import('./state.js')"
        self.page.evaluate(f"async () => {{ const {modules}; receive({{ ...state.frame, {changes} }}); }}")

    def deliver(self, press: Callable[[str], None]) -> int:
        """Act as a scripted cook would until there is a score, and see every step on the page; how many."""
        env = self.session.env
        cooks, time = ScriptedCooks(env.rules, [0]), int(env.env_state.time)
        while self.page.locator("#score").inner_text() == "0":
            assert time < 100, "no soup was delivered"
            press(env.action_names[cooks.act(env.env_state)[0]])
            time += 1
            self.shows("time", str(time))
        return time


@pytest.fixture
def opened(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Opened]:
    """The page as the parameters say, its game without a clock."""
    size, scheme = getattr(request, "param", ("desktop", "light"))
    phone = size == "phone"
    with serving(Session(ROOM, seed=0, speed=0)) as server:
        context = browser.new_context(
            viewport=SIZES[size], color_scheme=scheme, has_touch=phone, is_mobile=phone, device_scale_factor=2
        )
        page = context.new_page()
        found = Opened(page, server.session, [], [])
        page.on("console", lambda message: found.complaints.append(message.text))
        page.on("pageerror", lambda error: found.complaints.append(str(error)))
        page.on("request", lambda asked: found.requests.append(asked.url))
        page.goto(server.address)
        page.wait_for_selector("#cells use[href]")
        yield found
        context.close()
        assert found.complaints == []
        outside = [url for url in found.requests if not url.startswith((server.address, "data:", "blob:"))]
        assert outside == []


def key(opened: Opened) -> Callable[[str], None]:
    return lambda action: opened.page.keyboard.press(KEYS[action])


def test_a_soup_by_the_keyboard(opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    assert "Press a key" in page.locator("#headline").inner_text()
    steps = opened.deliver(key(opened))
    assert page.locator("#score").inner_text() == "20"
    assert "deliver" in page.locator("#events").inner_text()
    page.reload()
    opened.shows("time", str(steps))  # the game is where it was
    opened.shows("score", "20")
    assert page.locator("#cover").is_hidden()  # and goes on
    page.keyboard.press("x")
    opened.shows("time", str(steps + 1))
    with page.expect_download() as started:
        page.locator("#save").click()
    assert started.value.suggested_filename == opened.session.file_name
    started.value.save_as(tmp_path / "replay.json")
    replay = Replay.load(tmp_path / "replay.json")
    replay.verify()
    assert (len(replay), replay.metadata["score"]) == (steps + 1, [20.0, 20.0])
    page.keyboard.press("x")  # keys play on after the link was clicked
    opened.shows("time", str(steps + 2))


def test_a_replay_is_looked_at(opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    steps = opened.deliver(key(opened))
    opened.session.replay().save(tmp_path / "replay.json.gz")
    page.locator("#file").set_input_files(tmp_path / "replay.json.gz")
    page.wait_for_selector("#viewer:not([hidden])")
    opened.shows("time", "0")
    page.locator("#on").click()
    page.keyboard.press("ArrowRight")
    opened.shows("time", "2")
    page.keyboard.press("ArrowLeft")
    opened.shows("time", "1")
    event = page.locator("#events button", has_text="deliver")
    event.click()
    opened.shows("time", str(steps))
    opened.shows("score", "20")
    assert page.locator("#events li.now").count() >= 1
    page.locator("#moment").fill("3")
    opened.shows("time", "3")
    page.locator("#speed").select_option("12")
    page.locator("#run").click()
    opened.shows("time", str(steps))  # it runs to the end
    opened.shows("run", "Play")
    page.locator("#leave").click()
    page.wait_for_selector("#viewer", state="hidden")
    page.locator("#file").set_input_files({"name": "a.json", "mimeType": "application/json", "buffer": b"{}"})
    page.wait_for_function("() => document.getElementById('error').textContent.includes('not a replay')")
    quotes = b'"' * 600_000  # that a message has twice as many characters for
    page.locator("#file").set_input_files(
        {"name": "b.json", "mimeType": "application/json", "buffer": quotes}
    )
    page.wait_for_function("() => document.getElementById('error').textContent.includes('too large')")
    assert page.locator("#headline").inner_text() != "Connection lost"
    page.keyboard.press("x")
    opened.shows("time", str(steps + 1))  # it is still connected


def test_the_menus(opened: Opened) -> None:
    page = opened.page
    page.locator("#world").select_option("Arena-V0")
    page.wait_for_function("() => document.querySelectorAll('#cells use').length === 144")
    assert page.locator("#events section").count() == 4
    page.locator("#world").select_option("Overcooked-CounterCircuit-V0")
    page.wait_for_function("() => document.querySelectorAll('#cells use').length === 40")
    page.locator("#people").select_option("0,1")
    opened.until("game.people.length === 2")
    assert page.locator("#partner").is_disabled()
    page.keyboard.press("d")
    assert page.locator("#time").inner_text() == "0"  # both have to choose
    page.keyboard.press("ArrowLeft")
    opened.shows("time", "1")
    page.locator("#people").select_option("")
    opened.until("game.people.length === 0")
    page.locator("#speed").select_option("12")
    opened.shows("pause", "Start")
    page.get_by_role("button", name="Begin").click()
    opened.until("frame.time >= 3")  # by itself
    page.locator("#pause").click()
    opened.shows("pause", "Resume")
    assert opened.session.paused
    page.locator("#restart").click()
    opened.shows("time", "0")


def test_it_tells_how_to_play(opened: Opened) -> None:
    page, told = opened.page, opened.session.env.spec.how_to_play
    assert page.locator("#how p").inner_text() == told.replace("`interact`", "Space")
    assert page.locator("#how kbd").all_inner_texts() == ["Space"]
    page.locator("#how summary").click()
    assert page.locator("#how p").is_hidden()


@pytest.mark.parametrize("opened", [("phone", "light")], indirect=True)
def test_a_phone_tells_it_when_asked(opened: Opened) -> None:
    words = opened.page.locator("#how p")
    assert words.is_hidden()
    opened.page.locator("#how summary").tap()
    assert words.is_visible()


def test_a_family_with_actions_of_its_own(opened: Opened) -> None:
    page = opened.page
    page.locator("#world").select_option("CleanUp-V0")
    page.wait_for_function("() => document.querySelectorAll('#events section').length === 7")
    assert page.locator("#how kbd").all_inner_texts() == ["1", "Space"]
    assert page.locator("#hint").inner_text() == "← ↑ ↓ → or W A S D move, Space: zap, 1: clean"
    names = page.locator("#legend li").all_inner_texts()
    assert {"apple", "dirt", "water"} <= set(names)
    page.keyboard.press("Space")  # the first of its own actions
    opened.shows("time", "1")
    page.keyboard.press("1")  # and the second
    opened.shows("time", "2")
    taken = opened.session.replay().actions[:2, 0].tolist()
    assert taken == [opened.session.env.action_names.index(name) for name in ("zap", "clean")]
    page.locator("#people").select_option("6")
    opened.until("game.people[0] === 6")
    assert not page.evaluate(TOO_WIDE)


@pytest.mark.parametrize(
    ("world", "hint", "keys", "actions"),
    [
        (
            "CleanUp-V0",
            "Player 1: W A S D move, Space: zap, 1: clean\nPlayer 2: ← ↑ ↓ → move, Enter: zap, 0: clean",
            [("1", "Enter"), ("Space", "0")],
            [("clean", "zap"), ("zap", "clean")],
        ),
        (
            "SearchRescue-Ruins-V0",
            "Player 1: W A S D move, Space: interact, Q: toggle\n"
            "Player 2: ← ↑ ↓ → move, Enter: interact, L: toggle",
            [("q", "Enter"), ("e", "l")],
            [("toggle", "interact"), ("interact", "toggle")],
        ),
    ],
)
def test_two_people_have_all_keys(
    opened: Opened, world: str, hint: str, keys: list[tuple[str, str]], actions: list[tuple[str, str]]
) -> None:
    page = opened.page
    page.locator("#world").select_option(world)
    opened.until(f"game.id === '{world}'")
    page.locator("#people").select_option("0,1")
    opened.until("game.people.length === 2 && frame.time === 0")
    assert page.locator("#hint").inner_text() == hint
    for time, pair in enumerate(keys, 1):
        for one in pair:
            page.keyboard.press(one)
        opened.shows("time", str(time))
    names, taken = opened.session.env.action_names, opened.session.replay().actions[:2, :2].tolist()
    assert [tuple(names[action] for action in both) for both in taken] == actions
    assert not page.evaluate(TOO_WIDE)


def test_the_end_tells_whose_score_it_is(opened: Opened) -> None:
    opened.receive("over: true, score: '96.9 104.93', events: []")
    opened.shows("headline", "Finished: player 1 96.9, player 2 104.93")
    opened.receive("over: true, score: '20', events: []")
    opened.shows("headline", "Finished with 20")


def test_a_held_key_walks_on(opened: Opened) -> None:
    page = opened.page
    page.locator("#speed").select_option("12")
    opened.until("game.speed === 12")
    page.keyboard.down("ArrowRight")
    opened.until("frame.time >= 5")
    page.keyboard.up("ArrowRight")
    page.keyboard.press("p")
    opened.shows("pause", "Resume")
    assert opened.session.replay().actions[:4, 0].tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("opened", [("phone", "light")], indirect=True)
def test_a_soup_by_touch(opened: Opened) -> None:
    pad = opened.page.locator(".pad")
    assert pad.is_visible()
    opened.deliver(lambda action: pad.locator(f".{action}").tap())
    assert opened.page.locator("#score").inner_text() == "20"


def test_a_screen_reader_hears_what_happens(opened: Opened) -> None:
    page, said = opened.page, opened.page.get_by_role("status")
    assert said.inner_text() == "Press a key to begin"
    heard = []
    opened.deliver(lambda action: (heard.append(said.inner_text()), page.keyboard.press(KEYS[action])))
    assert "Player 1: pot onion" in ". ".join(heard)
    assert "deliver" in said.inner_text()
    assert said.inner_text().endswith("Score 20")
    assert page.get_by_role("img", name=f"the board of {ROOM}, 4 rows and 5 columns").is_visible()
    opened.receive("over: true, score: '20', events: []")
    opened.shows("said", "Finished with 20")
    unnamed = (
        "all => all.filter(one => !(one.textContent.trim() || one.ariaLabel || one.labels?.length)).length"
    )
    assert page.locator("button, input, select, a, summary").evaluate_all(unnamed) == 0


def test_the_keyboard_alone(opened: Opened) -> None:
    page = opened.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "world"
    before = page.locator("#world").input_value()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    assert opened.session.id == before  # arrows look through the choices
    chosen = page.locator("#world").input_value()
    page.keyboard.press("Enter")
    opened.until(f"game.id === '{chosen}'")
    assert chosen != before
    page.keyboard.press("x")  # the keys play again
    opened.shows("time", "1")
    page.locator("#speed").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    assert page.locator("#speed").input_value() == "0"
    page.keyboard.press("x")
    opened.shows("time", "2")
    page.locator("#restart").focus()
    page.keyboard.press("Enter")
    opened.shows("time", "0")
    page.keyboard.press("x")
    opened.shows("time", "1")
    opened.session.show(opened.session.replay())
    page.reload()
    page.locator("#on").focus()
    page.keyboard.press("Enter")
    opened.shows("time", "1")
    assert page.evaluate("document.activeElement.id") == "on"


@pytest.mark.parametrize("opened", [("phone", "dark")], indirect=True)
def test_the_pad_without_a_pointer(opened: Opened) -> None:
    opened.page.get_by_role("button", name="player 1: left").focus()
    opened.page.keyboard.press("Enter")
    opened.shows("time", "1")
    assert opened.session.replay().actions[0, 0] == opened.session.env.action_names.index("left")


def test_nothing_moves_by_itself(opened: Opened) -> None:
    opened.page.emulate_media(reduced_motion="reduce")
    opened.page.keyboard.press("ArrowLeft")
    opened.shows("time", "1")
    assert opened.page.evaluate("document.getAnimations().length") == 0
    moving = "all => all.filter(one => getComputedStyle(one).transitionDuration !== '0s').length"
    assert opened.page.locator("*").evaluate_all(moving) == 0


HOSTILE = '<img src="x" onerror="document.title=1"><script>document.title = 2</script>'


@dataclasses.dataclass(frozen=True)
class Hostile(Game):
    """A world whose names are markup."""

    legend: ClassVar = {" ": "floor", "#": "wall", "h": HOSTILE}

    def interact(self, held: Any, thing: Any) -> Any:
        return Outcome(held, thing, f"poke {HOSTILE}", 1.0) if thing == HOSTILE else None

    def parts(self) -> Any:
        return (Act(HOSTILE, thing=self.interact),)

    def how_to_play(self, things: Any, items: Any) -> str:
        return f"Poke {HOSTILE} with `interact`."


def test_names_that_are_markup_are_text(
    browser: Browser, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    registry.register(HOSTILE, Spec(Hostile(), "####\n#1h#\n# 2#\n####"))
    opened = request.getfixturevalue("opened")
    page = opened.page
    page.locator("#world").select_option(HOSTILE)
    opened.until(f"game.id === {json.dumps(HOSTILE)}")
    assert HOSTILE in page.locator("#hint").inner_text()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    opened.shows("score", "1")
    for id in ("legend", "how", "events", "said", "world"):
        assert HOSTILE in (page.locator(f"#{id}").text_content() or ""), id
    assert page.locator("img, script:not([src])").count() == 0
    assert page.title() == "cogrid"


WAYS = [(size, scheme) for size in SIZES for scheme in ("light", "dark")]


@pytest.mark.parametrize("opened", WAYS, indirect=True, ids="-".join)
def test_it_looks_well(opened: Opened, request: pytest.FixtureRequest) -> None:
    page, name = opened.page, request.node.callspec.id
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"play-{name}-begin.png")
    for action in ("interact", "left", "up", "interact", "right", "noop"):
        time = int(page.locator("#time").inner_text())
        page.keyboard.press(KEYS[action])
        opened.shows("time", str(time + 1))
    assert not page.evaluate(TOO_WIDE)
    board = page.locator("#board").bounding_box()
    assert board is not None
    assert board["width"] > 300
    assert board["y"] + board["height"] < SIZES[name.split("-")[0]]["height"]  # without scrolling
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(int(part) for part in dark[4:-1].split(",")) < 200) == name.endswith("dark")
    page.screenshot(path=PICTURES / f"play-{name}.png")
    with Image.open(io.BytesIO(page.locator("#board").screenshot())) as file:
        shot = np.asarray(file.convert("RGB")).astype(int)
    env = opened.session.env
    drawn = picture(env.rules, env.env_state, shot.shape[1] // env.rules.width)
    height, spare = len(drawn), len(shot) - len(drawn)  # the board may begin between two pixels
    assert 0 <= spare <= 2
    differences = [np.abs(shot[top : top + height] - drawn).mean() for top in range(spare + 1)]
    assert min(differences) < 1.0  # SVG and pixels show the same
    opened.session.show(opened.session.replay())
    page.reload()
    page.wait_for_selector("#viewer:not([hidden])")
    assert not page.evaluate(TOO_WIDE)
    page.screenshot(path=PICTURES / f"play-{name}-replay.png")
