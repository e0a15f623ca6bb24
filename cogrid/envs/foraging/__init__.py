"""Level-based foraging: agents cooperate to load food that none of them could load alone."""
