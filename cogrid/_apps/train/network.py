"""The network: an actor and a critic, optionally with a shared memory, and their inputs."""

from __future__ import annotations

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from cogrid._apps.train.varying import varying
from cogrid._core.rules import Rules
from cogrid.backend.array import Array


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


class Past(NamedTuple):
    """What a memory needs to replay b environments."""

    first: Array  # (b, n, size) the memory before the first step
    done: Array  # (b, T) steps after which the memory is reset


class RecurrentUnit(eqx.Module):
    """A gated recurrent unit (GRU) after a hidden layer; `policies.policy_file` has the same in NumPy."""

    seen: Layer  # (inputs, hidden)
    inwards: Layer  # (hidden, 3 · size): the reset gate, the update gate and the candidate
    onwards: Layer  # (size, 3 · size) the same

    def __init__(self, key: Array, inputs: int, hidden: int, size: int) -> None:
        """Draw the weights."""
        keys = jax.random.split(key, 3)
        self.seen = Layer(keys[0], inputs, hidden, 2**0.5)
        self.inwards = Layer(keys[1], hidden, 3 * size, 3**0.5)
        self.onwards = Layer(keys[2], size, 3 * size, 3**0.5)

    def __call__(self, obs: Array, memory: Array) -> Array:
        """Inputs (…, inputs) and memory (…, size) -> the new memory."""
        return self._renewed(self._gates(obs), memory)

    def replay(self, obs: Array, past: Past) -> Array:
        """Rows (b · T · n, inputs) -> the memory when the agents acted, (b · T · n, size)."""
        (b, n, size), steps = past.first.shape, past.done.shape[1]

        def one(memory: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
            gates, done = step  # (b, n, 3 · size), (b,)
            memory = self._renewed(gates, memory)
            return forget(memory, done), memory

        gates = self._gates(obs).reshape(b, steps, n, -1)  # one matrix product for all rows
        _, memories = jax.lax.scan(one, past.first, (jnp.moveaxis(gates, 1, 0), past.done.T))
        return jnp.moveaxis(memories, 0, 1).reshape(-1, size)

    def _gates(self, obs: Array) -> Array:
        return self.inwards(jnp.tanh(self.seen(obs)))

    def _renewed(self, gates: Array, memory: Array) -> Array:
        reset, update, candidate = jnp.split(gates, 3, axis=-1)
        past_reset, past_update, past_candidate = jnp.split(self.onwards(memory), 3, axis=-1)
        new = jnp.tanh(candidate + jax.nn.sigmoid(reset + past_reset) * past_candidate)
        kept = jax.nn.sigmoid(update + past_update)
        return kept * memory + (1.0 - kept) * new


def forget(memory: Array | None, done: Array) -> Array | None:
    """(B, n, size) zeroed where an episode has ended; None stays None."""
    return None if memory is None else jnp.where(done[:, None, None], 0.0, memory)


class Network(eqx.Module):
    """An actor and a critic, for batches of observations; they share the memory if there is one."""

    actor: list[Layer]
    critic: list[Layer]
    memory: RecurrentUnit | None

    def __init__(self, key: Array, inputs: int, hidden: int, actions: int, memory: int = 0) -> None:
        """Draw the weights; `memory` is its size."""
        # The memory's layer replaces the first of two, so that both kinds are equally deep without the GRU.
        sizes = [memory, hidden] if memory else [inputs, hidden, hidden]

        def layers(keys: Array, outputs: int, last_gain: float) -> list[Layer]:
            gains = [2**0.5] * (len(sizes) - 1) + [last_gain]
            both = zip(keys[: len(sizes)], sizes, [*sizes[1:], outputs], gains, strict=True)
            return [Layer(*one) for one in both]

        keys = jax.random.split(key, (2, 3))
        self.actor = layers(keys[0], actions, 0.01)  # all actions are about equally likely at first
        self.critic = layers(keys[1], 1, 1.0)
        self.memory = RecurrentUnit(keys[0, 2], inputs, hidden, memory) if memory else None  # an unused key

    def __call__(self, obs: Array, memory: Array | None = None) -> tuple[Array, Array, Array | None]:
        """Inputs (…, inputs) and memory -> logits (…, actions), values (…), memory (…, size)."""
        inputs = obs.astype(jnp.float32)
        if self.memory is not None:
            inputs = memory = self.memory(inputs, memory)
        return *self._heads(inputs), memory

    def replay(self, obs: Array, past: Past | None) -> tuple[Array, Array]:
        """Rows (b · T · n, inputs) of whole environments -> logits (rows, actions), values (rows,)."""
        inputs = obs.astype(jnp.float32)
        return self._heads(self.memory.replay(inputs, past) if self.memory and past else inputs)

    def _heads(self, inputs: Array) -> tuple[Array, Array]:
        logits = values = inputs
        for actor, critic in zip(self.actor[:-1], self.critic[:-1], strict=True):
            logits, values = jnp.tanh(actor(logits)), jnp.tanh(critic(values))
        return self.actor[-1](logits), self.critic[-1](values)[..., 0]


class Sight:
    """Turns observations into network inputs: the numbers that can change, as a vector."""

    def __init__(self, rules: Rules) -> None:
        """For the observations of these rules."""
        changing = varying(rules)
        self.shape = changing.shape
        self.numbers = np.flatnonzero(changing)  # (inputs,) of a flat observation
        self.inputs = len(self.numbers)

    def __call__(self, obs: Array) -> Array:
        """(…, *shape) -> (…, inputs), still in the observation's type."""
        flat = obs.reshape(*obs.shape[: obs.ndim - len(self.shape)], -1)
        return flat if flat.shape[-1] == self.inputs else flat[..., self.numbers]

    def whole(self, weight: Array) -> Array:
        """(inputs, outputs) weights of a first layer for whole flat observations: 0 for constant numbers."""
        weights = np.zeros((math.prod(self.shape), weight.shape[1]), np.float32)
        weights[self.numbers] = weight
        return weights


def log_prob(logits: Array, actions: Array) -> Array:
    """The log-probabilities of the actions taken."""
    return jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], axis=-1)[..., 0]
