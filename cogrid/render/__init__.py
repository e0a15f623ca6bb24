"""Drawing: reads states, never changes them."""

from cogrid.render.film import Film
from cogrid.render.picture import picture

__all__ = ("Film", "picture")
