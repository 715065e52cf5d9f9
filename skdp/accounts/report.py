"""The total spend of a fitted pipeline, or of any estimator that is composed of others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..exceptions import PrivacyLeakWarning
from ..notices import warn_user
from ..privacy.composition import common_adjacency, compose
from ..privacy.ledger import PrivacySpent
from ..privacy.receipts import Receipt
from .findings import Findings
from .walk import found_in

__all__ = ["TotalSpent", "privacy_spent"]


@dataclass(frozen=True)
class TotalSpent:
    """What several fits on the same rows have spent together.

    Parameters
    ----------
    epsilon : float
        Of the total.
    delta : float
        Of the total.
    adjacency : str
        Neighbouring relation for which it holds.
    receipts : tuple of Receipt
        What it is composed of, fit by fit; ``who`` names the step.
    """

    epsilon: float
    delta: float
    adjacency: str
    receipts: tuple[Receipt, ...]

    @property
    def spent(self) -> PrivacySpent:
        """The total as a pair."""
        return PrivacySpent(self.epsilon, self.delta)

    def __str__(self) -> str:
        lines = [f"epsilon={self.epsilon:.6g} at delta={self.delta:.6g} ({self.adjacency})"]
        for receipt in self.receipts:
            note = "" if receipt.adjacency == self.adjacency else f" ({receipt.adjacency})"
            epsilon, delta = receipt.spent
            fits = f"{receipt.fits} fits of " if receipt.fits > 1 else ""
            spent = f"epsilon={epsilon:.6g} at delta={delta:.6g}{note}"
            lines.append(f"  {receipt.who}: {fits}{spent}")
        return "\n".join(lines)


def privacy_spent(estimator: Any, delta: float | None = None) -> TotalSpent:
    """What a fitted pipeline, search or ensemble has spent, all of its fits together.

    Takes apart what scikit-learn composes (pipelines, column transformers, unions, one-vs-rest,
    voting, stacking, bagging, grid and random searches) and composes the receipts of all fits, by
    the least bound that is known to be valid: exactly if all noise is Gaussian, else by Renyi
    divergences, privacy loss distributions, or sums (:mod:`skdp.privacy.composition`). All fits
    count as fits on the same rows.

    A step that learned from rows without a receipt is refused, and so is one of which that cannot
    be ruled out. Steps that learn nothing are accepted: ``FunctionTransformer``, ``Normalizer``,
    ``OneHotEncoder(categories=[...])`` and such; :mod:`skdp.accounts.stateless` has the list.

    The fits of ``GridSearchCV`` and ``RandomizedSearchCV`` are all counted: candidates, times the
    folds that a row takes part in, and the last one. That is what such a search costs in fits; its
    scores, and its choice, are exact, and a warning says so. Use the searches of
    :mod:`skdp.model_selection`, whose receipt covers all of it.

    Parameters
    ----------
    estimator : estimator, or list or tuple of estimators
        Fitted; if several, on the same rows.
    delta : float, optional
        At which delta the total is wanted. By default the largest of the fits, or, if there is no
        bound at that, the sum of them.

    Returns
    -------
    TotalSpent
        With ``epsilon``, ``delta`` and the receipts behind them. Fits under different neighbouring
        relations are brought to replace-one, where those under zero-out count about twice.

    Raises
    ------
    ValueError
        If a step has learned from rows without a receipt, or may have, naming all of them; or if
        something is not fitted.

    Warns
    -----
    PrivacyLeakWarning
        If something is public beyond the receipts, or has to be taken on trust.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> import skdp
    >>> from skdp.preprocessing import DPStandardScaler
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> model = skdp.DPLogisticRegression(epsilon=0.8, classes=[0, 1], data_norm=4.0)
    >>> scaler = DPStandardScaler(epsilon=0.6, bounds=(-5, 5))
    >>> pipeline = make_pipeline(scaler, model).fit(X, X[:, 0] > 0)
    >>> print(skdp.privacy_spent(pipeline))
    epsilon=1.03186 at delta=1e-05 (replace_one)
      Pipeline.dpstandardscaler: epsilon=0.6 at delta=1e-05
      Pipeline.dplogisticregression: epsilon=0.8 at delta=1e-05
    """
    found = Findings()
    if isinstance(estimator, list | tuple):
        for k, one in enumerate(estimator):
            found.join(found_in(one, f"{type(one).__name__} {k}"))
    else:
        found = found_in(estimator, type(estimator).__name__)
    if found.refused:
        listed = "".join(f"\n- {reason}" for reason in found.refused)
        raise ValueError(f"privacy_spent needs a receipt of every step that learned:{listed}")
    if found.leaks:
        listed = "; ".join(found.leaks)
        warn_user(f"The total does not cover all that is public: {listed}.", PrivacyLeakWarning)
    receipts = _once([receipt for receipt in found.receipts if not receipt.nothing])
    relation = common_adjacency(receipts)
    total = compose(receipts, delta, relation)
    return TotalSpent(total.epsilon, total.delta, str(relation), tuple(receipts))


def _once(receipts: list[Receipt]) -> list[Receipt]:
    """The receipts, with that of a search once, however many steps of its winner show it."""
    found: dict[object, Receipt] = {}
    for k, receipt in enumerate(receipts):
        key = replace(receipt, who="") if receipt.search else k
        if key in found:
            receipt = replace(receipt, who=f"{found[key].who}, {receipt.who}")
        found[key] = receipt
    return [*found.values()]
