"""Digests of policies and parameters: equal in every process, different wherever a result could differ."""

from __future__ import annotations

import enum
import functools
import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import cogrid
from cogrid._scale.identity import digest_of, digest_of_tree
from tests.support import keys

jax = pytest.importorskip("jax")
jnp = jax.numpy

SCALE, TABLE = 3, np.arange(3)
THIS = sys.modules[__name__]
OWN = ModuleType("cogrid_test_nets")  # has no file in a library


def helper(x: Any) -> Any:
    return x * SCALE


def reads_global(x: Any) -> Any:
    return [helper(one) + TABLE for one in x]


def recursive(x: Any) -> Any:
    return recursive(x - 1) if x else SCALE


def reads_own_module(x: Any) -> Any:
    return OWN.forward(x)


def imports_own_module(x: Any) -> Any:
    import cogrid_test_nets

    return cogrid_test_nets.forward(x)


def imports_library(x: Any) -> Any:
    import jax.numpy

    return jax.numpy.tanh(x)


def closing(number: Any) -> Any:
    return lambda x: x + number


def nested(number: Any) -> Any:
    inner = closing(number)
    return lambda x: inner(x) * 2


def default(x: Any, scale: int = 1) -> Any:
    return x * scale


@functools.wraps(np.tanh)
def named_as_of_numpy(x: Any) -> Any:
    return x * SCALE


class Actor:
    """Its attributes are not read."""

    def __init__(self, weight: Any) -> None:
        self.weight, self.__wrapped__ = weight, helper

    def act(self, x: Any) -> Any:
        return x + self.weight


@dataclass(frozen=True)
class Frozen:
    weight: float

    def __call__(self, x: Any) -> Any:
        return x * self.weight

    @property
    def bias(self) -> float:
        return 1.0

    def act(self, x: Any) -> Any:
        return self(x) + self.bias


class Inheriting(Frozen):
    pass


@dataclass(frozen=True, slots=True)
class Slotted:
    weight: float

    def __call__(self, x: Any) -> Any:
        return x * self.weight


class Pair(NamedTuple):
    weight: float
    bias: float = 0.0

    def __call__(self, x: Any) -> Any:
        return x * self.weight + self.bias


class Action(enum.IntEnum):
    STAY, GO = 0, 1


#: Policies that differ from each other: code, constants, closures, defaults, arguments, fields.
DIFFERENT = {
    "lambda plus": lambda x: x + 1,
    "lambda plus 2": lambda x: x + 2,
    "lambda minus": lambda x: x - 1,
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "several": lambda *x: x,
    "named": lambda **x: x,
    "inner constant": lambda x: [one + 1 for one in (lambda: x)()],
    "inner constant 2": lambda x: [one + 1 for one in (lambda: x + 1)()],
    "closure": closing(1),
    "closure 2": closing(2),
    "closure array": closing(np.arange(3)),
    "closure array int32": closing(np.arange(3, dtype=np.int32)),
    "closure array shape": closing(np.arange(3).reshape(3, 1)),
    "closure array value": closing(np.array([0, 1, 3])),
    "closure enum": closing(Action.STAY),
    "closure enum 2": closing(Action.GO),
    "closure set": closing({"a", "b", "c"}),
    "constant set": lambda x: x in {"a", "b", "c"},
    "closure module": closing(np),
    "closure module 2": closing(jnp),
    "nested": nested(1),
    "partial": functools.partial(default, scale=1),
    "partial 2": functools.partial(default, scale=2),
    "default": lambda x, scale=1: x * scale,
    "default 2": lambda x, scale=2: x * scale,
    "keyword": lambda x, *, scale=1: x * scale,
    "keyword 2": lambda x, *, scale=2: x * scale,
    "global": reads_global,
    "frozen": Frozen(1.0),
    "frozen 2": Frozen(2.0),
    "slotted": Slotted(1.0),
    "pair": Pair(1.0),
    "class": Pair,
    "method": Frozen(1.0).act,
    "list": closing([1, [2, {"a": (3,)}]]),
    "library": np.add,
    "library closure": jax.nn.initializers.normal(),
    "library closure 2": jax.nn.initializers.uniform(),
    "library closure 3": jax.nn.initializers.uniform(0.1),
    "wraps": named_as_of_numpy,
    "import": imports_library,
    "jit": jax.jit(closing(1)),
    "jit 2": jax.jit(closing(2)),
    "vmap": jax.vmap(closing(1)),
    "vmap 2": jax.vmap(closing(2)),
    "vmap axes": jax.vmap(closing(1), in_axes=1),
    "jax partial": jax.tree_util.Partial(default, scale=1),
    "none": None,
}


def test_different_policies_have_different_digests() -> None:
    digests = {name: digest_of(policy) for name, policy in DIFFERENT.items()}
    assert not [name for name, digest in digests.items() if digest.unknown]
    for (left, one), (right, other) in itertools.combinations(digests.items(), 2):
        assert one.digits != other.digits, f"{left} and {right}"


@pytest.mark.parametrize(
    "make",
    [
        lambda: closing(np.arange(3)),
        lambda: functools.partial(default, scale=2),
        lambda: Frozen(2.0).act,
        lambda: jax.jit(jax.vmap(closing(1))),
        lambda: closing(cogrid.make("Arena-V0", "jax")),
        lambda: lambda x: x + 5,
        lambda: closing({"a", helper, np.add}),
    ],
)
def test_equal_policies_have_equal_digests(make: Callable[[], Any]) -> None:
    assert digest_of(make()) == digest_of(make())


def test_what_does_not_matter() -> None:
    assert digest_of({1, 2}) == digest_of({2, 1})
    assert digest_of([TABLE, TABLE, helper]) == digest_of([TABLE, TABLE.copy(), helper])
    environments = [cogrid.make("Arena-V0", backend) for backend in ("numpy", "jax")]
    environments[0].reset(seed=0)  # an environment's episode is its own
    assert digest_of(environments[0]) == digest_of(environments[1])


def test_an_environment_of_another_spec_and_another_state_are_others() -> None:
    env, other = (cogrid.make("Arena-V0", density=density) for density in (0.1, 0.2))
    assert digest_of(closing(env)) != digest_of(closing(other))
    states = [env.reset_fn(keys(seed, 1)[0])[0] for seed in (0, 0, 1)]
    digests = [digest_of(closing(state)) for state in states]
    assert digests[0] == digests[1] != digests[2]
    assert not digests[0].unknown


@pytest.mark.parametrize(
    ("owner", "name", "value", "policy"),
    [
        (THIS, "SCALE", 4, reads_global),  # two functions away
        (THIS, "SCALE", 4, recursive),
        (THIS, "SCALE", 4, named_as_of_numpy),
        (THIS, "TABLE", np.array([0, 1, 3]), reads_global),
        (THIS, "helper", lambda x: x, reads_global),
        (Frozen, "__call__", lambda self, x: x, Frozen(1.0).act),
        (Frozen, "__call__", lambda self, x: x, Inheriting(1.0)),
        (Frozen, "SCALE", 4, Frozen(1.0)),
        (Frozen, "bias", property(lambda self: 2.0), Frozen(1.0).act),
        (Slotted, "__call__", lambda self, x: x, Slotted(1.0)),
        (Pair, "__call__", lambda self, x: x, Pair(1.0)),
        (Action, "act", staticmethod(lambda x: x), closing(Action.GO)),
    ],
)
def test_what_a_policy_reads_may_change(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, value: Any, policy: Any
) -> None:
    before = digest_of(policy)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, value, raising=False)
        assert digest_of(policy).digits != before.digits
    assert digest_of(policy) == before


def test_what_refers_to_itself() -> None:
    def loop(outer: bool) -> Any:
        inside: list[Any] = []
        outside = [inside]
        inside.append(outside if outer else inside)
        return closing(outside)

    assert digest_of(loop(True)) == digest_of(loop(True)) != digest_of(loop(False))


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        (closing(threading.Lock()), "a _thread.lock"),
        (closing(np.random.default_rng(0)), "a numpy.random._generator.Generator"),
        (closing(np.array([{}])), "a numpy.ndarray"),
        (closing({1: 2}.get), "a builtins.builtin_function_or_method"),
        (closing(np.vectorize(helper)), "a numpy.vectorize"),
        (Actor(1).act, f"a {__name__}.Actor"),
        (reads_own_module, "the module cogrid_test_nets"),
        (imports_own_module, "the module cogrid_test_nets"),
    ],
)
def test_what_has_no_digest_is_named(policy: Any, name: str) -> None:
    assert digest_of(policy).unknown == (name,)
    assert digest_of(policy) == digest_of(policy)


def test_equal_in_every_process() -> None:
    program = (
        "from tests._scale.test_identity import *\n"
        "print(*(digest_of(policy).digits for policy in DIFFERENT.values()))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {" ".join(digest_of(policy).digits for policy in DIFFERENT.values()) + "\n"}


PARAMS: dict[str, Any] = {"layer": {"weight": jnp.ones((2, 3)), "bias": jnp.zeros(3)}, "step": 4}


@pytest.mark.parametrize(
    "change",
    [
        {"layer": {"weight": jnp.ones((2, 3)).at[1, 2].set(1.0000001), "bias": jnp.zeros(3)}},
        {"layer": {"weight": jnp.ones((3, 2)), "bias": jnp.zeros(3)}},
        {"layer": {"weight": jnp.ones((2, 3), jnp.float16), "bias": jnp.zeros(3)}},
        {"layer": {"weight": jnp.ones((2, 3)), "bias": jnp.zeros(3, np.int32)}},
        {"layer": {"weight": jnp.ones((2, 3)), "scale": jnp.zeros(3)}},
        {"layer": (jnp.zeros(3), jnp.ones((2, 3)))},
        {"layer": {"weight": jnp.ones((2, 3)), "bias": -jnp.zeros(3)}},
        {"step": 5},
        {"step": None},
        {"more": jnp.zeros(0)},
    ],
    ids=range(10),
)
def test_other_params_have_another_digest(change: dict[str, Any]) -> None:
    assert digest_of_tree({**PARAMS, **change}).digits != digest_of_tree(PARAMS).digits


def test_equal_params_have_equal_digests() -> None:
    host = {**jax.tree.map(np.asarray, PARAMS), "step": np.int32(4)}
    device = jax.tree.map(jnp.asarray, host)
    assert digest_of_tree(host) == digest_of_tree(device)
    trees = [{"key": jax.random.key(seed)} for seed in (0, 0, 1)]
    digests = [digest_of_tree(tree) for tree in trees]
    assert digests[0] == digests[1] != digests[2]
    assert digest_of_tree(None).unknown == ()
