"""States: how they are made, changed, checked, compared and saved."""
