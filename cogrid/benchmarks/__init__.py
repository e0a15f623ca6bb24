"""Benchmarks: measure environments; whether they are fast enough is judged by `python -m bench`."""

from cogrid._scale.chunks import chunk_for
from cogrid.benchmarks.clock import peak_memory

__all__ = ("chunk_for", "peak_memory")
