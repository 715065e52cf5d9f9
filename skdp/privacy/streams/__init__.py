"""Sessions of streams: running sums over rows that arrive one after another."""
