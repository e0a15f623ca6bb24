"""The figures: what their lines, marks and words say, and the files they are written to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from bench import plots
from tests.bench.support import GPU, around, paired, result, row

MODES = ("numpy-batch", "jax-vmap", "jax-scan")
BATCHES = (1, 10, 100, 1000)
OUT_OF_MEMORY = {"status": "out of memory", "error": "RESOURCE_EXHAUSTED: 9 GB"}
NAME = "CrampedRoom features jax-scan"


def sweep(one: float = 1000, top: float = 20_000, **changes: Any) -> list[dict[str, Any]]:
    """Rows that scale until the top."""
    return [row(batch=batch, samples=around(min(one * batch, top)), **changes) for batch in BATCHES]


#: All but the figure of a run's targets, which has tests of its own.
OF_ROWS = {name: draw for name, draw in plots.FIGURES.items() if name != "ratios"}


def everything() -> list[dict[str, Any]]:
    """Rows for each figure."""
    chunks = [row(batch=4096, steps=steps, speed=1e5 * steps) for steps in (1, 16, 256)]
    profile = row(measure="profile", mode="numpy-batch", samples=[1.0], parts={"move": 0.5})
    return [*sweep(), *chunks, profile, row(library="jaxmarl 0.2.0"), row(name="pair", ab=paired())]


def line(figure: Figure, name: str, panel: int = 0) -> list[list[float]]:
    """The points of the line with this name."""
    (found,) = (
        line
        for line in figure.axes[panel].get_lines()
        if line.get_label() == name and line.get_marker() != "x"
    )
    return found.get_xydata().tolist()


def marks(figure: Figure, panel: int = 0) -> list[Line2D]:
    return [line for line in figure.axes[panel].get_lines() if line.get_marker() == "x"]


def texts(figure: Figure, panel: int = 0) -> list[str]:
    return [text.get_text() for text in figure.axes[panel].texts]


def names(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def drawn(figure: Figure | None) -> Figure:
    assert figure is not None
    figure.draw_without_rendering()
    return figure


# Every figure


@pytest.mark.parametrize("draw", plots.FIGURES.values(), ids=plots.FIGURES)
def test_no_rows_no_figure(draw: Any) -> None:
    assert draw([]) is None
    assert draw([result([])]) is None
    assert draw([result([row(), row(measure="compile", parts={"trace": 0.1})])]) is None


@pytest.mark.parametrize("draw", OF_ROWS.values(), ids=OF_ROWS)
def test_titles_units_and_the_machine(draw: Any) -> None:
    figure = drawn(draw([result(everything())]))
    assert figure.get_suptitle()
    machine = "AMD EPYC 7B13, 2 cores, Python 3.11.7, JAX 0.10.2, git 3fabcf2"
    assert figure.get_supxlabel() == f"CPU: {machine}"
    assert figure.axes[-1].get_xlabel()


@pytest.mark.parametrize("draw", OF_ROWS.values(), ids=OF_ROWS)
def test_a_panel_for_each_platform(draw: Any) -> None:
    changed = result(everything(), git={"sha": "abcdef0" + 33 * "0", "dirty": True}, jax="0.11.0", **GPU)
    figure = drawn(draw([changed, result(everything())]))
    titles = " ".join(axis.get_title() + axis.get_title(loc="left") for axis in figure.axes)
    assert titles.index("CPU") < titles.index("GPU (NVIDIA A100-SXM4-40GB)")
    assert figure.get_supxlabel().splitlines()[1] == (
        "GPU (NVIDIA A100-SXM4-40GB): Intel Xeon, 12 cores, Python 3.11.7, JAX 0.11.0, "
        "git abcdef0 with changes"
    )


@pytest.mark.parametrize("name", ["throughput", "efficiency", "memory", "chunks", "phases"])
def test_the_legend_is_outside_the_data(name: str) -> None:
    rows = everything()
    for number in range(9):
        options = {"observation": f"kind{number}"}
        rows += sweep(options=options) + [row(steps=steps, options=options) for steps in (1, 2)]
        rows.append(row(measure="profile", options=options, samples=[1.0], parts={f"part{number}": 0.5}))
    figure = drawn(plots.FIGURES[name]([result(rows), result(rows, **GPU)]))
    assert len(names(figure)) >= 9
    legend = figure.legends[0].get_window_extent()
    assert not any(legend.overlaps(axis.get_window_extent()) for axis in figure.axes)
    assert not legend.overlaps(figure._suptitle.get_window_extent())  # type: ignore[attr-defined]  # matplotlib shows no other way
    assert len(set(names(figure))) == len(names(figure))


@pytest.mark.parametrize("draw", OF_ROWS.values(), ids=OF_ROWS)
def test_a_figure_of_nothing_but_failures(draw: Any) -> None:
    rows = [row(batch=batch, steps=steps, **OUT_OF_MEMORY) for batch in (10, 100) for steps in (1, 2)]
    bars = [row(measure="profile", **OUT_OF_MEMORY), row(library="jaxmarl 0.2.0", **OUT_OF_MEMORY)]
    bars.append(row(name="pair", ab=paired(verdict="mismatch"), **OUT_OF_MEMORY))
    figure = drawn(draw([result([*rows, *bars])]))
    assert any(marks(figure, panel) for panel in range(len(figure.axes)))
    figure = drawn(draw([result([*rows, *bars]), result(everything(), **GPU)]))
    assert any(marks(figure, panel) for panel in range(len(figure.axes)))


# Which results a figure shows


def test_of_two_revisions_the_newer_is_shown() -> None:
    old = result(sweep(one=1), created="2026-01-01T00:00:00+00:00", git={"sha": "a" * 40, "dirty": False})
    figure = drawn(plots.throughput([result(sweep()), old]))
    assert line(figure, NAME)[0] == [1, 1000]
    assert len(figure.axes) == 1


def test_runs_of_one_revision_are_put_together() -> None:
    first = result(sweep(one=1), created="2026-01-01T00:00:00+00:00")
    second = result(sweep()[:1], created="2026-01-02T00:00:00+00:00")
    figure = drawn(plots.throughput([second, first]))
    assert line(figure, NAME) == [[1, 1000], [10, 10], [100, 100], [1000, 1000]]


def test_a_newer_run_without_sweeps_does_not_hide_an_older_one() -> None:
    newer = result([row()], created="2026-12-01T00:00:00+00:00", git=None)
    assert line(drawn(plots.throughput([newer, result(sweep())])), NAME)


# Sweeps


def test_throughput_lines_and_ideal() -> None:
    rows = [*sweep(), *sweep(10, 500, mode="numpy-batch"), *sweep(5, 50, options={"observation": "lossless"})]
    figure = drawn(plots.throughput([result(rows[::-1])]))
    axis = figure.axes[0]
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert line(figure, NAME) == [[1, 1000], [10, 10_000], [100, 20_000], [1000, 20_000]]
    assert line(figure, "CrampedRoom features numpy-batch")[-1] == [1000, 500]
    assert line(figure, "CrampedRoom lossless jax-scan")[-1] == [1000, 50]
    assert line(figure, "ideal: in proportion to the batch") == [[1, 1000], [1000, 1_000_000]]
    assert len(names(figure)) == 4
    assert axis.get_ylim()[1] < 100_000, "the ideal line must not stretch the axis"
    assert "steps/s" in axis.get_ylabel()
    assert {"1", "10", "100", "1 K"} <= {tick.get_text() for tick in axis.get_xticklabels()}


def test_error_bars_reach_the_least_and_greatest_sample() -> None:
    figure = drawn(plots.throughput([result(sweep())]))
    (bars,) = figure.axes[0].collections
    ends = [sorted(path[:, 1].tolist()) for path in bars.get_segments()]
    assert ends[0] == pytest.approx([980, 1020])


def test_lines_differ_in_look_and_keep_it_between_panels() -> None:
    rows = [found for mode in MODES for found in sweep(mode=mode)]
    cpu, gpu = result(rows), result(rows[::-1], **GPU)
    figure = drawn(plots.throughput([cpu, gpu]))
    looks = [
        {str(found.get_label()): (found.get_color(), found.get_marker()) for found in axis.get_lines()}
        for axis in figure.axes
    ]
    assert looks[0] == looks[1]
    named = [look for name, look in looks[0].items() if name.startswith("CrampedRoom")]
    assert len(set(named)) == len(MODES) == len(named)


def test_more_lines_than_colours() -> None:
    rows = [found for number in range(9) for found in sweep(options={"observation": f"kind{number}"})]
    figure = drawn(plots.throughput([result(rows)]))
    lines = [
        found for found in figure.axes[0].get_lines() if str(found.get_label()).startswith("CrampedRoom")
    ]
    assert len({(found.get_color(), found.get_linestyle()) for found in lines}) == 9


def test_the_workload_is_named_where_there_are_several() -> None:
    rows = [*sweep(), *sweep(10, 500, workload="noop")]
    assert f"{NAME} noop" in names(drawn(plots.throughput([result(rows)])))


def test_of_several_chunks_the_longest_is_shown() -> None:
    rows = [*sweep(), row(batch=10, steps=1, speed=90_000), row(batch=10, steps=512, speed=12_000)]
    rows += [row(batch=10, steps=1024, **OUT_OF_MEMORY)]
    figure = drawn(plots.throughput([result(rows)]))
    assert line(figure, NAME)[1] == [10, 12_000]
    assert not marks(figure)


@pytest.mark.parametrize("name", ["throughput", "efficiency", "memory"])
def test_failures_are_crosses_at_the_axis(name: str) -> None:
    rows = [
        *sweep(),
        row(batch=10_000, **OUT_OF_MEMORY),
        row(batch=100_000, error="XlaRuntimeError: " + 99 * "x "),
    ]
    figure = drawn(plots.FIGURES[name]([result(rows)]))
    axis = figure.axes[0]
    found = marks(figure)
    assert [mark.get_xdata()[0] for mark in found] == [10_000, 100_000]
    assert all(0 <= mark.get_ydata()[0] < 0.1 for mark in found)
    assert all(mark.get_transform() == axis.get_xaxis_transform() for mark in found)
    assert texts(figure)[0] == "out of memory"
    assert texts(figure)[1].startswith("XlaRuntimeError")
    assert len(texts(figure)[1]) <= 40
    low, high = axis.get_xlim()
    assert low < 1
    assert high > 100_000
    assert names(figure).count(NAME) == 1


def test_crosses_do_not_cover_each_other_or_the_data() -> None:
    rows = [*sweep(top=1000), *(row(batch=batch, **OUT_OF_MEMORY) for batch in (2000, 3000, 4000))]
    figure = drawn(plots.efficiency([result(rows)]))
    axis = figure.axes[0]
    notes = [text.get_window_extent() for text in axis.texts]
    assert not any(a.overlaps(b) for a in notes for b in notes if a is not b)
    lowest = axis.transData.transform((1000, line(figure, NAME)[-1][1]))[1]
    assert all(note.y1 < lowest for note in notes)


def test_words_beside_crosses_stay_in_the_picture() -> None:
    rows = [*sweep(), *sweep(mode="jax-vmap")[1:], row(mode="jax-vmap", batch=1, **OUT_OF_MEMORY)]
    figure = drawn(plots.throughput([result([*rows, row(batch=9999, **OUT_OF_MEMORY)])]))
    axis = figure.axes[0].get_window_extent()
    for text in figure.axes[0].texts:
        assert axis.x0 < text.get_window_extent().x0 < text.get_window_extent().x1 < axis.x1


def test_efficiency_is_the_speed_per_environment() -> None:
    figure = drawn(plots.efficiency([result(sweep())]))
    assert line(figure, NAME) == [[1, 100], [10, 100], [100, 20], [1000, 2]]
    assert "smallest batch" in figure.axes[0].get_ylabel()
    assert "100 %" in {tick.get_text() for tick in figure.axes[0].get_yticklabels()}


def test_memory_stands_above_the_bytes_of_the_states() -> None:
    figure = drawn(plots.memory([result(sweep())]))
    assert line(figure, NAME)[-1] == [1000, 400_900_000]
    assert line(figure, "floor: state of CrampedRoom, 43 B × batch") == [[n, 43 * n] for n in BATCHES]
    assert not any("device" in name for name in names(figure))


def test_floors_can_be_told_apart() -> None:
    arena = sweep(id="Arena-V0", memory={"state_bytes": 2100, "peak_rss_bytes": 9_000_000})
    figure = drawn(plots.memory([result([*sweep(), *arena])]))
    assert line(figure, "floor: state of Arena, 2.1 KB × batch")[0] == [1, 2100]
    floors = [found for found in figure.axes[0].get_lines() if str(found.get_label()).startswith("floor")]
    assert len({str(found._unscaled_dash_pattern) for found in floors}) == 2  # type: ignore[attr-defined]  # matplotlib shows no other way


def test_memory_of_the_device() -> None:
    used = {"state_bytes": 43, "peak_rss_bytes": None, "device_peak_bytes": 9000}
    figure = drawn(plots.memory([result(sweep(memory=used), **GPU)]))
    assert line(figure, f"{NAME}, on the device") == [[n, 9000] for n in BATCHES]
    assert NAME not in names(figure)


def test_chunks_show_speed_and_memory() -> None:
    rows = [row(batch=4096, steps=steps, speed=1e5 * steps) for steps in (16, 1, 256)]
    figure = drawn(plots.chunks([result([*rows, row(batch=4096, steps=512, **OUT_OF_MEMORY)])]))
    assert line(figure, f"{NAME}@4096") == [[1, 1e5], [16, 1.6e6], [256, 2.56e7]]
    assert [x for x, _ in line(figure, f"{NAME}@4096", 1)] == [1, 16, 256]
    assert [mark.get_xdata()[0] for panel in (0, 1) for mark in marks(figure, panel)] == [512, 512]
    assert [tick.get_text() for tick in figure.axes[1].get_xticklabels()] == ["1", "16", "256", "512"]


def test_other_modes_have_no_chunks() -> None:
    assert plots.chunks([result([row(mode="jax-vmap", steps=steps) for steps in (1, 2)])]) is None


# Bars


def test_phases_are_shares_of_the_whole_step_side_by_side() -> None:
    parts = {"interact": 0.3, "move": 0.9}
    rows = [
        row(id="Arena-V0", mode="jax-vmap", measure="profile", samples=[1.0], parts=parts),
        row(mode="jax-vmap", measure="profile", samples=[1.0], parts=parts),
        row(id="Arena-V0", mode="numpy-batch", measure="profile", samples=[2.0], parts=parts),
    ]
    figure = drawn(plots.phases([result(rows)]))
    axis = figure.axes[0]
    assert [tick.get_text() for tick in axis.get_yticklabels()] == [
        "Arena features numpy-batch@1024",
        "Arena features jax-vmap@1024",
        "CrampedRoom features jax-vmap@1024",
    ]
    bars = [(patch.get_x(), patch.get_width()) for patch in axis.patches]
    assert bars == [pytest.approx(bar) for bar in ((0, 15), (15, 45), (0, 30), (30, 90), (0, 30), (30, 90))]
    assert texts(figure)[:3] == ["15", "45", "2 s a step, phases 60 %"]
    assert "1 s a step, phases 120 %" in texts(figure)
    assert set(names(figure)) == {"interact", "move", "the whole step"}


def test_a_failed_profile_is_a_cross() -> None:
    figure = drawn(plots.phases([result([row(measure="profile", error="TypeError: no")])]))
    assert texts(figure) == ["TypeError: no"]
    assert len(marks(figure)) == 1


def test_libraries_beside_cogrid_with_ratios() -> None:
    rows = [
        row(library="slow 1.0", speed=1e5, steps=7),
        row(library="broken 1.0", error="ImportError: no"),
        row(library="quick 1.0", speed=4e6),
        row(speed=2e6),
        row(speed=1, batch=7),
        row(library="other 1.0", id="CartPole-v1", options={}, speed=3e6),
    ]
    figure = drawn(plots.libraries([result(rows)]))
    same, other = figure.axes
    assert same.get_xscale() == "log"
    assert same.get_title(loc="left") == "CrampedRoom features, jax-scan@1024, cooperative, CPU"
    assert [tick.get_text() for tick in same.get_yticklabels()] == [
        "cogrid",
        "quick 1.0",
        "slow 1.0",
        "broken 1.0",
    ]
    assert [patch.get_width() for patch in same.patches] == [2e6, 4e6, 1e5]
    assert texts(figure) == [
        "2 M steps/s",
        "4 M steps/s, cogrid is 0.5 × as fast",
        "100 K steps/s, cogrid is 20 × as fast",
        "ImportError: no",
    ]
    assert [text.get_text() for text in other.texts] == ["3 M steps/s, no matching row of cogrid"]
    assert same.get_xlim() == other.get_xlim()


# Files


def test_every_figure_is_written_as_png_and_svg(tmp_path: Path) -> None:
    written = plots.draw_all([result(everything())], tmp_path / "new" / "folder")
    assert [path.name for path in written] == [
        f"{name}.{kind}" for name in OF_ROWS for kind in ("png", "svg")
    ]
    for path in written[::2]:
        with Image.open(path) as image:
            assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
            assert len(image.convert("RGB").resize((200, 100)).getcolors(20_000)) > 10


def test_nothing_is_written_without_rows(tmp_path: Path) -> None:
    assert plots.draw_all([result([])], tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of every picture of one sweep."""
    folder: Path = tmp_path_factory.mktemp("pictures")
    plots.draw_all([result(sweep())], folder)
    return folder


def test_the_same_results_give_the_same_bytes(pictures: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from bench import plots\n"
        "from tests.bench import test_plots as t\n"
        "plots.draw_all([t.result(t.sweep())], Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True, cwd=Path(__file__).parents[2])
    for name in ("throughput.svg", "memory.svg", "throughput.png"):
        assert (tmp_path / name).read_bytes() == (pictures / name).read_bytes()
    assert "<dc:date>" not in (pictures / "throughput.svg").read_text()


def test_a_persons_own_style_does_not_change_the_pictures(pictures: Path, tmp_path: Path) -> None:
    with matplotlib.rc_context({"axes.facecolor": "black", "font.size": 30}):
        plots.draw_all([result(sweep())], tmp_path)
    assert (tmp_path / "throughput.svg").read_bytes() == (pictures / "throughput.svg").read_bytes()
