"""bench: the cases as data, the runner, its result files, and what is read from them."""
