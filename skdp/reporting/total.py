"""The total spend of a fitted pipeline, or of any estimator that is composed of others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.adjacency import PrivacyUnit
from ..validation import shown
from .composition import common_adjacency, common_unit, compose
from .composition_verdicts import fitted_parts, nested_estimators, verdict_of, warn_of
from .open_budgets import BudgetedEstimator
from .privacy_ledger import NEW_ROWS, of_stream
from .receipts import Receipt


@dataclass(frozen=True)
class TotalSpent:
    """Total privacy loss of several fits on the same rows.

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
    unit : str, default='row'
        What it is about: ``'row'``, or ``'privacy_unit'`` for all rows of one together.
    """

    epsilon: float
    delta: float
    adjacency: str
    receipts: tuple[Receipt, ...]
    unit: str = str(PrivacyUnit.ROW)

    @property
    def spent(self) -> PrivacySpent:
        """The total as a pair."""
        return PrivacySpent(self.epsilon, self.delta)

    def __str__(self) -> str:
        declared = self.unit == PrivacyUnit.DECLARED
        of = f"{self.adjacency}{', all rows of a privacy unit' if declared else ''}"
        lines = [f"epsilon={self.epsilon:.6g} at delta={self.delta:.6g} ({of})"]
        for receipt in self.receipts:
            note = "" if receipt.adjacency == self.adjacency else f" ({receipt.adjacency})"
            epsilon, delta = receipt.spent
            fits = f"{receipt.fits} fits of " if receipt.fits > 1 else ""
            spent = f"epsilon={epsilon:.6g} at delta={delta:.6g}{note}"
            lines.append(f"  {receipt.who}: {fits}{spent}")
        if any(of_stream(receipt.events) for receipt in self.receipts):
            lines.append(f"  holds if {NEW_ROWS}")
        return "\n".join(lines)

    __repr__ = __str__


def privacy_spent(estimator: Any, delta: float | None = None) -> TotalSpent:
    """Total of what a fitted pipeline, ensemble or search has spent, all of its fits together.

    Takes apart what :data:`skdp.reporting.TABLE` says is covered (pipelines, column transformers,
    unions and a few ensembles) and composes the receipts of all fits in it by the least bound that
    is known to be valid: exactly if all noise is Gaussian, else by Renyi divergences, privacy loss
    distributions, or sums (:mod:`skdp.reporting.composition`). All fits count as fits on the same
    rows; a single fit is what its ``privacy_spent_`` says. Verdicts depend on classes,
    parameters and the privacy unit, and never on how a fit went.

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
    TypeError
        If something is no estimator.
    ValueError
        If a part has read rows without a receipt, or may have, naming all of them and what to use
        instead where that is known; if something is not fitted; or if some fits protect rows and
        others privacy units.

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
    return total_spent("privacy_spent", estimator, delta)


def total_spent(who: str, estimator: Any, delta: float | None = None) -> TotalSpent:
    """The total, as :func:`privacy_spent` says it, for whom errors and warnings name.

    Parameters
    ----------
    who : str
        For whom it calls.
    estimator, delta
        As there.
    """
    check_subjects(who, estimator)
    found = Found.of(estimator)
    if found.refused:
        listed = "".join(f"\n- {reason}" for reason in found.refused)
        raise ValueError(f"{who} needs parts of which the privacy is known:{listed}")
    warn_of(who, found.leaks)
    receipts = found.spending
    relation = common_adjacency(receipts)
    total = found.total(delta)
    facts = total.epsilon, total.delta, str(relation), tuple(receipts)
    return TotalSpent(*facts, unit=str(common_unit(receipts)))


def check_subjects(who: str, subject: Any, others: str = " or several of them") -> None:
    """Refuse what is no model, has no receipt, and would be told to have spent nothing.

    Parameters
    ----------
    who : str
        For whom it calls.
    subject : object
        As a user has passed it.
    others : str
        What may be passed in place of one model.

    Raises
    ------
    TypeError
        If it, or an entry of a list, is none.
    """
    for model in subject if isinstance(subject, list | tuple) else [subject]:
        known = hasattr(model, "get_params") or hasattr(model, "privacy_spent_")
        if isinstance(model, type) or not known:
            raise TypeError(
                f"{who} needs a fitted model{others}, got {shown(model)}; pass the object that "
                "was fitted."
            )


@dataclass
class Found:
    """Receipts, models and verdicts found on the way through a fitted estimator.

    Parameters
    ----------
    receipts : list of Receipt
        Of all fits.
    models : dict of str to estimator
        What has them, by name.
    refused : list of str
        Sentences about parts of which the privacy is not known, those that are not fitted included.
    unfitted : list of str
        Sentences about the latter alone.
    leaks : list of str
        Sentences about what is public beyond the receipts.
    unit : PrivacyUnit, default=PrivacyUnit.ROW
        What verdicts are about: all rows of a unit together if one of the fits protects these.
    steps : list of estimator
        What stands around the models and learns nothing.
    facts : list of str
        Sentences about what :func:`skdp.privatize` was told, and where that comes from.
    """

    receipts: list[Receipt] = field(default_factory=list)
    models: dict[str, Any] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    unfitted: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    unit: PrivacyUnit = PrivacyUnit.ROW
    steps: list[Any] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """All that is found in an estimator, or in each of a list.

        Parameters
        ----------
        estimator : estimator, or list or tuple of estimators
            Fitted or not.
        """
        several = isinstance(estimator, list | tuple)
        subjects = (
            [(one, f" {k}") for k, one in enumerate(estimator)] if several else [(estimator, "")]
        )
        # Units are declared to fits, and verdicts on what is around these depend on them.
        for unit in PrivacyUnit.ROW, PrivacyUnit.DECLARED:
            found = cls(unit=unit)
            for one, which in subjects:
                found.look(one, f"{type(one).__name__}{which}")
            if all(receipt.unit is unit for receipt in found.receipts):
                break
        return found

    @property
    def spending(self) -> list[Receipt]:
        """The receipts of fits that have spent something, each once."""
        return _once([receipt for receipt in self.receipts if not receipt.nothing])

    def total(self, delta: float | None = None) -> PrivacySpent:
        """Composition of all fits; a single one is what it states itself.

        Parameters
        ----------
        delta : float, optional
            At which delta it is wanted.
        """
        spending = self.spending
        if delta is None and len(spending) == 1:
            return spending[0].spent
        return compose(spending, delta)

    def look(self, thing: Any, who: str) -> None:
        """Look at an estimator and its parts.

        Parameters
        ----------
        thing : object
            The estimator.
        who : str
            What to call it.
        """
        self.facts += getattr(thing, "_public_facts", ())
        for name, part in nested_estimators(thing, who, fitted=True):
            if isinstance(part, BudgetedEstimator):
                self._private(part, name)
            else:
                self._note(part, name)
                if fitted_parts(part) is None:
                    self._unfitted(name)

    def _private(self, thing: Any, who: str) -> None:
        if not (hasattr(thing, "privacy_ledger_") and hasattr(thing, "privacy_spent_")):
            self._unfitted(who)
            return
        self.receipts.append(Receipt.of(thing, who))
        self.models[who] = thing
        self.facts += getattr(thing, "_rules_taken", ())
        if getattr(thing, "random_state", None) is not None:
            self.leaks.append(f"{who} has a seed, from which anyone can compute its noise")
        if thing._read_classes:
            self.leaks.append(f"{who} has read the set of classes off y; pass classes=[...]")
        # A search has fitted its template many times.
        for name, part in nested_estimators(getattr(thing, "estimator", None), f"{who}.estimator"):
            self._note(part, name)

    def _unfitted(self, who: str) -> None:
        sentence = f"{who} is not fitted"
        self.refused.append(sentence)
        self.unfitted.append(sentence)

    def _note(self, part: Any, who: str) -> None:
        verdict = verdict_of(part, self.unit)
        if hasattr(part, "get_params"):
            self.steps.append(part)
        if verdict.kind == "refused":
            self.refused.append(f"{who} {verdict.why}")
        elif verdict.kind == "leaks":
            self.leaks.append(f"{who} {verdict.why}")


def _once(receipts: list[Receipt]) -> list[Receipt]:
    """The receipts, with that of a search once, however many steps of its winner show it."""
    found: dict[object, Receipt] = {}
    for k, receipt in enumerate(receipts):
        key = replace(receipt, who="") if receipt.search else k
        if key in found:
            receipt = replace(receipt, who=f"{found[key].who}, {receipt.who}")
        found[key] = receipt
    return [*found.values()]
