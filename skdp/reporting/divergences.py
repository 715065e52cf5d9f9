r"""Divergences of single events, for the composition of whole fits.

Three views of an event, each a function with one branch for each kind of event:

* :func:`renyi`: its Renyi divergence of an order, the same in both directions;
* :func:`gaussian_price`: the least mu^2 that is known such that it is mu-GDP;
* :func:`grouped`: the event that it would be if neighbours differed by k steps.

A kind without a branch has an infinite price in the first two and no third; composition then takes
the (epsilon, delta) that its fit declared.

Choices as Gaussian releases
----------------------------
A choice of range eta is mu-GDP for ``mu = 2 Phi^-1(1 / (1 + exp(-eta / 2)))`` (theorem P1 of
``docs/proofs/composition.md``). For small eta this is ``mu^2 = pi eta^2 / 8``, which is pi/2 times
what zero-concentrated DP takes; the factor is smaller for larger eta. That is what counting choices
in the exact calculus of Gaussian releases costs.

Pure epsilon
------------
Any two laws that are epsilon-close in both directions come, by the same function, from the two laws
of a coin that says which of them it is and is right with probability ``p = 1 / (1 + e^-epsilon)``
(Kairouz, Oh and Viswanath, 2015). So no divergence is larger than that of the coin:

    D_a = log(p^a (1 - p)^(1 - a) + (1 - p)^a p^(1 - a)) / (a - 1).

Telling N(0, 1) from N(m, 1) by a threshold at m / 2 is that coin for ``m = 2 Phi^-1(p)``, so that
the release is m-GDP. Group privacy multiplies epsilon by the number of steps.

A perturbed objective
---------------------
With s = (sensitivity / noise)^2 the four vertices of the proof in
:mod:`skdp.privacy.accounting.perturbation` have ``T_v`` of s, s/4, s/4 and 0, and for a > 1

    D_a <= J + log(sum_v e^(a (a - 1) T_v / 2)) / (a - 1)

(theorem P2 there). The noise on the computed minimiser is a Gaussian release besides.
"""

from __future__ import annotations

from dataclasses import replace
from math import cosh, exp, inf, isinf, log1p, sinh, sqrt, tanh
from typing import Any

from scipy.special import erfinv, expit, logsumexp, ndtri

from ..privacy.accounting.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    NonPrivateEvent,
    ObjectivePerturbationEvent,
    PerturbationEvent,
    PrefixSumEvent,
    PurePerturbationEvent,
    SampledGaussianEvent,
    SearchEvent,
    ThresholdEvent,
)
from ..privacy.adjacency import Adjacency
from .number_of_trials import NumberOfTrials

# Most that a choice costs as a Gaussian release, in units of its price under zCDP: pi / 2.
CHOICE_AS_GAUSSIAN = 1.5707963267948968
# Of the exponents of the four vertices.
_VERTICES = (1.0, 0.25, 0.25, 0.0)


def renyi(event: Event, order: float) -> float:
    """Renyi divergence of an order above 1 between neighbours, of all its ``count`` releases.

    Parameters
    ----------
    event : Event
        What was released.
    order : float
        Above 1.

    Returns
    -------
    float
        An upper bound; infinite for a kind of event of which none is known.
    """
    match event:
        case GaussianEvent() | PrefixSumEvent():
            return order * event.count * event.mu_squared / 2
        case ExponentialEvent():
            eta = event.ratio
            # A choice of bounded range is eta-DP as well.
            return event.count * min(order * eta * eta / 8, eta)
        case ObjectivePerturbationEvent():
            most = [share * event.ratio * event.ratio for share in _VERTICES]
            output = event.output_ratio * event.output_ratio
            slope = perturbed_renyi(event.jacobian, most, order)
            return event.count * (slope + order * output / 2)
        case PurePerturbationEvent():
            return event.count * _renyi_of_coin(event.epsilon, order)
        case SampledGaussianEvent():
            # As if every row took part.
            return order * gaussian_price(event) / 2
        case SearchEvent():
            rho = event.ratio * event.ratio / 2
            if event.calculus == "approximate" or not 0 < rho < inf:
                return inf
            if event.published == "all":
                return event.count * event.mean_trials * rho * order
            return event.count * NumberOfTrials(event.mean_trials).renyi(order, rho)
    return inf


def _renyi_of_coin(epsilon: float, order: float) -> float:
    """Divergence of what is released of pure epsilon, once."""
    if isinf(epsilon):
        return inf
    if order * epsilon < 1:
        # Next to zero logarithms would leave nothing but their rounding, of either sign.
        products = sinh(order * epsilon / 2) * sinh((order - 1) * epsilon / 2)
        return log1p(2 * products / cosh(epsilon / 2)) / (order - 1)
    # Logarithms of the probabilities that the coin is right, and wrong.
    right, wrong = -log1p(exp(-epsilon)), -epsilon - log1p(exp(-epsilon))
    powers = [order * a + (1 - order) * b for a, b in ((right, wrong), (wrong, right))]
    return min(epsilon, float(logsumexp(powers)) / (order - 1))


def perturbed_renyi(jacobian: float, squares: list[float], order: float) -> float:
    """Renyi divergence of a perturbed objective, from the T_v of its vertices."""
    if isinf(max(squares)) or isinf(jacobian):
        return inf
    return jacobian + float(logsumexp([order * (order - 1) * t / 2 for t in squares])) / (order - 1)


def gaussian_price(event: Event) -> float:
    """The mu^2 for which all its ``count`` releases are mu-GDP.

    Parameters
    ----------
    event : Event
        What was released.

    Returns
    -------
    float
        Exact for Gaussian noise, an upper bound for choices, and for sampled releases what they
        would cost if every row took part; infinite for a kind of event of which none is known.
    """
    match event:
        case GaussianEvent() | PrefixSumEvent():
            return event.count * event.mu_squared
        case ExponentialEvent():
            mu = _level_of_coin(event.ratio / 2)
            return event.count * mu * mu
        case PurePerturbationEvent():
            mu = _level_of_coin(event.epsilon)
            return event.count * mu * mu
        case SampledGaussianEvent():
            return event.count * (event.ratio * event.ratio)
    return inf


def price_beside_delta(event: Event) -> float:
    """The mu^2 for which all its releases are mu-GDP but for :func:`added_delta`."""
    return gaussian_price(event.counts if isinstance(event, ThresholdEvent) else event)


def added_delta(event: Event) -> float:
    """Delta that releases above a threshold add to that of whatever they are composed with."""
    return event.count * event.threshold_delta if isinstance(event, ThresholdEvent) else 0.0


def grouped(event: Event, steps: int, adjacency: Adjacency) -> Event | None:
    """Group privacy: the event between data sets that are several steps apart.

    Sensitivities are distances between exact answers, so they grow in proportion (triangle
    inequality), and so does the logarithm of the ratio of Jacobians. A row that is replaced is one
    that is zeroed out and another one that is put in its place: two steps of zero-out.

    Parameters
    ----------
    event : Event
        Between neighbours.
    steps : int
        How many steps, at least 1.
    adjacency : Adjacency
        The relation between the data sets at both ends.

    Returns
    -------
    Event or None
        None if it is not known.
    """
    match event:
        case NonPrivateEvent():
            return event
        case GaussianEvent() | PrefixSumEvent() | ExponentialEvent():
            return replace(event, sensitivity=steps * event.sensitivity)
        case SearchEvent() if event.calculus != "approximate":
            # Levels of Gaussian DP grow in proportion to the steps, and rho with their square.
            return replace(event, sensitivity=steps * event.sensitivity)
        case PerturbationEvent():
            # What k rows do to the slope is the mean of k times what each does, as for a privacy
            # unit. Two steps from one relation to the other are one row, which the price of a unit
            # covers too.
            names = "sensitivity", "jacobian", "output_sensitivity"
            moved: dict[str, Any] = {name: steps * getattr(event, name) for name in names}
            if isinstance(event, ObjectivePerturbationEvent):
                moved["of_units"] = True
            return replace(event, **moved)
        case SampledGaussianEvent(adjacency=Adjacency.ZERO_OUT) if steps == 2:
            # Rows are drawn independently of each other, so several rows are not one of more
            # weight; but two steps of zero-out are one row that is replaced.
            if adjacency is Adjacency.REPLACE_ONE:
                return replace(event, sensitivity=2 * event.sensitivity, adjacency=adjacency)
    return None


def _level_of_coin(log_odds: float) -> float:
    """Level of Gaussian DP at which a threshold is right with these log-odds."""
    if log_odds < 1:
        # Probabilities next to a half would lose what is beyond it.
        return 2 * sqrt(2.0) * float(erfinv(tanh(log_odds / 2)))
    return -2 * float(ndtri(expit(-log_odds)))
