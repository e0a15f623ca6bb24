"""Arena: many agents among random walls; no goal, a stress test for movement and observation."""
