"""Private counterparts of estimators of scikit-learn's."""

from .privatize import privatize
from .privatize_plan import PlannedStep, PrivatizePlan, WantedFact

__all__ = ["PlannedStep", "PrivatizePlan", "WantedFact", "privatize"]
