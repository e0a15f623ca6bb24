"""Human games: overcooked_ai's published recordings, checked against the engine, as replays and arrays."""
