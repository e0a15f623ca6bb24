"""What an NVIDIA GPU would run, counted in programs compiled for one on a machine without it."""
