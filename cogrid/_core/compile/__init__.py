"""Python becomes numbers: asks the game's functions, checks the answers and numbers the things."""
