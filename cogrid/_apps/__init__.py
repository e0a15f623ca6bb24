"""The commands of `python -m cogrid`."""
