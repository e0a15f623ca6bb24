"""The NumPy learner: its gradients, written by hand, are those of its loss."""

from __future__ import annotations

import numpy as np
import pytest

from examples import numpy_policy_gradient as learner

INPUTS, ACTIONS, N = 5, 3, 7


@pytest.mark.parametrize("name", list(learner.begin(np.random.default_rng(0), INPUTS, ACTIONS)))
def test_gradients_are_those_of_the_loss(name: str) -> None:
    generator = np.random.default_rng(0)
    shapes = learner.begin(generator, INPUTS, ACTIONS)
    network = {key: generator.normal(0, 0.3, value.shape) for key, value in shapes.items()}
    steps = {
        "obs": generator.normal(size=(N, INPUTS)),
        "actions": generator.integers(0, ACTIONS, N),
        "values": generator.normal(size=N),
    }
    advantages = generator.normal(size=N)
    found = learner.gradients_of(network, steps, advantages)[name]
    for place in list(np.ndindex(found.shape))[:20]:
        sides = []
        for change in (1e-5, -1e-5):
            moved = network[name].copy()
            moved[place] += change
            sides.append(learner.loss_of({**network, name: moved}, steps, advantages))
        assert found[place] == pytest.approx((sides[0] - sides[1]) / 2e-5, rel=1e-4, abs=1e-9)
