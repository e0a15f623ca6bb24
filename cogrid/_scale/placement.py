"""Placement: which device holds which environments of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cogrid._io.messages import brief

Tree = Any


class Placement(NamedTuple):
    """Environments in order, in equal parts on a row of devices; padding fills the last part."""

    mesh: Any  # jax.sharding.Mesh with the one axis "envs"
    num_envs: int

    @property
    def size(self) -> int:
        """Environments per device, padding included."""
        return -(-self.num_envs // int(self.mesh.size))

    @property
    def padded(self) -> int:
        """All environments, padding included."""
        return self.size * int(self.mesh.size)

    @property
    def processes(self) -> int:
        """The number of processes that the devices belong to."""
        return len({device.process_index for device in self.mesh.devices.flat})

    def mine(self) -> np.ndarray[Any, Any]:
        """(b,) the environments on this process's devices."""
        import jax

        here = [device.process_index == jax.process_index() for device in self.mesh.devices.flat]
        numbers = np.flatnonzero(np.repeat(here, self.size))
        return numbers[numbers < self.num_envs]

    def spread(self, axis: int = 0) -> Any:
        """The sharding of arrays whose `axis` is environments."""
        from jax.sharding import NamedSharding

        return NamedSharding(self.mesh, self.spec(axis))

    @staticmethod
    def spec(axis: int = 0) -> Any:
        """The same, for `jax.shard_map`."""
        from jax.sharding import PartitionSpec

        return PartitionSpec(*[None] * axis, "envs")

    def everywhere(self) -> Any:
        """The sharding of arrays that are replicated on every device."""
        from jax.sharding import NamedSharding, PartitionSpec

        return NamedSharding(self.mesh, PartitionSpec())

    def on_each(self, function: Callable[..., Any], inputs: Any, outputs: Any) -> Callable[..., Any]:
        """The function, run by every device on its own environments: no device waits for another."""
        import jax

        # A policy may contain any JAX code: the replication check would require it to mark its constants.
        mapped: Callable[..., Any] = jax.shard_map(
            function, mesh=self.mesh, in_specs=inputs, out_specs=outputs, check_vma=False
        )
        return mapped

    def cut(self, tree: Tree) -> Tree:
        """Without the padding, then replicated on every device, as JAX has no uneven sharding."""
        return tree if self.padded == self.num_envs else _cutter(self)(tree)

    def of_rows(self, rows: int) -> Any:
        """The sharding of a batch that was padded for other devices."""
        return self.everywhere() if rows % int(self.mesh.size) else self.spread()

    def fit(self, tree: Tree, rows: int) -> Tree:
        """Such a batch, placed on these devices; new padding repeats the last environment."""
        return tree if self.padded == rows else _fitter(self)(tree)

    def host(self, value: Any, axis: int = 0) -> np.ndarray[Any, Any]:
        """This process's environments of an array whose `axis` is environments, as NumPy."""
        shards = sorted(value.addressable_shards, key=lambda shard: shard.index[axis].start or 0)
        whole = np.concatenate([np.asarray(shard.data) for shard in shards], axis=axis)
        return whole[(slice(None),) * axis + (slice(len(self.mine())),)]


def place(devices: Any, num_envs: int) -> Placement:
    """Place environments on `devices`: a number, a list or a mesh; all devices of all processes if None."""
    import jax

    chosen = _devices(devices)
    if not any(device.process_index == jax.process_index() for device in chosen):
        raise ValueError(f"process {jax.process_index()} has none of the devices: leave devices= out.")
    return Placement(jax.sharding.Mesh(np.array(chosen), ("envs",)), num_envs)


def _devices(devices: Any) -> list[Any]:
    import jax

    if devices is None:
        default = jax.config.jax_default_device  # of `with jax.default_device(…)`
        return [default] if isinstance(default, jax.Device) else list(jax.devices(default))
    if isinstance(devices, jax.sharding.Mesh):
        return list(devices.devices.flat)
    if isinstance(devices, int) and not isinstance(devices, bool):
        if not 1 <= devices <= len(jax.devices()):
            raise ValueError(f"devices={devices} is out of range: JAX has {len(jax.devices())}.")
        return list(jax.devices()[:devices])
    if isinstance(devices, Sequence) and devices and all(isinstance(one, jax.Device) for one in devices):
        if len(set(devices)) != len(devices):
            raise ValueError(f"devices={brief(devices)} names a device twice.")
        return list(devices)
    raise TypeError(f"devices={brief(devices)} is neither a number, nor a list of JAX's devices, nor a mesh.")


@functools.lru_cache(maxsize=64)
def _cutter(place: Placement) -> Callable[[Tree], Tree]:
    import jax

    def cut(tree: Tree) -> Tree:
        return jax.tree.map(lambda value: value[: place.num_envs], tree)

    compiled: Callable[[Tree], Tree] = jax.jit(cut, out_shardings=place.everywhere())
    return compiled


@functools.lru_cache(maxsize=64)
def _fitter(place: Placement) -> Callable[[Tree], Tree]:
    import jax

    rows = np.minimum(np.arange(place.padded), place.num_envs - 1)

    def fit(tree: Tree) -> Tree:
        return jax.tree.map(lambda value: value[rows], tree)

    compiled: Callable[[Tree], Tree] = jax.jit(fit, out_shardings=place.spread())
    return compiled
