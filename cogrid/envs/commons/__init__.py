"""Commons: social dilemmas around apples that grow back only if players look after them."""
