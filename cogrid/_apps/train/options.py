"""The options of a training run, with their help texts and bounds."""

from __future__ import annotations

import dataclasses
import math
from types import MappingProxyType
from typing import Any

import jax

from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.registry import find, spec_of
from cogrid.policies.policy_file import TRAINING_ONLY

OBSERVATIONS = ("features", "lossless", "window")
_TYPES = MappingProxyType({"str": str, "int": int, "float": int | float, "dict[str, Any]": dict})


def _option(default: Any, text: str, low: float = -math.inf, high: float = math.inf) -> Any:
    """A field with its default, its --help text, and its bounds."""
    return dataclasses.field(default=default, metadata={"help": text, "low": low, "high": high})


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of a run. A checkpoint stores them, and two runs with the same options end the same."""

    id: str = _option("Overcooked-CrampedRoom-V0", "environment to train in")
    observation: str = _option("features", "features (a short vector), lossless (the whole grid) or window")
    set: dict[str, Any] = dataclasses.field(
        default_factory=dict,
        metadata={
            "help": "an option of the environment, such as cook_time=5; repeatable. "
            f"{' and '.join(TRAINING_ONLY)} affect training only: the scores are from the usual episodes"
        },
    )
    steps: int = _option(1_500_000, "environment steps per seed, rounded up to whole chunks", 1, 10**15)
    seeds: int = _option(3, "number of seeds; a CPU trains them one after the other", 1, 10**4)
    first_seed: int = _option(0, "the first seed; the others follow it", -(10**9), 10**9)
    num_envs: int = _option(64, "environments per seed", 1, 10**8)
    devices: int = _option(
        1, "devices of all processes, which share the seeds, or else each seed's environments", 1, 10**6
    )
    num_steps: int = _option(128, "steps per environment between two updates", 1, 10**6)
    chunk: int = _option(10, "updates between two checkpoints", 1, 10**6)
    epochs: int = _option(4, "passes over the steps per update", 1, 10**4)
    minibatches: int = _option(16, "gradient steps per pass, each on a part of the environments", 1, 10**8)
    hidden: int = _option(64, "width of the two hidden layers", 1, 2**15)
    memory: int = _option(0, "size of an agent's GRU memory; 0 for none", 0, 2**15)
    learning_rate: float = _option(5e-4, "learning rate of Adam, annealed to zero", 0)
    reward_scale: float = _option(0.1, "factor for rewards, to get values of about 1", 0)
    gamma: float = _option(0.99, "discount per step", 0, 1)
    gae_lambda: float = _option(0.95, "decay of the generalised advantages", 0, 1)
    clip: float = _option(0.2, "PPO's bound on the change of an action's probability", 0)
    entropy: float = _option(0.1, "weight of the entropy bonus, annealed to zero", 0)
    value_loss: float = _option(0.5, "weight of the value loss", 0)
    max_gradient: float = _option(0.5, "norm that gradients are clipped to", 0)
    shaping: float = _option(
        0.5, "fraction of the run over which the shaping reward is annealed to zero", 0, 1
    )

    @property
    def updates(self) -> int:
        """The number of updates: whole chunks with at least the requested steps."""
        return -(-self.steps // (self.num_envs * self.num_steps * self.chunk)) * self.chunk

    @property
    def sharing(self) -> int:
        """Devices that share the environments of a seed: one if whole seeds divide evenly over devices."""
        return self.devices if self.seeds % self.devices else 1

    @property
    def steps_of_chunk(self) -> int:
        """Environment steps per seed between two checkpoints."""
        return self.num_envs * self.num_steps * self.chunk


def from_json(values: dict[str, Any]) -> Options:
    """The options of a checkpoint; raises a TypeError if one has the wrong type."""
    options = Options(**values)
    for field in dataclasses.fields(Options):
        if not isinstance(getattr(options, field.name), _TYPES[str(field.type)]):
            raise TypeError(field.name)
    return options


def usual_observation(id: str) -> str:
    """The environment's own observation, or the whole grid if it has none."""
    own = spec_of(find(id), {}).observation
    return own if own in OBSERVATIONS else "lossless"


def environment(options: Options) -> CoGridEnv:
    """The environment to train in; only its pure functions are used, which have no shadow."""
    changes: dict[str, Any] = {"observation": options.observation, "shaping": 1.0}
    if taken := changes.keys() & options.set.keys():
        raise ValueError(f"{min(taken)} is an option of training: write --{min(taken)}, not --set.")
    if "window" in options.set and options.observation != "window":
        raise ValueError("window is for --observation window: give both, or leave --set window out.")
    spec = spec_of(find(options.id), changes | options.set)
    return CoGridEnv(spec, "jax", infos=True, shadow=False)


def scored(options: Options) -> dict[str, Any]:
    """The part of `set` that changes the game itself, and so the scores; not only the training episodes.

    Truncated training episodes are bootstrapped.
    """
    return {name: value for name, value in options.set.items() if name not in TRAINING_ONLY}


def scored_environment(options: Options, backend: str) -> CoGridEnv:
    """The environment whose episodes are scored, without shaping."""
    changes = {"observation": options.observation, "shaping": 0.0}
    return CoGridEnv(spec_of(find(options.id), changes | scored(options)), backend, shadow=False)


def check(options: Options) -> None:
    """Raise a ValueError that names the first wrong option."""
    for field in dataclasses.fields(Options):
        if field.type not in ("int", "float"):
            continue
        value, low, high = getattr(options, field.name), field.metadata["low"], field.metadata["high"]
        if not (math.isfinite(value) and low <= value <= high):
            bounds = f"at least {low}" if math.isinf(high) else f"from {low} to {high}"
            raise ValueError(
                f"{field.name} is {value}, but must be {bounds if math.isfinite(value) else 'finite'}."
            )
    if options.observation not in OBSERVATIONS:
        raise ValueError(
            f"observation is {options.observation!r}, but must be one of {', '.join(OBSERVATIONS)}."
        )
    if options.num_envs % (options.minibatches * options.sharing):
        each = f" on each of {options.sharing} devices" if options.sharing > 1 else ""
        raise ValueError(
            f"num_envs {options.num_envs} cannot be split into {options.minibatches} minibatches{each}."
        )
    if options.devices > len(jax.devices()):
        raise ValueError(f"devices is {options.devices}, but JAX has {len(jax.devices())}.")
    env = environment(options)  # its own errors name the id and the observation
    if all(term.shaping for term in env.spec.game.rewards()):
        raise ValueError(f"{options.id} pays nothing but shaping: there is no score to learn for.")
