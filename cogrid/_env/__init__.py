"""What both stateful environments share."""
