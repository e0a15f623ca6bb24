"""OvercookedV2."""
