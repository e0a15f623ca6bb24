"""Overcooked compared with its reference implementations."""
