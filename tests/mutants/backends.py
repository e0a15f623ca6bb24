"""Wrong on one backend only."""

from __future__ import annotations

from .planting import Mutant, Topic

NUMPY = "cogrid/backend/_numpy.py"
JAX = "cogrid/backend/_jax.py"

BACKENDS = Topic(
    tests=("tests/parity", "-k", "Overcooked-CrampedRoom-V0 or Arena-V0"),
    one_backend=True,
    mutants=(
        Mutant(
            "NumPy batches write into the first environment",
            NUMPY,
            "out.reshape(-1)[_flat(grid, index)] = value",
            "out.reshape(-1)[index] = value",
        ),
        Mutant("NumPy settles in one pass", NUMPY, "range(passes, 0, -1)", "range(1, 0, -1)"),
        Mutant(
            "NumPy reads the neighbour's cells",
            NUMPY,
            "return grid.take(_flat(grid, index))",
            "return grid.take(_flat(grid, index) - 1)",
        ),
        Mutant("JAX settles in one pass", JAX, "for _ in range(passes):", "for _ in range(1):"),
        Mutant(
            "JAX adds instead of writing", JAX, "return lax.scatter(grid,", "return lax.scatter_add(grid,"
        ),
        Mutant(
            "JAX conflicts must be with everybody, oneself included",
            JAX,
            "return functools.reduce(operator.or_, found)",
            "return functools.reduce(operator.and_, found)",
        ),
        Mutant(
            "JAX exchanges the words of a key",
            JAX,
            "return jax.random.wrap_key_data(words,",
            "return jax.random.wrap_key_data(words[..., ::-1],",
        ),
    ),
)

TOPICS = (BACKENDS,)
