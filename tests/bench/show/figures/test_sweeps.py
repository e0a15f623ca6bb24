"""The sweeps: lines, ideals, floors and crosses."""

from __future__ import annotations

import pytest

from bench.show.figures.files import FIGURES
from bench.show.figures.sweeps import chunks, efficiency, memory, throughput
from tests.bench.show.figures.support import (
    BATCHES,
    NAME,
    OUT_OF_MEMORY,
    drawn,
    line,
    marks,
    names,
    sweep,
    texts,
)
from tests.bench.support import GPU, paired, result, row


def test_throughput_lines_and_ideal() -> None:
    rows = [*sweep(), *sweep(10, 500, mode="numpy-batch"), *sweep(5, 50, options={"observation": "lossless"})]
    figure = drawn(throughput([result(rows[::-1])]))
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
    figure = drawn(throughput([result(sweep())]))
    (bars,) = figure.axes[0].collections
    ends = [sorted(path[:, 1].tolist()) for path in bars.get_segments()]
    assert ends[0] == pytest.approx([980, 1020])


def test_lines_differ_in_style_and_keep_it_between_panels() -> None:
    modes = ("numpy-batch", "jax-vmap", "jax-scan")
    rows = [found for mode in modes for found in sweep(mode=mode)]
    cpu, gpu = result(rows), result(rows[::-1], **GPU)
    figure = drawn(throughput([cpu, gpu]))
    looks = [
        {str(found.get_label()): (found.get_color(), found.get_marker()) for found in axis.get_lines()}
        for axis in figure.axes
    ]
    assert looks[0] == looks[1]
    named = [look for name, look in looks[0].items() if name.startswith("CrampedRoom")]
    assert len(set(named)) == len(modes) == len(named)


def test_more_lines_than_colours() -> None:
    rows = [found for number in range(9) for found in sweep(options={"observation": f"kind{number}"})]
    figure = drawn(throughput([result(rows)]))
    lines = [
        found for found in figure.axes[0].get_lines() if str(found.get_label()).startswith("CrampedRoom")
    ]
    assert len({(found.get_color(), found.get_linestyle()) for found in lines}) == 9


def test_the_workload_is_named_where_there_are_several() -> None:
    rows = [*sweep(), *sweep(10, 500, workload="noop")]
    assert f"{NAME} noop" in names(drawn(throughput([result(rows)])))


@pytest.mark.parametrize("name", ["throughput", "efficiency", "memory"])
def test_each_chunk_of_a_sweep_is_a_line_with_its_name(name: str) -> None:
    """The shorter chunk may well be the faster one."""
    rows = [*sweep(2000, steps=16), *sweep(1000, steps=64), row(batch=10_000, steps=64, **OUT_OF_MEMORY)]
    figure = drawn(FIGURES[name]([result(rows)]))
    assert {f"{NAME} ×16", f"{NAME} ×64"} < set(names(figure))
    assert NAME not in names(figure)
    assert len(line(figure, f"{NAME} ×16")) == len(line(figure, f"{NAME} ×64")) == len(BATCHES)
    if name == "throughput":
        assert line(figure, f"{NAME} ×16")[0] == [1, 2000]
        assert line(figure, f"{NAME} ×64")[0] == [1, 1000]
    assert [mark.get_label() for mark in marks(figure)] == [f"{NAME} ×64"]


def test_modes_without_chunks_are_one_line_however_long_the_passes() -> None:
    rows = [found for steps in (16, 64) for found in sweep(mode="jax-vmap", steps=steps)]
    found = names(drawn(throughput([result(rows)])))
    assert [name for name in found if name.startswith("CrampedRoom")] == ["CrampedRoom features jax-vmap"]


def test_of_several_chunks_at_some_batch_sizes_the_longest_is_shown() -> None:
    rows = [*sweep(), row(batch=10, steps=1, speed=90_000), row(batch=10, steps=512, speed=12_000)]
    rows += [row(batch=10, steps=1024, **OUT_OF_MEMORY)]
    figure = drawn(throughput([result(rows)]))
    assert line(figure, NAME)[1] == [10, 12_000]
    assert not marks(figure)


@pytest.mark.parametrize("name", ["throughput", "efficiency", "memory"])
def test_failures_are_crosses_at_the_axis(name: str) -> None:
    rows = [
        *sweep(),
        row(batch=10_000, **OUT_OF_MEMORY),
        row(batch=100_000, error="XlaRuntimeError: " + 99 * "x "),
    ]
    figure = drawn(FIGURES[name]([result(rows)]))
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
    figure = drawn(efficiency([result(rows)]))
    axis = figure.axes[0]
    notes = [text.get_window_extent() for text in axis.texts]
    assert not any(a.overlaps(b) for a in notes for b in notes if a is not b)
    lowest = axis.transData.transform((1000, line(figure, NAME)[-1][1]))[1]
    assert all(note.y1 < lowest for note in notes)


def test_text_beside_crosses_stay_in_the_picture() -> None:
    rows = [*sweep(), *sweep(mode="jax-vmap")[1:], row(mode="jax-vmap", batch=1, **OUT_OF_MEMORY)]
    figure = drawn(throughput([result([*rows, row(batch=9999, **OUT_OF_MEMORY)])]))
    axis = figure.axes[0].get_window_extent()
    for text in figure.axes[0].texts:
        assert axis.x0 < text.get_window_extent().x0 < text.get_window_extent().x1 < axis.x1


def test_efficiency_is_relative_to_the_best_batch() -> None:
    rows = [*sweep(), *sweep(10, 500, mode="numpy-batch")]
    figure = drawn(efficiency([result([*rows, row(batch=10_000, speed=10_000)])]))
    assert line(figure, NAME) == [[1, 5], [10, 50], [100, 100], [1000, 100], [10_000, 50]]
    assert line(figure, "CrampedRoom features numpy-batch") == [[1, 2], [10, 20], [100, 100], [1000, 100]]
    assert "best batch" in figure.axes[0].get_ylabel()
    assert "100 %" in {tick.get_text() for tick in figure.axes[0].get_yticklabels()}


def test_memory_stands_above_the_bytes_of_the_states() -> None:
    figure = drawn(memory([result(sweep())]))
    assert line(figure, NAME)[-1] == [1000, 400_900_000]
    assert line(figure, "floor: state of CrampedRoom on JAX, 43 B × batch") == [[n, 43 * n] for n in BATCHES]
    assert not any("device" in name for name in names(figure))


def test_the_floor_reaches_to_what_ran_out_of_memory() -> None:
    figure = drawn(memory([result([*sweep(), row(batch=10_000, memory={}, **OUT_OF_MEMORY)])]))
    assert line(figure, "floor: state of CrampedRoom on JAX, 43 B × batch")[-1] == [10_000, 430_000]


def test_floors_differ_in_style() -> None:
    arena = sweep(id="Arena-V0", memory={"state_bytes": 2100, "peak_rss_bytes": 9_000_000})
    figure = drawn(memory([result([*sweep(), *arena])]))
    assert line(figure, "floor: state of Arena on JAX, 2.1 KB × batch")[0] == [1, 2100]
    floors = [found for found in figure.axes[0].get_lines() if str(found.get_label()).startswith("floor")]
    assert len({str(found._unscaled_dash_pattern) for found in floors}) == 2  # type: ignore[attr-defined]  # matplotlib shows no other way


def test_floors_name_the_backend() -> None:
    """A state of NumPy has wider numbers."""
    wide = sweep(mode="numpy-batch", memory={"state_bytes": 196, "peak_rss_bytes": 9_000_000})
    figure = drawn(memory([result([*sweep(), *wide])]))
    assert line(figure, "floor: state of CrampedRoom on JAX, 43 B × batch")[0] == [1, 43]
    assert line(figure, "floor: state of CrampedRoom on NumPy, 196 B × batch")[-1] == [1000, 196_000]


def test_memory_of_the_device() -> None:
    used = {"state_bytes": 43, "peak_rss_bytes": None, "device_peak_bytes": 9000}
    figure = drawn(memory([result(sweep(memory=used), **GPU)]))
    assert line(figure, f"{NAME}, on the device") == [[n, 9000] for n in BATCHES]
    assert NAME not in names(figure)


def test_chunks_show_speed_and_memory() -> None:
    rows = [row(batch=4096, steps=steps, speed=1e5 * steps) for steps in (16, 1, 256)]
    figure = drawn(chunks([result([*rows, row(batch=4096, steps=512, **OUT_OF_MEMORY)])]))
    assert line(figure, f"{NAME}@4096") == [[1, 1e5], [16, 1.6e6], [256, 2.56e7]]
    assert [x for x, _ in line(figure, f"{NAME}@4096", 1)] == [1, 16, 256]
    assert [mark.get_xdata()[0] for panel in (0, 1) for mark in marks(figure, panel)] == [512, 512]
    assert [tick.get_text() for tick in figure.axes[1].get_xticklabels()] == ["1", "16", "256", "512"]


def test_the_highest_memory_is_inside_the_picture() -> None:
    rows = [row(batch=9, steps=n, memory={"peak_rss_bytes": 300_000_000 + n}) for n in (16, 64)]
    used = drawn(chunks([result(rows)])).axes[1]
    assert used.get_ylim()[0] == 0
    assert used.get_ylim()[1] > 1.02 * 300_000_064


def test_the_speeds_of_an_ab_are_not_drawn_beside_others() -> None:
    """Its sides share one core."""
    assert throughput([result(sweep(ab=paired()))]) is None
    figure = drawn(throughput([result([*sweep(), row(batch=5, ab=paired())])]))
    assert [x for x, _ in line(figure, NAME)] == list(BATCHES)


def test_other_modes_have_no_chunks() -> None:
    assert chunks([result([row(mode="jax-vmap", steps=steps) for steps in (1, 2)])]) is None
