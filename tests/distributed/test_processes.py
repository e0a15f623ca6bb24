"""Two processes with two devices each play what one process plays on one device."""

from __future__ import annotations

import ipaddress
import re

import numpy as np
import pytest

import cogrid
from tests.distributed import games
from tests.distributed.support import alone, assert_same, processes

pytestmark = pytest.mark.xdist_group("processes")


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """The folder that they wrote, and what they said."""
    folder = tmp_path_factory.mktemp("together")
    ends = processes("all", folder)
    assert [end.code for end in ends] == [0, 0], "\n".join(end.output for end in ends)
    return folder, ends


@pytest.mark.parametrize("game", games.GAMES)
def test_states_and_sums_are_the_same_bits(together, game) -> None:
    expected = alone(game)
    assert_same(games.read(together[0], game), expected)
    assert expected["episodes"].min() == games.STEPS // (9 if game == "walls" else 10)


def test_gradients_agree(together) -> None:
    ours, theirs = games.gradient(devices=1)["gradient"], games.read(together[0], "gradient")["gradient"]
    assert np.abs(ours).max() > 1e-3
    np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=1e-7)  # as docs/scaling.md says


def test_each_process_has_the_trajectory_of_its_own_environments(together) -> None:
    expected = cogrid.rollout(games.room(), None, games.KEY, 7, games.STEPS, keep="trajectory", devices=1)
    parts = [games.read(together[0] / str(process), "trajectory") for process in (0, 1)]
    assert [part.pop("envs").tolist() for part in parts] == [[0, 1, 2, 3], [4, 5, 6]]
    found = {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}
    assert_same(found, expected.trajectory)


def test_a_saved_rollout_is_the_same_and_goes_on_in_one_process(together) -> None:
    folder, _ = together
    assert_same(games.read(folder, "saved"), alone("uneven"))
    assert_same(games.play("uneven", checkpoint=folder / "saves", devices=1), alone("uneven"))


def test_what_differs_between_processes_is_said_by_each(together) -> None:
    for end in together[1]:
        said = [line for line in end.output.splitlines() if line.startswith("ValueError")]
        assert len(said) == 5
        assert "rollout: process 1 has num_envs=9 and process 0 has num_envs=8" in said[0]
        assert "rollout: process 1 has spec=" in said[1]
        assert "rollout: process 1 has checkpoint_every=6 and process 0 has checkpoint_every=5" in said[2]
        assert "rollout: process 1 has checkpoint=True and process 0 has checkpoint=False" in said[3]
        assert f"checkpoint: process 1 has steps=0 and process 0 has steps={games.STEPS}" in said[4]


def test_processes_listen_at_the_given_address_only(tmp_path) -> None:
    ends = processes("listens", tmp_path)
    assert [end.code for end in ends] == [0, 0], "\n".join(end.output for end in ends)
    found = [re.findall(r"^listens: (\d+) (\S+)$", end.output, re.MULTILINE) for end in ends]
    assert [len(ports) for ports in found] == [2, 1]  # the service of process 0, and gloo in both
    for _, place in found[0] + found[1]:
        assert ipaddress.ip_address(place.removeprefix("::ffff:")).is_loopback
