"""Playing in a browser: people and policies in one environment, and a viewer for replays."""
