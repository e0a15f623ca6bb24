"""What an author writes: the game, the values its rules return, chance, layouts and looks."""
