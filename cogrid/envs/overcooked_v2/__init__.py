"""OvercookedV2: random recipes that cooks must look up or ask for."""
