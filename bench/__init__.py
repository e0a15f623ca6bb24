"""Measuring cogrid: suites, results, baselines, comparisons and reports (repository only, not installed)."""

from pathlib import Path

#: The top of the checkout.
ROOT = Path(__file__).parents[1]
