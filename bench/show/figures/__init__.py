"""Figures, drawn by matplotlib."""
