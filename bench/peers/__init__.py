"""Peers: cogrid and other libraries on the same work, and which targets are met."""
