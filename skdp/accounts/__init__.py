"""What pipelines and other composed estimators have spent."""

from .report import TotalSpent, privacy_spent

__all__ = ["TotalSpent", "privacy_spent"]
