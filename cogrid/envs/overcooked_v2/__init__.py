"""OvercookedV2: recipes that are drawn, and that cooks must look up or ask for."""
