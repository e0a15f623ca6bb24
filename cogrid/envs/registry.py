"""The registry: ids, and the functions that make environments of them."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any

from cogrid.backend.array import brief
from cogrid.cogrid_env import CoGridEnv
from cogrid.core.spec import Spec, differences, override
from cogrid.envs.arena import specs as arena
from cogrid.envs.commons import specs as commons
from cogrid.envs.overcooked import specs as overcooked
from cogrid.vector import VectorEnv

_SPECS: dict[str, Spec] = {**overcooked.SPECS, **arena.SPECS, **commons.SPECS}


def register(id: str, spec: Spec) -> None:
    """Give a spec an id, once."""
    if not isinstance(spec, Spec):
        raise TypeError(f"register takes a cogrid Spec, not {type(spec).__name__}.")
    if not isinstance(id, str):
        raise TypeError(f"an environment id is text, not {brief(id)}.")
    if id in _SPECS:
        raise ValueError(f"id {id!r} is registered already: choose another id, or raise its version.")
    _SPECS[id] = spec


def registered() -> list[str]:
    """Every id, sorted."""
    return sorted(_SPECS)


def spec_of(id: str, overrides: dict[str, Any], adapter: tuple[str, ...]) -> Spec:
    """The registered spec with overrides; `adapter` are the keywords that the caller takes for itself."""
    if not isinstance(id, str):
        raise TypeError(f"an environment id is text, not {brief(id)}.")
    if id not in _SPECS:
        close = difflib.get_close_matches(id, _SPECS, 3, 0.5)
        hint = (
            f"did you mean {' or '.join(map(repr, close))}?"
            if close
            else f"known are {', '.join(registered())}."
        )
        raise ValueError(f"unknown environment id {brief(id)}: {hint}")
    return override(_SPECS[id], overrides, id, adapter)


def recipe(spec: Spec) -> tuple[str, dict[str, Any]] | None:
    """An id and the fewest overrides, plain JSON values, that make this spec; None where there are none."""
    found = []
    for id in registered():
        if type(_SPECS[id].game) is type(spec.game):
            changes = differences(_SPECS[id], spec)
            with contextlib.suppress(TypeError, ValueError):  # no JSON, or no valid override: not by this id
                plain = json.loads(json.dumps(changes))
                if override(_SPECS[id], plain, id) == spec:
                    strange = not set(_SPECS[id].layout) & set(spec.layout)  # another board gave it its name
                    found.append((len(plain), strange, id, plain))
    return min(found)[2:] if found else None


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
    """One environment with PettingZoo's parallel API; overrides change its spec."""
    spec = spec_of(id, overrides, _keywords(make))
    return CoGridEnv(
        spec,
        backend,
        render_mode=render_mode,
        tile_size=tile_size,
        infos=infos,
        shadow=shadow,
        agent_names=agent_names,
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
    """A batch of environments that reset themselves, from a pool if given; overrides change their spec."""
    spec = spec_of(id, overrides, _keywords(make_vec))
    return VectorEnv(
        spec,
        num_envs,
        backend,
        autoreset=autoreset,
        render_mode=render_mode,
        tile_size=tile_size,
        infos=infos,
        shadow=shadow,
        pool=pool,
    )


def _keywords(function: Callable[..., Any]) -> tuple[str, ...]:
    """The keywords that `make` and `make_vec` take for themselves."""
    return tuple(name for name in inspect.signature(function).parameters if name not in ("id", "overrides"))
