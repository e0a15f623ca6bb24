"""Libraries on one page: a line for each piece of work, with cogrid's multiple in words."""

from __future__ import annotations

from bench.show.figures.libraries import labels, libraries
from tests.bench.show.figures.support import drawn, marks, names, texts
from tests.bench.support import GPU, result, row

ROWS = [
    row(library="slow 1.0", speed=1e5, steps=7),
    row(library="broken 1.0", error="ImportError: no"),
    row(library="quick 1.0", speed=4e6),
    row(speed=2e6),
    row(speed=1, batch=7),
    row(library="slow 1.0", mode="jax-single", batch=1, speed=100.0),
    row(mode="jax-single", batch=1, speed=5e3),
    row(library="other 1.0", id="CartPole-v1", options={}, speed=3e6),
]


def test_a_line_for_each_piece_of_work_in_sections() -> None:
    figure = drawn(libraries([result(ROWS)]))
    batches, _, other = figure.axes
    assert [axis.get_title(loc="left") for axis in figure.axes] == [
        "batches, CPU",
        "one environment, CPU",
        "other games: different work, CPU",
    ]
    assert [[tick.get_text() for tick in axis.get_yticklabels()] for axis in figure.axes] == [
        ["CrampedRoom features\njax-scan@1,024, cooperative"],
        ["CrampedRoom features\njax-single, cooperative"],
        ["CartPole-v1\njax-scan@1,024, cooperative"],
    ]
    assert batches.get_xscale() == "log"
    assert batches.get_xlim() == other.get_xlim()
    assert texts(figure) == ["0.5 × quick 1.0; 20 × slow 1.0; broken 1.0: ImportError: no"]
    assert texts(figure, 1) == ["50 × slow 1.0"]
    assert texts(figure, 2) == ["other 1.0: 3 M steps/s"]
    assert len(marks(figure)) == 1  # the library that failed
    shown = [line for line in batches.get_lines() if line.get_marker() in ("o", "s")]
    assert [line.get_xdata()[0] for line in shown] == [2e6, 4e6, 1e5]
    assert names(figure) == ["cogrid", "another library"]


def test_it_fits_a_page() -> None:
    many = [found for n in range(9) for found in (row(batch=9 + n), row(batch=9 + n, library="slow 1.0"))]
    width, height = drawn(libraries([result([*ROWS, *many])])).get_size_inches()
    assert width <= 8.27
    assert height <= 11.69


def test_ways_of_one_library_are_told_apart() -> None:
    ways = [
        row(name=f"{way} CrampedRoom jax-scan@1024", speed=2e6 + n)
        for n, way in enumerate(("adapter", "own tapes"))
    ]
    work = [*ways, row(library="slow 1.0", name="slow 1.0 CrampedRoom jax-scan@1024")]
    assert labels(work) == ["cogrid, adapter", "cogrid, own tapes", "slow 1.0"]
    assert texts(drawn(libraries([result(work)]))) == ["1 × cogrid, adapter; 2 × slow 1.0"]


def test_machines_have_sections_of_their_own() -> None:
    figure = drawn(libraries([result(ROWS), result(ROWS[:4], **GPU)]))
    assert [axis.get_title(loc="left") for axis in figure.axes][-1].startswith("batches, GPU")
    assert len(figure.axes) == 4


def test_cogrid_alone_is_no_comparison() -> None:
    assert libraries([result([row()])]) is None
    assert libraries([result([row(error="ImportError: no", library="broken 1.0")])]) is not None
