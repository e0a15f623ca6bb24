"""The native backend: the step as C, compiled at first use and called on NumPy's arrays."""
