"""Kernel: all that reads rows for an answer, draws secret noise, or charges a ledger."""

from .accounting import gdp
from .accounting.ledger import PrivacySpent
from .adjacency import Adjacency

__all__ = ["Adjacency", "PrivacySpent", "gdp"]
