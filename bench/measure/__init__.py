"""What can be measured of a case."""
