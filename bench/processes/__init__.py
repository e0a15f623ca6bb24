"""Worker processes: one protocol to start them, send requests, and learn why one failed."""
