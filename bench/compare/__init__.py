"""What changed: findings, counters, intervals and the statistics of an A/B."""
