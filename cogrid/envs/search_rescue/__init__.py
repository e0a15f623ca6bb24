"""Search and rescue: agents with different tools clear rubble, unlock doors and save victims."""
