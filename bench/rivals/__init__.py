"""The sides of a comparison: how cogrid and each of its peers is run, every one in a process of its own."""
