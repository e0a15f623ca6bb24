"""What is read from a state: observations and infos."""
