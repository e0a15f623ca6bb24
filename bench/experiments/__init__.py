"""Longer studies: the self-check of the A/B, scaling, validation."""
