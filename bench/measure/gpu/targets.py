"""Targets: the GPUs to compile for, their data, and the compiler that must be installed."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from bench.exit_codes import NoDevice

#: The variants of JAX's plugin, and the wheel with the assembler that each needs.
VARIANTS: Mapping[str, str] = MappingProxyType(
    {"cuda12": "nvidia-cuda-nvcc-cu12", "cuda13": "nvidia-cuda-nvcc"}
)
#: The environment of a compiling process: the plugin needs no driver, and does not warn about its absence.
COMPILE_ONLY: Mapping[str, str] = MappingProxyType(
    {"JAX_PLATFORMS": "cpu", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
)


class Gpu(NamedTuple):
    """Facts of a device, as its driver would report them."""

    name: str
    capability: int  # the major compute capability
    cores: int
    fpus: int  # of a core
    shared_memory: int  # bytes of a core
    shared_memory_optin: int  # bytes of a block at most
    bandwidth: int  # bytes a second
    l2: int
    clock: float  # GHz
    memory: int


GPUS: Mapping[str, Gpu] = MappingProxyType(
    {
        "a100": Gpu(
            "NVIDIA A100-SXM4-80GB",
            8,
            108,
            64,
            167936,
            166912,
            2_039_040_000_000,
            41943040,
            1.41,
            85100068864,
        ),
        "h100": Gpu(
            "NVIDIA H100 80GB HBM3",
            9,
            132,
            128,
            233472,
            232448,
            3_352_320_000_000,
            52428800,
            1.98,
            84942979072,
        ),
    }
)

# A text of XLA's GpuTargetConfigProto. CUDA graphs are planned only if the versions are known, and are 12.3
# or later.
_VERSIONS = 'driver_version: "12.9.0" runtime_version: "12.9.0" compile_time_toolkit_version: "12.9.0"'
_CONFIG = """gpu_device_info {{
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
  shared_memory_per_core: {shared_memory} threads_per_core_limit: 2048 core_count: {cores}
  fpus_per_core: {fpus} block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: {bandwidth} l2_cache_size: {l2} clock_rate_ghz: {clock} device_memory_size: {memory}
  shared_memory_per_block_optin: {shared_memory_optin}
  cuda_compute_capability {{ major: {capability} minor: 0 }}
  registers_per_core_limit: 65536 registers_per_block_limit: 65536 {versions}
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 8 }}
device_description_str: "{name}"
"""


class Target(NamedTuple):
    """A number of GPUs of one kind, and the plugin variant that compiles for them: `cuda12-a100x8`."""

    variant: str
    gpu: str
    number: int = 1

    @classmethod
    def of(cls, name: str) -> Target:
        match = re.fullmatch(r"(cuda\d+)-(\w+?)(?:x(\d+))?", name)
        if match is None or match[1] not in VARIANTS or match[2] not in GPUS:
            raise ValueError(
                f"{name!r} is no target: write a variant and a GPU, such as cuda12-a100 or cuda13-h100x8."
            )
        return cls(match[1], match[2], int(match[3] or 1))

    @property
    def name(self) -> str:
        return f"{self.variant}-{self.gpu}{f'x{self.number}' if self.number > 1 else ''}"

    @property
    def facts(self) -> Gpu:
        return GPUS[self.gpu]


@functools.cache
def devices(target: Target) -> list[Any]:
    """The devices of a target, which can only be compiled for."""
    import jax
    from jax.experimental import topologies

    require(target.variant)
    versions = (
        _VERSIONS if jax.__version_info__ >= (0, 9) else ""
    )  # older ones know no versions, and plan no graphs
    config = _CONFIG.format(**target.facts._asdict(), versions=versions)
    described = topologies.get_topology_desc(
        target.name, platform="cuda", topology=f"1x1x{target.number}", target_config=config
    )
    return list(described.devices)


def named_by(kind: str) -> str:
    """The GPU with this name in JAX; raises a NoDevice for one whose data are not known."""
    for name, facts in GPUS.items():
        if kind == facts.name:  # others of the same generation have less memory and bandwidth
            return name
    known = " and ".join(facts.name for facts in GPUS.values())
    raise NoDevice(f"this device is {kind!r}, and the model has the facts of {known} only.")


def installed() -> str:
    """The variant whose plugin is installed; raises a NoDevice that says what to install."""
    for variant in VARIANTS:
        if version_of(f"jax-{variant}-pjrt"):
            require(variant)
            return variant
    raise NoDevice("there is no compiler for GPUs here: `nox -s gpu-compile` installs one and compiles.")


def require(variant: str) -> None:
    """Raise a NoDevice unless the plugin of that variant is installed and fits JAX."""
    plugin = f"jax-{variant}-pjrt"
    found = {name: version_of(name) for name in ("jaxlib", plugin, VARIANTS[variant])}
    if missing := [name for name, version in found.items() if version is None]:
        raise NoDevice(
            f"compiling for {variant} needs {' and '.join(missing)}: "
            f'`nox -s "gpu-compile({variant})"` installs all of it.'
        )
    if found[plugin] != found["jaxlib"]:
        raise NoDevice(
            f"{plugin} is {found[plugin]} and jaxlib {found['jaxlib']}: install the same version of both."
        )


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def ptxas() -> Path | None:
    """NVIDIA's assembler, which reports registers and spills."""
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations if spec else None
    found = (path for place in places or () for path in sorted(Path(place).glob("*/bin/ptxas")))
    return next(found, None)
