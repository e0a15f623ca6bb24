"""Checking: on compilation, a game's hooks are called with all that can occur and their results checked."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from traceback import walk_tb
from types import CodeType, FunctionType, MappingProxyType, TracebackType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cogrid._core.author.answers import Aim, AnyReward, Counted, Near, OneCell, Placed, Thing, View
from cogrid._core.author.game import Game
from cogrid._core.author.hooks import written
from cogrid._core.author.look import Shape
from cogrid._core.compile.asking import question
from cogrid._core.compile.memory import memory_of
from cogrid._core.compile.slots import slots_of
from cogrid._core.compile.spec import Spec
from cogrid.backend.array import Array, brief, several

Built = TypeVar("Built")


class Kind(NamedTuple):
    """What a hook must return: a test, and a description for errors."""

    fits: Callable[[Any], bool]
    words: str


def _a(what: type) -> Kind:
    article = "an" if what.__name__[0] in "AEIO" else "a"
    return Kind(lambda answer: isinstance(answer, what), f"{article} {what.__name__}")


def _or_none(kind: Kind) -> Kind:
    return Kind(lambda answer: answer is None or kind.fits(answer), f"{kind.words} or None")


def _several(what: Any, words: str) -> Kind:
    def fits(answer: Any) -> bool:
        return isinstance(answer, (tuple, list)) and all(isinstance(one, what) for one in answer)

    return Kind(fits, f"a tuple of {words}, even for a single one")


def _is_integer(answer: Any) -> bool:
    return isinstance(answer, (int, np.integer, np.bool_))


def _is_paint(answer: Any) -> bool:
    return isinstance(answer, Mapping) and all(_is_integer(v) and 0 <= v < 256 for v in answer.values())


def _is_scattered(answer: Any) -> bool:
    is_pair = isinstance(answer, tuple) and len(answer) == 2
    return answer is None or (is_pair and isinstance(answer[1], (int, float)) and 0 <= answer[1] <= 1)


FLAG = Kind(_is_integer, "True or False")
INTEGER = Kind(_is_integer, "a whole number")
COUNT = Kind(lambda answer: _is_integer(answer) and 0 <= answer < 2**31, "a whole number of 0 or more")
NAME = Kind(lambda answer: isinstance(answer, str) and bool(answer), "a name")
PAINT = Kind(_is_paint, "a mapping of planes to whole numbers from 0 to 255")
GLYPH = Kind(lambda answer: isinstance(answer, str) and len(answer) == 2, "two characters")
LOOK = _several(Shape, "Shapes, such as disk(…)")
SHOWN = Kind(
    lambda answer: isinstance(answer, (bool, Collection)) and not isinstance(answer, str),
    "True, False or the names of planes",
)

#: Hooks without arguments, called before all others.
PARTS: Mapping[str, Kind] = MappingProxyType(
    {
        "near": _or_none(_a(Near)),
        "view": _or_none(_a(View)),
        "one_cell": _several(OneCell, "OneCells"),
        "placed": _several(Placed, "Placed"),
        "scattered": Kind(_is_scattered, "None or a thing and its density from 0 to 1"),
        "slots": _a(Mapping),
        "own_slots": _a(Mapping),
        "rewards": _several(AnyReward, "Reward, Price, Tally, Replies and BySlot"),
        "features": _several(object, "features"),
    }
)

#: The others, with the names of their arguments; the hooks of rules are checked where they become tables.
ANSWERS: Mapping[str, tuple[tuple[str, ...], Kind]] = MappingProxyType(
    {
        "aim": (("action",), _a(Aim)),
        "can_move": (("hand",), FLAG),
        "can_act": (("hand",), FLAG),
        "away": (("hand",), FLAG),
        "finished": (("hand",), FLAG),
        "strength": (("hand",), COUNT),
        "item_name": (("item",), NAME),
        "walkable": (("thing",), FLAG),
        "spawn": (("thing",), FLAG),
        "remaining": (("thing",), INTEGER),
        "kind": (("thing",), NAME),
        "glyph": (("thing",), GLYPH),
        "shows": (("thing",), SHOWN),
        "paint": (("thing",), PAINT),
        "paint_agent": (("own", "facing", "hand"), PAINT),
        "paint_away": (("own", "hand"), PAINT),
        "paint_slot": (("slot",), PAINT),
    }
)


def check_answers(spec: Spec) -> None:
    """Raise a TypeError that names the hook, its arguments and what it returned."""
    game, mine = memory_of(spec.game).open, written(spec.game)
    for hook, kind in PARTS.items():  # before the symbols are looked for, which takes longest
        if hook in mine:
            _check(game, hook, {}, kind)
    for hook, answers in plain_answers(spec).items():
        painted = {plane for answer in answers for plane in answer} if ANSWERS[hook][1] is PAINT else set()
        # `{self.kind(thing): 1}` is a usual answer of `paint`, and not every kind needs a plane.
        kinds = map(game.kind, spec.symbols.things) if painted else ()
        if unknown := painted - {*game.planes, *kinds}:
            raise ValueError(
                f"{type(game).__name__}.{hook} paints {brief(min(unknown, key=repr))}, which is not one of "
                f"its planes: {brief(game.planes)}."
            )
    _ask_parts(game, spec.symbols.things)
    _check_names(spec)


def _ask_parts(game: Game, things: Iterable[Thing]) -> None:
    """Ask for all things what tables need for some of them: digests and `check_env` read the rest."""
    legend = game.legend.values()
    for thing in {*things, *legend}:
        game.kind(thing), game.walkable(thing)
    near = game.near()
    for thing in things:
        if near is not None:
            near.mark(thing)
        for slot in {**game.slots(), **game.own_slots()}.values():
            if isinstance(slot, Counted):
                slot.count(thing)


def plain_answers(spec: Spec) -> dict[str, list[Any]]:
    """What the hooks in `ANSWERS` return for everything that can occur, if the game writes them."""
    game, mine = spec.symbols.game, set(written(spec.game))
    symbols, slots = spec.symbols, slots_of(spec)
    if spec.observation not in ("lossless", "window"):
        mine -= {"paint", "paint_agent", "paint_away", "paint_slot", "shows"}
    known: dict[str, Iterable[tuple[Any, ...]]] = {
        "thing": [(thing,) for thing in symbols.things],
        "hand": [(item,) for item in symbols.items],
        "item": [(item,) for item in symbols.items[1:]],
        "action": [(action.name,) for action in spec.actions],
        "own": [(False,), (True,)],
        "facing": [(facing,) for facing in range(4)],
        "slot": () if slots is None else sorted(slots.can_be, key=repr),  # with the thing in it
    }
    found: dict[str, list[Any]] = {}
    for hook in filter(mine.__contains__, ANSWERS):
        about, kind = ANSWERS[hook]
        names = ("slot", "thing") if about == ("slot",) else about
        cases = itertools.product(*(known[name] for name in about))
        asked = (dict(zip(names, itertools.chain(*values), strict=True)) for values in cases)
        found[hook] = [_check(game, hook, one, kind) for one in asked]
    return found


def check_looks(spec: Spec) -> None:
    """Raise a TypeError for a drawing that is not made of shapes; only pictures need them."""
    game, symbols = spec.game, spec.symbols
    for thing in symbols.things:
        _check(game, "look", {"thing": thing}, LOOK)
    for item in symbols.items[1:]:
        _check(game, "look_item", {"item": item}, LOOK)
    for agent in range(spec.num_agents):
        _check(game, "look_agent", {"agent": agent}, LOOK)


def _check(game: Game, hook: str, about: Mapping[str, Any], kind: Kind) -> Any:
    """What the hook returns, which must be of this kind."""
    answer = getattr(game, hook)(*about.values())
    if not kind.fits(answer):
        words = f" for {question(about)}" if about else ""
        raise TypeError(f"{type(game).__name__}.{hook} returned {brief(answer)}{words}: return {kind.words}.")
    return answer


def labelled(part: Any, function: Callable[[Any], Any], values: Iterable[Any]) -> Array:
    """The table (values, labels) of a part of `features()`; each answer must fit the part's labels."""
    name, labels, rows = type(part).__name__, part.labels, []
    for value in values:
        answer = function(value)
        if (row := _numbers(answer)) is None:
            raise TypeError(
                f"{name} of features() returns {brief(answer)} for {brief(value)}: return a tuple of numbers."
            )
        if row.shape != (len(labels),):
            given = several(row.size, "number") if row.ndim else "one number instead of a tuple"
            raise TypeError(
                f"{name} of features() has the labels {labels!r}, but its function returns {given}."
            )
        rows.append(row)
    table = np.array(rows, np.float32)
    if (beyond := table[~(np.abs(table) <= 1)]).size:
        raise ValueError(f"{name} of features() returns {beyond[0]}: stay within -1 and 1.")
    return table


def paying(term: Any) -> Callable[..., Any]:
    """The points of a reward term, which must be numbers."""

    def points(*about: Any) -> Any:
        answer = term.points(*about)
        if (found := _numbers(answer)) is None or found.ndim:
            shown = " and ".join(map(brief, about))
            raise TypeError(f"the term {term.name!r} pays {brief(answer)} for {shown}: return a number.")
        return answer

    return points


def _numbers(answer: Any) -> Array | None:
    """A number or a sequence of numbers as an array; None for anything else."""
    try:
        found = np.asarray(answer)
    except ValueError:  # sequences of different lengths
        return None
    return found if found.dtype.kind in "biuf" else None


def _check_names(spec: Spec) -> None:
    """Check that the verbs the game names occur in its rules, and that reward terms have distinct names."""
    game = spec.symbols.game
    verbs = {line[2].verb for line in spec.symbols.lines} - {""}
    for hook in ("final_verbs", "timed"):
        named = getattr(game, hook)
        if isinstance(named, str):
            raise TypeError(
                f"{type(game).__name__}.{hook} is the text {named!r}: write a tuple, even for one verb."
            )
        if unknown := [verb for verb in named if verb not in verbs]:
            raise ValueError(
                f"{type(game).__name__}.{hook} has {unknown[0]!r}, which no rule returns: the verbs are "
                f"{', '.join(sorted(map(repr, verbs))) or 'none'}."
            )
    terms = [term.name for term in game.rewards()]
    if twice := [name for name in terms if terms.count(name) > 1]:
        raise ValueError(f"{type(game).__name__}.rewards has two terms named {twice[0]!r}: rename one.")


def naming_author(build: Callable[..., Built]) -> Callable[..., Built]:
    """Wraps a builder of specs or rules: errors get a note with the arguments of the author's function."""

    @functools.wraps(build)
    def run(of: Any, *others: Any) -> Built:
        try:
            return build(of, *others)
        except Exception as error:  # an author's function may raise anything
            if not getattr(error, "__notes__", ()):
                for note in _questions(getattr(of, "spec", of).game, error.__traceback__):
                    error.add_note(note)
            raise

    return run


def _questions(game: Game, raised: TracebackType | None) -> list[str]:
    """The call of the first function of the author's in the error's traceback."""
    classes = type(game).__mro__[: type(game).__mro__.index(Game)]
    functions = [value for one in classes for value in vars(one).values() if isinstance(value, FunctionType)]
    files = {function.__code__.co_filename for function in functions if function.__name__[:2] != "__"}
    for frame, _ in walk_tb(raised):
        code: CodeType = frame.f_code
        if code.co_filename in files:
            names = [name for name in code.co_varnames[: code.co_argcount] if name != "self"]
            words = question({name: frame.f_locals[name] for name in names if name in frame.f_locals})
            return [f"{_named(code, classes)} was called" + (f" with {words}" if words else "")]
    return []


def _named(code: CodeType, classes: Iterable[type]) -> str:
    """Class and function; for a lambda, also the hook that contains it."""
    name = code.co_qualname.replace(".<locals>", "")
    found = (name[at:] for one in classes if (at := name.find(f"{one.__name__}.")) >= 0)
    return next(found, name)
