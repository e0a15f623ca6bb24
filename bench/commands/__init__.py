"""The commands of python -m bench, one module each."""
