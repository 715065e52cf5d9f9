"""The most that a fit may spend, known before it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ..privacy.accounting.calculus import Calculus
from ..privacy.accounting.ledger import Ledger, PrivacySpent
from ..privacy.adjacency import Adjacency
from .receipts import Receipt

__all__ = ["Claim"]


@dataclass(frozen=True)
class Claim:
    """The most that a fit may spend: whatever its ledger accepts.

    Parameters
    ----------
    epsilon, delta : float
        Budget of the fit.
    calculus : Calculus or None
        How its ledger counts; None as long as that is open.
    limit : float
        Most that its ledger accepts, in mu^2.
    adjacency : Adjacency, default=Adjacency.REPLACE_ONE
        Neighbouring relation.
    fits : int, default=1
        How many such fits on the same rows.
    rows : int, default=1
        How many of the rows a person has.
    """

    epsilon: float
    delta: float
    calculus: Calculus | None
    limit: float
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    fits: int = 1
    rows: int = 1

    @property
    def most(self) -> Receipt:
        """The claim as a receipt of which the (epsilon, delta) of a fit is all that is known."""
        spent = PrivacySpent(self.epsilon, self.delta)
        return Receipt((), spent, self.adjacency, fits=self.fits).between(self.rows)

    @classmethod
    def of_ledger(cls, ledger: Ledger, adjacency: Adjacency) -> Self:
        """Upper bound for a ledger that is still empty.

        Parameters
        ----------
        ledger : Ledger
            Of a fit.
        adjacency : Adjacency
            Neighbouring relation.
        """
        return cls(ledger.epsilon, ledger.delta, ledger.calculus, ledger.limit, adjacency)

    @classmethod
    def planned(
        cls, epsilon: float, delta: float, calculus: Calculus | None, adjacency: Adjacency
    ) -> Self:
        """Upper bound for a ledger that is yet to be opened.

        Parameters
        ----------
        epsilon, delta : float
            Its budget.
        calculus : Calculus or None
            How it will count; None if that depends on the data set's public facts.
        adjacency : Adjacency
            Neighbouring relation.

        Raises
        ------
        ValueError
            If no ledger can be opened with this budget.
        """
        limit = Ledger(epsilon, delta, calculus=calculus).limit
        return cls(epsilon, delta, calculus, limit, adjacency)
