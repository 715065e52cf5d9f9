"""Sessions of bandits: sums over users of each arm, before and after noise."""
