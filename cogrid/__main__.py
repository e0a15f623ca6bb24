"""The command line: list, inspect, render, play and train."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import shlex
import signal
import sys
import tempfile
import threading
import webbrowser
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn

from cogrid._io import files, installed, interrupt

# The other project's `__init__` may have run instead of ours, and the imports below would fail.
if __name__ == "__main__":
    installed.check_alone(as_command=True)

from cogrid._apps import crossplay, zoo
from cogrid._apps.export import command as export
from cogrid._apps.humans import command as humans
from cogrid._apps.play.server import Server
from cogrid._apps.play.session import Session
from cogrid._core.author.game import Game
from cogrid._core.author.layout import DIGITS, FLOOR
from cogrid._core.author.options import checked_number
from cogrid._core.compile.spec import Spec
from cogrid._io.messages import brief, several
from cogrid._io.reading import add_settings, as_settings, whole_number
from cogrid.envs import registry
from cogrid.envs.registry import family_of, find, is_own, make, registered, spec_of
from cogrid.policies.named import NAMED, POLICIES, best_note, file_of, options_of, training_note, usual_policy
from cogrid.render.film import LEAST_FPS, MOST_FPS, SUFFIXES, Film, check_pixels
from cogrid.render.picture import RENDER_FPS, TILE, checked_tile
from cogrid.replay.episode import Episode, play, replayed
from cogrid.replay.recording import Replay
from cogrid.testing.conformance import check_env
from cogrid.testing.unused import unused_methods

MOST_STEPS = 400  # of a film, by default
MAX_STEPS, MAX_BATCH = 100_000, 1000  # of a film: all of its states are kept in memory

AN_ID = "an environment id, or a world of your own as module:Name or file.py:Name"
BENCH = """\
python -m cogrid.benchmarks.benchmark_suite    NumPy and JAX on one kitchen; ships with the package

From the checkout, with nox (python -m pip install nox):
nox -s bench                    a quick benchmark, compared with the baselines
nox -s bench -- --against main  whether a change made it slower
nox -s bench -- --full          up to 5,000,000 environments
nox -s bench-peers              the same measurements of other libraries
python -m bench profile         where the time of a step goes"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, or print the help; a user's mistake prints one sentence and exits with code 2."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser(words[0] if words else "")
    if not words:
        parser.print_help()
        return 0
    options = parser.parse_args(words)
    try:
        code: int | None = options.run(options)
    except (ValueError, TypeError, OSError) as error:
        if interrupt.is_closed_output(error):
            raise
        said = files.sentence(error) if isinstance(error, OSError) else str(error)
        # The arguments of the author's rule that failed; JAX's notes are about its tracebacks.
        notes = [note for note in getattr(error, "__notes__", ()) if "\n" not in note]
        sentence = "; ".join([said.rstrip(".") if notes else said, *notes])
        print(f"python -m cogrid {options.command}: {sentence}", file=sys.stderr)
        return 2
    return code or 0


class _Parser(argparse.ArgumentParser):
    """A mistake is one line, without the usage before it; the commands' parsers are of this class too."""

    def error(self, message: str) -> NoReturn:
        """Print the line and exit with code 2."""
        hint = "" if message.endswith((".", "?")) else " (see --help)"
        self.exit(2, f"{self.prog}: {message}{hint}\n")


def _parser(command: str) -> argparse.ArgumentParser:
    """The parser; commands that need more than NumPy get their arguments only when `command` names them."""
    parser = _Parser(
        prog="python -m cogrid",
        description="Multi-agent grid worlds: list, inspect, render, play and train.",
        epilog="example: python -m cogrid render Overcooked-CrampedRoom-V0 --out kitchen.gif",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="print every environment id")
    listing.set_defaults(run=_list)
    info = commands.add_parser("info", help="describe an environment")
    info.add_argument("id", metavar="ID", help=f"{AN_ID}; see `python -m cogrid list`")
    add_settings(info)
    info.set_defaults(run=_info)
    check = commands.add_parser("check", help="run the built-in environments' tests on an environment")
    check.description = (
        "Play random episodes on every installed backend and check what every environment must guarantee; "
        "then print how often each verb and rule was used, and how often each random outcome was drawn "
        "next to its odds."
    )
    check.add_argument("id", metavar="ID", help=AN_ID)
    check.add_argument(
        "--steps",
        type=whole_number(1, MAX_STEPS),
        default=200,
        metavar="N",
        help="random steps (%(default)s)",
    )
    check.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="N", help="random seed (%(default)s)"
    )
    check.set_defaults(run=_check)
    _add_render(commands.add_parser("render", help="write a picture or a film of an episode"))
    _add_play(commands.add_parser("play", help="play in the browser, or watch a replay there"))
    train = commands.add_parser("train", help="train agents; save their scores and policies")
    if command == "train":
        _add_train(train)
    crossplay.add_arguments(
        commands.add_parser("crossplay", help="play every pair of the given policies together")
    )
    humans.add_arguments(
        commands.add_parser("humans", help="turn overcooked_ai's human games into replays and arrays")
    )
    zoo.add_arguments(commands.add_parser("zoo", help="list the trained policies that can be partners"))
    export.add_arguments(commands.add_parser("export", help="write an environment as a program in C"))
    bench = commands.add_parser("bench", help="print how speed is measured")
    bench.set_defaults(run=lambda options: print(BENCH))
    return parser


def _add_render(render: argparse.ArgumentParser) -> None:
    render.description = (
        "Play an environment or a replay, and write an animated .gif or .apng, or a .png of the last step."
    )
    render.add_argument("what", metavar="ID|REPLAY", help=f"{AN_ID}, or a replay file")
    render.add_argument("--out", required=True, metavar="FILE", help=f"ends in {', '.join(SUFFIXES)}")
    render.add_argument(
        "--steps",
        type=whole_number(0, MAX_STEPS),
        metavar="N",
        help=f"steps to play (all of a replay; else one episode, at most {MOST_STEPS}, or 0 for .png)",
    )
    render.add_argument("--seed", type=whole_number(), metavar="N", help="seed of the episode (0)")
    render.add_argument(
        "--policy",
        metavar="NAME",
        help=f"{NAMED} (a script if there is one)",
    )
    render.add_argument(
        "--tile", type=whole_number(), default=TILE, metavar="PIXELS", help=f"size of a cell ({TILE})"
    )
    render.add_argument(
        "--fps", type=float, default=RENDER_FPS, metavar="N", help=f"steps per second ({RENDER_FPS})"
    )
    render.add_argument(
        "--batch",
        type=whole_number(1, MAX_BATCH),
        metavar="N",
        help="environments to draw side by side, with consecutive seeds (1)",
    )
    _add_world(render)
    add_settings(render)
    render.set_defaults(run=_render)


def _add_play(play: argparse.ArgumentParser) -> None:
    play.description = "Serve a local page where people and policies play together; Ctrl-C stops it."
    play.add_argument("what", metavar="ID|REPLAY", help=f"{AN_ID}, or a replay file")
    play.add_argument(
        "--partner",
        metavar="NAME",
        help=f"{NAMED} (a script if there is one)",
    )
    play.add_argument("--seed", type=whole_number(), metavar="N", help="seed of the first episode (random)")
    play.add_argument("--participant", metavar="NAME", help="a name to store in the saved replays")
    play.add_argument("--port", type=whole_number(0), default=0, metavar="N", help="local port (a free one)")
    play.add_argument("--no-open", action="store_true", help="only print the address")
    _add_world(play)
    add_settings(play)
    play.set_defaults(run=_play)


def _add_train(train: argparse.ArgumentParser) -> None:
    try:
        from cogrid._apps.train import command  # optional: needs the extra `train`
    except ModuleNotFoundError as error:
        train.error(f"training needs {error.name}, which is not installed: {installed.remedy('train')}.")
    command.add_arguments(train)


def _add_world(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--world", metavar="ID", help="the module:Name or file.py:Name that the replay was recorded in"
    )


def _replay(options: argparse.Namespace) -> Replay | None:
    """The replay, or None for an environment id. The world that it names is imported only with --world."""
    file = _file(options.what)
    if file is None:
        if options.world is not None:
            raise ValueError(f"{options.what} is not a replay: leave --world out.")
        return None
    if options.set:
        raise ValueError(f"{file} is a replay, with its own options: leave --set out.")
    replay = Replay.load(file)
    if options.world is None and replay.id and not replay.knows_world:
        shown = is_own(replay.id) and replay.id.isprintable() and len(replay.id) < 200
        world = shlex.quote(replay.id) if shown else "and its module:Name or file.py"
        raise ValueError(f"{file} was recorded in {brief(replay.id)}: add --world {world}")
    if options.world is not None and replay.id:
        if replay.id in registered():
            raise ValueError(f"{file} is of {replay.id}, which needs no --world: leave it out.")
        spec = spec_of(find(options.world), {})
        if replay.id not in registered():  # the world's name in the file
            registry.register(replay.id, spec)
    return replay


def _file(what: str) -> Path | None:
    """The file, or None for an environment id; raises an error for a path that does not exist."""
    path = Path(what)
    if what in registered() or path.suffix == ".py":
        return None
    if path.is_file():
        return path
    if is_own(what):
        return None
    if path.suffix or len(path.parts) > 1 or path.exists():
        raise ValueError(f"there is no file {what!r}, and no environment has that id.")
    return None  # perhaps a misspelt id, which `make` explains


def _play(options: argparse.Namespace) -> None:
    replay = _replay(options)
    id = find(options.what) if replay is None else replay.id or registered()[0]
    session = Session(
        id,
        partner=options.partner,
        seed=options.seed,
        participant=options.participant,
        overrides=_overrides(options, id, options.partner) if replay is None else {},
    )
    if replay is not None:
        session.show(replay)
    server = Server(session, options.port)
    print(f"{server.address}\nAvailable on this machine only; press Ctrl-C to stop.", flush=True)
    leads: AbstractContextManager[str | None] = contextlib.nullcontext()
    if not options.no_open:
        leads = _leading_to(server.address)
    with _terminable(), leads as url:
        stopped = asyncio.run(_until_stopped(server.run(lambda: _open(url) if url else None)))
    if stopped == signal.SIGINT:
        raise KeyboardInterrupt
    if stopped:
        sys.exit(128 + stopped)


def _overrides(options: argparse.Namespace, id: str, policy: str | None) -> dict[str, Any]:
    """The options of the environment: those given, and else those that the policy was trained with."""
    chosen = dict(options.set)
    if policy is None or policy in POLICIES:
        return chosen
    file = file_of(policy)
    _tell(best_note(policy))
    if taken := {name: value for name, value in options_of(file, id).items() if name not in chosen}:
        print(f"With {as_settings(taken)}, as {file} was trained; --set changes it.", file=sys.stderr)
    _tell(training_note(policy, id, taken | chosen))
    return taken | chosen


def _tell(notes: Iterable[str]) -> None:
    for note in notes:
        print(note, file=sys.stderr)


async def _until_stopped(run: Coroutine[Any, Any, None]) -> int:
    """Serve until a signal arrives, never stopping inside a step; returns its number, or 0."""
    loop, serving, numbers = asyncio.get_running_loop(), asyncio.ensure_future(run), [0]

    def stop(number: int) -> None:
        numbers.append(number)
        serving.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):  # Windows; a thread
            loop.add_signal_handler(number, stop, number)
    with contextlib.suppress(asyncio.CancelledError):
        await serving
    return numbers[-1]


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _leading_to(address: str) -> Iterator[str]:
    """A file that redirects to the address: on a command line, every user could see its secret part."""
    with tempfile.TemporaryDirectory(prefix="cogrid-") as folder:
        file = Path(folder, "play.html")
        file.touch(0o600)
        file.write_text(f'<meta http-equiv="refresh" content="0; url={address}">\n', encoding="utf-8")
        yield file.as_uri()


def _open(url: str) -> None:
    """In a thread, since some browser commands return only when the browser is closed."""
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _list(options: argparse.Namespace) -> None:
    ids = registered()
    width = max(map(len, ids))
    for family, members in itertools.groupby(sorted(ids, key=family_of), family_of):
        print(family)
        for id in members:
            spec = spec_of(id, {})
            sizes = f"{several(spec.num_agents, 'agent')}, {several(spec.max_steps, 'step')}"
            what = f"{spec.height} × {spec.width} cells, {sizes}"
            print(f"  {id:<{width}}  {what}")


def _check(options: argparse.Namespace) -> int:
    try:
        report = check_env(options.id, steps=options.steps, seed=options.seed)
    except AssertionError as error:
        print(f"python -m cogrid check: {error}.", file=sys.stderr)
        return 1
    print(report)
    if unseen := [verb for verb, times in report.items() if not times]:
        steps = several(options.steps, "step")
        print(f"Never happened in {steps} of random play: {', '.join(unseen)}. Try more --steps.")
    for name in _unused(spec_of(find(options.id), {}).game):
        print(f"Nothing calls {name}: give it to a part, or start its name with an underscore.")
    print(f"{options.id} passed every check.")
    return 0


def _unused(game: Game) -> list[str]:
    return [f"{type(game).__name__}.{name}" for name in unused_methods(game)]


def _parts(spec: Spec) -> Iterator[str]:
    """The parts of a game, by kind and name."""
    counts = Counter(
        f"{type(part).__name__} {getattr(part, 'name', '')}".strip()
        for part in spec.symbols.answers.parts.all
    )
    return (name if times == 1 else f"{times} × {name}" for name, times in counts.items())


def _info(options: argparse.Namespace) -> None:
    env = make(options.id, **dict(options.set))
    spec, game = env.spec, env.spec.game
    letters = {letter for layout in spec.layout for row in layout.letters for letter in row}
    seen = env.observation_space(0)
    print(f"{options.id}: {(type(game).__doc__ or type(game).__name__).strip().splitlines()[0]}\n")
    for layout in spec.layout:
        print("\n".join(f"    {row}" for row in layout.rows))
    choices, idle = registry.options(options.id) | dict(options.set), env.rules.rewards.never_paid
    known = (f"{letter} {game.kind(game.legend[letter])}" for letter in sorted(letters - {FLOOR}))
    starts = [f"{DIGITS[0]}… where agents start"] if any(layout.starts for layout in spec.layout) else []
    rows = {
        "letters": ", ".join([*known, *starts]),
        "agents": str(spec.num_agents),
        "steps": str(spec.max_steps),
        "actions": ", ".join(f"{number} {name}" for number, name in enumerate(env.action_names)),
        "parts": ", ".join(_parts(spec)) or "none",
        "observation": f"{spec.observation}: {seen.shape} {seen.dtype}, named in env.feature_names",
        "rewards": ", ".join(f"{r.name} (never paid)" if r.name in idle else r.name for r in game.rewards()),
        "events": ", ".join(filter(None, env.verbs)) or "none",
        "options": ", ".join(f"{name}={value!r}" for name, value in choices.items()),
    }
    if text := spec.how_to_play:
        rows = {"how to play": text} | rows
    if unused := _unused(game):
        rows["never called"] = ", ".join(unused)
    print()
    for name, words in rows.items():
        print(f"{name:<13}{words}")


def _render(options: argparse.Namespace) -> None:
    still = options.out.lower().endswith(".png")
    checked_number("fps", options.fps, LEAST_FPS, MOST_FPS)
    if (replay := _replay(options)) is not None:  # it may have no steps
        if chosen := [name for name in ("seed", "policy", "batch") if getattr(options, name) is not None]:
            raise ValueError(
                f"{options.what} is a replay, with its own seed and actions: leave --{chosen[0]} out."
            )
        episode, name = replayed(replay, options.steps), f"replay {options.what}"
    else:
        episode, name = _played(options, still), f"seed {options.seed or 0}"
    film = Film(episode.rules, episode.states, episode.scores, options.tile)
    film.save(options.out, options.fps)
    height, width, _ = film[-1].shape
    count = "a picture" if still else several(len(film), "picture")
    print(f"{options.out}: {count} of {width} × {height} pixels, {name}")


def _played(options: argparse.Namespace, still: bool) -> Episode:
    overrides = _overrides(options, find(options.what), options.policy)
    env = make(options.what, **{"shaping": 0.0, **overrides})  # the score is the game's own
    steps, batch = options.steps, options.batch or 1
    check_pixels(env.rules, batch, checked_tile(options.tile))  # before it is played
    if steps is None:
        steps = 0 if still else min(env.spec.max_steps, MOST_STEPS)
    return play(env, options.policy or usual_policy(env.rules), options.seed or 0, steps, batch)


if __name__ == "__main__":
    sys.exit(interrupt.run(main))
