"""The network: an actor and a critic of two hidden layers each, and what they see of an observation."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from cogrid.backend.array import Array
from cogrid.core.rules import Rules
from cogrid.core.varying import varying


class Layer(eqx.Module):
    """A linear layer with orthogonal initial weights."""

    weight: Array
    bias: Array

    def __init__(self, key: Array, inputs: int, outputs: int, gain: float) -> None:
        """Draw the weights."""
        self.weight = jax.nn.initializers.orthogonal(gain)(key, (inputs, outputs))
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Array) -> Array:
        """(…, inputs) -> (…, outputs)."""
        return x @ self.weight + self.bias


class Network(eqx.Module):
    """An actor and a critic, for batches of observations."""

    actor: list[Layer]
    critic: list[Layer]

    def __init__(self, key: Array, inputs: int, hidden: int, actions: int) -> None:
        """Draw both."""

        def layers(keys: Array, outputs: int, last_gain: float) -> list[Layer]:
            sizes = ((inputs, hidden, 2**0.5), (hidden, hidden, 2**0.5), (hidden, outputs, last_gain))
            return [Layer(key, *size) for key, size in zip(keys, sizes, strict=True)]

        keys = jax.random.split(key, (2, 3))
        self.actor = layers(keys[0], actions, 0.01)  # all actions about as likely at first
        self.critic = layers(keys[1], 1, 1.0)

    def __call__(self, obs: Array) -> tuple[Array, Array]:
        """What is seen (…, inputs) -> logits (…, actions), values (…)."""
        logits = values = obs.astype(jnp.float32)
        for actor, critic in zip(self.actor[:-1], self.critic[:-1], strict=True):
            logits, values = jnp.tanh(actor(logits)), jnp.tanh(critic(values))
        return self.actor[-1](logits), self.critic[-1](values)[..., 0]


class Sight:
    """What a network gets of an observation: the numbers that can change, as a vector."""

    def __init__(self, rules: Rules) -> None:
        """By the rules whose observations are seen."""
        changing = varying(rules)
        self.shape = changing.shape
        self.numbers = np.flatnonzero(changing)  # (inputs,) of a flat observation
        self.inputs = len(self.numbers)

    def __call__(self, obs: Array) -> Array:
        """(…, *shape) -> (…, inputs), as floats only when the network gets them."""
        flat = obs.reshape(*obs.shape[: obs.ndim - len(self.shape)], -1)
        return flat if flat.shape[-1] == self.inputs else flat[..., self.numbers]

    def whole(self, weight: Array) -> Array:
        """(inputs, outputs) weights of a first layer for flat observations as they are: 0 for the others."""
        weights = np.zeros((math.prod(self.shape), weight.shape[1]), np.float32)
        weights[self.numbers] = weight
        return weights


def log_prob(logits: Array, actions: Array) -> Array:
    """Of the actions that were taken."""
    return jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], axis=-1)[..., 0]
