"""What is claimed, of an estimator after a fit or of one question."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..privacy.adjacency import Adjacency
from ..privacy.calculus import (
    Calculus,
    GaussianDP,
    PerturbedGaussianDP,
    SubsampledGaussianDP,
    ZeroConcentratedDP,
)
from ..privacy.events import GaussianEvent, PrefixSumEvent
from ..privacy.ledger import Ledger, Spend
from ..privacy.mechanisms.base import Mechanism
from ..privacy.queries.base import GumbelQuery, Query
from ..privacy.queries.perturbed_minimum import PerturbedMinimumQuery
from .bounds import Bound

__all__ = ["Claim", "calculus_for"]

# What is set aside beside one sampled release, which is all that is asked.
_NEARLY_ALL = 0.9


class Claim(NamedTuple):
    """What was spent, by the ledger's account.

    Parameters
    ----------
    epsilon, delta : float
        The account.
    gaussian : bool
        Whether all that was released has Gaussian noise, so that mu-GDP is claimed.
    """

    epsilon: float
    delta: float
    gaussian: bool

    @property
    def bound(self) -> Bound:
        """The tightest bound that is valid for it."""
        return "gaussian" if self.gaussian else "clopper_pearson"

    @classmethod
    def of(cls, fitted: Any) -> Claim:
        """The claim of a fitted estimator.

        Parameters
        ----------
        fitted : estimator
            With a receipt.
        """
        kinds = GaussianEvent | PrefixSumEvent
        spent, events = fitted.privacy_spent_, fitted.privacy_ledger_
        # A fit that asked nothing claims (0, 0), which is no mu.
        gaussian = bool(events) and all(isinstance(event, kinds) for event in events)
        return cls(spent.epsilon, spent.delta, gaussian)

    @classmethod
    def of_question(
        cls, query: Query, adjacency: Adjacency, ledger: Ledger
    ) -> tuple[Mechanism, Claim]:
        """The mechanism that answers a question for all of a budget, and what it claims then.

        Parameters
        ----------
        query : Query
            The question.
        adjacency : Adjacency
            Neighbouring relation.
        ledger : Ledger
            Empty. Charged.
        """
        block = ledger.calculus
        sampled = isinstance(block, SubsampledGaussianDP)
        price = block.unsampled_price if isinstance(block, SubsampledGaussianDP) else ledger.limit
        mechanism = query.mechanism(adjacency, Spend(price))
        ledger.charge(mechanism.event(query.name))
        gaussian = all(isinstance(event, GaussianEvent) for event in ledger.receipt())
        spent = ledger.spent()
        return mechanism, cls(spent.epsilon, spent.delta, gaussian and not sampled)


def calculus_for(query: Query, adjacency: Adjacency, epsilon: float, delta: float) -> Calculus:
    """How the answer to a single question is priced.

    Parameters
    ----------
    query : Query
        The question.
    adjacency : Adjacency
        Neighbouring relation.
    epsilon, delta : float
        The budget.
    """
    if isinstance(query, GumbelQuery):
        return ZeroConcentratedDP()
    if isinstance(query, PerturbedMinimumQuery):
        return PerturbedGaussianDP()
    rate = getattr(query, "sampling_rate", None)
    if rate is not None:
        return SubsampledGaussianDP.planned(rate, 1, _NEARLY_ALL, epsilon, delta, adjacency)
    return GaussianDP()
