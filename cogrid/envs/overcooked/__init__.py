"""Overcooked: cook soups together and serve them."""
