"""Tests of what examples/ promise beyond running."""
