"""Other libraries beside cogrid, and the targets."""
