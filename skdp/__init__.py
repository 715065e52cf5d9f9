"""Differentially private linear models for scikit-learn."""

from importlib import import_module
from typing import Any

from .bandit import DPContextualBandit
from .estimators import (
    DPHazardRegressor,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPSVMClassifier,
    load_checkpoint,
    save_checkpoint,
)
from .estimators.fit_plan import FitPlan
from .estimators.forecast import Plan
from .estimators.inference import Inference, inference
from .exceptions import (
    BudgetExceededError,
    BudgetWarning,
    NoPrivacyWarning,
    PrivacyLeakWarning,
    SeededNoiseWarning,
    UnresolvedWarning,
)
from .model_selection.evaluation import Evaluation, evaluate
from .privacy import PrivacySpent
from .privacy.rows import Chunks
from .privatization import PrivatizePlan, plan, privatize
from .reporting import (
    PrivacyBudget,
    PrivacyReport,
    TotalSpent,
    privacy_spent,
    report,
    show_versions,
    split_budget,
)

__version__ = "0.1.0"

__all__ = [
    "BudgetExceededError",
    "BudgetWarning",
    "Chunks",
    "DPContextualBandit",
    "DPHazardRegressor",
    "DPLassoRegressor",
    "DPLinearRegression",
    "DPLogisticRegression",
    "DPPoissonRegressor",
    "DPQuantileRegressor",
    "DPSVMClassifier",
    "Evaluation",
    "FitPlan",
    "Inference",
    "NoPrivacyWarning",
    "Plan",
    "PrivacyBudget",
    "PrivacyLeakWarning",
    "PrivacyReport",
    "PrivacySpent",
    "PrivatizePlan",
    "SeededNoiseWarning",
    "TotalSpent",
    "UnresolvedWarning",
    "evaluate",
    "inference",
    "load_checkpoint",
    "plan",
    "privacy_spent",
    "privatize",
    "report",
    "save_checkpoint",
    "show_versions",
    "split_budget",
]

# Of no use to most fits, so they are loaded when they are named.
_ON_DEMAND = ("audit", "testing")
# Whose classes users pass or look up.
_FOLDERS = (
    *("bandit", "federated", "model_selection", "preprocessing", "privacy", "problem"),
    *("reporting", "solvers"),
)


def __dir__() -> list[str]:
    return sorted(["__version__", *__all__, *_ON_DEMAND, *_FOLDERS])


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return import_module(f"{__name__}.{name}")
    refusal = f"module {__name__!r} has no attribute {name!r}"
    if name.startswith("DP"):
        models = ", ".join(model for model in __all__ if model.startswith("DP"))
        refusal += (
            f". Its models are {models}; ridge regression is DPLinearRegression(alpha=...). "
            "Scalers are in skdp.preprocessing, searches in skdp.model_selection."
        )
    raise AttributeError(refusal)
