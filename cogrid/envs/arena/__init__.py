"""Arena: many agents among walls drawn from the key; no goal, a load for movement and observation."""
