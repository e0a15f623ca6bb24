"""A session: a game that people and policies play, or a replay, as plain messages; network-independent."""

from __future__ import annotations

import datetime
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from cogrid._core.author.look import AGENTS
from cogrid._core.compile.actions import INTERACT, TOGGLE
from cogrid._core.rules import Rules
from cogrid._core.step import functions
from cogrid._io import files
from cogrid._io.messages import brief
from cogrid.backend.array import Array
from cogrid.backend.env_state import EnvState
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.registry import registered, spec_of, world_name
from cogrid.policies import zoo
from cogrid.policies.named import GREEDY, POLICIES, file_of, policy_of, usual_policy
from cogrid.render.picture import score_words
from cogrid.render.svg import svg
from cogrid.render.tiles import look_of, views_of
from cogrid.replay.episode import replayed
from cogrid.replay.recording import SUFFIXES, Recorder, Replay

Message = dict[str, Any]

#: Steps per second; 0 waits until every person has chosen.
SPEEDS = (0, 1, 2, 3, 5, 8, 12)
USUAL_SPEED = 5
# The largest replay that a page can show.
MOST_STEPS, MOST_VIEWS = 5_000, 2_000_000


class Session:
    """A page's requests come in as commands, and what it shows goes out as messages."""

    def __init__(
        self,
        id: str,
        *,
        partner: str | None = None,
        people: Sequence[int] = (0,),
        speed: int = USUAL_SPEED,
        seed: int | None = None,
        participant: str | None = None,
        overrides: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.participant = participant
        self._made = (id, overrides)  # other games that the page chooses have no overrides
        self._checkpoint = None if partner in (None, *POLICIES, *zoo.names()) else partner
        self._seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        self.speed, self.paused = speed, True
        self._resumes = False  # when the page is back
        self._known: set[int] = set()  # views whose sprites were sent
        self._film: Message | None = None
        asked = "trained" if self._checkpoint else partner
        self._open(id, asked, people)
        if asked not in (None, self.partner):
            possible = ", ".join(self._partners(id, self.env.rules))
            raise ValueError(f"{id} has no partner {asked!r}: choose {possible}, or a policy file.")

    def _open(self, id: str, partner: str | None, people: Sequence[int]) -> None:
        """Start an episode, perhaps of another game; nothing changes if that raises an error.

        A partner that this game does not have is replaced by the usual one.
        """
        # Not `make`, which imports: neither a page nor the id in a replay may choose a file to run.
        overrides = dict(self._made[1]) if id == self._made[0] else {}
        spec = spec_of(id, {"shaping": 0.0, **overrides})  # the score is the game's own
        env = CoGridEnv(spec, infos=True, id=id)
        if unknown := [person for person in people if person not in env.possible_agents]:
            raise ValueError(f"{id} has no agent {brief(unknown[0])}: its agents are {env.possible_agents}.")
        if len(set(people)) < len(people):
            raise ValueError(f"people={brief(list(people))} names an agent twice.")
        if partner is None or partner not in self._partners(id, env.rules):
            partner = usual_policy(env.rules)
        others = [agent for agent in env.possible_agents if agent not in people]
        name = self._checkpoint if partner == "trained" and self._checkpoint else partner
        self._policy = policy_of(name, env.rules, others, self._seed) if others else None
        self._identity = _identity(name) if others and name not in POLICIES else None
        self.id, self.partner, self.people = id, partner, tuple(people)
        self._recorder = Recorder(env)
        self._recorder.reset(seed=self._seed)
        self._score: Array = np.zeros(env.spec.num_agents)
        self._chosen: dict[int, int] = {}  # people's actions for the next step
        self._times: list[float] = []  # seconds from the start to every step
        self._date, self._begun = datetime.datetime.now(datetime.UTC), time.monotonic()
        self.paused, self._film = True, None

    def _partners(self, id: str, rules: Rules) -> list[str]:
        scripted = ["scripted"] if usual_policy(rules) == "scripted" else []
        return [*scripted, "random", *zoo.names(id), *(["trained"] if self._checkpoint else [])]

    @property
    def env(self) -> CoGridEnv:
        """The environment that is being played."""
        env: CoGridEnv = self._recorder.env
        return env

    @property
    def interval(self) -> float | None:
        """Seconds until the next step, None if there is no automatic step."""
        waits = self.paused or self._film is not None or (self.speed == 0 and self._living)
        if waits or not self.env.agents:
            return None
        return 1 / (self.speed or USUAL_SPEED)

    @property
    def _living(self) -> list[int]:
        """The people's agents that have not ended."""
        return [agent for agent in self.people if agent in self.env.agents]

    def drop(self) -> None:
        """The page is gone: the game waits for it."""
        self._resumes, self.paused = self._resumes or not self.paused, True

    def greet(self) -> list[Message]:
        """Everything that a newly opened page needs; a game that was dropped continues."""
        if self._resumes:
            self._resumes = self.paused = False
        self._known.clear()
        return [self._game(), self._film or self._frame([])]

    def show(self, replay: Replay) -> list[Message]:
        """Show a replay instead of the game, which waits."""
        film = film_of(replay)
        self.paused, self._film = True, film
        return [self._game(), film]

    def do(self, command: Any) -> list[Message]:
        """Run a page's command; a mistake raises a ValueError or TypeError and changes nothing."""
        name = command.get("do") if isinstance(command, Mapping) else None
        if not isinstance(name, str) or name not in _COMMANDS:
            raise ValueError(f"the command {command!s:.60} is unknown.")
        return _COMMANDS[name](self, command)

    def step(self) -> list[Message]:
        """One step with people's chosen actions, or noops, and the partner's."""
        env = self.env
        if not env.agents:
            return []
        joint = dict.fromkeys(env.possible_agents, env.rules.noop)
        joint |= self._policy(env.env_state) if self._policy else {}
        joint |= self._chosen
        self._chosen = {}
        _, rewards, _, _, infos = self._recorder.step({agent: joint[agent] for agent in env.agents})
        self._score = self._score + [rewards.get(agent, 0.0) for agent in env.possible_agents]
        self._times.append(round(time.monotonic() - self._begun, 3))
        return [self._frame(_events(infos))]

    @property
    def file_name(self) -> str:
        """What a saved replay is called: the world, the participant, and when the episode began (UTC)."""
        parts = (world_name(self.id), self.participant or "", f"{self._date:%Y%m%d-%H%M%S}")
        return "_".join(filter(None, map(files.plain_name, parts))) + SUFFIXES[0]

    def replay(self) -> Replay:
        """The episode so far."""
        return self._recorder.replay(
            {
                "people": list(self.people),
                "partner": self.partner if self._policy else None,
                "checkpoint": self._identity,
                "score": self._score.tolist(),
                "participant": self.participant,
                "date": self._date.isoformat(timespec="seconds"),
                "speed": self.speed,  # steps per second; 0 waits for everybody
                "times": self._times,
            }
        )

    # Commands

    def _act(self, command: Message) -> list[Message]:
        agent, name = command.get("agent"), command.get("action")
        if agent not in self.people or name not in self.env.action_names:
            raise ValueError(f"Agent {brief(agent)} cannot do {brief(name)} here.")
        if self._film is not None:
            return []
        self._chosen[agent] = self.env.action_names.index(name)
        begins, self.paused = self.paused, False
        turn = self.speed == 0 and all(person in self._chosen for person in self._living)
        return ([self._game()] if begins else []) + (self.step() if turn else [])

    def _pause(self, command: Message) -> list[Message]:
        self.paused = command.get("paused") is not False
        return [self._game()]

    def _set_speed(self, command: Message) -> list[Message]:
        speed = command.get("speed")
        if type(speed) is not int or speed not in SPEEDS:
            raise ValueError(f"the speed {brief(speed)} is not one of {', '.join(map(str, SPEEDS))}.")
        self.speed = speed
        return [self._game()]

    def _choose(self, command: Message) -> list[Message]:
        """Choose another game, partner or set of people's agents; the same choice again is a restart."""
        people = command.get("people", list(self.people))
        if not isinstance(people, list) or not all(type(person) is int for person in people):
            raise TypeError(f"people={brief(people)} is not a list of agents.")
        seed, self._seed = self._seed, (self._seed + 1) % 2**32
        try:
            self._open(command.get("id", self.id), command.get("partner", self.partner), people)
        except (ValueError, TypeError):
            self._seed = seed
            raise
        return self.greet()

    def _show(self, command: Message) -> list[Message]:
        text = command.get("text")
        if not isinstance(text, str):
            raise TypeError("a replay must be sent as the text of its file.")
        replay = Replay.parse(text, "this file")
        if replay.id and not replay.knows_world:  # a page can never cause an import
            raise ValueError(
                f"this file was recorded in {brief(replay.id)}, which is not registered: "
                "start `python -m cogrid play` with the file and --world."
            )
        return self.show(replay)

    def _leave(self, command: Message) -> list[Message]:
        """Back from a replay to the game."""
        self._film = None
        return self.greet()

    # Messages

    def _game(self) -> Message:
        env = self.env
        return {
            "kind": "game",
            **_board(env.rules),
            "id": self.id,
            "ids": sorted({*registered(), self.id}),
            "people": list(self.people),
            "partner": self.partner,
            "partners": self._partners(self.id, env.rules),
            "speed": self.speed,
            "speeds": list(SPEEDS),
            "paused": self.paused,
            "actions": [name for k, name in enumerate(env.action_names) if _of_use(env.rules, k)],
        }

    def _frame(self, events: Iterable[Message]) -> Message:
        env = self.env
        views = views_of(env.rules, env.env_state).tolist()
        new = _sprites(env.rules, set(views) - self._known)
        self._known |= new.keys()
        return {
            "kind": "frame",
            "views": views,
            "sprites": new,
            "time": int(env.env_state.time),
            "score": score_words(self._score.tolist()),
            "over": not env.agents,
            "away": _away(env.env_state),
            "events": list(events),
        }


_COMMANDS: Mapping[str, Callable[[Session, Message], list[Message]]] = MappingProxyType(
    {
        "act": Session._act,
        "pause": Session._pause,
        "speed": Session._set_speed,
        "choose": Session._choose,
        "show": Session._show,
        "leave": Session._leave,
    }
)


def _identity(name: str) -> Message:
    """Which policy plays: the name of its file, a digest of its content, and whether it is greedy."""
    path, greedy = file_of(name), {"greedy": True} if name.startswith(GREEDY) else {}
    return {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), **greedy}


def _board(rules: Rules) -> Message:
    colours = [AGENTS[agent % len(AGENTS)] for agent in range(rules.n_agents)]
    return {
        "height": rules.height,
        "width": rules.width,
        "max": rules.spec.max_steps,
        "colours": colours,
        "how_to_play": rules.spec.how_to_play,
        "legend": _legend(rules),
    }


def _legend(rules: Rules) -> list[Message]:
    """The looks of all kinds of things that can be on the board, except floor and walls."""
    kinds: dict[str, int] = {}
    for view, thing in enumerate(rules.spec.symbols.things):
        kinds.setdefault(rules.game.kind(thing), view)
    shown = ((kind, view) for kind, view in sorted(kinds.items()) if kind not in ("floor", "wall"))
    return [{"name": kind.replace("_", " "), "sprite": svg(look_of(rules, view))} for kind, view in shown]


def _away(state: EnvState) -> list[int]:
    """The agents that are off the board."""
    agents: list[int] = np.flatnonzero(np.asarray(state.away)).tolist()
    return agents


def _of_use(rules: Rules, action: int) -> bool:
    """Whether the game uses an action: it may not use interact or toggle."""
    if rules.table_actions[action].intent not in (INTERACT, TOGGLE):
        return True
    choices = slice(action * rules.n_poses, (action + 1) * rules.n_poses)
    rows, things, others = rules.rows, np.arange(rules.n_things), np.arange(rules.n_items)
    acts = bool(rows.useful[rows.of_choice[choices][:, None] + things].any())
    if rows.meetings is None:
        return acts
    return acts or bool(rows.meetings.useful[rows.meetings.of_choice[choices][:, None] + others].any())


def _sprites(rules: Rules, views: Iterable[int]) -> dict[int, str]:
    return {view: svg(look_of(rules, view)) for view in sorted(views)}


def _events(infos: Mapping[int, Mapping[str, Any]]) -> list[Message]:
    """What the agents did in a step, as text."""
    events = ((agent, info["event"]["verb"], info["event"]["item"]) for agent, info in infos.items())
    return [{"agent": agent, "words": _words(verb, item)} for agent, verb, item in events if verb]


def _words(verb: str, item: str | None) -> str:
    return verb if item is None or item in verb else f"{verb} {item}"


def film_of(replay: Replay) -> Message:
    """All moments of a replay in one message."""
    cells = replay.start["state"].get("cells")
    size = (
        len(cells) if isinstance(cells, list) else 0
    )  # anything but a list raises an error when it is played
    if len(replay) > MOST_STEPS or (len(replay) + 1) * size > MOST_VIEWS:
        raise ValueError(f"a replay of {len(replay)} steps and {size} cells is too long for a page.")
    episode = replayed(replay)
    rules = episode.rules
    views = [views_of(rules, state).tolist() for state in episode.states]
    return {
        "kind": "film",
        **_board(rules),
        "id": replay.id,
        "views": views,
        "sprites": _sprites(rules, {view for some in views for view in some}),
        "times": [int(state.time) for state in episode.states],
        "away": [_away(state) for state in episode.states],
        "scores": [score_words(score.tolist()) for score in episode.scores],
        "events": list(_film_events(rules, episode.states, replay.actions)),
    }


def _film_events(rules: Rules, states: Sequence[EnvState], actions: Array) -> Iterator[Message]:
    """What the agents did, and in which frame."""
    step, kinds = functions(rules, infos=True).step, rules.spec.symbols.kinds
    for moment, (state, joint) in enumerate(zip(states, actions, strict=False), 1):
        infos = step(state, joint)[4]
        for agent, verb in enumerate(infos["verb"].tolist()):
            if verb:
                item = int(infos["item"][agent])
                words = _words(rules.verbs[verb], kinds[item] if item >= 0 else None)
                yield {"moment": moment, "agent": agent, "words": words}
