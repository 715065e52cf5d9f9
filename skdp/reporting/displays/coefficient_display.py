"""Coefficients beside what noise does to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..display import ABOVE, Display


@final
class CoefficientDisplay(Display):
    """Coefficients of several private fits to the same rows: their means, and how noise moves them.

    Ledgers tell the noise of gradients and moments, and not what that does to coefficients, which
    depends on the rows. Between fits of one model to the same rows nothing but noise differs, so
    several of them show it, as post-processing of what is paid for. A single fit by the solver
    ``'one_step'`` has released standard errors, which hold the noise of sampling as well. Each fit
    is a dot, and bars are two standard errors of the mean, or of a single fit.

    Parameters
    ----------
    names : list of str
        Of the features.
    coefficients : ndarray of shape (n_fits, n_features)
        Of each fit, in the units of the features.
    standard_errors : ndarray of shape (n_features,), optional
        Released errors of a single fit, of sampling and noise together.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.reporting.displays import CoefficientDisplay
    >>> CoefficientDisplay(["age"], np.array([[1.0], [3.0]])).means
    array([2.])
    """

    def __init__(
        self,
        names: list[str],
        coefficients: np.ndarray,
        standard_errors: np.ndarray | None = None,
    ) -> None:
        self.names, self.coefficients = names, coefficients
        self.standard_errors = standard_errors

    @property
    def means(self) -> np.ndarray:
        """Mean of each coefficient over the fits."""
        return np.asarray(self.coefficients.mean(axis=0))

    @property
    def noise(self) -> np.ndarray:
        """Standard deviation of each coefficient of a single fit, estimated from several."""
        return np.asarray(self.coefficients.std(axis=0, ddof=1))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *others: Any,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the coefficients of several fits, or of one that has released their errors.

        Each fit has spent its own budget on the rows; :func:`skdp.privacy_spent` adds them up. For
        k fits that cost together what one of mu costs, give each ``mu / sqrt(k)``.

        Parameters
        ----------
        estimator : estimator
            A fitted private linear model with one coefficient a feature.
        *others : estimator
            Fits of clones to the same rows, at least one unless the model has ``inference_``.
        feature_names : sequence of str, optional
            By default those that the model has seen.
        ax : matplotlib axes, optional
            Where to draw; by default new ones.

        Raises
        ------
        ValueError
            If there is one fit alone, whose noise no ledger tells, or fits differ in more than
            noise.
        """
        models = [estimator, *others]
        for model in models:
            check_is_fitted(model)
        inference = None if others else vars(estimator).get("inference_")
        if not others and inference is None:
            plan = getattr(estimator, "plan_", None)
            solver = "its solver" if plan is None else type(plan.solver).__name__
            raise ValueError(
                f"CoefficientDisplay needs several fits of {type(estimator).__name__} to the same "
                f"rows, got one: the ledger of {solver} tells the noise of answers, and not what "
                "it does to coefficients. Pass clones that were fitted to the same rows, each with "
                "a part of the budget, or one that was fitted by the solver 'one_step'."
            )
        found = [_coefficients(model) for model in models]
        if len({(type(m), _settings(m), c.shape) for m, c in zip(models, found, strict=True)}) > 1:
            raise ValueError(
                "CoefficientDisplay needs fits that differ in nothing but noise, got other "
                "classes, parameters or numbers of features. Fit clones of one model."
            )
        names = getattr(estimator, "feature_names_in_", None)
        names = names if feature_names is None else feature_names
        if names is None:
            names = [f"x{k}" for k in range(found[0].size)]
        if len(names) != found[0].size:
            raise ValueError(
                f"CoefficientDisplay needs {found[0].size} feature_names, got {len(names)}."
            )
        errors = None if inference is None else inference.bse[: found[0].size]
        return cls([str(name) for name in names], np.stack(found), errors).plot(ax=ax)

    @property
    def _bars(self) -> int:
        return len(self.names)

    def _draw(self, ax: Any) -> None:
        places, (k, _) = np.arange(len(self.names)), self.coefficients.shape
        if self.standard_errors is None:
            errors = self.noise / np.sqrt(k)
            label = f"mean of {k} fits, two standard errors"
            for number, fit in enumerate(self.coefficients):
                of_fit = "one fit" if number == 0 else None
                ax.plot(fit, places, ".", color="0.6", label=of_fit)
        else:
            errors = self.standard_errors
            label = "one fit, two standard errors of sampling and noise"
        style = {"fmt": "o", "color": "C0", "capsize": 3}
        ax.errorbar(self.means, places, xerr=2 * errors, label=label, **style)
        ax.axvline(0.0, color="0.3", linewidth=0.8)
        ax.set_yticks(places, self.names)
        ax.invert_yaxis()
        ax.set_xlabel("coefficient")
        ax.legend(ncols=2, **ABOVE)


def _coefficients(model: Any) -> np.ndarray:
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else np.asarray(model.coef_)
    if coef.ndim == 2 and coef.shape[0] > 1:
        raise ValueError(
            "CoefficientDisplay needs models with one coefficient a feature, got "
            f"{coef.shape[0]} classes or targets in {type(model).__name__}."
        )
    return coef.ravel()


def _settings(model: Any) -> str:
    return repr(model.set_params().get_params() | {"random_state": None, "verbose": 0})
