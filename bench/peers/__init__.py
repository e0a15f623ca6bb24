"""Peers: cogrid beside other libraries on the same work, and how the targets are met."""
