"""Adapters to the APIs of other libraries, over the vector environment and the pure functions."""
