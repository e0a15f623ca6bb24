"""Fuzzers and injected faults: hostile inputs are judged one by one, and counted."""
