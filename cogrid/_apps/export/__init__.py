"""The command that writes an environment as a program in another language."""
