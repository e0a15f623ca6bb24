"""One module for each library that is measured: its targets, and how it does the work of a case.

The process that collects the results imports them all: JAX and the library itself, which only the peer's own
process needs, are imported inside functions.
"""
