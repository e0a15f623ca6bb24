"""Tables that several phases read: rule rows, targets, and marks of things."""
