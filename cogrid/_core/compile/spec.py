"""The spec: what an environment is; frozen, hashable, independent of any backend."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import functools
import inspect
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cogrid._core.author.acting import BUILT_IN
from cogrid._core.author.cells import Generated, Placed
from cogrid._core.author.game import Game
from cogrid._core.author.kinds import check_hooks, writes
from cogrid._core.author.layout import DIGITS, FLOOR, MAX_ALL_CELLS, WALL, Layout
from cogrid._core.author.options import checked_integer, checked_number
from cogrid._core.author.part import check_hash
from cogrid._core.compile.actions import ACTION_SETS, FURTHER, Action
from cogrid._core.compile.answers import Answers
from cogrid._core.compile.memory import memory_of
from cogrid._core.compile.symbols import Symbols, close
from cogrid._io.messages import brief, is_choice, several

OBSERVATIONS = ("features", "lossless", "window", "none")
MAX_TIME = 2**31 - 1
MAX_WEIGHT = 100.0
DEFAULT_AGENTS = 2  # on boards without digits
MAX_ACTIONS = 36  # a replay has one letter or digit for each


if TYPE_CHECKING:  # what a spec is given, and what it has

    class _Layouts:
        def __get__(self, spec: Any, owner: Any = None) -> tuple[Layout, ...]: ...
        def __set__(self, spec: Any, value: str | Layout | Iterable[str | Layout]) -> None: ...

    class _Count:
        def __get__(self, spec: Any, owner: Any = None) -> int: ...
        def __set__(self, spec: Any, value: int | None) -> None: ...


_NO_LAYOUT, _BY_DIGITS = cast("_Layouts", ()), cast("_Count", None)


@dataclasses.dataclass(frozen=True)
class Spec:
    """A game on one or several layouts, with its limits and its observation."""

    game: Game
    layout: _Layouts = _NO_LAYOUT  # reset draws one of them
    num_agents: _Count = _BY_DIGITS  # at most 127; if it is not given, that of the layouts' digits
    max_steps: int = 400  # then the episode is truncated
    action_set: str = "cardinal"  # "cardinal", "rotation" or "moves"
    observation: str = ""  # "features", "lossless", "window" or "none"; "" is features if any, else lossless
    window: int = 5  # side of the window observation, odd
    shaping: float = 0.0  # weight of the shaping terms at reset; 0 leaves them out
    random_start: bool = False  # any floor cell of the agent's own room, any facing
    # Older than `added`, by which new options are declared: fingerprints name it at their end.
    any_board: bool = dataclasses.field(default=False, repr=False)  # reset takes boards; layouts bound them

    def __post_init__(self) -> None:
        """Check every field, so that every spec is valid."""
        game: Any = self.game  # whatever was given
        if not isinstance(game, Game):
            what = f"the class {game.__name__}" if isinstance(game, type) else brief(game)
            raise TypeError(f"the game of a spec is {what}: give a game, such as MyGame().")
        if (agents := vars(self)["num_agents"]) is not None:
            checked_integer("num_agents", agents, 1, 127)
        checked_integer("max_steps", self.max_steps, 1, MAX_TIME)
        checked_integer("window", self.window, 1, 127)
        object.__setattr__(self, "shaping", checked_number("shaping", self.shaping, -MAX_WEIGHT, MAX_WEIGHT))
        for name in ("random_start", "any_board"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name}={brief(getattr(self, name))} is neither True nor False.")
        if self.window % 2 == 0:
            raise ValueError(
                f"window={self.window} is even: use an odd side, so that the agent is in the middle."
            )
        _check_choice("action_set", self.action_set, ACTION_SETS)
        check_hooks(self.game)
        self._check_options()
        self._check_actions()
        if isinstance(self.observation, str) and not self.observation:
            own = writes(self.game, "features")
            object.__setattr__(self, "observation", "features" if own else "lossless")
        _check_choice("observation", self.observation, OBSERVATIONS)
        none = isinstance(self.layout, tuple) and not self.layout  # an array is compared by its elements
        layouts = self.game.default_layouts() if none else self.layout
        object.__setattr__(self, "layout", layouts_of(self.game, layouts))
        if agents is None:
            object.__setattr__(self, "num_agents", agents_on(self.layout))
        self._check_sizes()
        self._check_letters()
        walkable = {letter for letter in self.game.legend if self._is_walkable(letter)}
        for layout in self.layout:
            layout.check(self.game.legend, walkable)
            self._check_room(layout)
        if self.open and WALL not in self.game.legend:
            raise ValueError(
                f"{type(self.game).__name__} has no wall, which open boards are padded with: add {WALL!r} to "
                "its legend."
            )

    def _check_options(self) -> None:
        name, taken = type(self.game).__name__, {field.name for field in dataclasses.fields(Spec)}
        if dataclasses.fields(self.game) and type(self.game).__eq__ is Game.__eq__:
            raise TypeError(
                f"{name} is a dataclass with eq=False, but equal games share their answers: leave eq out."
            )
        for hidden in _hidden(self.game):
            value = getattr(self.game, hidden)
            raise TypeError(
                f"{name}.{hidden} is no option, but games with the same options share their rules: write "
                f"@dataclass(frozen=True) above {name} and `{hidden}: {type(value).__name__} = "
                f"{brief(value)}` in it, or a functools.cached_property for what follows from other options."
            )
        for field in dataclasses.fields(self.game):
            if field.name in taken:
                raise TypeError(
                    f"{name} has the option {field.name!r}, which every environment has: choose another name."
                )
            if not field.compare:
                raise TypeError(
                    f"{name} has the option {field.name!r} with compare=False, but equal "
                    "games share their answers: let it be compared."
                )
            if field.hash is not False:
                check_hash(f"{name}.{field.name}", getattr(self.game, field.name))

    def _check_actions(self) -> None:
        owner, built_in = type(self.game).__name__, [a.name for a in ACTION_SETS[self.action_set]]
        for name in self._answers.actions:
            if name in built_in:
                raise ValueError(
                    f"{owner} has the action {name!r}, which is taken: {', '.join(map(repr, built_in))} "
                    "are built in, so choose another name."
                )
            if (meant := name.casefold()) in {*built_in, *BUILT_IN}:
                raise ValueError(
                    f"{owner} has the action {name!r}, which differs from {meant!r} in upper and lower case "
                    "only: write that, or choose another name."
                )
        if (count := len(self.actions)) > MAX_ACTIONS:
            raise ValueError(f"{owner} has {count} actions: at most {MAX_ACTIONS} fit.")

    def _check_letters(self) -> None:
        for letter in self.game.legend:
            if not isinstance(letter, str) or len(letter) != 1 or letter in DIGITS:
                raise ValueError(
                    f"{type(self.game).__name__}.legend has {brief(letter)}: write one character, "
                    f"and none of the digits {DIGITS[0]} to {DIGITS[-1]}, which are starts."
                )

    def _is_walkable(self, letter: str) -> bool:
        thing, name = self.game.legend[letter], type(self.game).__name__
        try:
            hash(thing)
        except TypeError:
            raise TypeError(
                f"{name}.legend has {brief(thing)} for {letter!r}, which cannot be hashed: write a tuple."
            ) from None
        answer: Any = self.game.walkable(thing)
        if not isinstance(answer, (bool, np.bool_, int)):
            raise TypeError(
                f"{name}.walkable returned {brief(answer)} for thing {brief(thing)}: return True or False."
            )
        return bool(answer)

    @property
    def _answers(self) -> Answers:
        """The game with its parts."""
        return memory_of(self.game).open

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions by number: the action set, which ends with the noop, then the game's own."""
        own = (Action(name, intent=FURTHER + k) for k, name in enumerate(self._answers.actions))
        return (*ACTION_SETS[self.action_set], *own)

    def _check_sizes(self) -> None:
        """Check the sizes, before any work per cell."""
        for layout in self.layout:
            layout.check_size()
        cells = len(self.layout) * self.height * self.width
        if cells > MAX_ALL_CELLS:
            raise ValueError(
                f"{len(self.layout):,} layouts, padded to {self.height} × {self.width} cells, have {cells:,} "
                f"cells: a spec has at most {MAX_ALL_CELLS:,} in all, so give fewer or smaller layouts."
            )

    def _check_room(self, layout: Layout) -> None:
        floor = sum(row.count(FLOOR) for row in layout.letters)
        if floor < self.num_agents:
            raise ValueError(
                f"layout {layout.name!r} has too few spawn cells: "
                f"{several(self.num_agents, 'agent')}, {several(floor, 'floor cell')}."
            )
        placed = self._answers.parts.every(Placed)
        edge = max((one.margin for one in placed if one.count), default=0)
        inside = (row[edge : layout.width - edge] for row in layout.letters[edge : layout.height - edge])
        if edge and not self.open and not any(FLOOR in row for row in inside):
            raise ValueError(
                f"layout {layout.name!r} has no room for what reset places: draw floor that is {edge} "
                "or more cells from the edge."
            )

    @property
    def height(self) -> int:
        """Rows of the map, the largest layout's."""
        return max(layout.height for layout in self.layout)

    @property
    def width(self) -> int:
        """Columns of the map, the largest layout's."""
        return max(layout.width for layout in self.layout)

    @property
    def open(self) -> bool:
        """Whether boards are data: given to reset, or drawn by the game."""
        return self.any_board or self._answers.parts.one(Generated) is not None

    @property
    def letters(self) -> frozenset[str]:
        """The letters that boards of this spec may have."""
        letters = frozenset("".join(row for board in self.boards for row in board))
        return letters | {FLOOR, WALL} if self.open else letters

    @functools.cached_property
    def symbols(self) -> Symbols:
        """All things and items that can occur."""
        return close(self.game, self.letters, self.num_agents)

    @property
    def how_to_play(self) -> str:
        """What a person has to know to score; actions stand in backticks."""
        text: Any = self.game.how_to_play(self.symbols.things, self.symbols.items)
        if not isinstance(text, str):
            raise TypeError(f"{type(self.game).__name__}.how_to_play returned {brief(text)}: return a text.")
        return text

    @functools.cached_property
    def boards(self) -> tuple[tuple[str, ...], ...]:
        """The letters of every layout, padded to one size."""
        height, width = self.height, self.width
        return tuple(layout.padded(height, width) for layout in self.layout)

    @property
    def type_ids(self) -> dict[str, int]:
        """Name -> type id of every object and item of this spec; 0 is the bare floor."""
        return {name: number for number, name in enumerate(self.symbols.kinds)}

    def override(self, **changes: Any) -> Spec:
        """A spec with some fields, its own or its game's, changed."""
        return override(self, changes, f"a spec of {type(self.game).__name__}")


def override(spec: Spec, changes: Mapping[str, Any], name: str, also: tuple[str, ...] = ()) -> Spec:
    """The spec with some fields changed; errors call it `name` and list the caller's keywords in `also`."""
    games = {f.name for f in dataclasses.fields(spec.game)}
    owns = {f.name for f in dataclasses.fields(Spec)} - {"game"}
    for key in changes:
        if key not in owns | games:
            if owner := _annotating(type(spec.game), key):
                raise TypeError(
                    f"{name} has no option {key!r}: write @dataclass(frozen=True) above {owner.__name__}."
                )
            known = sorted({*owns, *games, *also})
            close_names = difflib.get_close_matches(key, known, 1)
            hint = f" (did you mean {close_names[0]!r}?)" if close_names else ""
            raise TypeError(f"{name} has no option {key!r}{hint}: valid ones are {', '.join(known)}.")
    own = {key: value for key, value in changes.items() if key in owns}
    game = dataclasses.replace(spec.game, **{key: value for key, value in changes.items() if key in games})
    if spec.layout == spec.game.default_layouts():  # the game draws its board from its own options
        own = {"layout": game.default_layouts()} | own
    if "layout" in own and _counted(spec.layout) == spec.num_agents:
        own = {"num_agents": None} | own  # it was that of the layout, and is again
    if (
        own.get("window", spec.window) != spec.window
        and (view := memory_of(game).open.planes.view) is not None
    ):
        rows, columns = view.shape
        raise ValueError(
            f"window={brief(own['window'])}: {name} has a window of its own, {rows} × {columns} cells "
            "that turn with the agent, so leave `window` out."
        )
    return dataclasses.replace(spec, game=game, **own)


def _hidden(game: Game) -> list[str]:
    """What was set on a game beside its options; values that it caches follow from these."""
    options = {field.name for field in dataclasses.fields(game)}
    cached = functools.cached_property
    return [
        name
        for name in vars(game)
        if name not in options and not isinstance(inspect.getattr_static(type(game), name, None), cached)
    ]


def _annotating(game: type[Game], name: str) -> type | None:
    """The class that annotates an option, but is no dataclass."""
    for one in game.__mro__[: game.__mro__.index(Game)]:
        kind = None
        with contextlib.suppress(NameError):  # of an annotation that Python 3.14 evaluates only now
            kind = inspect.get_annotations(one).get(name)
        if kind is not None and "ClassVar" not in str(kind) and "__dataclass_fields__" not in vars(one):
            return one
    return None


def _counted(layouts: tuple[Layout, ...]) -> int | None:
    """How many agents the layouts are for, None if they differ."""
    try:
        return agents_on(layouts)
    except ValueError:
        return None


def differences(base: Spec, spec: Spec) -> dict[str, Any]:
    """The changes by which `override` turns `base` into `spec`, of the same game; layouts by name or text."""
    changes = _changed(base, spec) | _changed(base.game, spec.game)
    changes.pop("game", None)
    if spec.layout == spec.game.default_layouts():
        changes.pop("layout", None)
    if "layout" in changes:
        named = spec.game.layouts
        changes["layout"] = [
            layout.name if named.get(layout.name) == layout else layout.text for layout in spec.layout
        ]
    return changes


def _changed(old: Any, new: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from another's."""
    values = {f.name: getattr(new, f.name) for f in dataclasses.fields(new)}
    return {name: value for name, value in values.items() if value != getattr(old, name)}


def agents_on(layouts: tuple[Layout, ...]) -> int:
    """How many agents the digits of the layouts are for; 2 without any."""
    counts = {len(layout.starts) or DEFAULT_AGENTS for layout in layouts}
    if len(counts) > 1:
        raise ValueError(
            f"the layouts have digits for {' and '.join(map(str, sorted(counts)))} agents: give num_agents."
        )
    return counts.pop()


def layouts_of(game: Game, layouts: str | Layout | Iterable[str | Layout]) -> tuple[Layout, ...]:
    """Layouts by name, as ASCII text or as they are."""
    if isinstance(layouts, (str, Layout, PurePath)):
        layouts = (layouts,)
    if not isinstance(layouts, Iterable):
        raise TypeError(f"layout={brief(layouts)} is neither a name, nor ASCII text, nor a list of these.")
    layouts = tuple(layouts)
    if not layouts:
        raise ValueError(f"{type(game).__name__} needs a layout: give layout= a name or ASCII text.")
    return tuple(_layout(game, layout, number) for number, layout in enumerate(layouts))


def _layout(game: Game, layout: Any, number: int) -> Layout:
    if isinstance(layout, Layout):
        return layout
    if isinstance(layout, PurePath):
        raise TypeError(_no_file(layout))
    if not isinstance(layout, str):
        raise TypeError(f"layout {brief(layout)} is neither a name nor ASCII text.")
    if "\n" in layout:
        return Layout(f"own-{number}", layout)
    if layout not in game.layouts:
        if layout.startswith("@"):
            raise ValueError(_no_file(layout))
        close = difflib.get_close_matches(layout[:80], game.layouts, 3, 0.5)
        known = sorted(game.layouts)
        hint = f"choose one of {_some(known)}; " if known else ""
        hint = f"did you mean {' or '.join(map(repr, close))}; " if close else hint
        raise ValueError(
            f"unknown layout {brief(layout)}: {hint}a board of your own is one text with line breaks."
        )
    return game.layouts[layout]


def _no_file(layout: str | PurePath) -> str:
    """What saved files say would change with the other file, or be gone."""
    return (
        f"layout {brief(str(layout))} names a file, but a spec, and what is saved of it, has the board "
        "itself: give `make` a pathlib.Path, or a command --set layout=@FILE."
    )


def _some(names: list[str]) -> str:
    """The first of many names."""
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more


def _check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    if not is_choice(value, choices):
        raise ValueError(f"{name}={brief(value)} is unknown: choose one of {', '.join(map(repr, choices))}.")
