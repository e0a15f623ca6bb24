"""Every figure: when there is one, what all of them show, and the files they are written to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from PIL import Image

from bench import ROOT
from bench.show.figures.files import FIGURES, draw_all
from tests.bench.show.figures.support import OUT_OF_MEMORY, drawn, everything, marks, names, sweep
from tests.bench.support import GPU, paired, result, row

#: All but the figure of a run's targets, which has tests of its own.
OF_ROWS = {name: draw for name, draw in FIGURES.items() if name != "ratios"}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_no_rows_no_figure(draw: Any) -> None:
    assert draw([]) is None
    assert draw([result([])]) is None
    assert draw([result([row(), row(measure="compile", parts={"trace": 0.1})])]) is None


@pytest.mark.parametrize("draw", OF_ROWS.values(), ids=OF_ROWS)
def test_titles_units_and_the_machine(draw: Any) -> None:
    figure = drawn(draw([result(everything())]))
    assert figure.get_suptitle()
    machine = "AMD EPYC 7B13, 2 cores, Python 3.11.7, JAX 0.10.2, git 3fabcf2000"
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
        "git abcdef0000 with changes"
    )


@pytest.mark.parametrize("name", ["throughput", "efficiency", "memory", "chunks", "phases"])
def test_the_legend_is_outside_the_data(name: str) -> None:
    rows = everything()
    for number in range(9):
        options = {"observation": f"kind{number}"}
        rows += sweep(options=options) + [row(steps=steps, options=options) for steps in (1, 2)]
        rows.append(row(measure="profile", options=options, samples=[1.0], parts={f"part{number}": 0.5}))
    figure = drawn(FIGURES[name]([result(rows), result(rows, **GPU)]))
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


# Files


def test_every_figure_is_written_as_png_and_svg(tmp_path: Path) -> None:
    written = draw_all([result(everything())], tmp_path / "new" / "folder")
    assert [path.name for path in written] == [
        f"{name}.{kind}" for name in OF_ROWS for kind in ("png", "svg")
    ]
    for path in written[::2]:
        with Image.open(path) as image:
            assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
            assert len(image.convert("RGB").resize((200, 100)).getcolors(20_000)) > 10


def test_nothing_is_written_without_rows(tmp_path: Path) -> None:
    assert draw_all([result([])], tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of every picture of one sweep."""
    folder: Path = tmp_path_factory.mktemp("pictures")
    draw_all([result(sweep())], folder)
    return folder


def test_the_same_results_give_the_same_bytes(pictures: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from bench.show.figures.files import draw_all\n"
        "from tests.bench.show.figures.support import result, sweep\n"
        "draw_all([result(sweep())], Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True, cwd=ROOT)
    for name in ("throughput.svg", "memory.svg", "throughput.png"):
        assert (tmp_path / name).read_bytes() == (pictures / name).read_bytes()
    assert "<dc:date>" not in (pictures / "throughput.svg").read_text(encoding="utf-8")


def test_a_persons_own_style_does_not_change_the_pictures(pictures: Path, tmp_path: Path) -> None:
    with matplotlib.rc_context({"axes.facecolor": "black", "font.size": 30}):
        draw_all([result(sweep())], tmp_path)
    assert (tmp_path / "throughput.svg").read_bytes() == (pictures / "throughput.svg").read_bytes()
