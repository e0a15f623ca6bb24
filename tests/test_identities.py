"""Identities: fingerprints and defaults stay as they were when files were saved; `added` options too."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import cogrid
from cogrid._core.author.options import added, identity, is_added
from cogrid.author import Game, Outcome
from tests.identities import IDS, defaults, fingerprints, options, recorded

CHANGED = "give the id a new version for a changed default, and declare a new option by `added`"
NEW = "new ids, families and options by `added` are recorded by `python -m tests.identities`"


def test_fingerprints_are_those_that_were_recorded() -> None:
    known, found = recorded()["fingerprints"], fingerprints()
    assert {id: found.get(id) for id in known} == known, CHANGED


def test_defaults_are_those_that_were_recorded() -> None:
    known, found = recorded()["defaults"], defaults()
    assert {option: found.get(option) for option in known} == known, CHANGED
    new = sorted(found.keys() - known)
    families = {option.split(".")[0] for option in known}
    late = [option for option in new if option.split(".")[0] in families and not is_added(options()[option])]
    assert not late, f"{late}: {CHANGED}"
    assert not new, f"{new}: {NEW}"


def test_without_added_options_an_identity_is_the_repr() -> None:
    late = {name.split(".")[0] for name, field in options().items() if is_added(field)}
    for id in IDS:
        spec = cogrid.make(id, max_steps=7).spec
        if not late & {"Spec", type(spec.game).__name__}:
            assert identity(spec) == repr(spec)


@dataclass(frozen=True)
class Piece:
    size: int = 1
    colour: str = added("red")


@dataclass(frozen=True)
class Mine(Game):
    """Dig."""

    depth: int = 3
    pieces: tuple[Piece, ...] = ()
    lamp: bool = added(False)
    legend: ClassVar[Any] = {" ": "floor", "#": "wall", "g": "gold"}

    def interact(self, held: Any, thing: Any) -> Outcome | None:
        return Outcome("gold", "floor", "dig", 1.0) if thing == "gold" and held is None else None


@dataclass(frozen=True)
class Before(Game):
    """The same before the options were added."""

    depth: int = 3
    pieces: tuple[Any, ...] = ()


class Written(Mine):
    def __repr__(self) -> str:
        return "written by its author"


def test_added_options_are_left_out_while_they_have_their_defaults() -> None:
    assert identity(Mine()) == repr(Before()).replace("Before", "Mine")
    assert identity(Mine(lamp=True)) == "Mine(depth=3, pieces=(), lamp=True)"
    assert identity(Mine(pieces=(Piece(), Piece(2, "blue")))).endswith(
        "pieces=(Piece(size=1), Piece(size=2, colour='blue')))"
    )
    assert identity(Mine(pieces=(Piece(),))).endswith("pieces=(Piece(size=1),))")
    assert identity({"a": [Piece()]}) == "{'a': [Piece(size=1)]}"
    assert identity(Written(lamp=True)) == "written by its author"


@pytest.mark.parametrize("value", [3, "text", (), (1,), [1, "a"], {"a": (1,)}, None, frozenset({1})])
def test_other_values_are_their_repr(value: Any) -> None:
    assert identity(value) == repr(value)


def test_snapshots_from_before_an_option_stay_valid() -> None:
    env = cogrid.CoGridEnv(cogrid.Spec(Mine(), "#####\n#1 g#\n#2  #\n#####", observation="none"))
    env.reset(seed=0)
    snapshot = env.get_state()
    fields = [field for field in dataclasses.fields(Mine) if field.name != "lamp"]
    older = dataclasses.make_dataclass(
        "Mine", [(f.name, f.type, f.default) for f in fields], bases=(Game,), namespace=_own(), frozen=True
    )
    before = cogrid.CoGridEnv(dataclasses.replace(env.spec, game=older()))
    before.reset(seed=0)
    assert before.get_state()["spec"] == snapshot["spec"]
    with_lamp = cogrid.CoGridEnv(env.spec.override(lamp=True))
    with pytest.raises(ValueError, match="another spec"):
        with_lamp.set_state(snapshot)


def _own() -> dict[str, Any]:
    names = ("legend", "interact", "__doc__", "__module__", "__qualname__")
    return {name: getattr(Mine, name) for name in names}
