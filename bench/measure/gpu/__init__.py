"""What an NVIDIA GPU would run, counted in programs that are compiled for it where there is none."""
