"""Random worlds: the engine against a slow interpreter of the documented order of a step."""
