"""The table of the targets and its headline."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from bench.peers.run import Found, measure
from bench.peers.start import Resources
from bench.peers.table import headline, table
from bench.peers.target import COGRID, PeerCase, PeerTarget, alone, exponent
from bench.records import Row
from tests.bench.peers.support import BATCH, absent, cogrid, peer, target
from tests.bench.support import result, row


def cells(found: Found, what: str = "fast") -> list[str]:
    line = next(line for line in table(result(), [found]).splitlines() if line.startswith(what))
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_a_line_has_both_speeds_the_ratio_and_the_verdict(tmp_path: Path) -> None:
    found = measure(target(cogrid(), peer()), Resources(tmp_path), 3)
    assert cells(found) == [
        *("fast", "a peer", "24 steps/s", "6 steps/s", "4×", "2× … 5×", "≥ 4×, stretch ≥ 5×", "met")
    ]
    text = table(result(), [found])
    assert text.splitlines()[0].startswith("AMD EPYC 7B13, 2 cores")
    expected = "1 of 1 targets met, 0 missed, 0 not measured; all trajectories that can be compared agree."
    assert text.splitlines()[-1] == expected


def test_a_busy_machine_and_a_note_are_told(tmp_path: Path) -> None:
    found = measure(target(cogrid(), peer(), note="other rules"), Resources(tmp_path), 3)
    assert cells(found)[-1] == "met; other rules"
    found.rows[1].noise["disturbed"] = 2
    assert cells(found)[-1] == "met; other rules; on a busy machine"


def test_what_was_not_measured_says_why(tmp_path: Path) -> None:
    found = measure(target(cogrid(), absent()), Resources(tmp_path), 3)
    assert cells(found)[2:] == [
        *("24 steps/s", "–", "–", "≥ 4×, stretch ≥ 5×", "not measured: it is not installed.")
    ]
    assert headline([found]).startswith("0 of 1 targets met, 0 missed, 1 not measured; all trajectories")


def test_growth_shows_the_first_and_the_last_speed() -> None:
    cases = tuple(PeerCase(COGRID, "play", dataclasses.replace(BATCH, batch=n)) for n in (4, 8, 16))
    rows = [row(speed=speed) for speed in (8e6, 4e6, 2e6)]
    growth = Found(PeerTarget("fast", "linear", cases, figure=exponent, unit=""), rows)
    line = next(line for line in table(result(), []).splitlines() if line.startswith("what"))
    assert [cell.strip() for cell in line.split("  ") if cell.strip()][2:4] == ["cogrid", "peer"]
    assert cells(growth)[2] == "8 M steps/s … 2 M steps/s"


def test_a_number_alone_stands_under_cogrid_or_under_the_peer() -> None:
    text = {
        name: table(
            result(),
            [
                Found(
                    PeerTarget("fast", "", (PeerCase(one, "play", BATCH),), figure=alone, unit="steps/s"),
                    [row()],
                )
            ],
        ).splitlines()
        for name, one in (("cogrid", COGRID), ("peer", peer()))
    }
    for name, lines in text.items():
        header = next(line for line in lines if line.startswith("what"))
        line = next(line for line in lines if line.startswith("fast"))
        start = header.index(name)
        assert line[start:].startswith("1 M steps/s")


def test_the_headline_counts_met_missed_and_wrong() -> None:
    def found(*rows: Row) -> Found:
        return Found(target(cogrid(), peer()), list(rows))

    slow, wrong = row(speed=1), row(status="mismatch", error="other ends")
    text = headline([found(row(speed=5), slow), found(row(speed=3), slow), found(wrong, wrong)])
    assert text == "1 of 3 targets met, 1 missed, 1 not measured; 1 with WRONG RESULTS."
