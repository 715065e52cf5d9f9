"""Shares of the budget, release by release."""

from __future__ import annotations

from typing import Any, Self, final

from .. import PrivacyReport, report
from ..display import ABOVE, Display


@final
class BudgetDisplay(Display):
    """Shares of the budget that releases have cost, in mu^2 of Gaussian differential privacy.

    Each kind of release is a bar, first to last from the top.

    Parameters
    ----------
    labels : list of str
        Kinds of releases, with their number.
    shares : list of float
        What each kind has cost of the total of all fits, in [0, 1].
    fits : list of str
        Name of the fit that each kind belongs to.

    Examples
    --------
    >>> from skdp.reporting.displays import BudgetDisplay
    >>> BudgetDisplay(["coefficients: gradient (100)"], [1.0], ["DPLogisticRegression"]).shares
    [1.0]
    """

    def __init__(self, labels: list[str], shares: list[float], fits: list[str]) -> None:
        self.labels, self.shares, self.fits = labels, shares, fits

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the shares of a fitted model, pipeline or search.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        ax : matplotlib axes, optional
            Where to draw; by default new ones.
        """
        return cls.from_report(report(estimator), ax=ax)

    @classmethod
    def from_report(cls, report: PrivacyReport, *, ax: Any = None) -> Self:
        """Draw the shares that a report tells.

        Parameters
        ----------
        report : PrivacyReport
            By :func:`skdp.report`.
        ax : matplotlib axes, optional
            Where to draw; by default new ones.

        Raises
        ------
        ValueError
            If nothing was released, or a release has no share of its own.
        """
        facts = report.to_dict()
        unknown = [
            f"{kind['mechanism']} of {fit['who']}"
            for fit in facts["fits"]
            for kind in fit["releases"]
            if fit["price"] is None
        ]
        whole = sum(fit["price"] or 0.0 for fit in facts["fits"])
        if unknown or not whole:
            raise ValueError(
                "BudgetDisplay needs releases that are Gaussian or choices, whose shares are "
                f"known, got {'; '.join(unknown) or 'none'}. The report itself lists them."
            )
        kinds = [(fit["who"], kind) for fit in facts["fits"] for kind in fit["releases"]]
        purposes = [(who, kind["purpose"]) for who, kind in kinds]
        labels = []
        for purpose, (_, kind) in zip(purposes, kinds, strict=True):
            query = f": {kind['query']}" if purposes.count(purpose) > 1 else ""
            labels.append(f"{kind['purpose']}{query} ({kind['count']:,})")
        shares = [
            kind["share"] * fit["price"] / whole
            for fit in facts["fits"]
            for kind in fit["releases"]
        ]
        return cls(labels, shares, [who for who, _ in kinds]).plot(ax=ax)

    @property
    def _bars(self) -> int:
        return len(self.labels)

    def _draw(self, ax: Any) -> None:
        places = list(range(len(self.labels)))
        fits = list(dict.fromkeys(self.fits))
        for number, who in enumerate(fits):
            mine = [place for place in places if self.fits[place] == who]
            widths = [100 * self.shares[place] for place in mine]
            bars = ax.barh(mine, widths, color=f"C{number}", label=who)
            ax.bar_label(bars, labels=[f" {width:.1f} %" for width in widths])
        ax.set_yticks(places, self.labels)
        ax.invert_yaxis()
        ax.set_xlim(0, 115)
        ax.set_xlabel("share of what was spent, in mu^2 (%)")
        if len(fits) > 1:
            ax.legend(**ABOVE)
