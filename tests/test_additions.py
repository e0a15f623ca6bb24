"""A new rule is a part and a phase, each with a line in a list; a new option is a field: added to a copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import BACKENDS

ROOT = Path(__file__).parents[1]
PART = '''"""Belts: things that carry along the agent that stands on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from cogrid._core.author.part import Part
from cogrid._core.author.values import Thing


@dataclass(frozen=True)
class Belts(Part):
    """Things that carry agents one cell along: `facing(thing)` is 0 right, 1 down, 2 left, 3 up, or None."""

    facing: Callable[[Thing], int | None]
    _asks: ClassVar[tuple[str, ...]] = ("facing",)

    def __post_init__(self) -> None:
        """Check the function."""
        self._check_functions()
'''
PHASE = '''"""Carrying: agents that belts carry along."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from cogrid._core.author.belts import Belts
from cogrid._core.author.values import Thing
from cogrid._core.phases.phase import Events, Phase, Table
from cogrid.backend.env_state import EnvState

if TYPE_CHECKING:
    from cogrid._core.rules import Rules


@dataclass(frozen=True, eq=False)
class Carrying(Phase):
    """Carry agents one cell along, one after the other, unless a thing or an agent is there."""

    stride: Table  # (things,) the change of the position; 0 for things that carry nobody
    name: ClassVar[str] = "carry"

    @classmethod
    def compile(cls, rules: Rules) -> Self | None:
        """None if nothing carries."""
        belts = rules.answers.parts.one(Belts)
        if belts is None:
            return None

        def stride(thing: Thing) -> int:
            facing = belts.facing(thing)
            return 0 if facing is None else int(rules.ahead[facing])

        return cls(rules.symbols(stride, rules.pos_dtype))

    @property
    def facts(self) -> tuple[Any, ...]:
        """Where each thing carries an agent."""
        return tuple(self.stride.tolist())

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        xp, pos = rules.xp, state.pos
        for agent in range(rules.n_agents):
            here = pos[..., agent : agent + 1]
            thing = rules.at(state.cells, rules.on_board(here))  # the agent may be away
            ahead = here + rules.lookup(self.stride, thing)
            taken = (pos == ahead).any(axis=-1, keepdims=True)
            free = (rules.at(state.cells, ahead) < rules.n_walkable) & ~taken
            then = xp.where(free, ahead, here)
            pos = xp.concatenate((pos[..., :agent], then, pos[..., agent + 1 :]), axis=-1)
        return state.evolve(pos=pos), events
'''
WORLD = '''
import sys
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

import cogrid
from cogrid._core.author.belts import Belts
from cogrid._core.digest import digest
from cogrid.author import Game, Spec
from cogrid.testing import check_env


@dataclass(frozen=True)
class Factory(Game):
    """Belts run to the right."""

    legend: ClassVar = {" ": "floor", "#": "wall", "b": "belt"}

    def walkable(self, thing):
        return thing != "wall"

    def facing(self, thing):
        return 0 if thing == "belt" else None

    def parts(self):
        return (Belts(self.facing),)


class Still(Factory):
    def parts(self):
        return ()


class Backwards(Factory):
    def facing(self, thing):
        return 2 if thing == "belt" else None


class Moody(Factory):
    def facing(self, thing):
        return 0 if time.time() else None


spec = Spec(Factory(), "#######\\n#1bbb2#\\n#######", observation="none")
still, backwards, moody = (replace(spec, game=kind()) for kind in (Still, Backwards, Moody))
for backend in sys.argv[1:]:
    env = cogrid.CoGridEnv(spec, backend, infos=True)
    _, infos = env.reset(seed=0)
    seen = []
    for action in (3, 6, 6, 6):  # right, then three noops
        env.step({0: action, 1: 6})
        seen.append(np.asarray(env.env_state.agent_pos)[:, 1].tolist())
    print(backend, seen, infos[0]["action_mask"].tolist())
print(cogrid.CoGridEnv(still, infos=True).reset(seed=0)[1][0]["action_mask"].tolist())
print(sorted(name for name, times in check_env(spec, sys.argv[1:], steps=60).hooks.items() if times))
try:
    check_env(moody, ["numpy"])
except AssertionError as error:
    print(error)
try:
    Belts(None)
except TypeError as error:
    print(error)
print(list(cogrid.CoGridEnv(spec).step_timing))
print(len({digest(cogrid.CoGridEnv(one).rules) for one in (spec, still, backwards)}))
print([phase.name for phase in cogrid.CoGridEnv(still).rules.phases])
'''
PAGE = """
import sys

sys.path.insert(0, sys.argv[1])
import environments

print(environments.rules(spec))
"""
OPTION = """
import cogrid
from cogrid._core.digest import digest

for options in ({}, {"echo": 3}):
    env = cogrid.make("Goals-V0", **options)
    env.reset(seed=0)
    print(env.get_state()["spec"], digest(env.rules))
print(cogrid.options("Goals-V0")["echo"])
"""
PART_OPTION = """
import dataclasses

import cogrid
from cogrid._core.digest import digest
from cogrid.author import Price

spec = cogrid.make("Goals-V0").spec
print(digest(cogrid.CoGridEnv(spec).rules))


class Louder(type(spec.game)):
    def rewards(self):
        terms = super().rewards()
        return tuple(dataclasses.replace(term, echo=3) if type(term) is Price else term for term in terms)


print(digest(cogrid.CoGridEnv(dataclasses.replace(spec, game=Louder())).rules))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "cogrid", tmp_path / "copy" / "cogrid", ignore=without)
    return tmp_path / "copy"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path} has {text.count(old)} of {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def run(copy: Path, program: str, *arguments: str) -> list[str]:
    env = {**os.environ, "PYTHONPATH": str(copy), "COGRID_PROFILING": "1"}
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(
        command, cwd=copy, env=env, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def with_belts(copy: Path) -> Path:
    """The copy with belts: two files, and in each of two lists a line and its import."""
    author, phases = (copy / "cogrid" / "_core" / name for name in ("author", "phases"))
    (author / "belts.py").write_text(PART, encoding="utf-8")
    (phases / "carrying.py").write_text(PHASE, encoding="utf-8")
    first = "from cogrid._core.author.cells import"
    edit(author / "kinds.py", first, f"from cogrid._core.author.belts import Belts\n{first}")
    edit(author / "kinds.py", "(\n    Act,\n    Joint,", "(\n    Belts,\n    Act,\n    Joint,")
    first = "from cogrid._core.phases.clock import"
    edit(phases / "phases.py", first, f"from cogrid._core.phases.carrying import Carrying\n{first}")
    edit(phases / "phases.py", "    Leaving,  #", "    Carrying,\n    Leaving,  #")
    return copy


def test_a_rule_is_a_part_a_phase_and_a_line_each(with_belts: Path) -> None:
    *played, unchanged, counted, impure, no_function, timed, digests, others = run(
        with_belts, WORLD, *BACKENDS
    )
    # Onto the first belt and carried to the second; to the third; then the other agent is in the way.
    assert played == [f"{backend} [[3, 5], [4, 5], [4, 5], [4, 5]] {unchanged}" for backend in BACKENDS]
    assert "'carry'" in counted
    assert "Belts.facing of Moody" in impure
    assert "calls time" in impure
    assert no_function == "Belts.facing is None: give a function."
    assert "'carry'" in timed
    assert digests == "3"
    assert "carry" not in others


def test_pages_tell_of_a_new_rule(with_belts: Path) -> None:
    world = WORLD.split("for backend in")[0]
    page = " ".join(run(with_belts, world + PAGE, str(ROOT / "docs" / "generate")))
    assert "Things that carry agents one cell along" in page
    assert "nothing" not in page


def test_an_option_is_a_field(copy: Path) -> None:
    """Of a game or of what it returns; files that were saved before stay valid while it has its default."""
    (before,) = run(copy, OPTION.split("print(cogrid")[0].replace(', {"echo": 3}', ","))
    game = copy / "cogrid" / "envs" / "goals" / "game.py"
    edit(
        game,
        "\n    legend: ClassVar",
        "\n    echo: int = added(0)  # how often a goal answers\n    legend: ClassVar",
    )
    edit(game, "    Thing,\n", "    Thing,\n    added,\n")
    unchanged, changed, default = run(copy, OPTION)
    assert (unchanged, default) == (before, "0")
    assert changed.split()[0] != before.split()[0]


def test_an_option_of_a_part_is_a_field(copy: Path) -> None:
    before = run(copy, PART_OPTION.split("class Louder")[0])
    price = "    points: Callable[[str, Item], float]\n    team: bool = False\n    shaping: bool = False\n"
    echo = "    echo: int = added(0)  # how often it is paid\n"
    edit(copy / "cogrid" / "_core" / "author" / "rewards.py", price, price + echo)
    unchanged, louder = run(copy, PART_OPTION)
    assert [unchanged] == before
    assert louder not in before
