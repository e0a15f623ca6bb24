"""Layer 2: the environments, as data and small functions."""
