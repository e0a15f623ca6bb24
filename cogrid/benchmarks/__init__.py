"""Benchmarks: measure environments; whether they are fast enough is judged by `python -m bench`."""
