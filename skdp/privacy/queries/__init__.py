"""The queries an oracle answers, one file a query, with the proof of its sensitivity."""
