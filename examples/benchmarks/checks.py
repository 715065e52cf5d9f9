"""Counts scikit-learn's own checks, passed and failed, for every estimator with every solver.

Run with::

    python examples/benchmarks/checks.py [name ...]

Names select estimators, or solvers. Prints a row for each estimator and solver, then what failed
and why, and ends with status 1 if anything failed. It takes a few minutes.

A pair of an estimator and a solver that refuses its losses altogether has no checks to pass; the
refusal is shown instead, and the run fails if it is missing.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

from skdp import (
    DPContextualBandit,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
    DPSVMClassifier,
)
from skdp.bandit.policies import POLICIES
from skdp.problem.constraints import L1Ball, L2Ball
from skdp.problem.losses import HuberisedHinge
from skdp.solvers import SOLVERS

ESTIMATORS: dict[str, type[BaseEstimator]] = {
    cls.__name__: cls
    for cls in (
        DPLogisticRegression,
        DPSVMClassifier,
        DPLinearRegression,
        DPLassoRegressor,
        DPQuantileRegressor,
    )
}
OF_QUANTILES = "takes the pinball loss only"
OF_SMOOTH = "takes smooth losses only"
OF_RESIDUALS = "takes losses of residuals only"
OF_LOG_ODDS = "takes the logistic loss or softmax only"
OF_CLASSES = "takes losses of two classes only"
NO_PENALTY = "takes no l1 penalty"
# What a solver needs to take the problems of an estimator at all, or why it takes none of them.
BOUNDS = {"data_norm": 10.0}
# Of so few rows a small budget is refused.
MUCH = {"epsilon": 1e4}
ALL_BOUNDS = {**BOUNDS, "target_bounds": (-10.0, 10.0)}
NEEDS: dict[str, dict[str, dict[str, Any] | str]] = {
    "DPLogisticRegression": {
        "quantile_gd": OF_QUANTILES,
        **dict.fromkeys(("adassp", "screening", "tracked_gd"), OF_RESIDUALS),
        **dict.fromkeys(("dda", "ftrl"), BOUNDS),
        "one_step": MUCH,
        "frank_wolfe": {**BOUNDS, "constraint": L1Ball(10.0)},
    },
    "DPSVMClassifier": {
        "quantile_gd": OF_QUANTILES,
        **dict.fromkeys(("adassp", "screening", "tracked_gd"), OF_RESIDUALS),
        **dict.fromkeys(("dda", "ftrl"), BOUNDS),
        "preconditioned_gd": OF_LOG_ODDS,
        "one_step": OF_LOG_ODDS,
        "frank_wolfe": {**BOUNDS, "constraint": L2Ball(10.0), "loss": HuberisedHinge()},
    },
    "DPLinearRegression": {
        "quantile_gd": OF_QUANTILES,
        "dual_averaging": OF_LOG_ODDS,
        "preconditioned_gd": OF_LOG_ODDS,
        "objective_perturbation": OF_CLASSES,
        "one_step": MUCH,
        **dict.fromkeys(("dda", "ftrl"), ALL_BOUNDS),
        "frank_wolfe": {**ALL_BOUNDS, "constraint": L1Ball(10.0)},
    },
    "DPLassoRegressor": {
        "quantile_gd": OF_QUANTILES,
        **dict.fromkeys(("adassp", "one_step"), NO_PENALTY),
        "dual_averaging": OF_LOG_ODDS,
        "preconditioned_gd": OF_LOG_ODDS,
        "objective_perturbation": OF_CLASSES,
        **dict.fromkeys(("dda", "ftrl"), ALL_BOUNDS),
        "frank_wolfe": {**ALL_BOUNDS, "alpha": 0.01},
    },
    "DPQuantileRegressor": {
        **dict.fromkeys(("accmd", "frank_wolfe", "spider", "svrg"), OF_SMOOTH),
        **dict.fromkeys(("adassp", "one_step", "screening", "tracked_gd"), OF_RESIDUALS),
        "dual_averaging": OF_LOG_ODDS,
        "preconditioned_gd": OF_LOG_ODDS,
        "objective_perturbation": OF_CLASSES,
        **dict.fromkeys(("dda", "ftrl"), ALL_BOUNDS),
    },
}


class BanditOnRows(DPContextualBandit):  # type: ignore[misc]
    """A bandit with the ``fit(X, y)`` of the checks: y are rewards, and arms take turns."""

    def __init__(self, policy="auto", feature_bound=1.0, random_state=None):
        super().__init__(
            arms=[0, 1], policy=policy, feature_bound=feature_bound, random_state=random_state
        )
        self.horizon = 10_000

    def fit(self, X, y=None):
        return super().fit(X, *_log(X, y))

    def partial_fit(self, X, y=None):
        return super().partial_fit(X, *_log(X, y))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _log(X, y):
    if y is None:
        raise ValueError("The bandit requires y to be passed, but the target y is None.")
    return np.arange(X.shape[0] if hasattr(X, "shape") else len(X)) % 2, y


# Checks that cannot pass, and why.
NOT_REPEATED = (
    "the number of rows is public and sets the noise, weights count up to max_weight, and two fits "
    "do not share their noise: a row of weight 2 is not the row twice"
)
NOT_TOLD = "whether anybody has a weight is a fact about the rows, which an error would tell of"
EXPECTED = {
    "check_all_zero_sample_weights_error": NOT_TOLD,
    "check_sample_weight_equivalence_on_dense_data": NOT_REPEATED,
    "check_sample_weight_equivalence_on_sparse_data": NOT_REPEATED,
}
OF_SOLVERS = {
    "one_step": {
        "check_class_weight_classifiers": "weights of classes would change what coefficients mean"
    }
}
OF_BANDITS = {
    "check_fit_score_takes_y": "partial_fit after fit would be another run; it takes a clone",
}
ONE_USER = {"check_fit2d_1sample": "one user cannot pull two arms; refused in words of its own"}
OF_POLICIES = {"ftrl": ONE_USER, "hdb": ONE_USER}


def counted(
    estimator: BaseEstimator, expected: dict[str, str]
) -> tuple[Counter[str], dict[str, str]]:
    """How often each status came out, and the reasons of failures by the name of the check."""
    with warnings.catch_warnings():
        # Checks set seeds, leave out classes, and have too few rows for bounds to be found.
        warnings.simplefilter("ignore")
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(
            estimator, expected_failed_checks=expected, on_fail=None, on_skip=None
        )
    failures = {
        r["check_name"]: f"{type(r['exception']).__name__}: {r['exception']}"
        for r in results
        if r["status"] == "failed"
    }
    return Counter(r["status"] for r in results), failures


def refused(estimator: BaseEstimator) -> str:
    """The message with which data are refused that any classifier or regressor can take."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.fit(X, (X[:, 0] > 0).astype(int))
    except ValueError as error:
        return str(error)
    return ""


def main(names: list[str]) -> int:
    chosen = {name for name in names if name in ESTIMATORS} or set(ESTIMATORS)
    solvers = [name for name in names if name in SOLVERS] or ["auto", *SOLVERS]
    print(f"scikit-learn {sklearn.__version__}\n")
    print(f"{'estimator':22}{'solver':24}{'passed':>7}{'failed':>7}{'xfail':>7}{'skipped':>8}")
    reasons: dict[str, str] = {}
    total: Counter[str] = Counter()

    def row(name: str, option: str, estimator: BaseEstimator) -> None:
        bandit = isinstance(estimator, DPContextualBandit)
        of_policy = OF_POLICIES.get(option.removeprefix("policy="), {})
        of_solver = EXPECTED | OF_SOLVERS.get(option, {})
        expected = OF_BANDITS | of_policy if bandit else of_solver
        counts, failures = counted(estimator, expected)
        total.update(counts)
        reasons.update({f"{name}, {option}, {check}": why for check, why in failures.items()})
        numbers = [counts[s] for s in ("passed", "failed", "xfail", "skipped")]
        print(
            f"{name:22}{option:24}" + "{:7}{:7}{:7}{:8}".format(*numbers),
            flush=True,
        )

    for name, cls in ESTIMATORS.items():
        for option in solvers if name in chosen else []:
            need = NEEDS[name].get(option, {})
            if isinstance(need, str):
                message = refused(cls(solver=option))
                print(f"{name:22}{option:24}   {need}")
                if not message:
                    reasons[f"{name}, {option}"] = "takes what it should refuse"
                continue
            row(name, option, cls(solver=option, **need))
    if not names:
        for option in ["auto", *POLICIES]:
            row("DPContextualBandit", f"policy={option}", BanditOnRows(policy=option))
    print("\n" + ", ".join(f"{count} {status}" for status, count in sorted(total.items())))
    for what, why in reasons.items():
        print(f"\n{what}\n  {why[:600]}")
    return 1 if reasons else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
