"""Recorded games of the reference implementation, replayed without it."""
