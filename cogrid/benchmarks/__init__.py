"""Benchmarks: measure environments; what is fast enough is judged elsewhere, by `python -m bench`."""
