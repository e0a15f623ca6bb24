"""Checking: a game's functions are called with all that can occur, and their answers are checked."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from traceback import walk_tb
from types import CodeType, FunctionType, TracebackType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cogrid._core.author.game import Game
from cogrid._core.author.look import Shape
from cogrid._core.author.part import label
from cogrid._core.author.rewards import AnyReward, Reward, Tally
from cogrid._core.author.slots import Counted, Slot
from cogrid._core.compile.answers import Answers
from cogrid._core.compile.asking import question
from cogrid._core.compile.memory import memory_of
from cogrid._core.compile.slots import slots_of
from cogrid._core.compile.spec import Spec
from cogrid._core.compile.symbols import Symbols, close
from cogrid._io.messages import brief, several
from cogrid.backend.array import Array

Built = TypeVar("Built")


class AnswerKind(NamedTuple):
    """What a hook must return: a test, and a description for errors."""

    fits: Callable[[Any], bool]
    words: str


def _or_none(kind: AnswerKind) -> AnswerKind:
    return AnswerKind(lambda answer: answer is None or kind.fits(answer), f"{kind.words} or None")


def _several(what: Any, words: str) -> AnswerKind:
    def fits(answer: Any) -> bool:
        return isinstance(answer, (tuple, list)) and all(isinstance(one, what) for one in answer)

    return AnswerKind(fits, f"a tuple of {words}, even for a single one")


def _is_integer(answer: Any) -> bool:
    return isinstance(answer, (int, np.integer, np.bool_))


def _is_paint(answer: Any) -> bool:
    return isinstance(answer, Mapping) and all(_is_integer(v) and 0 <= v < 256 for v in answer.values())


def _is_sight(answer: Any) -> bool:
    return isinstance(answer, Mapping) and all(
        isinstance(name, str) for pair in answer.items() for name in pair
    )


def _are_features(answer: Any) -> bool:
    """Whether each has the methods of a `Feature`, and none is a class."""
    return isinstance(answer, (tuple, list)) and all(
        callable(getattr(one, method, None)) and not isinstance(one, type)
        for one in answer
        for method in ("names", "compile")
    )


FLAG = AnswerKind(_is_integer, "True or False")
INTEGER = AnswerKind(lambda answer: _is_integer(answer) and abs(answer) < 2**31, "a whole number below 2³¹")
COUNT = AnswerKind(lambda answer: _is_integer(answer) and 0 <= answer < 2**31, "a whole number of 0 or more")
NAME = AnswerKind(lambda answer: isinstance(answer, str) and bool(answer), "a name")
PAINT = AnswerKind(_is_paint, "a mapping of planes to whole numbers from 0 to 255")
GLYPH = _or_none(AnswerKind(lambda answer: isinstance(answer, str) and len(answer) == 2, "two characters"))
LOOK = _or_none(_several(Shape, "Shapes, such as disk(…)"))
SHOWN = AnswerKind(
    lambda answer: isinstance(answer, (bool, Collection)) and not isinstance(answer, str),
    "True, False or the names of planes",
)
SIGHT = AnswerKind(_is_sight, "a mapping of planes to planes")
TERMS = _several(AnyReward, "Reward, Price, Tally, Replies and BySlot")
FEATURES = AnswerKind(_are_features, "a tuple of features, even for a single one")


class Asked(NamedTuple):
    """A function, what it is asked about, and what it must return."""

    function: Callable[..., Any] | None
    about: tuple[str, ...]
    kind: AnswerKind


def check_answers(spec: Spec) -> None:
    """Raise a TypeError that names the function, its arguments and what it returned."""
    answers = memory_of(spec.game).open
    game = answers.game
    _check(game.rewards, {}, TERMS)  # before the symbols are looked for, which takes longest
    _check(game.features, {}, FEATURES)
    for one in _plain(spec):
        _check_all(spec, one)
    if spec.observation in ("lossless", "window"):
        for one in _painted(answers):
            planes = {plane for painted in _check_all(spec, one) for plane in painted}
            # `{self.kind(thing): 1}` is a usual answer, and not every kind needs a plane.
            kinds = map(game.kind, spec.symbols.things) if planes else ()
            if unknown := planes - {*answers.planes.names, *kinds}:
                function: Any = one.function
                raise ValueError(
                    f"{function.__qualname__} paints {brief(min(unknown, key=repr))}, which is not one of "
                    f"its planes: {brief(answers.planes.names)}."
                )
    _ask_all(spec)
    _check_names(spec)


def _plain(spec: Spec) -> Iterator[Asked]:
    """The functions whose answers are plain; rules are checked where they become tables."""
    answers = spec.symbols.answers
    game, joint, ends = answers.game, answers.joint, answers.ends
    yield Asked(game.item_name, ("item",), NAME)
    yield Asked(game.kind, ("thing",), NAME)
    yield Asked(game.walkable, ("thing",), FLAG)
    yield Asked(answers.moving.when, ("hand",), FLAG)
    yield Asked(answers.hands.can_act, ("hand",), FLAG)
    if (leaving := answers.leaving) is not None:
        yield Asked(leaving.when, ("hand",), FLAG)
        yield Asked(leaving.back, ("thing",), FLAG)
    strengths = [joint.strength] if joint is not None else []
    for strength in (*strengths, *(one.strength for one in answers.placed)):
        yield Asked(strength, ("hand",), COUNT)
    yield Asked(ends.hand, ("hand",), FLAG)
    yield Asked(ends.remaining, ("thing",), INTEGER)
    yield Asked(ends.in_hands, ("hand",), INTEGER)
    yield Asked(ends.in_slots, ("slot",), INTEGER)
    if answers.near is not None:
        yield Asked(answers.near.mark, ("thing",), COUNT)
    for one in answers.one_cell:
        yield Asked(one.qualifies, ("thing",), FLAG)
    for slot in answers.parts.every(Slot):
        if isinstance(slot.start, Counted):
            yield Asked(slot.start.count, ("thing",), INTEGER)
    for term in game.rewards():
        if term.shaping and not spec.shaping:  # it is not compiled
            continue
        if isinstance(term, Tally):
            yield Asked(term.count, ("thing",), INTEGER)
        if isinstance(term, Reward):
            yield Asked(term.supply, ("thing", "no hand"), INTEGER)
            yield Asked(term.supply, ("no thing", "hand"), INTEGER)
            yield Asked(term.demand, ("thing",), INTEGER)
    if spec.observation in ("lossless", "window"):
        yield Asked(answers.planes.shows, ("thing",), SHOWN)
        yield Asked(answers.planes.sees, ("own slot",), SIGHT)


def _painted(answers: Answers) -> Iterator[Asked]:
    """The functions that return values of planes."""
    planes = answers.planes
    yield Asked(planes.thing, ("thing",), PAINT)
    yield Asked(planes.agent, ("own", "facing", "hand"), PAINT)
    yield Asked(planes.away, ("own", "hand"), PAINT)
    yield Asked(planes.slot, ("slot",), PAINT)


def _check_all(spec: Spec, one: Asked) -> list[Any]:
    """What a function returns for everything that can occur."""
    if one.function is None:
        return []
    symbols, slots = spec.symbols, slots_of(spec)
    can_be = () if slots is None else sorted(slots.can_be, key=repr)
    own = {f"{slot.name} 0" for slot in symbols.answers.parts.every(Slot) if slot.own}
    known: dict[str, Iterable[tuple[Any, ...]]] = {
        "thing": [(thing,) for thing in symbols.things],
        "hand": [(item,) for item in symbols.items],
        "item": [(item,) for item in symbols.items[1:]],
        "own": [(False,), (True,)],
        "facing": [(facing,) for facing in range(4)],
        "slot": can_be,  # with the thing in it
        "own slot": [(thing,) for name, thing in can_be if name in own],
        "no thing": [(None,)],
        "no hand": [(None,)],
    }
    names = ("slot", "thing") if one.about == ("slot",) else one.about
    cases = itertools.product(*(known[name] for name in one.about))
    asked = (dict(zip(names, itertools.chain(*values), strict=True)) for values in cases)
    answers = []
    for about in asked:
        if about.get("hand", one) is None and not symbols.has_empty:  # which never occurs
            with contextlib.suppress(Exception):  # an author's function may raise anything
                one.function(*about.values())
        else:
            answers.append(_check(one.function, about, one.kind))
    return answers


def _ask_all(spec: Spec) -> None:
    """Ask for all things what tables need for some of them: digests and `check_env` read the rest."""
    answers, things = spec.symbols.answers, spec.symbols.things
    for thing in {*things, *answers.game.legend.values()}:
        answers.game.kind(thing), answers.game.walkable(thing)


def check_looks(spec: Spec) -> None:
    """Raise a TypeError for a drawing that is not made of shapes; only pictures need them."""
    symbols = spec.symbols
    looks = symbols.answers.looks
    _check_all(spec, Asked(looks.thing, ("thing",), LOOK))
    _check_all(spec, Asked(looks.item, ("item",), LOOK))
    _check_all(spec, Asked(looks.glyph, ("thing",), GLYPH))
    for agent in range(spec.num_agents if looks.agent else 0):
        assert looks.agent is not None
        _check(looks.agent, {"agent": agent}, LOOK)


def _check(function: Callable[..., Any], about: Mapping[str, Any], kind: AnswerKind) -> Any:
    """What the function returns, which must be of this kind."""
    answer = function(*about.values())
    if not kind.fits(answer):
        words = f" for {question(about)}" if about else ""
        raise TypeError(f"{function.__qualname__} returned {brief(answer)}{words}: return {kind.words}.")
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
        array = np.asarray(answer)
    except ValueError:  # sequences of different lengths
        return None
    return array if array.dtype.kind in "biuf" else None


def _check_names(spec: Spec) -> None:
    """Check that the verbs the game names occur in its rules, and that reward terms have distinct names."""
    game, symbols = spec.symbols.game, spec.symbols
    verbs, name = _verbs(symbols), type(game).__name__
    timed: Any = game.timed
    if isinstance(timed, str):
        raise TypeError(f"{name}.timed is the text {timed!r}: write a tuple, even for one verb.")
    _check_verbs(f"Ends.verbs of {name}", symbols.answers.ends.verbs, verbs)
    _check_verbs(f"{name}.timed", timed, verbs)
    parts = symbols.answers.parts.all
    for place, slot in enumerate(parts):
        if isinstance(slot, Slot) and not verbs.issuperset(slot.to):
            _check_verbs(f"{label(parts, place)}.to of {name}", slot.to, verbs | _verbs_elsewhere(spec, slot))
    terms = [term.name for term in game.rewards()]
    if twice := [name for name in terms if terms.count(name) > 1]:
        raise ValueError(f"{type(game).__name__}.rewards has two terms named {twice[0]!r}: rename one.")


def _verbs(symbols: Symbols) -> set[str]:
    return {line.made.verb for line in symbols.lines} - {""}


def _verbs_elsewhere(spec: Spec, slot: Slot) -> set[str]:
    """The verbs on a board of all letters; where the rules do not allow it, those that the slot names."""
    try:
        return _verbs(close(spec.game, frozenset(spec.game.legend), spec.num_agents))
    except Exception:  # an author's function may raise anything
        return {*slot.to}


def _check_verbs(owner: str, verbs: Iterable[str], known: set[str]) -> None:
    if unknown := [verb for verb in verbs if verb not in known]:
        raise ValueError(
            f"{owner} has {unknown[0]!r}, which no rule returns: the verbs are "
            f"{', '.join(sorted(map(repr, known))) or 'none'}."
        )


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
    """Class and function; for a lambda, the hook that contains it, or its place in a file."""
    name = re.sub(r"\.<\w+>", "", code.co_qualname)
    if name.startswith("<"):
        return f"the function at {Path(code.co_filename).name}:{code.co_firstlineno}"
    qualified = (name[at:] for one in classes if (at := name.find(f"{one.__name__}.")) >= 0)
    return next(qualified, name)
