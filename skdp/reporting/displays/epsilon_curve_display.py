"""Scores against epsilon, between a forecast and a model without privacy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, final

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import train_test_split

from ...estimators.forecast import forecast
from ...exceptions import PrivacyLeakWarning, warn_user
from ..display import Display
from ..progress_bar import with_progress


@final
class EpsilonCurveDisplay(Display):
    """Scores of a private model at several budgets: means and single fits.

    Parameters
    ----------
    epsilons : ndarray of shape (k,)
        Budgets, increasing.
    scores : ndarray of shape (k, n_fits)
        Score of each fit on rows held out.
    baseline : float or None
        Score of a model without privacy on the same rows.
    forecast : ndarray of shape (k,) or None
        Score that :func:`skdp.plan` expects of each budget, given the baseline.
    score_name : str
        Of the score.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.reporting.displays import EpsilonCurveDisplay
    >>> curve = EpsilonCurveDisplay(np.array([1.0]), np.array([[0.7, 0.8]]), 0.9, None, "accuracy")
    >>> curve.means
    array([0.75])
    """

    def __init__(
        self,
        epsilons: np.ndarray,
        scores: np.ndarray,
        baseline: float | None,
        forecast: np.ndarray | None,
        score_name: str,
    ) -> None:
        self.epsilons, self.scores, self.baseline = epsilons, scores, baseline
        self.forecast, self.score_name = forecast, score_name

    @property
    def means(self) -> np.ndarray:
        """Mean score of each budget."""
        return np.asarray(self.scores.mean(axis=1))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        baseline: Any = None,
        epsilons: Sequence[float] = (0.1, 0.3, 1.0, 3.0, 10.0),
        n_fits: int = 3,
        test_size: float = 0.25,
        random_state: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Fit clones at several budgets, and draw how well they do on rows held out.

        For rows that are public, or to be looked at by those who may see the rows: scores are
        exact, and all fits together have spent far more than each.

        Parameters
        ----------
        estimator : estimator
            A private model, or whatever has a parameter ``epsilon`` and a ``score``.
        X, y : array-like
            Rows and targets.
        baseline : estimator, optional
            A model without privacy to compare with, such as scikit-learn's of the same kind.
        epsilons : sequence of float, default=(0.1, 0.3, 1.0, 3.0, 10.0)
            Budgets.
        n_fits : int, default=3
            Fits for each budget, which differ in noise.
        test_size : float, default=0.25
            Share of the rows that are held out.
        random_state : int, optional
            Decides who is held out, and nothing about noise.
        ax : matplotlib axes, optional
            Where to draw; by default new ones.

        Raises
        ------
        ValueError
            If the estimator has no parameter ``epsilon``.

        Warns
        -----
        PrivacyLeakWarning
            Always.
        """
        if "epsilon" not in estimator.get_params():
            raise ValueError(
                "EpsilonCurveDisplay needs an estimator with a parameter epsilon, got "
                f"{type(estimator).__name__}. Pass the private model itself, with rows that the "
                "steps before it have transformed."
            )
        warn_user(
            f"EpsilonCurveDisplay fits {n_fits * len(epsilons)} models to these rows and scores "
            "them without noise. It is for rows that are public, or for your eyes: to publish it "
            "is a release that no receipt covers.",
            PrivacyLeakWarning,
        )
        parts = train_test_split(X, y, test_size=test_size, random_state=random_state)
        X_train, X_test, y_train, y_test = parts
        budgets = np.sort(np.asarray(epsilons, dtype=np.float64))

        def score(epsilon: float) -> float:
            model = clone(estimator).set_params(epsilon=float(epsilon)).fit(X_train, y_train)
            return float(model.score(X_test, y_test))

        runs = (score(epsilon) for epsilon in budgets for _ in range(n_fits))
        scores = [*with_progress(runs, budgets.size * n_fits, cls.__name__)]
        of_baseline = None
        if baseline is not None:
            of_baseline = float(clone(baseline).fit(X_train, y_train).score(X_test, y_test))
        classifies = is_classifier(estimator)
        expected = None
        if of_baseline is not None:
            n_classes = np.unique(y_train).size if classifies else None
            chance = np.unique(y_test, return_counts=True)[1].max() / len(y_test)
            least = float(chance) if classifies else 0.0
            facts: dict[str, Any] = {"n_classes": n_classes}
            if hasattr(estimator, "adjacency"):
                facts["adjacency"] = str(estimator.adjacency)
            plans = [forecast(*np.shape(X_train), epsilon=float(e), **facts) for e in budgets]
            lost = np.array([plan.expected_loss for plan in plans])
            expected = least + (of_baseline - least) * (1 - lost)
        name = "accuracy on rows held out" if classifies else "R^2 on rows held out"
        by_budget = np.reshape(scores, (budgets.size, n_fits))
        return cls(budgets, by_budget, of_baseline, expected, name).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        for number, fit in enumerate(self.scores.T):
            label = "one fit" if number == 0 else None
            ax.plot(self.epsilons, fit, ".", color="0.6", label=label)
        ax.plot(self.epsilons, self.means, "o-", color="C0", label="private, mean")
        if self.forecast is not None:
            ax.plot(self.epsilons, self.forecast, ":", color="C1", label="forecast of skdp.plan")
        if self.baseline is not None:
            ax.axhline(self.baseline, color="C2", linestyle="--", label="without privacy")
        ax.set_xscale("log")
        ax.set_xticks(self.epsilons, [f"{epsilon:g}" for epsilon in self.epsilons])
        ax.set_xlabel("epsilon")
        ax.set_ylabel(self.score_name)
        ax.legend()
