"""A new rule is a phase and a line in the list, a new option is a field: added to a copy and played."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import BACKENDS

ROOT = Path(__file__).parents[1]
BELTS = '''"""Carrying: things that carry along the agent that stands on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

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
        belts = rules.game.belts
        if not belts:
            return None
        facing = rules.symbols(lambda thing: belts.get(thing, -1), np.int64)
        stride = np.where(facing < 0, 0, rules.ahead[facing])
        return cls(stride.astype(rules.pos_dtype))

    @property
    def facts(self) -> tuple[Any, ...]:
        """Where each thing carries an agent."""
        return tuple(self.stride.tolist())

    def __call__(self, rules: Rules, state: EnvState, events: Events) -> tuple[EnvState, Events]:
        xp, pos = rules.xp, state.pos
        for agent in range(rules.n_agents):
            here = pos[..., agent : agent + 1]
            ahead = here + rules.lookup(self.stride, rules.at(state.cells, here))
            taken = (pos == ahead).any(axis=-1, keepdims=True)
            free = (rules.at(state.cells, ahead) < rules.n_walkable) & ~taken
            then = xp.where(free, ahead, here)
            pos = xp.concatenate((pos[..., :agent], then, pos[..., agent + 1 :]), axis=-1)
        return state.evolve(pos=pos), events
'''
WORLD = '''
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import cogrid
from cogrid._core.digest import digest
from cogrid.author import Game, Spec
from cogrid.testing import check_env


@dataclass(frozen=True)
class Factory(Game):
    """Belts run to the right."""

    legend: ClassVar = {" ": "floor", "#": "wall", "b": "belt"}
    belts: ClassVar = {"belt": 0}

    def walkable(self, thing):
        return thing != "wall"


class Still(Factory):
    belts: ClassVar = {}


class Backwards(Factory):
    belts: ClassVar = {"belt": 2}


board = "#######\\n#1bbb2#\\n#######"
spec = Spec(Factory(), board, observation="none")
for backend in sys.argv[1:]:
    env = cogrid.CoGridEnv(spec, backend)
    env.reset(seed=0)
    seen = []
    for action in (3, 6, 6, 6):  # right, then three noops
        env.step({0: action, 1: 6})
        seen.append(np.asarray(env.env_state.agent_pos)[:, 1].tolist())
    print(backend, seen)
print(sorted(name for name, times in check_env(spec, sys.argv[1:], steps=60).hooks.items() if times))
print(list(cogrid.CoGridEnv(spec).step_timing))
kinds = (Factory, Still, Backwards)
print(len({digest(cogrid.CoGridEnv(Spec(kind(), board, observation="none")).rules) for kind in kinds}))
print([phase.name for phase in cogrid.CoGridEnv(Spec(Still(), board, observation="none")).rules.phases])
'''
OPTION = """
import cogrid

env = cogrid.make("Goals-V0")
env.reset(seed=0)
print(env.get_state()["spec"], cogrid.options("Goals-V0")["echo"])
other = cogrid.make("Goals-V0", echo=3)
other.reset(seed=0)
print(other.get_state()["spec"])
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
    done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_a_rule_is_a_phase_a_line_and_its_part(copy: Path) -> None:
    phases = copy / "cogrid" / "_core" / "phases"
    (phases / "carrying.py").write_text(BELTS, encoding="utf-8")
    first = "from cogrid._core.phases.clock import"
    edit(phases / "phases.py", first, f"from cogrid._core.phases.carrying import Carrying\n{first}")
    edit(phases / "phases.py", "    Leaving,  #", "    Carrying,\n    Leaving,  #")
    swaps = "    swaps: ClassVar[bool] = False\n"
    belts = "    #: Things that carry agents: 0 right, 1 down, 2 left, 3 up.\n    belts: ClassVar = {}\n"
    edit(copy / "cogrid" / "_core" / "author" / "game.py", swaps, swaps + belts)
    *played, counted, timed, digests, others = run(copy, WORLD, *BACKENDS)
    # Onto the first belt and carried to the second; to the third; then the other agent is in the way.
    assert played == [f"{backend} [[3, 5], [4, 5], [4, 5], [4, 5]]" for backend in BACKENDS]
    assert "'carry'" in counted
    assert "'carry'" in timed
    assert digests == "3"
    assert "carry" not in others


def test_an_option_is_a_field(copy: Path) -> None:
    """Files that were saved before stay valid while it has its default."""
    before = run(copy, OPTION.split("print")[0] + "print(env.get_state()['spec'])")
    game = copy / "cogrid" / "envs" / "goals" / "game.py"
    edit(
        game,
        "\n    legend: ClassVar",
        "\n    echo: int = added(0)  # how often a goal answers\n    legend: ClassVar",
    )
    edit(game, "    disk,\n)", "    disk,\n    added,\n)")
    unchanged, changed = run(copy, OPTION)
    assert unchanged.split() == [*before, "0"]
    assert changed not in before
