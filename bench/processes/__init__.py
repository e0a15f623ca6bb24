"""Worker processes: one protocol to start them, ask them, and learn why one failed."""
