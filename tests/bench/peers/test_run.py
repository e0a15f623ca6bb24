"""Measuring targets: figures of every round, peers that fail or disagree, and the file."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from bench.exit_codes import Code, UsageError
from bench.peers import run
from bench.peers.run import Found, exit_code, measure, select
from bench.peers.start import Resources
from bench.peers.target import COGRID, Peer, PeerCase, PeerTarget, alone
from bench.peers.targets import TARGETS
from bench.show.progress import Progress
from bench.storage import results
from tests.bench.peers.support import BATCH, absent, cogrid, peer, target
from tests.bench.support import result


@pytest.fixture
def resources(tmp_path: Path) -> Resources:
    return Resources(tmp_path)


def test_targets_are_chosen_by_a_part_of_their_name() -> None:
    assert {target.what for target in select("C, one core")} == {
        "JAX scan@1024, no observation",
        "JAX scan@1024, lossless",
    }
    assert select(None) == list(TARGETS)
    with pytest.raises(UsageError, match="no target's name contains 'chess'; known are:\n  JAX scan@1024"):
        select("chess")


def test_a_ratio_is_taken_in_every_round(resources: Resources) -> None:
    found = measure(target(cogrid(), peer(library="peer 1.0")), resources, 3)
    assert found.figures == [2, 4, 5]
    assert found.verdict == "met"
    own, theirs = found.rows
    assert (own.library, theirs.library) == ("cogrid", "peer 1.0")
    assert own.name == BATCH.name
    assert theirs.name == f"peer 1.0 {BATCH.name}"
    assert theirs.samples == [5, 6, 10]
    assert theirs.noise == {"steal": 0.5, "disturbed": 0}
    assert theirs.parts["start"] > 0
    assert own.identity != theirs.identity


def test_a_target_may_ask_for_fewer_rounds(resources: Resources) -> None:
    found = measure(target(cogrid(), peer(), rounds=2), resources, 3)
    assert found.figures == [2, 4]


def test_a_peer_that_cannot_be_run_is_a_row_and_cogrid_is_measured(resources: Resources) -> None:
    found = measure(target(cogrid(), absent("peer")), resources, 3)
    assert [row.status for row in found.rows] == ["ok", "failed"]
    assert found.rows[1].library == "peer"
    assert found.verdict == "not measured: it is not installed."
    assert found.figures == []
    assert exit_code([found]) == Code.FINE


def test_a_cogrid_that_cannot_be_run_is_a_failure(resources: Resources) -> None:
    broken = dataclasses.replace(target(cogrid(), peer()), cases=(PeerCase(COGRID, "no such way", BATCH),))
    found = measure(broken, resources, 1)
    assert found.verdict == "not measured: KeyError: 'no such way'"
    assert exit_code([found]) == Code.FAILED


def test_what_both_need_and_is_absent_is_no_failure(resources: Resources) -> None:
    """Such as JaxMARL's wrapper around our environment, or a compiler for GPUs."""
    gone, other = absent("peer", "KeyError: 'no such way'"), absent("peer", "another reason.")
    codes = []
    for theirs in (gone, other):
        cases = PeerCase(COGRID, "no such way", BATCH), PeerCase(theirs, "play", BATCH)
        found = measure(PeerTarget("both", "peer", cases), resources, 1)
        assert [row.status for row in found.rows] == ["failed", "failed"]
        codes.append(exit_code([found]))
    assert codes == [Code.FINE, Code.FAILED]


@pytest.mark.parametrize(
    ("last", "status", "error"),
    [
        ("sys.exit('worn out')", "failed", "the process ended with exit code 1: worn out"),
        ("raise ValueError('worn out')", "failed", "ValueError: worn out"),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            "out of memory",
            "the process was killed, most likely because memory ran out.",
        ),
    ],
)
@pytest.mark.parametrize("values", [(), (1,)])
def test_a_peer_that_stops_is_a_row_and_cogrid_is_measured(
    resources: Resources, last: str, status: str, error: str, values: tuple[float, ...]
) -> None:
    own, theirs = measure(target(cogrid(range(1, 9)), peer("peer", values, last)), resources, 3).rows
    assert (own.status, theirs.status, theirs.error) == ("ok", status, error)
    assert len(own.samples) == 3


def test_different_ends_are_a_mismatch(resources: Resources) -> None:
    own = cogrid((1, 2), end={"rewards": [20, 0], "planes": [1]})
    shorter, other = (peer("peer", (1, 2), end={"rewards": end}) for end in ([20], [20, 40]))
    assert measure(target(own, shorter), resources, 2).failure is None  # the lane that both have is the same
    found = measure(target(own, other), resources, 2)
    assert found.verdict == "WRONG RESULTS: at the end of tape 1 the rewards of one are 0, of the other 40."
    assert [row.status for row in found.rows] == ["mismatch", "mismatch"]
    assert exit_code([found]) == Code.MISMATCH
    longer = dataclasses.replace(BATCH, steps=301)
    assert measure(target(own, other, longer), resources, 2).failure is None


def test_a_third_peer_is_compared_too_and_an_absent_one_keeps_its_reason(resources: Resources) -> None:
    own, wrong = (
        peer(name, (1, 2), end={"rewards": [reward]}) for name, reward in (("cogrid", 20), ("wrong", 0))
    )
    cases = tuple(PeerCase(one, "play", BATCH) for one in (own, absent("gone"), own, wrong))
    found = measure(PeerTarget("three", "", cases), resources, 2)
    assert [row.status for row in found.rows] == ["mismatch", "failed", "mismatch", "mismatch"]
    assert found.rows[1].error == "it is not installed."
    assert exit_code([found]) == Code.MISMATCH


def test_ends_give_a_checksum_which_agrees_where_they_do(resources: Resources) -> None:
    end = {"rewards": [20.0, 0.0]}
    found = measure(target(cogrid(end=end), peer(end=end)), resources, 1)
    sums = {row.checksum for row in found.rows}
    assert len(sums) == 1
    assert None not in sums
    assert measure(target(cogrid(), peer()), resources, 1).rows[0].checksum is None


def test_the_identity_is_of_library_and_case() -> None:
    case = PeerCase(COGRID, "play", BATCH)
    before = run.identity("cogrid", case)
    other = PeerCase(COGRID, "play", dataclasses.replace(BATCH, batch=17))
    assert len({before, run.identity("peer", case), run.identity("cogrid", other)}) == 3


def test_the_identity_covers_the_module_of_the_peer_and_no_other(tmp_path: Path) -> None:
    module = tmp_path / "module.py"

    def with_module(text: str) -> tuple[str, str]:
        module.write_text(text, encoding="utf-8")
        run.code_of.cache_clear()
        own = PeerCase(dataclasses.replace(COGRID, code=(module,)), "play", BATCH)
        return run.identity("cogrid", own), run.identity("cogrid", PeerCase(COGRID, "play", BATCH))

    assert with_module('"""One."""\nx: int = 1\n') == with_module('"""Two."""\nx: float = 1  # why\n')
    (one, cogrid_then), (two, cogrid_now) = with_module("x = 1\n"), with_module("x = 2\n")
    assert one != two
    assert cogrid_then == cogrid_now
    peers = {case.peer for target in TARGETS for case in target.cases}
    # As many: CartPole's module has two libraries, and JaxMARL two modules, its games and its learner.
    assert len({peer.code for peer in peers}) == len({peer.name for peer in peers})
    assert all(file.exists() for peer in peers for file in peer.code)
    run.code_of.cache_clear()


def finished(targets: list[PeerTarget], rounds: int, path: Path) -> list[Found]:
    with Progress() as progress:
        return run.run(targets, rounds, None, result(rows=[]), path, progress)


def test_the_file_has_rows_and_targets_with_all_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, own = tmp_path / "p.json", cogrid()
    chosen = [
        target(own, peer(library="peer 1.0")),
        PeerTarget("alone", "", (PeerCase(own, "play", BATCH),), enough=20, figure=alone),
        PeerTarget("runs", "", (PeerCase(own, "play", BATCH),), stretch=math.inf, at_most=True, figure=alone),
    ]
    finished(chosen, 3, path)
    found = results.load(path)
    assert [row.library for row in found.rows] == ["cogrid", "peer 1.0"]  # each row once
    first, second, third = found.targets
    assert first.figures == [2, 4, 5]
    assert (first.median, first.low, first.high, first.verdict) == (4, 2, 5, "met")
    assert (first.enough, first.stretch, first.at_most) == (4, 5, False)
    assert first.samples == [[10, 24, 50], [5, 6, 10]]
    assert (second.rows, second.median) == ([BATCH.name], 24)
    assert (third.stretch, third.at_most, third.verdict) == (None, True, "stretch met")
    assert "[1/3] fast vs a peer: 4× ± 42 %, met\n[2/3] alone: 24× ± 72 %, met\n" in capsys.readouterr().err


def test_an_absent_peer_is_in_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished([target(cogrid(), absent())], 2, tmp_path / "p.json")
    assert "[1/1] fast vs a peer: not measured: it is not installed.\n" in capsys.readouterr().err
    found = results.load(tmp_path / "p.json")
    assert found.targets[0].median is None
    assert found.rows[1].error == "it is not installed."


def test_the_file_is_complete_after_every_target(tmp_path: Path) -> None:
    path = tmp_path / "p.json"

    def launch(way: str, case: Any, resources: Resources) -> Any:
        assert len(results.load(path).targets) == 1
        raise KeyboardInterrupt

    stopped = target(cogrid(), Peer("stops the run", launch))
    with pytest.raises(KeyboardInterrupt):
        finished([target(cogrid(), peer()), stopped], 1, path)
    assert [one.name for one in results.load(path).rows] == [BATCH.name, f"peer {BATCH.name}"]
