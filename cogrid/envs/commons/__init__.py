"""Commons: social dilemmas around apples that grow back only where they are looked after."""
