"""Scaling: how the turns of the shapes become a table, and what is read from compiled code."""

from __future__ import annotations

import os
import sys

import pytest

from bench.exit_codes import Code, UsageError
from bench.experiments import scaling
from bench.experiments.scaling import SHAPES, PlayedPass
from bench.storage import results
from tests.support import HAS_JAX


def test_a_row_for_each_shape_with_the_median_of_the_ratios_within_a_round(monkeypatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    # The second half of the rounds is disturbed for all alike; two devices take two thirds of the time.
    samples = [
        [PlayedPass(load * (2 if shape.devices == 2 else 3), 1.5) for shape in SHAPES]
        for load in (1, 1, 1, 9, 9)
    ]
    rows = {row[0]: row[1:] for row in scaling.rows(samples, steps=6_000_000)}
    assert rows["1 device"] == ("2 M", "1.00", "1.00 … 1.00", "1", "100%", "1.50")
    assert rows["2 devices"] == ("3 M", "1.50", "1.50 … 1.50", "2", "75%", "1.50")
    assert rows["4 devices"][3:5] == ("2", "50%")  # there are only two cores
    assert rows["2 processes, 1 device each, one thread"][3] == "2"


#: A worker that speaks the protocol, and does at each task what the test wants.
PROGRAM = """
import os, signal, time
from bench.processes.protocol import serve

devices = os.environ["JAX_NUM_CPU_DEVICES"]

def handle(request):
    task = request["task"]
    {planted}
    if task == "checksum":
        return {{"checksum": "same"}}
    if task == "count":
        return {{"counts": [["code", int(devices), 2000]]}}
    return {{"seconds": 0.5, "cpu_seconds": 0.25}}

serve(handle)
"""


def plant(monkeypatch: pytest.MonkeyPatch, planted: str = "pass") -> None:
    monkeypatch.setattr(scaling, "COMMAND", (sys.executable, "-c", PROGRAM.format(planted=planted)))


def test_shapes_are_measured_and_counted(monkeypatch, capsys) -> None:
    plant(monkeypatch)
    assert scaling.run(rounds=4, batch=10, steps=5) == Code.FINE
    out, err = capsys.readouterr()
    assert err.count("ready") == len(SHAPES)
    assert "speed-up: over the first shape in the same round" in out
    cells = {" ".join(line.split("  ")[0].split()): line.split() for line in out.splitlines() if line}
    assert cells["1 device"][-6:] == ["1.00", "…", "1.00", "1", "100%", "0.50"]
    assert cells["2 processes, 1 device each"][-1] == "1.00"  # both half busy
    assert cells["64"] == ["64", "code", "64", "2", "KB"]
    assert "All shapes played the same game" in out
    found = kept()
    assert [shape.name for shape in found.shapes] == [shape.name for shape in SHAPES]
    assert [len(shape.passes) for shape in found.shapes] == [4] * len(SHAPES)
    assert len({shape.checksum for shape in found.shapes}) == 1
    assert (found.batch, found.steps, found.collectives[0][0]) == (10, 5, "8")


def kept() -> scaling.Scaling:
    (file,) = (results.RESULTS / "scaling").glob("scaling_*.json")
    return results.decoded(file.read_bytes(), scaling.Scaling, "it")


def test_samples_survive_a_failed_count(monkeypatch, capsys) -> None:
    plant(monkeypatch, 'if task == "count": raise ValueError("five")')
    monkeypatch.chdir(results.RESULTS)
    with pytest.raises(UsageError, match="'8 devices' stopped: ValueError: five"):
        scaling.run(rounds=4)
    out, err = capsys.readouterr()
    assert "results are in scaling/scaling_" in err
    assert "2 processes, 1 device each" in out
    assert [len(shape.passes) for shape in kept().shapes] == [4] * len(SHAPES)
    assert kept().collectives == []


def test_shapes_that_play_different_games_are_wrong(monkeypatch, capsys) -> None:
    plant(monkeypatch, 'if task == "checksum" and devices == "4": return {"checksum": "other"}')
    assert scaling.run(rounds=4) == Code.MISMATCH
    assert "different games" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("planted", "reason"),
    [
        ('if task == "play": raise ValueError("five")', "'1 device' stopped: ValueError: five"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "'1 device' stopped: the process was killed, most likely"),
        # The other process waits for the one that failed.
        (
            'if request.get("process") == 1: raise ValueError("five")\n'
            '    if request.get("processes") == 2: time.sleep(3600)',
            "'2 processes, 1 device each' stopped: ValueError: five",
        ),
    ],
)
def test_a_process_that_fails_ends_all_with_the_reason(monkeypatch, planted: str, reason: str) -> None:
    plant(monkeypatch, planted)
    with pytest.raises(UsageError, match=f"a process of the shape {reason}"):
        scaling.run(rounds=4)


if HAS_JAX:
    import jax

    from bench.experiments.scaling_worker import COLLECTIVE, ScalingWorker, size_of

    def test_collectives_and_their_bytes_are_read_from_the_text() -> None:
        text = """
          %fusion.1 = f32[8]{0} fusion(%all-reduce.1), kind=kLoop
          %all-reduce.1 = f32[64,7]{1,0} all-reduce(%x), channel_id=1
          %all-reduce.2 = (f32[], bf16[3]{0}) all-reduce-start(%y, %z), channel_id=2
          %g = s8[4,16]{1,0} all-gather(%w), dimensions={0}
          %p = pred[5]{0} collective-permute(%v), channel_id=3
          %done = f32[8]{0} all-reduce-done(%all-reduce.2)
          %window = f32[8]{0} reduce-window(%x, %zero), to_apply=%add
          %precision = f32[8]{0} reduce-precision(%x), exponent_bits=8
        """
        found = COLLECTIVE.findall(text)
        assert list(map(size_of, found)) == [64 * 7 * 4, 4 + 6, 64, 5]

    @pytest.mark.xdist_group("scaling")
    def test_a_worker_prepares_plays_and_counts() -> None:
        worker = ScalingWorker()
        worker.handle({"task": "prepare", "batch": 4, "steps": 3, "processes": 1, "process": 0, "port": 0})
        sums = [worker.handle({"task": "checksum"})["checksum"]]
        played = worker.handle({"task": "play"})
        assert played["seconds"] > 0
        assert played["cpu_seconds"] >= 0
        sums.append(worker.handle({"task": "checksum"})["checksum"])
        assert len(set(sums)) == 2  # the rollout went on
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            counts = worker.handle({"task": "count", "batch": 64, "steps": 3})["counts"]
        assert counts[:2] == [("begin", 0, 0), ("3 steps", 0, 0)]
