"""Tables: speed-ups, noise and trouble are shown."""

from __future__ import annotations

from bench.records import Row
from bench.show import tables
from tests.bench.support import around, result, row


def line(text: str, start: str) -> list[str]:
    return next(part.split("  ") for part in text.splitlines() if part.startswith(start))


def test_speeds_stand_beside_one_numpy_environment() -> None:
    rows = [
        row(name="one", mode="numpy-single", batch=1, speed=5000.0),
        row(name="many", speed=2_000_000.0),
        row(name="others", speed=2_000_000.0, id="Arena-V0"),
    ]
    text = tables.summary(result(rows=rows))
    cells = [cell.strip() for cell in line(text, "many") if cell.strip()]
    assert cells[:5] == ["many", "2 M", "1.5 %", "4 M", "1.95 K"]
    assert "400×" in cells
    assert "×" not in " ".join(line(text, "others"))
    assert text.splitlines()[-1] == "3 measured; all checksums agree."


def test_trouble_is_shown() -> None:
    noise = {"steal": 0.0, "others": 0.9, "pressure": 0.9, "load": 3.0, "dropped": 5, "disturbed": 2}
    rows = [
        row(name="wild", samples=around(1e6, 0.9)),
        row(name="large", error="too large.", status="out of memory"),
        row(name="wrong", error="differs.", status="mismatch"),
        row(name="noisy", noise=noise),
        row(name="late", measure="latency", samples=around(1e-3, 0.9)),
    ]
    text = tables.summary(result(rows=rows))
    assert "unstable" in " ".join(line(text, "wild"))
    assert "out of memory: too large." in text
    assert "mismatch: differs." in text
    assert "noisy: 2 of 5 samples disturbed." in text.splitlines()
    assert row(noise=noise).doubt == ""
    assert row(noise={**noise, "disturbed": 3}).doubt == "disturbed"
    assert row(samples=[1.0]).doubt == "too few samples"
    assert "unstable" not in " ".join(line(text, "late"))  # single steps may differ
    assert (
        text.splitlines()[-1] == "5 measured, 1 out of memory, 1 too noisy to compare; 1 with WRONG RESULTS."
    )


def test_a_note_of_all_rows_is_said_once_below_the_table() -> None:
    noise = {"steal": 0.0, "dropped": 5, "disturbed": 5}
    rows = [row(name="first", noise=noise), row(name="second", noise=noise)]
    text = tables.summary(result(rows=rows))
    below = "All rows: disturbed, 5 of 5 samples disturbed."
    assert text.count("disturbed, ") == text.count(below) == 1
    assert "note" not in text
    kept = "Disturbed samples were kept where no better ones could be taken."
    assert f"{below}\n{kept}\n" in text
    wild = row(name="third", noise=noise, samples=around(1e6, 0.9))
    text = tables.summary(result(rows=[*rows, wild]))
    assert "All rows: 5 of 5 samples disturbed." in text
    assert [line(text, name)[-1].strip() for name in ("first", "third")] == ["disturbed", "unstable"]
    alone = tables.summary(result(rows=rows[:1]))
    assert line(alone, "first")[-1].strip() == "disturbed"
    assert f"first: 5 of 5 samples disturbed.\n{kept}\n" in alone
    quiet = tables.summary(result(rows=[row(name="first"), row(name="second")]))
    assert not [word for word in ("note", "All rows", kept) if word in quiet]


def test_notes_that_differ_by_a_count_alone_are_said_once_with_their_range() -> None:
    def noisy(name: str, disturbed: int) -> Row:
        return row(name=name, noise={"steal": 0.0, "dropped": 5, "disturbed": disturbed})

    every = [noisy("first", 4), noisy("second", 5), noisy("third", 3)]
    text = tables.summary(result(rows=every))
    assert "All rows: disturbed, 3 of 5 to 5 of 5 samples disturbed." in text.splitlines()
    assert "note" not in text
    text = tables.summary(result(rows=[*every, noisy("fourth", 1), row(name="quiet")]))
    assert "4 of 5 rows: 1 of 5 to 5 of 5 samples disturbed." in text.splitlines()
    assert [line(text, name)[-1].strip() for name in ("first", "third")] == ["disturbed"] * 2
    assert text.count("samples disturbed") == 1


def test_seconds_and_parts() -> None:
    parts = {"trace": 0.2, "compile": 0.5}
    cells = line(
        tables.summary(result(rows=[row(name="c", measure="compile", samples=[0.7], parts=parts)])), "c "
    )
    assert "trace 200 ms, compile 500 ms" in "  ".join(cells)


def test_a_noisy_profile_is_called_noisy() -> None:
    """Below the table, with the spread of the whole call; a steady one needs no remark."""
    facts = {"measure": "profile", "mode": "numpy-single", "parts": {"move": 1e-4}}
    steady = row(**facts, name="steady", samples=around(2e-4), options={"observation": "none"})
    noisy = row(**facts, name="noisy", samples=around(2e-4, 0.9))
    lines = tables.profile(result([steady, noisy])).splitlines()
    assert "noisy: 200 µs ± 69 %, unstable" in lines
    assert not [line for line in lines if line.startswith("steady")]


def test_the_sum_of_the_parts_of_an_observation_is_not_called_a_step() -> None:
    facts = {"mode": "numpy-batch", "parts": {"Pots": 1e-4, "Walls": 2e-4}, "samples": around(2e-4)}
    text = tables.profile(result([row(**facts, measure="features")]))
    assert "median µs   mean µs    sum   wall" in text
    assert [part.split()[0] for part in text.splitlines() if part and part[0].isalpha()][-5:-1] == [
        "Pots",
        "Walls",
        "sum",
        "wall",
    ]
    step = tables.profile(result([row(**facts, measure="profile")]))
    assert "median µs   mean µs   step   wall" in step
    assert "\nstep " in step
