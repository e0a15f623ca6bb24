"""The grid world, written once for every backend."""
