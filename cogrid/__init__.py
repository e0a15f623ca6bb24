"""cogrid: multi-agent grid worlds, one pure step function on NumPy and on JAX."""

from cogrid._io import installed, interrupt

# Under `python -m cogrid`, Ctrl-C prints one line even during these imports.
if interrupt.is_command():
    interrupt.at_once()

from cogrid._core.compile.spec import Spec
from cogrid._scale.rollout import rollout
from cogrid.cogrid_env import CoGridEnv
from cogrid.envs.registry import make, make_vec, options, register, registered
from cogrid.vector import VectorEnv

installed.check_alone(as_command=interrupt.is_command())
__version__ = installed.version()

__all__ = [
    "CoGridEnv",
    "Spec",
    "VectorEnv",
    "__version__",
    "make",
    "make_vec",
    "options",
    "register",
    "registered",
    "rollout",
]
