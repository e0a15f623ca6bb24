"""Several files in one picture: nothing is dropped, and what would be mistaken for another is named."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from bench.show.figures.bars import speeds
from bench.show.figures.intervals import intervals
from bench.show.figures.sweeps import throughput
from bench.show.together import by_label, together
from tests.bench.show.figures.support import NAME, drawn, line, names
from tests.bench.show.figures.test_bars import target
from tests.bench.support import GPU, paired, result, row

OLD, NEW = "2026-11-01T00:00:00+00:00", "2026-11-02T00:00:00+00:00"


def test_files_that_share_no_row_are_merged_by_platform() -> None:
    new = result([row(name="b")], created=NEW)
    old = result([row(name="a")], created=OLD)
    both, gpu = together({"new": new, "gpu": result([row(name="a")], **GPU), "old": old})
    assert [found.name for found in both.rows] == ["a", "b"]
    assert (both.when, both.git) == (new.when, new.git)
    assert gpu.system.platform == "gpu"


def test_one_file_is_as_it_is() -> None:
    alone = result()
    assert together({"alone": alone}) == [alone]


def test_equal_rows_are_all_kept_and_named_after_their_files() -> None:
    found = {"after": result([row(speed=2e6)], created=NEW), "before": result([row()], created=OLD)}
    (both,) = together(found)
    assert [one.name.rpartition(", ")[2] for one in both.rows] == ["before", "after"]
    assert [one.case.environment for one in both.rows] == [
        "CrampedRoom features run=before",
        "CrampedRoom features run=after",
    ]


def test_another_revision_is_in_the_name_and_not_in_the_caption() -> None:
    other = {"sha": 40 * "a", "dirty": True}
    (both,) = together({"x": result([row(name="a")]), "y": result([row(name="b")], git=other)})
    assert [one.name for one in both.rows] == ["a, x (git 3fabcf2000)", "b, y (git aaaaaaaaaa with changes)"]
    assert both.git is None


def test_another_machine_is_not_called_by_the_newest() -> None:
    (both,) = together({"x": result([row(name="a")]), "y": result([row(name="b")], cpu="Z80")})
    assert [one.name for one in both.rows] == ["a, x", "b, y"]
    assert both.system.cpu == "several machines or versions"


def test_lines_of_two_files_are_drawn_beside_each_other() -> None:
    files = {
        name: result([row(batch=n, speed=speed * n) for n in batches])
        for name, batches, speed in (("before", (1, 10), 1e3), ("after", (10, 100), 2e3))
    }
    figure = drawn(throughput(together(files)))
    name = NAME.replace("jax-scan", "run={} jax-scan").format
    assert line(figure, name("before")) == [[1, 1e3], [10, 1e4]]
    assert line(figure, name("after")) == [[10, 2e4], [100, 2e5]]
    assert {name("before"), name("after")} < set(names(figure))


def test_lines_with_other_chunks_say_so() -> None:
    files = {
        "before": result([row(batch=n, steps=steps) for n in (1, 10) for steps in (16, 64)]),
        "after": result([row(batch=n, steps=steps) for n, steps in ((1, 16), (10, 8))]),
    }
    drawn_names = names(drawn(throughput(together(files))))
    name = NAME.replace("jax-scan", "run={} jax-scan").format
    expected = {f"{name('before')} ×16", f"{name('before')} ×64", f"{name('after')} ×8 … ×16"}
    assert expected < set(drawn_names)


def test_bars_of_the_same_case_stand_side_by_side() -> None:
    rows = [row(batch=1), row(batch=10)]
    figure = drawn(speeds(together({"a": result(rows), "b": result(rows)})))
    (axis,) = figure.axes
    assert axis.get_title(loc="left") == "CrampedRoom features, CPU"
    assert [tick.get_text() for tick in axis.get_yticklabels()] == [
        f"jax-scan{batch} ×256, cooperative, {run}" for batch in ("", "@10") for run in ("a", "b")
    ]


def test_targets_of_both_are_kept() -> None:
    one = replace(result(), targets=[target("fast", 6.0)])
    (both,) = together({"a": one, "b": one})
    assert [found.what for found in both.targets] == ["fast, a", "fast, b"]


def test_ab_runs_stay_apart() -> None:
    pair, plain = result([row(ab=paired())]), result()
    assert together({"a": pair, "b": plain, "c": pair}) == [plain, pair, pair]
    assert len(drawn(intervals(together({"a": pair, "b": plain, "c": pair}))).axes) == 2


def test_files_of_the_same_name_are_called_by_their_paths() -> None:
    one = result()
    paths = [Path("old/r.json"), Path("new/r.json"), Path("x.json")]
    assert list(by_label(dict.fromkeys(paths, one))) == ["old/r.json", "new/r.json", "x"]
