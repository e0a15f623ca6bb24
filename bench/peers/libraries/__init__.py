"""One module for each library that is measured: its targets, and how it does the work of a case.

The process that keeps the results imports them all: what only the peer's own process needs, JAX and the
library itself, is imported inside functions.
"""
