"""Streams: rows that come one after another, and a current private model."""

from .stream import Stream

__all__ = ["Stream"]
