"""Scaling: how the turns of the shapes become a table, and what is read from compiled code."""

from __future__ import annotations

import os

import pytest

from bench import scaling
from bench.codes import Code
from bench.scaling import SHAPES, Sample
from tests.support import HAS_JAX


def test_a_row_for_each_shape_with_the_median_of_the_ratios_within_a_round(monkeypatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    # The second half of the rounds is disturbed for all alike; two devices take two thirds of the time.
    samples = [
        [Sample(load * (2 if shape.devices == 2 else 3), 1.5) for shape in SHAPES] for load in (1, 1, 1, 9, 9)
    ]
    rows = {row[0]: row[1:] for row in scaling.rows(samples, steps=6_000_000)}
    assert rows["1 device"] == ("2 M", "1.00", "1.00 … 1.00", "1", "100%", "1.50")
    assert rows["2 devices"] == ("3 M", "1.50", "1.50 … 1.50", "2", "75%", "1.50")
    assert rows["4 devices"][3:5] == ("2", "50%")  # there are only two cores
    assert rows["2 processes, 1 device each, one thread"][3] == "2"


@pytest.mark.parametrize(("other", "code"), [("same", Code.FINE), ("other", Code.MISMATCH)])
def test_shapes_that_play_different_games_are_wrong(monkeypatch, capsys, other, code) -> None:
    class Team:
        def __init__(self, shape, batch, steps) -> None:
            self.shape = shape

        def play(self) -> Sample:
            return Sample(1.0, 1.0)

        def checksum(self) -> str:
            return other if self.shape.devices == 4 else "same"

        def close(self) -> None:
            pass

    monkeypatch.setattr(scaling, "Team", Team)
    monkeypatch.setattr(scaling, "counted", lambda devices: [(str(devices), "code", "0", "0 B")])
    assert scaling.run(rounds=4) == code
    assert ("different games" in capsys.readouterr().out) == (code == Code.MISMATCH)


if HAS_JAX:
    from bench.scaling_worker import COLLECTIVE, size_of

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
