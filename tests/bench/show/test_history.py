"""The history of a folder: one column for each run, and changes only between what can be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.exit_codes import UsageError
from bench.records import Against, Result, Row
from bench.show.history import history
from bench.storage import results
from tests.bench.support import around, paired, result, row

OUT_OF_MEMORY = {"status": "out of memory", "error": "RESOURCE_EXHAUSTED: 9 GB"}
DAYS = tuple(f"2026-11-{day}T10:30:00+00:00" for day in (10, 11, 12))


def write(folder: Path, *found: Result) -> Path:
    """Files whose names are in the reverse order of time."""
    for turn, one in enumerate(found):
        results.write(folder / f"benchmark_{9 - turn}.json", one)
    return folder


def cells(text: str) -> list[list[str]]:
    """The table's cells, without the line below the header."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [found[0], *found[2:]]


def two(tmp_path: Path, before: Row, after: Row, **changes: Any) -> str:
    """What the second run's cell says."""
    folder = write(tmp_path, result([before], created=DAYS[0]), result([after], created=DAYS[1], **changes))
    return cells(history(folder))[1][2]


def test_columns_in_time_order_with_tag_or_date(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        result([row(name="a", speed=2e6)], created=DAYS[1], tag="second"),
        result([row(name="a", speed=1e6)], created=DAYS[0]),
    )
    assert cells(history(folder)) == [
        ["case", "2026-11-10 10:30", "second"],
        ["a", "1 M steps/s", "2 M steps/s, 100 % faster"],
    ]


def test_time_order_minds_the_time_zone(tmp_path: Path) -> None:
    early, late = "2026-11-10T10:00:00+05:00", "2026-11-10T09:00:00+00:00"
    folder = write(tmp_path, result(created=late, tag="late"), result(created=early, tag="early"))
    assert cells(history(folder))[0] == ["case", "early", "late"]


def test_a_tag_given_twice_has_its_date(tmp_path: Path) -> None:
    folder = write(tmp_path, *(result(created=day, tag="again") for day in DAYS[:2]))
    assert cells(history(folder))[0][1:] == ["again 2026-11-10 10:30", "again 2026-11-11 10:30"]


@pytest.mark.parametrize(
    ("measure", "before", "after", "text"),
    [
        ("speed", 112, 100, "12 % slower"),
        ("speed", 100, 130, "30 % faster"),
        ("reset", 1, 1.12, "12 % slower"),
        ("speed", 100, 100.2, "the same"),
    ],
)
def test_change_in_words(tmp_path: Path, measure: str, before: float, after: float, text: str) -> None:
    rows = (row(measure=measure, speed=value) for value in (before, after))
    assert two(tmp_path, *rows).endswith(f", {text}")


def test_another_machine_is_not_compared(tmp_path: Path) -> None:
    found = two(tmp_path, row(), row(speed=2e6), cpu="another")
    assert found == "2 M steps/s, not comparable: other cpu"


def test_a_run_that_cannot_be_compared_does_not_hide_an_earlier_one(tmp_path: Path) -> None:
    runs = (
        result([row(speed=1e6)], created=DAYS[0]),
        result([row(speed=9e6)], created=DAYS[1], cpu="another"),
        result([row(speed=1.5e6)], created=DAYS[2]),
    )
    assert cells(history(write(tmp_path, *runs)))[1][3] == "1.5 M steps/s, 50 % faster"


def test_another_way_to_measure_is_not_compared(tmp_path: Path) -> None:
    found = two(tmp_path, row(), row(speed=2e6, identity="f" * 12))
    assert found == "2 M steps/s, not comparable: measured in another way"


def test_another_trajectory_is_not_compared(tmp_path: Path) -> None:
    found = two(tmp_path, row(), row(speed=2e6, checksum="f" * 16))
    assert found == "2 M steps/s, not comparable: other results than before"


def test_the_change_of_a_noisy_row_is_shown_as_doubtful(tmp_path: Path) -> None:
    shaky = row(samples=around(1e6, 0.5))
    assert two(tmp_path, row(), shaky) == "1 M steps/s, unstable; no change, but doubtful"
    assert two(tmp_path, row(speed=2e6), shaky) == "1 M steps/s, unstable; 100 % slower is doubtful"
    found = two(tmp_path, shaky, row(speed=2e6))
    assert found == "2 M steps/s, unstable before; 100 % faster is doubtful"
    assert cells(history(tmp_path))[1][1] == "1 M steps/s, unstable", "there is none before"
    assert two(tmp_path, row(), shaky, cpu="another") == "1 M steps/s, unstable, not comparable: other cpu"


def test_a_steady_earlier_row_is_preferred_to_a_noisy_one(tmp_path: Path) -> None:
    rows = (row(speed=1e6), row(samples=around(9e6, 0.5)), row(speed=2e6))
    runs = (result([one], created=day) for one, day in zip(rows, DAYS, strict=True))
    assert cells(history(write(tmp_path, *runs)))[1][3] == "2 M steps/s, 100 % faster"


def test_an_ab_row_has_its_own_verdict_and_is_no_baseline(tmp_path: Path) -> None:
    """Its two sides share one core, so their speeds say something only about each other."""
    shaky = around(1e6, 0.5)
    pair = row(samples=shaky, ab=paired(1.12, "slower"))
    assert two(tmp_path, row(speed=9e6), pair) == "1 M steps/s, 12 % slower, confirmed"
    assert two(tmp_path, pair, row()) == "1 M steps/s, not comparable: measured in another way"
    runs = (
        result([row(speed=5e5)], created=DAYS[0]),
        result([pair], created=DAYS[1]),
        result([row()], created=DAYS[2]),
    )
    assert cells(history(write(tmp_path, *runs)))[1][3] == "1 M steps/s, 100 % faster"


def test_counted_rows_are_no_failures(tmp_path: Path) -> None:
    counted = row(status="counted", samples=[], statistics=None)
    assert "None" not in history(write(tmp_path, result([counted])))


def test_the_last_run_that_measured_the_row_counts(tmp_path: Path) -> None:
    runs = ([row(speed=1e6)], [row(**OUT_OF_MEMORY)], [row(speed=1.5e6)])
    folder = write(tmp_path, *(result(rows, created=day) for rows, day in zip(runs, DAYS, strict=True)))
    assert cells(history(folder))[1][1:] == ["1 M steps/s", "out of memory", "1.5 M steps/s, 50 % faster"]
    name = row().name
    assert history(folder).splitlines()[-1] == f"2026-11-11 10:30: {name}: RESOURCE_EXHAUSTED: 9 GB"


def test_a_run_is_compared_with_the_one_before(tmp_path: Path) -> None:
    runs = zip((1e6, 2e6, 4e6), DAYS, strict=True)
    folder = write(tmp_path, *(result([row(speed=speed)], created=day) for speed, day in runs))
    assert cells(history(folder))[1][3] == "4 M steps/s, 100 % faster"


def test_rows_that_come_and_go_have_empty_cells(tmp_path: Path) -> None:
    runs = ([row(name="gone"), row(name="kept")], [row(name="kept"), row(name="new")])
    folder = write(tmp_path, *(result(rows, created=day) for rows, day in zip(runs, DAYS, strict=False)))
    lines = cells(history(folder))[1:]
    assert [line[0] for line in lines] == ["kept", "new", "gone"]
    assert lines[1][1] == ""
    assert lines[2][2] == ""


def sweep(mode: str = "jax-scan") -> list[Row]:
    speeds = ((1, 1e3), (10, 9e3), (100, 25e3))
    return [row(name=f"{mode}@{batch}", mode=mode, batch=batch, speed=speed) for batch, speed in speeds]


def test_batch_size_keeps_the_rows_of_one_batch(tmp_path: Path) -> None:
    folder = write(tmp_path, result([*sweep(), *sweep("numpy-batch")]))
    assert [line[0] for line in cells(history(folder, 10))[1:]] == ["jax-scan@10", "numpy-batch@10"]
    assert history(folder, 77) == f"The results in {folder} hold no rows of batch 77."


def test_scaling_shows_sweeps_with_their_efficiency(tmp_path: Path) -> None:
    alone, failed = row(name="alone", mode="jax-vmap"), row(name="jax-scan@1000", batch=1000, **OUT_OF_MEMORY)
    folder = write(tmp_path, result([alone, *sweep()[::-1], failed]))
    assert cells(history(folder, scaling_only=True))[1:] == [
        ["jax-scan@1", "1 K steps/s, efficiency 4.0 %"],
        ["jax-scan@10", "9 K steps/s, efficiency 36 %"],
        ["jax-scan@100", "25 K steps/s, efficiency 100 %"],
        ["jax-scan@1000", "out of memory"],
    ]
    assert cells(history(folder, 10, True))[1:] == [["jax-scan@10", "9 K steps/s, efficiency 36 %"]]


def test_scaling_shows_every_chunk_and_marks_what_is_noisy(tmp_path: Path) -> None:
    rows = [
        row(name=f"@{batch} ×{steps}", batch=batch, steps=steps, samples=around(speed * batch, share))
        for steps, speed, share in ((64, 1e3, 0.02), (16, 2e3, 0.9))
        for batch in (1, 10)
    ]
    text = history(write(tmp_path, result(rows)), scaling_only=True)
    assert cells(text)[1:] == [
        ["@1 ×16", "2 K steps/s, efficiency 10 %, unstable"],
        ["@10 ×16", "20 K steps/s, efficiency 100 %, unstable"],
        ["@1 ×64", "1 K steps/s, efficiency 10 %"],
        ["@10 ×64", "10 K steps/s, efficiency 100 %"],
    ]
    assert (
        "\nThe latest run with a batch sweep. Efficiency: steps/s of the batch, relative to the best" in text
    )


def test_scaling_of_results_without_a_sweep(tmp_path: Path) -> None:
    folder = write(tmp_path, result([row()]))
    assert history(folder, scaling_only=True) == f"The results in {folder} hold no batch sweeps."


def test_files_that_cannot_be_read_are_named_and_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = {
        "old.json": json.dumps(json.loads(results.encoded(result())) | {"schema": 0}),
        "cut.json": "{",
        "list.json": "[]",
    }
    for name, text in damaged.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = history(write(tmp_path, result(tag="good")))
    assert cells(found)[0] == ["case", "good"]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(damaged)
    for name, text in damaged.items():
        assert any(name in line for line in lines)
        assert (tmp_path / name).read_text(encoding="utf-8") == text


def test_a_folder_without_results(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no results"):
        history(tmp_path)
    with pytest.raises(UsageError, match="is not a folder"):
        history(tmp_path / "missing")


def test_what_a_run_was_for_is_told(tmp_path: Path) -> None:
    described = result(tag="last", description="a colder cache", created=DAYS[1])
    text = history(write(tmp_path, result(created=DAYS[0]), described))
    file = next(path.name for path in tmp_path.iterdir() if results.load(path) == described)
    assert f"\nlast: 2026-11-11 10:30, a colder cache, quick, 3fabcf2000, {file}\n" in f"{text}\n"
    assert "\n2026-11-10 10:30: quick, 3fabcf2" in text


@pytest.mark.parametrize(
    ("setting", "words"),
    [("NPROC=2", "A/B with and without NPROC=2"), ("", "A/B against main")],
)
def test_an_a_b_names_what_it_compared(tmp_path: Path, setting: str, words: str) -> None:
    run = result(tag="x", created=DAYS[0])
    run.configuration.against = Against("main", "3fabcf2", None, setting)
    assert f"x: 2026-11-10 10:30, {words}, 3fabcf2" in history(write(tmp_path, run))


def test_scaling_is_that_of_the_latest_sweep_and_never_nothing(tmp_path: Path) -> None:
    sweeps = [[row(batch=1, speed=1e6), row(batch=10**6, speed=factor * 1e6)] for factor in (90, 50)]
    dates = ("2026-11-01T00:00:00+00:00", "2026-11-02T00:00:00+00:00")
    runs = [result(rows, tag=date[:10], created=date) for rows, date in zip(sweeps, dates, strict=True)]
    text = history(write(tmp_path, *runs), scaling_only=True)
    assert "2026-11-01" not in text
    assert "efficiency 2.0 %" in text
