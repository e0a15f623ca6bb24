"""Large batches: rollouts, devices and checkpoints."""
