"""Films and their files."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from PIL import Image

from cogrid.episode import play
from cogrid.render.film import Film
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


def test_mistakes_are_told(tmp_path, monkeypatch) -> None:
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
