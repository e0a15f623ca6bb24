"""Sessions: what a page asks for, what it is told, and replays of what people did."""

from __future__ import annotations

import datetime
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from cogrid._apps.play import session as module
from cogrid._apps.play.session import Session, film_of
from cogrid._core.author.look import AGENTS
from cogrid.envs import registry
from cogrid.envs.overcooked.policies import ScriptedCooks
from cogrid.policies import zoo
from cogrid.replay.recording import Replay, record
from tests.doors import hall
from tests.episodes import shared
from tests.policies.test_named import saved

ROOM, ARENA = "Overcooked-CrampedRoom-V0", "Arena-V0"


def act(session: Session, action: str, agent: int = 0) -> list:
    return session.do({"do": "act", "agent": agent, "action": action})


def deliver(session: Session) -> None:
    """Person 0 plays as a scripted cook would, until there is a score."""
    cooks = ScriptedCooks(session.env.rules, [0])
    for _ in range(80):
        name = session.env.action_names[cooks.act(session.env.env_state)[0]]
        frame = act(session, name)[-1]
        if frame["score"] != "0":
            return
    raise AssertionError("no soup was delivered")


def test_a_page_is_greeted_with_all_that_it_shows() -> None:
    session = Session(ROOM, seed=0)
    game, frame = json.loads(json.dumps(session.greet()))
    assert (game["kind"], game["id"], game["height"], game["width"], game["max"]) == ("game", ROOM, 4, 5, 400)
    assert (game["people"], game["partner"], game["paused"]) == ([0], "scripted", True)
    assert (game["partners"], game["colours"]) == (["scripted", "random", *zoo.names(ROOM)], list(AGENTS[:2]))
    assert game["actions"] == ["up", "down", "left", "right", "interact", "noop"]  # toggle is of no use here
    assert game["how_to_play"] == session.env.spec.how_to_play != ""
    assert (frame["kind"], frame["time"], frame["score"], frame["over"]) == ("frame", 0, "0", False)
    assert len(frame["views"]) == 20
    assert set(frame["sprites"]) == set(map(str, frame["views"]))
    assert all(text.startswith("<") for text in frame["sprites"].values())
    assert session.greet() == [
        game,
        frame | {"sprites": session.greet()[1]["sprites"]},
    ]  # a reload has it again


@pytest.mark.parametrize(
    ("id", "players", "actions", "things"),
    [
        ("Foraging-8x8-2p-3f-V0", 2, {"load"}, {"food"}),
        ("Goals-V0", 2, set(), {"sky goal", "orange goal", "shared goal"}),
        ("SearchRescue-Ruins-V0", 3, {"interact", "toggle"}, {"red victim", "treated victim", "rubble"}),
        ("CommonsHarvest-Closed-V0", 7, {"zap"}, {"apple", "grass", "pad"}),
        ("CleanUp-V0", 7, {"zap", "clean"}, {"apple", "dirt", "water"}),
        ("OvercookedV2-GroundedCoordSimple-V0", 2, {"interact"}, {"pot"}),
    ],
)
def test_every_family_is_played(id: str, players: int, actions: set, things: set) -> None:
    """Its actions, its players and its legend; everybody can take every action, and the script plays on."""
    session = Session(id, seed=4, speed=0)
    game, _ = json.loads(json.dumps(session.greet()))
    assert len(game["colours"]) == players
    assert set(game["actions"]) == {"up", "down", "left", "right", "noop"} | actions
    assert things <= {entry["name"] for entry in game["legend"]}
    assert all(entry["sprite"].startswith("<") for entry in game["legend"])
    assert game["partner"] == "scripted"
    for agent in range(players):
        session.do({"do": "choose", "people": [agent]})
        for action in game["actions"]:
            frame = act(session, action, agent)[-1]
        assert frame["time"] == len(game["actions"])
    session.do({"do": "choose", "people": []})
    told = [event["words"] for _ in range(40) for frame in session.step() for event in frame["events"]]
    assert told


def test_a_sprite_is_sent_once() -> None:
    session = Session(ROOM, seed=0, speed=0, people=[0, 1])
    known = set(session.greet()[1]["sprites"])
    for action in ("left", "right", "left", "right"):
        act(session, action)
        (frame,) = act(session, "noop", agent=1)
        assert not known & set(frame["sprites"])
        known |= set(frame["sprites"])
        assert set(frame["views"]) <= known


def test_the_clock_waits_for_people_or_not() -> None:
    session = Session(ROOM, seed=0, people=[0, 1])
    assert session.interval is None  # paused until somebody acts
    (game,) = act(session, "up")
    assert game["paused"] is False
    assert session.interval == 1 / session.speed
    (frame,) = session.step()
    assert frame["time"] == 1
    session.do({"do": "speed", "speed": 0})
    assert session.interval is None
    assert act(session, "up") == []  # the other has not chosen
    assert act(session, "left", agent=1)[0]["time"] == 2
    session.do({"do": "pause"})
    assert session.interval is None
    session.do({"do": "choose", "people": []})
    session.do({"do": "pause", "paused": False})
    assert session.interval is not None  # there is nobody to wait for


def test_people_choose_and_partners_play() -> None:
    session = Session(ROOM, seed=0, speed=0, partner="random")
    before = np.asarray(session.env.env_state.agent_pos).tolist()
    moved = set()
    for _ in range(30):
        (*_, frame) = act(session, "noop")
        now = np.asarray(session.env.env_state.agent_pos).tolist()
        assert now[0] == before[0]
        moved.add(tuple(now[1]))
    assert len(moved) > 1
    assert frame["time"] == 30


def test_a_soup_is_delivered_and_the_replay_tells_it() -> None:
    session = Session(ROOM, seed=3, speed=0, participant="P07")
    deliver(session)
    replay = Replay.parse(session.replay().text())
    replay.verify()
    assert (replay.id, replay.seed, replay.metadata["score"]) == (ROOM, 3, [20.0, 20.0])
    told = replay.metadata
    assert (told["people"], told["partner"], told["participant"]) == ([0], "scripted", "P07")
    assert (told["speed"], told["checkpoint"]) == (0, None)
    assert datetime.datetime.fromisoformat(told["date"]).tzinfo is datetime.UTC
    assert len(told["times"]) == len(replay)
    assert sorted(told["times"]) == told["times"]
    film = film_of(replay)
    json.dumps(film)
    assert len(film["views"]) == len(film["times"]) == len(film["scores"]) == len(replay) + 1
    assert film["scores"][0] == "0"
    assert film["scores"][-1] == "20"
    assert {view for views in film["views"] for view in views} == set(film["sprites"])
    last = [event for event in film["events"] if event["words"].startswith("deliver")]
    assert [event["moment"] for event in last] == [len(replay)]
    words = {event["words"] for event in film["events"]}
    assert {"take onion", "pot onion", "take dish", "plate dish"} <= words


@pytest.mark.parametrize(
    ("participant", "name"),
    [
        (None, f"{ROOM}_20261118-031502.replay.json"),
        ("P 7/ä", f"{ROOM}_P-7_20261118-031502.replay.json"),
        ('-"\r\n', f"{ROOM}_20261118-031502.replay.json"),
    ],
)
def test_saved_replays_are_named_after_their_game(participant, name) -> None:
    session = Session(ROOM, seed=0, participant=participant)
    assert session.replay().metadata["date"].startswith(f"{session._date:%Y-%m-%dT%H:%M:%S}")
    session._date = datetime.datetime(2026, 11, 18, 3, 15, 2, tzinfo=datetime.UTC)
    assert session.file_name == name
    session.do({"do": "choose"})
    assert session.file_name != name  # the next episode has its own


@pytest.mark.parametrize(
    ("ending", "stem"), [("own_lamps.py", "own_lamps"), ("own_lamps.py:LAMPS", "own_lamps-LAMPS")]
)
def test_replays_of_your_own_world_are_named_without_its_folder(monkeypatch, tmp_path, ending, stem) -> None:
    id = f"{tmp_path}/{ending}"
    monkeypatch.setitem(registry._SPECS, id, shared(ROOM, "numpy").spec)
    assert Session(id, seed=0).file_name.startswith(f"{stem}_2")


def test_live_events_are_those_of_the_film() -> None:
    session = Session(ROOM, seed=3, speed=0, people=[])
    told = []
    for moment in range(1, 41):
        (frame,) = session.step()
        told += [{"moment": moment, **event} for event in frame["events"]]
    assert told
    assert film_of(session.replay())["events"] == told


def test_a_dropped_page_finds_its_game() -> None:
    session = Session(ROOM, seed=0)
    act(session, "up")
    session.step()
    session.drop()
    assert session.interval is None
    session.drop()  # by a second window that takes over
    game, frame = session.greet()
    assert (game["paused"], frame["time"]) == (False, 1)
    session.do({"do": "pause"})
    session.drop()
    assert session.greet()[0]["paused"] is True  # who paused it finds it paused


def test_an_episode_ends_and_the_next_one_starts() -> None:
    session = Session(ROOM, seed=5, people=[])
    session.do({"do": "pause", "paused": False})
    for _ in range(400):
        (frame,) = session.step()
    assert frame["over"]
    assert session.step() == []
    assert session.interval is None
    game, frame = session.do({"do": "choose"})
    assert (frame["time"], frame["over"], game["paused"], game["people"]) == (0, False, True, [])
    assert session.replay().seed == 6


def test_another_world() -> None:
    session = Session(ROOM, seed=0)
    game, frame = session.do({"do": "choose", "id": ARENA})
    assert (game["id"], game["partner"], game["partners"]) == (ARENA, "random", ["random"])
    assert len(game["colours"]) == 4
    assert len(frame["views"]) == 144
    assert set(frame["views"]) == set(frame["sprites"])


def test_a_partner_that_was_asked_for_is_there_or_refused() -> None:
    with pytest.raises(
        ValueError, match="Arena-V0 has no partner 'scripted': choose random, or a policy file"
    ):
        Session(ARENA, partner="scripted")
    assert Session(ARENA, partner="random").partner == "random"


def test_a_replay_is_shown_while_the_game_waits() -> None:
    session = Session(ROOM, seed=0)
    act(session, "up")
    session.step()
    text = record(shared(ARENA, "numpy"), np.zeros((3, 4), int), 1).text()
    game, film = session.do({"do": "show", "text": text})
    assert (film["kind"], film["id"], len(film["views"]), len(film["views"][0])) == ("film", ARENA, 4, 144)
    assert game["paused"]
    assert act(session, "up") == []
    session.do({"do": "pause", "paused": False})
    assert session.interval is None  # it cannot go on unseen
    assert session.greet()[1]["kind"] == "film"  # a reload shows it again
    assert session.do({"do": "leave"})[1]["time"] == 1


def test_a_trained_partner(tmp_path) -> None:
    file = saved(tmp_path / "a.npz", len(shared(ROOM, "numpy").feature_names))
    session = Session(ROOM, seed=0, speed=0, partner=file)
    assert session.greet()[0]["partner"] == "trained"
    game, _ = session.do({"do": "choose", "partner": "random"})
    assert game["partners"] == ["scripted", "random", *zoo.names(ROOM), "trained"]
    session.do({"do": "choose", "partner": "trained"})
    act(session, "noop")
    assert session.replay().actions.tolist() == [[6, 4]]
    digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    assert session.replay().metadata["checkpoint"] == {"file": "a.npz", "sha256": digest}
    with pytest.raises(ValueError, match="different observations"):
        session.do({"do": "choose", "id": "Overcooked-CounterCircuit-V0"})
    assert session.id == ROOM
    assert session.replay().seed == 2


def test_a_partner_of_the_zoo() -> None:
    name = zoo.names(ROOM)[0]
    session = Session(ROOM, seed=0, speed=0, partner=name)
    assert session.greet()[0]["partner"] == name
    act(session, "noop")
    told = session.replay().metadata
    assert (told["partner"], told["checkpoint"]["file"]) == (name, f"{name}.npz")
    game, _ = session.do({"do": "choose", "partner": "random"})
    assert (game["partner"], session.replay().metadata["checkpoint"]) == ("random", None)
    game, _ = session.do({"do": "choose", "partner": name, "id": ARENA})  # none of its own
    assert (game["partner"], game["partners"]) == ("random", ["random"])
    with pytest.raises(ValueError, match=f"has no partner '{name}': choose scripted, random"):
        Session("Overcooked-CounterCircuit-V0", partner=name)


def test_a_greedy_partner() -> None:
    """By the name of any trained policy; what is recorded tells it from one that draws."""
    name = zoo.names(ROOM)[0]
    session = Session(ROOM, seed=0, speed=0, partner=f"greedy:{name}")
    assert session.greet()[0]["partner"] == "trained"
    identity = session.replay().metadata["checkpoint"]
    assert (identity["file"], identity["greedy"]) == (f"{name}.npz", True)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (None, "unknown"),
        ({"do": "dance"}, "dance"),
        ({"do": ["act"]}, "unknown"),
        ({"do": "act", "agent": 1, "action": "up"}, "Agent 1"),
        ({"do": "act", "agent": 0, "action": "fly"}, "'fly'"),
        ({"do": "act", "agent": {}, "action": []}, "Agent {}"),
        ({"do": "speed", "speed": 1000}, "1000"),
        ({"do": "speed", "speed": "5"}, "'5'"),
        ({"do": "speed", "speed": True}, "True"),
        ({"do": "choose", "id": "Chess-V0"}, "Chess-V0"),
        ({"do": "choose", "id": 3}, "3"),
        ({"do": "choose", "people": [7]}, "agent 7"),
        ({"do": "choose", "people": "all"}, "all"),
        ({"do": "choose", "people": [0, 0]}, "people=[0, 0] names an agent twice"),
        ({"do": "show"}, "text"),
        ({"do": "show", "text": "{}"}, "this file is not a replay"),
    ],
)
def test_mistakes_are_told_and_change_nothing(command, words) -> None:
    session = Session(ROOM, seed=0, speed=0)
    act(session, "up")
    before = session.replay()
    with pytest.raises((ValueError, TypeError)) as told:
        session.do(command)
    assert words in str(told.value)
    assert session.replay() == before
    assert session.greet()[0]["speed"] == 0


@pytest.mark.parametrize("limit", ["MOST_STEPS", "MOST_VIEWS"])
def test_a_replay_that_no_page_can_hold_is_refused(monkeypatch, limit) -> None:
    monkeypatch.setattr(module, limit, 5)
    with pytest.raises(ValueError, match="replay of 6 steps and 20 cells is too long"):
        film_of(record(shared(ROOM, "numpy"), np.full((6, 2), 6), 0))


def test_who_plays_alone_had_no_partner() -> None:
    told = Session(ROOM, seed=0, partner=zoo.names(ROOM)[0], people=[0, 1]).replay().metadata
    assert (told["people"], told["partner"], told["checkpoint"]) == ([0, 1], None, None)


def test_nobody_waits_for_people_who_have_ended(monkeypatch) -> None:
    """
    #E##
    #12#
    ####
    """
    monkeypatch.setitem(registry._SPECS, "Doors-V0", hall("#E##\n#12#\n####", max_steps=9))
    session = Session("Doors-V0", seed=0, speed=0, people=[0, 1])
    act(session, "noop", 1)
    assert act(session, "interact", 0)[-1]["time"] == 1  # agent 0 leaves
    assert session.env.agents == [1]
    assert act(session, "noop", 1)[-1]["time"] == 2
    assert session.interval is None
    alone = Session("Doors-V0", seed=0, speed=0, people=[0])
    act(alone, "interact", 0)
    assert alone.interval is not None  # only its partner is left
