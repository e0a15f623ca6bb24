"""Digests of policies and parameters: equal in every process, different wherever a result could differ."""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import cogrid
from cogrid._scale.identity import digest_of, digest_of_tree
from tests.support import HAS_JAX, keys

SCALE = 3


def helper(x: Any) -> Any:
    return x * SCALE


def reads_global(x: Any) -> Any:
    return helper(x)


def closing(number: Any) -> Any:
    return lambda x: x + number


def nested(number: Any) -> Any:
    inner = closing(number)
    return lambda x: inner(x) * 2


class Actor:
    """A policy with parameters of its own."""

    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def __call__(self, x: Any) -> Any:
        return x * self.weight

    def act(self, x: Any) -> Any:
        return x + self.weight


class OtherActor(Actor):
    def __call__(self, x: Any) -> Any:
        return x / self.weight


@dataclass(frozen=True)
class Frozen:
    weight: float

    def __call__(self, x: Any) -> Any:
        return x * self.weight


def default(x: Any, scale: int = 1) -> Any:
    return x * scale


def keyword(x: Any, *, scale: int = 1) -> Any:
    return x * scale


#: Policies that differ from each other: code, constants, closures, defaults, arguments, objects.
DIFFERENT = {
    "lambda plus": lambda x: x + 1,
    "lambda plus 2": lambda x: x + 2,
    "lambda minus": lambda x: x - 1,
    "closure": closing(1),
    "closure 2": closing(2),
    "closure float": closing(1.0),
    "closure array": closing(np.arange(3)),
    "closure array int32": closing(np.arange(3, dtype=np.int32)),
    "closure array shape": closing(np.arange(3).reshape(3, 1)),
    "closure array value": closing(np.array([0, 1, 3])),
    "nested": nested(1),
    "nested 2": nested(2),
    "partial": functools.partial(default, scale=1),
    "partial 2": functools.partial(default, scale=2),
    "partial positional": functools.partial(default, 2),
    "partial of another": functools.partial(keyword, scale=2),
    "default": default,
    "keyword": keyword,
    "global": reads_global,
    "actor": Actor(1),
    "actor 2": Actor(2),
    "other actor": OtherActor(1),
    "method": Actor(1).act,
    "method 2": Actor(2).act,
    "frozen": Frozen(1.0),
    "frozen 2": Frozen(2.0),
    "list": closing([1, [2, {"a": (3,)}]]),
    "list 2": closing([1, [2, {"a": (4,)}]]),
    "library": np.add,
    "library 2": np.subtract,
    "none": None,
}


def test_different_policies_have_different_digests() -> None:
    digests = {name: digest_of(policy) for name, policy in DIFFERENT.items()}
    assert not [name for name, digest in digests.items() if digest.unknown]
    for (left, one), (right, other) in itertools.combinations(digests.items(), 2):
        assert one.digits != other.digits, f"{left} and {right}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (closing(np.arange(3)), closing(np.arange(3))),
        (functools.partial(default, scale=2), functools.partial(default, scale=2)),
        (Actor(2).act, Actor(2).act),
        (Frozen(2.0), Frozen(2.0)),
        (closing({1, 2}), closing({2, 1})),
        (closing(cogrid.make("Arena-V0")), closing(cogrid.make("Arena-V0", "jax" if HAS_JAX else "numpy"))),
        (lambda x: x + 5, lambda x: x + 5),
    ],
)
def test_equal_policies_have_equal_digests(one: Any, other: Any) -> None:
    assert digest_of(one) == digest_of(other)


def test_what_is_shared_is_equal_to_its_copy() -> None:
    shared = np.arange(3)
    assert digest_of([shared, shared, helper]) == digest_of([shared, shared.copy(), helper])


def test_an_environment_of_another_spec_is_another() -> None:
    makes = [cogrid.make("Arena-V0", density=density) for density in (0.1, 0.2)]
    assert digest_of(closing(makes[0])) != digest_of(closing(makes[1]))


def test_another_state_is_another() -> None:
    env = cogrid.make("Arena-V0")
    states = [env.reset_fn(keys(seed, 1)[0])[0] for seed in (0, 0, 1)]
    digests = [digest_of(closing(state)) for state in states]
    assert digests[0] == digests[1] != digests[2]
    assert not digests[0].unknown


def test_a_global_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest_of(reads_global)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 4)  # two functions away
    assert digest_of(reads_global) != before


def test_what_refers_to_itself() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    assert digest_of(closing(loop)) == digest_of(closing(loop))


@pytest.mark.parametrize(
    ("value", "name"),
    [(threading.Lock(), "lock"), (np.random.default_rng(0), "Generator"), (np.array([{}]), "object")],
)
def test_what_has_no_digest_is_named(value: Any, name: str) -> None:
    (unknown,) = digest_of(closing(value)).unknown
    assert name in unknown


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
            check=True,
            encoding="utf-8",
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {" ".join(digest_of(policy).digits for policy in DIFFERENT.values()) + "\n"}


if HAS_JAX:
    import jax
    import jax.numpy as jnp

    def test_what_jax_wraps() -> None:
        for wrap in (jax.jit, jax.vmap, lambda f: jax.jit(jax.vmap(f))):
            assert digest_of(wrap(closing(1))).digits == digest_of(wrap(closing(1))).digits
            assert digest_of(wrap(closing(1))).digits != digest_of(wrap(closing(2))).digits

    PARAMS: dict[str, Any] = {"layer": {"weight": jnp.ones((2, 3)), "bias": jnp.zeros(3)}, "step": 4}

    @pytest.mark.parametrize(
        "change",
        [
            {"layer": {"weight": jnp.ones((2, 3)).at[1, 2].set(1.0000001), "bias": jnp.zeros(3)}},
            {"layer": {"weight": jnp.ones((3, 2)), "bias": jnp.zeros(3)}},
            {"layer": {"weight": jnp.ones((2, 3), jnp.float16), "bias": jnp.zeros(3)}},
            {"layer": {"weight": jnp.ones((2, 3)), "scale": jnp.zeros(3)}},
            {"layer": (jnp.zeros(3), jnp.ones((2, 3)))},
            {"layer": {"weight": jnp.ones((2, 3)), "bias": -jnp.zeros(3)}},
            {"step": 5},
            {"step": None},
            {"more": jnp.zeros(0)},
        ],
        ids=range(9),
    )
    def test_other_params_have_another_digest(change: dict[str, Any]) -> None:
        assert digest_of_tree({**PARAMS, **change}).digits != digest_of_tree(PARAMS).digits

    def test_equal_params_have_equal_digests() -> None:
        host = {**jax.tree.map(np.asarray, PARAMS), "step": np.int32(4)}
        device = jax.tree.map(jnp.asarray, host)
        assert digest_of_tree(host) == digest_of_tree(device)
        keys = [{"key": jax.random.key(seed)} for seed in (0, 0, 1)]
        digests = [digest_of_tree(tree) for tree in keys]
        assert digests[0] == digests[1] != digests[2]
        assert digest_of_tree(None).unknown == ()


class Callable3(NamedTuple):
    weight: int

    def __call__(self, x: Any) -> Any:
        return x + self.weight


class OtherCallable3(NamedTuple):
    weight: int

    def __call__(self, x: Any) -> Any:
        return x - self.weight


OtherCallable3.__qualname__ = Callable3.__qualname__  # only its method tells it apart


class WithRules:
    """A policy that knows its rules, and has learned something."""

    def __init__(self, weight: int) -> None:
        self.rules, self.weight = cogrid.make("Arena-V0", map_size=5).rules, weight


class Wrapper:
    def __init__(self, weight: int) -> None:
        self.__wrapped__, self.weight = helper, weight


def test_what_a_policy_has_beside_its_rules_its_function_or_its_tuple_counts() -> None:
    for one, other in (
        (Callable3(3), OtherCallable3(3)),
        (WithRules(1), WithRules(2)),
        (Wrapper(1), Wrapper(2)),
    ):
        assert digest_of(one).digits != digest_of(other).digits, type(one)
        assert digest_of(one).unknown == ()
    assert digest_of(Callable3(3)).digits == digest_of(Callable3(3)).digits
    assert digest_of(WithRules(1)).digits == digest_of(WithRules(1)).digits
    env = cogrid.make("Arena-V0", map_size=5)
    before = digest_of(env).digits
    env.reset(seed=0)
    assert digest_of(env).digits == before, "an environment's episode is its own"


def test_a_module_of_the_users_own_is_all_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)

    def imported(scale: int) -> tuple[str, str]:
        (tmp_path / "cogrid_test_nets.py").write_text(
            f"SCALE = {scale}\ndef forward(x): return x * SCALE\n", encoding="utf-8"
        )
        sys.modules.pop("cogrid_test_nets", None)
        importlib.invalidate_caches()
        nets = importlib.import_module("cogrid_test_nets")

        def reads(x: Any) -> Any:
            return nets.forward(x)

        def imports(x: Any) -> Any:
            import cogrid_test_nets

            return cogrid_test_nets.SCALE * x

        return digest_of(reads).digits, digest_of(imports).digits

    first, again, other = imported(3), imported(3), imported(4)
    sys.modules.pop("cogrid_test_nets", None)
    assert first == again
    assert first[0] != other[0]
    assert first[1] != other[1]
