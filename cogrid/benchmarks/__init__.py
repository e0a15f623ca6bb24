"""Benchmarks: measure environments; whether they are fast enough is judged by `python -m bench`."""

from cogrid.benchmarks.clock import peak_memory

__all__ = ("peak_memory",)
