"""Privacy claims to be audited: of a fitted estimator, of a pipeline, or of one query."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..privacy.accounting.calculus import (
    Calculus,
    GaussianDP,
    PerturbedGaussianDP,
    PureDP,
    SubsampledGaussianDP,
    ZeroConcentratedDP,
)
from ..privacy.accounting.events import Event, GaussianEvent, PrefixSumEvent
from ..privacy.accounting.ledger import Ledger, Spend
from ..privacy.adjacency import Adjacency
from ..privacy.mechanisms.base import Mechanism
from ..privacy.queries.base import GumbelQuery, Query
from ..privacy.queries.perturbed_minimum import PerturbedMinimumQuery
from ..reporting.total import total_spent
from ..solvers.minibatch_noise import plan_block
from .epsilon_bounds import Bound

# What is left, as a share, beside one sampled release, which is all that is asked.
_REST = 0.1


class Claim(NamedTuple):
    """Privacy loss that a ledger states, the (epsilon, delta) that an audit tries to refute."""

    #: The account.
    epsilon: float
    delta: float
    #: Whether all that was released has Gaussian noise, so that mu-GDP is claimed.
    gaussian: bool
    #: Names of the queries that were paid for.
    queries: frozenset[str] = frozenset()

    @property
    def bound(self) -> Bound:
        """Kind of the tightest bound that is valid for the claim."""
        return "gaussian" if self.gaussian else "clopper_pearson"

    @classmethod
    def of(cls, fitted: Any) -> Claim:
        """The claim of a fitted estimator; of one that is composed of others, their total.

        Parameters
        ----------
        fitted : estimator
            With a receipt.
        """
        events: tuple[Event, ...]
        if hasattr(fitted, "privacy_spent_"):
            (epsilon, delta), events = fitted.privacy_spent_, fitted.privacy_ledger_
        else:
            total = total_spent("audit", fitted)
            epsilon, delta = total.epsilon, total.delta
            events = tuple(event for receipt in total.receipts for event in receipt.events)
        kinds = GaussianEvent | PrefixSumEvent
        # A fit that asked nothing claims (0, 0), which is no mu.
        gaussian = bool(events) and all(isinstance(event, kinds) for event in events)
        return cls(epsilon, delta, gaussian, frozenset(event.query for event in events))

    @classmethod
    def of_query(
        cls, query: Query, adjacency: Adjacency, ledger: Ledger
    ) -> tuple[Mechanism, Claim]:
        """The mechanism that answers a query for all of a budget, and what it claims then."""
        block = ledger.calculus
        sampled = isinstance(block, SubsampledGaussianDP)
        price = block.prices[0] if isinstance(block, SubsampledGaussianDP) else ledger.limit
        mechanism = query.mechanism(adjacency, Spend(price))
        ledger.charge(mechanism.event(query.name))
        gaussian = all(isinstance(event, GaussianEvent) for event in ledger.receipt())
        spent = ledger.spent()
        return mechanism, cls(spent.epsilon, spent.delta, gaussian and not sampled)


def adjacency_of(estimator: Any) -> str:
    """Neighbouring relation of an estimator's claim, by its parameters.

    Replace-one if it is composed of others that do not all have zero-out.
    """
    if hasattr(estimator, "adjacency"):
        return Adjacency(estimator.adjacency).value
    params = estimator.get_params(deep=True).items()
    found = {value for name, value in params if name.rpartition("__")[2] == "adjacency"}
    every = found == {Adjacency.ZERO_OUT.value}
    return (Adjacency.ZERO_OUT if every else Adjacency.REPLACE_ONE).value


def calculus_for(query: Query, adjacency: Adjacency, epsilon: float, delta: float) -> Calculus:
    """The calculus that prices the answer to a single query."""
    if isinstance(query, GumbelQuery):
        return ZeroConcentratedDP()
    if isinstance(query, PerturbedMinimumQuery):
        return (PureDP if query.pure else PerturbedGaussianDP)(query.of_units)
    rate = getattr(query, "sampling_rate", None)
    if rate is not None:
        return plan_block(rate, [1.0], _REST, epsilon, delta, adjacency)
    return GaussianDP()
