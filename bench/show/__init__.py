"""Results for people: tables, the history, the HTML report, figures, progress."""
