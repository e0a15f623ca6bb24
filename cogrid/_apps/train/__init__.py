"""Training: independent PPO for any environment; its modules need the extra `train`."""
