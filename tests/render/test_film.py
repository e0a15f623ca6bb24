"""Films and their files."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from PIL import Image

from cogrid.render.film import Film
from cogrid.replay.episode import play
from tests.episodes import shared

ROOM = "Overcooked-CrampedRoom-V0"


def film(steps: int = 12, batch: int = 1, tile_size: int = 8, policy: str = "scripted") -> Film:
    env = shared(ROOM, "numpy")
    episode = play(env, policy, 0, steps, batch)
    return Film(env.rules, episode.states, episode.scores, tile_size)


def test_a_film_is_a_sequence_of_pictures() -> None:
    whole = film()
    assert len(whole) == 13
    assert whole[0].shape == (11 + 4 * 8, 5 * 8, 3)
    np.testing.assert_array_equal(whole[-1], whole[12])
    np.testing.assert_array_equal(whole[3:5][1], whole[4])
    assert len(list(whole)) == 13


def test_a_gif_moves_on_and_starts_over(tmp_path) -> None:
    whole = film()
    whole.save(tmp_path / "a.gif", fps=10)
    with Image.open(tmp_path / "a.gif") as image:
        assert (image.n_frames, image.size, image.info["loop"]) == (13, (40, 43), 0)
        for number in (0, 6, 12):
            image.seek(number)
            assert image.info["duration"] == 100
            shown = np.asarray(image.convert("RGB")).astype(int)
            assert np.abs(shown - whole[number]).mean() < 3.0  # 256 colours


def test_an_apng_is_exact(tmp_path) -> None:
    whole = film()
    whole.save(tmp_path / "a.apng", fps=4)
    with Image.open(tmp_path / "a.apng") as image:
        assert image.n_frames == 13
        image.seek(7)
        assert image.info["duration"] == 250
        np.testing.assert_array_equal(np.asarray(image.convert("RGB")), whole[7])


def test_a_png_is_the_last_picture(tmp_path) -> None:
    whole = film(batch=3, policy="random")
    whole.save(tmp_path / "a.PNG")
    with Image.open(tmp_path / "a.PNG") as image:
        np.testing.assert_array_equal(np.asarray(image), whole[-1])


def test_environments_of_a_batch_have_further_seeds() -> None:
    env = shared(ROOM, "numpy", random_start=True)
    three = play(env, "random", 5, 4, 3)
    second = play(env, "random", 6, 4)
    for both, alone in zip(three.states, second.states, strict=True):
        np.testing.assert_array_equal(both.pos[1], alone.pos[0])


def test_an_episode_ends_with_its_game() -> None:
    env = shared(ROOM, "numpy", max_steps=5)
    assert len(play(env, "random", 0, 100).states) == 6


def test_mistakes_raise_clear_errors(tmp_path, monkeypatch) -> None:
    short = film(1)
    for call, words in (
        (lambda: short.save(tmp_path / "a.bmp"), "a.bmp"),
        (lambda: short.save(tmp_path / "a.gif", fps=0), "fps=0"),
        (lambda: Film(short.rules, short.states, []), "scores"),
        (lambda: Film(short.rules, short.states, short.scores, 1000), "tile_size=1000"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ValueError, match=r"\[render\]"):
        short.save(tmp_path / "a.gif")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fps", [0.02, 100])
@pytest.mark.parametrize("name", ["a.gif", "a.apng"])
def test_the_slowest_and_the_fastest_film(tmp_path, name, fps) -> None:
    film(steps=3).save(tmp_path / name, fps)
    with Image.open(tmp_path / name) as image:
        assert image.n_frames == 4
        assert image.info["duration"] == 1000 / fps


@pytest.mark.parametrize("fps", [0, 1e-300, 0.019, 100.5, float("nan"), float("inf"), "8", True])
def test_a_speed_that_no_file_can_keep(tmp_path, fps) -> None:
    with pytest.raises((ValueError, TypeError), match=r"fps=.* (must be from 0\.02 to 100|is not a number)"):
        film(steps=1).save(tmp_path / "a.gif", fps)
    assert not list(tmp_path.iterdir())


def test_a_picture_too_large() -> None:
    with pytest.raises(ValueError, match=r"a picture of 100 boards of 4 × 5 cells.*at most 67,108,864 fit"):
        film(steps=0, batch=100, tile_size=512)
    arena = shared("Arena-V0", "numpy", map_size=180)
    episode = play(arena, "random", 0, 0)
    with pytest.raises(ValueError, match=r"a picture of one board of 180 × 180 cells, 512 pixels"):
        Film(arena.rules, episode.states, episode.scores, 512)
