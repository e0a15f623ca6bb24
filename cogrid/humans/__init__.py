"""Human games: recordings that overcooked_ai published, checked against the engine, as replays and arrays."""
