"""The trusted base: everything that an auditor of the privacy claim must read."""

from .adjacency import Adjacency
from .ledger import PrivacySpent

__all__ = ["Adjacency", "PrivacySpent"]
