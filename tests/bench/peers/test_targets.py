"""All targets: found by themselves, complete, and imported without any of the libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import msgspec
import pytest

from bench import ROOT
from bench.peers import libraries, targets
from bench.peers.start import Resources
from bench.peers.target import COGRID
from bench.peers.targets import COGRID_TARGETS, TARGETS
from bench.records import Parameters

WITHOUT_TARGETS = {"__init__", "cogrid_0_3_worker", "earlier_worker", "this_cogrid"}


def test_targets_can_be_run(tmp_path: Path) -> None:
    names = [target.name for target in TARGETS]
    assert len(set(names)) == len(names)
    for target in TARGETS:
        for one in target.cases:
            assert one.case.spec
            sent = json.loads(json.dumps(one.case.parameters()))
            assert Parameters(**sent).case == one.case
            assert msgspec.convert(msgspec.to_builtins(one.parameters), Parameters)
        assert target.cases[0].peer is COGRID or target.note == "different work"


def test_every_module_of_the_folder_declares_targets() -> None:
    stems = {path.stem for path in (ROOT / "bench" / "peers" / "libraries").glob("*.py")} - WITHOUT_TARGETS
    modules = [import_module(f"{libraries.__name__}.{stem}") for stem in stems]
    declared = [target for module in modules for target in module.TARGETS]
    assert len(stems) == 10
    assert Counter(id(one) for one in (*declared, *COGRID_TARGETS)) == Counter(map(id, TARGETS))


def test_targets_with_a_limit_come_first() -> None:
    limited = [target.has_limit for target in TARGETS]
    assert limited == sorted(limited, reverse=True)
    assert 0 < sum(limited) < len(limited)


def test_the_ways_of_python_peers_exist(tmp_path: Path) -> None:
    seen = Counter[str]()
    for one in (one for target in TARGETS for one in target.cases):
        if one.peer.name in ("C", "cogrid 0.3.2", "cogrid 0ae92cc"):
            continue
        job = one.peer.launch(one.way, one.case, Resources(tmp_path)).job
        module = import_module(job["module"])
        assert callable(module.prepare)
        assert job["way"] in getattr(module, "_WAYS", ["play"])
        seen[one.peer.name] += 1
    overcooked = {"jaxmarl", "jaxmarl_v2", "overcooked"}
    assert set(seen) == {"cogrid", *overcooked, "gymnasium", "gymnax", "lbforaging", "jumanji"}


def test_a_module_in_the_folder_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chess.py").write_text(
        "from bench.peers.cases import beside, scan\n"
        "from bench.peers.start import python_module\n"
        "from bench.peers.target import Peer, PeerTarget\n"
        "CHESS = Peer('chess', python_module(__name__))\n"
        "TARGETS = (PeerTarget('moves', 'chess', beside(CHESS, 'play', scan())),)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(libraries, "__path__", [*libraries.__path__, str(tmp_path)])
    try:
        assert {one.name for one in targets.all_targets()} - {one.name for one in TARGETS} == {
            "moves vs chess"
        }
    finally:
        sys.modules.pop(f"{libraries.__name__}.chess", None)


def test_importing_the_targets_imports_no_library_but_numpy() -> None:
    program = "import sys, bench.peers.targets; print({name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        encoding="utf-8",
    )
    heavy = {
        "jax",
        "jaxlib",
        "jaxmarl",
        "overcooked",
        "gymnax",
        "flax",
        "matplotlib",
        "lbforaging",
        "jumanji",
    }
    assert "'bench'" in run.stdout
    assert [name for name in heavy if repr(name) in run.stdout] == []


def test_rows_of_cartpole_are_called_what_they_are() -> None:
    cases = [case for target in TARGETS for case in target.cases if case.parameters.id == "CartPole-v1"]
    names = {case.name("lib 1.0") for case in cases}
    modes = ("numpy-single", "jax-scan@1024 ×256", "jax-vmap@1024 compile")
    assert names == {f"lib 1.0 CartPole-v1 {mode}" for mode in modes}


def test_what_is_compiled_and_not_run_says_so() -> None:
    """In the name of the target, in its note, and in the unit of its rows."""
    compiled = [one for one in TARGETS if any("modelled" in case.way for case in one.cases)]
    assert len(compiled) == 4
    for target in compiled:
        assert target.name.count("compiled for an A100, not run") == 1
        assert target.note == "modelled"
        assert [case.peer.name for case in target.cases] == ["cogrid", "jaxmarl"]
        assert all(case.parameters.measure == "modelled" for case in target.cases)
        assert all(case.env["JAX_PLATFORMS"] == "cpu" for case in target.cases)
