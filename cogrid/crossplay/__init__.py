"""Cross-play: how well policies play with partners that they were not trained with."""
