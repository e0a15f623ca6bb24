"""Reading and writing: atomic files, limits for untrusted input, interrupts."""
