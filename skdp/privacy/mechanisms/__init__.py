"""Mechanisms: how an exact answer becomes a private one."""
