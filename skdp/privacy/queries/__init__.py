"""The questions an oracle answers, one file a question, with the proof of its sensitivity."""
