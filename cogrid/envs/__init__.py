"""The environments, as data and small functions."""
