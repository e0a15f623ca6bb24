"""The phases of a step, one file each."""
