"""The registry: ids, and the functions that make environments from them."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import hashlib
import importlib.util
import inspect
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from types import ModuleType
from typing import Any

from cogrid._core.author.game import Game
from cogrid._core.compile.spec import Spec, differences, override
from cogrid._core.purity import check_pure
from cogrid._core.rules import compile_rules
from cogrid._io.messages import brief
from cogrid._io.reading import boards_read
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs import arena, commons, foraging, goals, overcooked, overcooked_v2, search_rescue
from cogrid.envs.family import Script
from cogrid.vector import VectorEnv

__all__ = ("make", "make_vec", "options", "register", "registered")

_PACKAGES = (overcooked, overcooked_v2, arena, commons, foraging, goals, search_rescue)
_FAMILIES = tuple(package.FAMILY for package in _PACKAGES)
_SPECS: dict[str, Spec] = {id: spec for family in _FAMILIES for id, spec in family.specs.items()}
_BUILT_IN = frozenset(_SPECS)


def register(id: str, spec: Spec) -> None:
    """Register a spec under an id that is not taken."""
    if not isinstance(spec, Spec):
        raise TypeError(f"register takes a cogrid Spec, not {type(spec).__name__}.")
    if not isinstance(id, str):
        raise TypeError(f"an environment id is text, not {brief(id)}.")
    if id in _SPECS:
        raise ValueError(f"id {id!r} is already registered: choose another id, or raise its version.")
    keywords = {*_keywords(make), *_keywords(make_vec)}
    if taken := sorted(keywords & {field.name for field in dataclasses.fields(spec.game)}):
        raise ValueError(
            f"{type(spec.game).__name__} has the option {taken[0]!r}, which make has: rename it."
        )
    _SPECS[id] = spec


def registered() -> list[str]:
    """Every registered id, sorted; `make` also accepts all other ids of `lbforaging`."""
    return sorted(_SPECS)


def family_of(id: str) -> str:
    """The folder of its game in `cogrid.envs`; for a game from elsewhere, the first word of the id."""
    place = type(_SPECS[id].game).__module__.split(".")
    return place[2] if place[:2] == ["cogrid", "envs"] else id.split("-")[0]


def script_for(game: Game) -> Callable[..., Script] | None:
    """The script that plays a game, called with `(rules, agents, seed=, noise=)`; None without one."""
    return next((family.script for family in _FAMILIES if isinstance(game, family.game)), None)


def spec_of(id: str, overrides: dict[str, Any], adapter: tuple[str, ...] = ()) -> Spec:
    """The spec of an id with overrides; `adapter` are the caller's own keywords."""
    if not isinstance(id, str):
        raise TypeError(f"an environment id is text, not {brief(id)}.")
    spec = _SPECS.get(id) or next(filter(None, (family.named(id) for family in _FAMILIES)), None)
    if spec is None:
        begun = [one for one in registered() if id and one.lower().startswith(id.lower())]
        close = begun[:3] or difflib.get_close_matches(id, _SPECS, 3, 0.5)
        families = dict.fromkeys(map(family_of, registered()))
        hint = (
            f"did you mean {' or '.join(map(repr, close))}?"
            if close
            else f"`python -m cogrid list` and cogrid.registered() list the ids of {', '.join(families)}."
        )
        if is_own(id):
            hint = "cogrid.make imports your own worlds; render and play open replays of them with --world."
        raise ValueError(f"unknown environment id {brief(id)}: {hint}")
    return override(spec, overrides, id, adapter)


def is_own(name: str) -> bool:
    """Whether a name refers to a world of the user's own: `module:Name`, `file.py:Name` or `file.py`."""
    return ":" in name or name.endswith(".py")


def _place_and_name(name: str) -> tuple[str, str]:
    """The module or file, and the world in it; "" if it is left out."""
    place, _, what = (name, "", "") if name.endswith(".py") else name.rpartition(":")
    return place, what


def world_name(id: str) -> str:
    """The id; that of a user's own world, which may be a path, without its folders."""
    if not is_own(id):
        return id
    place, name = _place_and_name(id)
    return "-".join(filter(None, (PurePath(place).name.removesuffix(".py"), name)))


def find(name: str) -> str:
    """The id that a name stands for: an id itself, or `module:Name` or `file.py:Name`, which is imported.

    `Name` is an id that the module registers, or the name of a `Spec` in it; it can be left out of a file
    that has only one. A spec without an id gets the name as its id, or the whole path if that is taken.
    """
    if not isinstance(name, str) or name in _BUILT_IN or not (name in _SPECS or is_own(name)):
        return name  # `spec_of` explains unknown ids
    place, what = _place_and_name(name)
    if name in _SPECS and not Path(place).is_file():  # another folder may have a file of that name
        return _checked(name)
    before = {*_SPECS}
    module = _imported(place)
    specs = {key: value for key, value in vars(module).items() if isinstance(value, Spec)}
    new = vars(module).setdefault("__cogrid_ids__", {*_SPECS} - before)  # what it registered when it ran
    built_in = [_SPECS[id] for id in _BUILT_IN]
    own = {key: spec for key, spec in specs.items() if spec not in built_in}  # others are a base
    worlds = own | {id: _SPECS[id] for id in new} or specs
    if what in _SPECS:
        return _checked(what)
    if what in specs or (not what and _all_equal([*worlds.values()])):
        spec = specs[what] if what else next(iter(worlds.values()))
        path = str(Path(place).resolve())
        return _checked(_id_of(spec, name, f"{path}:{what}" if what else path))
    names = ", ".join(sorted({*worlds, *specs} if what else worlds))
    problem = f"{place} has {'several worlds' if names else 'no world'}"
    problem = f"{place} has no world {what!r}" if what else problem
    remedy = f"choose one of {names}" if names else "make a cogrid.Spec in it, or register one"
    raise ValueError(f"{problem}: {remedy}.")


def _all_equal(specs: list[Spec]) -> bool:
    return bool(specs) and all(spec == specs[0] for spec in specs)


def _id_of(spec: Spec, *names: str) -> str:
    """The id of a spec; without one, it is registered under the first name that is not taken."""
    known = next((id for id, one in _SPECS.items() if one == spec), None)
    if known is None:  # a name is taken if another folder has a file of that name
        known = next((name for name in names if name not in _SPECS), None)
        if known is None:
            raise ValueError(f"{names[0]!r} already names another world: register this one under an id.")
        register(known, spec)
    return known


def adopt(name: str) -> str:
    """Import what a name refers to, as `find` does, and register the name itself as an id."""
    known = find(name)
    spec = spec_of(known, {})
    if name not in _SPECS:
        register(name, spec)
    return name if _SPECS[name] == spec else known


def _checked(id: str) -> str:
    """The id of a user's own world; raises an error if its rules are not pure.

    Warns about reward terms that can never be paid.
    """
    check_pure(_SPECS[id], whole=False)
    warn_unpaid(_SPECS[id], id, stacklevel=5)
    return id


def warn_unpaid(spec: Spec, name: str, stacklevel: int) -> None:
    """Warn about reward terms of an author's own game that can never be paid."""
    own = not type(spec.game).rewards.__module__.startswith("cogrid.")
    for term in compile_rules(spec, "numpy").rewards.never_paid if own else ():
        warnings.warn(
            f"the reward term {term!r} of {name} can never be paid: nothing that can happen on its layouts "
            "earns it.",
            stacklevel=stacklevel,
        )


def _imported(place: str) -> ModuleType:
    """A module by its name, or by the path of its file; a file is run once."""
    try:
        if not place.endswith(".py"):
            return importlib.import_module(place)
        path = Path(place).resolve()
        name = f"cogrid_world_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
        if name in sys.modules:
            return sys.modules[name]
        if not path.is_file():
            raise FileNotFoundError("there is no such file")
        located = importlib.util.spec_from_file_location(name, path)
        assert located is not None  # it ends in .py
        assert located.loader is not None
        module = importlib.util.module_from_spec(located)
        sys.modules[name] = module  # before it runs: its dataclasses look for it
        try:
            located.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    except Exception as error:
        reason = str(error).rstrip(".")
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))  # what helps most
        raise ValueError(f"{place} cannot be imported: {type(error).__name__}: {reason}{notes}.") from error
    return module


def options(id: str) -> dict[str, Any]:
    """The options of `make(id, …)` with their current values; layouts by name."""
    spec = spec_of(find(id), {})
    own = {f.name: getattr(spec, f.name) for f in dataclasses.fields(spec) if f.name != "game"}
    own["layout"] = [layout.name for layout in spec.layout]
    return dict(
        sorted({**own, **{f.name: getattr(spec.game, f.name) for f in dataclasses.fields(spec.game)}}.items())
    )


def recipe(spec: Spec, asked: str | None = None) -> tuple[str, dict[str, Any]] | None:
    """An id and overrides, as plain JSON values, that make this spec; None if there are none.

    It is the id of the spec's board with the fewest overrides, or the one asked for if no id has that board.
    """
    candidates = []
    for id in registered():
        if type(_SPECS[id].game) is type(spec.game):
            changes = differences(_SPECS[id], spec)
            with contextlib.suppress(TypeError, ValueError):  # not JSON, or not a valid override: not this id
                plain = json.loads(json.dumps(changes))
                if override(_SPECS[id], plain, id) == spec:
                    strange = not set(_SPECS[id].layout) & set(spec.layout)  # named after another board
                    candidates.append((strange and id != asked, strange, len(plain), id, plain))
    return min(candidates)[3:] if candidates else None


def make(
    id: str,
    backend: str = "numpy",
    *,
    render_mode: str | None = None,
    tile_size: int | None = None,
    infos: bool = False,
    shadow: bool | None = None,
    agent_names: str | Sequence[str] | None = None,
    **overrides: Any,
) -> CoGridEnv:
    """One environment with PettingZoo's parallel API.

    `id` is a registered one, or a world of your own as `module:Name` or `file.py:Name`. Overrides change the
    spec. All environments take `max_steps`, `num_agents`, `layout` (names, texts, or a `pathlib.Path` of a
    board), `observation` ("features", "lossless", "window" or "none"), `window`, `shaping`, `random_start`
    and `action_set`; each game has more, such as `cook_time` and `orders` in kitchens. `cogrid.options(id)`
    and `python -m cogrid info ID` list them with their values.

    `backend` is "numpy", "jax", or "native": C, which is compiled at first use and runs on NumPy's arrays.
    `render_mode` is "ansi", "rgb_array" or "human", with `tile_size` pixels per cell. `infos` reports and
    counts what each agent did. `shadow` runs another backend too and compares the results. `agent_names`
    replaces the agents' numbers: "agent_0" names the first, from which the others are numbered; a list names
    each.
    """
    known = find(id)
    return CoGridEnv(
        _asked(known, overrides, make),
        backend,
        render_mode=render_mode,
        tile_size=tile_size,
        infos=infos,
        shadow=shadow,
        agent_names=agent_names,
        id=known,
    )


def make_vec(
    id: str,
    num_envs: int,
    backend: str = "numpy",
    *,
    autoreset: str = "same-step",
    render_mode: str | None = None,
    tile_size: int | None = None,
    infos: bool = False,
    shadow: bool | None = None,
    pool: Any = None,
    **overrides: Any,
) -> VectorEnv:
    """A batch of environments with automatic reset, from a pool if given; ids and overrides as in `make`.

    A finished environment is reset in the step that ends it, or with `autoreset="next-step"` in the next one.
    """
    return VectorEnv(
        _asked(find(id), overrides, make_vec),
        num_envs,
        backend,
        autoreset=autoreset,
        render_mode=render_mode,
        tile_size=tile_size,
        infos=infos,
        shadow=shadow,
        pool=pool,
    )


def _asked(id: str, overrides: dict[str, Any], function: Callable[..., Any]) -> Spec:
    """The spec of an id with overrides; raises an error for a window that would have no effect."""
    if "layout" in overrides:
        overrides = overrides | {"layout": boards_read(overrides["layout"])}
    spec = spec_of(id, overrides, _keywords(function))
    if "window" in overrides and "observation" not in overrides and spec.observation != "window":
        raise ValueError(
            f"window={spec.window} is for observation='window', but {id} has {spec.observation!r}: "
            "give both, or leave `window` out."
        )
    return spec


def _keywords(function: Callable[..., Any]) -> tuple[str, ...]:
    """The own keywords of `make` and `make_vec`."""
    return tuple(name for name in inspect.signature(function).parameters if name not in ("id", "overrides"))
