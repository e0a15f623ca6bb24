"""Level-based foraging: agents load food together that none of them is strong enough to load alone."""
