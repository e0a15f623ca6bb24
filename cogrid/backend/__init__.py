"""Arrays, random keys and the state; NumPy always, JAX when an environment asks for it."""
