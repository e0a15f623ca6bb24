"""Coats for other libraries' conventions, over the vector environment and the pure functions."""
