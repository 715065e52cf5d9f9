"""Sessions of a bandit: where its users' rows meet noise, and nowhere else."""
