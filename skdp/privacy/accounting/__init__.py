"""Accounting: what releases cost, and the ledger that they are charged to."""
