"""Drawing: reads states, never changes them."""
