"""Tests of playing in a browser, without one."""
