"""Pictures of states: looked-at snapshots, batches, both backends, and states that stay as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from cogrid._core.rules import compile_rules
from cogrid._core.state import snapshot
from cogrid.render import tiles
from cogrid.render.picture import _words, picture, sheet
from tests.episodes import shared
from tests.render.scenes import BOARD, crowd, first, kitchen, mine, orders, recipe
from tests.support import BACKENDS, IDS, assert_same, keys, read_only

SNAPSHOTS = Path(__file__).parent / "snapshots"
BUILD = Path(__file__).parents[2] / "build" / "snapshots"
ROOM = "Overcooked-CrampedRoom-V0"

SCENES = {
    "kitchen-32": lambda: (*kitchen(), 32, 40.0),
    "kitchen-12": lambda: (*kitchen(), 12, 40.0),
    "mine-32": lambda: (*mine(), 32, [1.0, 2.5]),
    "crowd-24": lambda: (*crowd(), 24, None),
    "orders-32": lambda: (*orders(), 32, None),
    "recipe-32": lambda: (*recipe(), 32, None),
}


@pytest.mark.parametrize("name", SCENES)
def test_it_looks_as_it_looked(name) -> None:
    """Somebody looked at the snapshots; after a wanted change look at build/snapshots and copy those here.

    Two of 256 levels are the room of other machines' arithmetic.
    """
    env, state, tile, score = SCENES[name]()
    image = picture(env.rules, state, tile, score)
    with Image.open(SNAPSHOTS / f"{name}.png") as file:
        known = np.asarray(file)
    if image.shape != known.shape or np.abs(image.astype(int) - known).max() > 2:
        BUILD.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(BUILD / f"{name}.png")
        pytest.fail(f"it looks different: compare {BUILD / name}.png with the snapshot")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_picture_never_changes_a_state(backend) -> None:
    env, state = kitchen()
    expected = picture(env.rules, state, 12, 0.0)
    rules = compile_rules(env.spec, backend)
    same = read_only(snapshot.from_plain(rules, snapshot.to_plain(env.rules, state)))
    image = picture(rules, same, 12, 0.0)
    np.testing.assert_array_equal(image, expected)
    assert_same(same, state)
    image[...] = 0  # nor is a picture a view of anything that is kept
    np.testing.assert_array_equal(picture(rules, same, 12, 0.0), expected)


@pytest.mark.parametrize("id", IDS)
def test_a_batch_is_its_environments(id) -> None:
    env = shared(id, "numpy", random_start=True)
    state, _ = env.reset_fn(keys(3, 6).reshape(2, 3, 2))
    for actions in np.random.default_rng(0).integers(0, 7, (5, 2, 3, env.spec.num_agents)):
        state = env.step_fn(state, actions)[0]
    score = np.arange(6.0).reshape(2, 3)
    images = picture(env.rules, state, 6, score)
    assert images.shape[:2] == (2, 3)
    for place in np.ndindex(2, 3):
        one = state.evolve(**{name: value[place] for name, value in state.stored().items()})
        np.testing.assert_array_equal(picture(env.rules, one, 6, score[place]), images[place])


def test_every_pose_and_every_thing_can_be_told_apart() -> None:
    rules = shared(ROOM, "numpy", layout=BOARD, cook_time=2).rules
    views = np.arange(rules.n_things + rules.n_agents * rules.n_poses)  # only the floor is walked on
    looks = tiles.tiles_of(rules, 16).pictures(views).astype(np.int16)
    changed = (np.abs(looks[:, None] - looks).max(axis=-1) > 24).sum(axis=(-2, -1))  # (views, views)
    assert changed[~np.eye(len(views), dtype=bool)].min() >= 4


@pytest.mark.parametrize("factor", [2, 3])
def test_a_larger_picture_is_the_same_picture(factor) -> None:
    env, state = kitchen()
    small, large = (picture(env.rules, state, size).astype(float) for size in (24, 24 * factor))
    blurred = large.reshape(small.shape[0], factor, small.shape[1], factor, 3).mean(axis=(1, 3))
    assert np.abs(blurred - small).mean() < 2.0


def test_a_tile_is_drawn_once(monkeypatch) -> None:
    env, state = kitchen()
    before = picture(env.rules, state, 9)

    def drawn_again(*_):
        raise AssertionError

    monkeypatch.setattr(tiles, "draw", drawn_again)
    np.testing.assert_array_equal(picture(env.rules, state, 9), before)
    with pytest.raises(AssertionError):
        picture(env.rules, state, 10)


def test_score_and_time_stand_above_the_board() -> None:
    env, state = kitchen()
    bare, told = picture(env.rules, state, 16), picture(env.rules, state, 16, 20.0)
    strip = told.shape[0] - bare.shape[0]
    np.testing.assert_array_equal(told[strip:], bare)
    for other in (picture(env.rules, state, 16, 40.0), picture(env.rules, state, 16, [20.0, 40.0])):
        assert not np.array_equal(other[:strip], told[:strip])
    np.testing.assert_array_equal(picture(env.rules, state, 16, [20.0, 20.0]), told)
    later = picture(env.rules, env.replace(state, time=124), 16, 20.0)
    assert not np.array_equal(later[:strip], told[:strip])
    over = env.replace(state, time=400, done=True)
    bar = picture(env.rules, over, 16, 20.0)[strip - 1]
    assert (bar == bar[0]).all()  # full from end to end


def test_long_scores_keep_their_word_rather_than_the_number_of_steps() -> None:
    """Nobody can tell what `6.99 3` is."""
    assert _words([20.0, 20.0], 7, 400, 19) == "SCORE 20      7/400"
    assert _words([6.99, 3.0], 7, 400, 19) == "SCORE 6.99 3      7"
    assert _words([6.99, 3.0], 400, 400, 19) == "SCORE 6.99 3    400"


def test_the_smallest_boards_have_no_room_for_words() -> None:
    env = shared("Arena-V0", "numpy", num_agents=1, map_size=3, max_steps=2**31 - 1)
    assert picture(env.rules, first(env), 4, 0.0).shape == (11 + 12, 12, 3)


def test_a_sheet_has_every_picture() -> None:
    images = np.arange(7, dtype=np.uint8)[:, None, None, None] * np.ones((7, 4, 6, 3), np.uint8)
    one = sheet(images, columns=3, gap=2)
    assert one.shape == (3 * 6 - 2, 3 * 8 - 2, 3)
    assert [int(one[k // 3 * 6, k % 3 * 8, 0]) for k in range(7)] == list(range(7))
    assert (one[12:, 8:] == 255).all()
    np.testing.assert_array_equal(sheet(images[:1]), images[0])
    height, width, _ = sheet(np.zeros((64, 30, 30, 3), np.uint8)).shape
    assert height == width


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tile_size": 3}, "tile_size=3 "),
        ({"tile_size": 8.0}, "tile_size=8.0 "),
        ({"score": [1.0, 2.0, 3.0]}, "(3,)"),
    ],
)
def test_mistakes_raise_clear_errors(arguments, words) -> None:
    env, state = kitchen()
    with pytest.raises((TypeError, ValueError)) as told:
        picture(env.rules, state, **arguments)
    assert words in str(told.value)


def test_a_state_of_another_environment_is_refused() -> None:
    with pytest.raises(ValueError, match="another environment"):
        picture(shared(ROOM, "numpy").rules, kitchen()[1])
