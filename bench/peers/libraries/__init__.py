"""The libraries that are measured, one module each."""
