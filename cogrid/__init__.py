"""cogrid: multi-agent grid worlds, one pure step function on NumPy and on JAX."""

from importlib.metadata import PackageNotFoundError, version

from cogrid.cogrid_env import CoGridEnv
from cogrid.core.spec import Spec
from cogrid.envs.registry import make, make_vec, register, registered
from cogrid.rollout import rollout
from cogrid.vector import VectorEnv

try:
    __version__ = version("cogrid")
except PackageNotFoundError:  # a bare checkout on the path
    __version__ = "0+unknown"

__all__ = [
    "CoGridEnv",
    "Spec",
    "VectorEnv",
    "__version__",
    "make",
    "make_vec",
    "register",
    "registered",
    "rollout",
]
