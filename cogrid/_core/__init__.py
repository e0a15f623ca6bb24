"""Layer 1: the grid world, written once for every backend."""
