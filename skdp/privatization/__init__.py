"""Private counterparts of estimators of scikit-learn's."""

from .facts import PublicFact
from .privatize import plan, privatize
from .privatize_plan import PlannedStep, PrivatizePlan, WantedFact

__all__ = ["PlannedStep", "PrivatizePlan", "PublicFact", "WantedFact", "plan", "privatize"]
