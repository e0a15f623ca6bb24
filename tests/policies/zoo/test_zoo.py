"""The zoo: its policies play as well as they say, where they were trained, without JAX."""

from __future__ import annotations

import numpy as np
import pytest

import cogrid
from cogrid.__main__ import main
from cogrid.policies import policy_file, zoo
from cogrid.policies.named import policy_of
from cogrid.policies.pairs import crossplay
from tests.support import CLASSIC

#: Points by which the mean of a few episodes may differ from that of the 100 of the evaluation: a soup in
#: the kitchens, elsewhere a part of the score.
INTERVAL, SHARE = 20, 0.25


def test_every_classic_kitchen_has_policies() -> None:
    assert all(len(zoo.names(id)) >= 2 for id in CLASSIC)
    assert zoo.names("Overcooked-CrampedRoom-SingleAgent-V0") == []
    assert sum(zoo.find(name).stat().st_size for name in zoo.names()) < 3_000_000


@pytest.mark.parametrize("name", zoo.names())
def test_a_policy_scores_what_its_file_says(name: str) -> None:
    policy = policy_file.load(zoo.find(name))
    assert name == f"{policy.id.removesuffix('-V0')}-{policy.about['seed']}"
    env = cogrid.make(policy.id, shadow=False)
    kitchen, score = policy.id.startswith("Overcooked"), policy.about["score"]
    episodes = 6 if kitchen else 30  # short ones, whose starts differ
    points = crossplay(env, {"it": name}, episodes, seed=10_000).points  # seeds that nothing was chosen on
    assert score > 0
    assert abs(points.mean() - score) <= (INTERVAL if kitchen else SHARE * score)


def test_names_are_policies() -> None:
    env = cogrid.make(CLASSIC[0])
    env.reset(seed=0)
    name = zoo.names(CLASSIC[0])[0]
    assert list(policy_of(name, env.rules, [1])(env.env_state)) == [1]
    with pytest.raises(ValueError, match="a name from `python -m cogrid zoo`"):
        policy_of(f"{name}0000", env.rules)


def test_the_command_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["zoo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["policy", "return", "steps", "observation"]
    assert [line.split()[0] for line in lines[1:]] == zoo.names()
    assert main(["zoo", CLASSIC[0]]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == zoo.names(CLASSIC[0])
    scores = [policy_file.load(zoo.find(name)).about["score"] for name in zoo.names(CLASSIC[0])]
    np.testing.assert_allclose([float(line.split()[1]) for line in lines], scores, atol=0.05)
