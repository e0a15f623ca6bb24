"""A case: what to measure, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from cogrid._core.compile.spec import Spec
from cogrid.benchmarks.workloads import LANES, WORKLOADS
from cogrid.envs.registry import spec_of

MODES = ("numpy-single", "numpy-batch", "jax-single", "jax-vmap", "jax-scan")
STEPS = 256
MAX_STEPS = 100_000  # more than the steps of a pass: no episode ends while the clock runs


@dataclasses.dataclass(frozen=True)
class Case:
    """One row of the results: an environment, a way to run it, and what is measured of it."""

    id: str
    mode: str
    batch: int = 1
    steps: int = STEPS  # of a pass; the length of the scan in mode jax-scan
    workload: str = "random"
    measure: str = "speed"
    options: tuple[tuple[str, Any], ...] = ()  # overrides of the spec, as pairs, so that a case is hashable
    seed: int = 42

    def __post_init__(self) -> None:
        """Raise a ValueError for a case that cannot be run."""
        for name, value, known in (
            ("mode", self.mode, MODES),
            ("workload", self.workload, WORKLOADS),
        ):
            if value not in known:
                raise ValueError(f"{name}={value!r} is unknown: choose one of {', '.join(known)}.")
        if self.batch < 1 or self.steps < 1:
            raise ValueError(f"a case needs at least one environment and one step: {self}.")
        if self.mode.endswith("single") and self.batch != 1:
            raise ValueError(f"mode {self.mode!r} runs one environment, not {self.batch}.")

    @property
    def backend(self) -> str:
        """numpy or jax."""
        return self.mode.partition("-")[0]

    @property
    def lanes(self) -> int:
        """Different environments in the batch."""
        return min(self.batch, LANES)

    @property
    def spec(self) -> Spec:
        """The environment's spec."""
        return spec_of(self.id, {"max_steps": MAX_STEPS, **dict(self.options)}, ())

    @property
    def name(self) -> str:
        """A readable name, unique among cases."""
        short = self.id.removeprefix("Overcooked-").removesuffix("-V0")
        options = " ".join(f"{name}={value}" for name, value in self.options)
        words = [short, self.mode + (f"@{self.batch}" if self.batch > 1 else "")]
        words += [f"×{self.steps}"] if self.mode == "jax-scan" or self.steps != STEPS else []
        words += [self.measure] if self.measure != "speed" else []
        words += [self.workload] if self.workload != "random" and self.measure == "speed" else []
        return " ".join([*words, options]).strip()

    def parameters(self) -> dict[str, Any]:
        """All fields, for the result file."""
        return {**dataclasses.asdict(self), "options": dict(self.options)}

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Case:
        """A case from `parameters()`, also after a round trip through JSON."""
        return cls(**{**parameters, "options": tuple(dict(parameters["options"]).items())})
