"""Drawing: reads a state, never touches it."""
