r"""Divergences of single events, for the composition of whole fits.

Three views of an event, each a function with one branch for each kind of event, so that a kind that
is defined elsewhere can add its own with ``register``:

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
from functools import singledispatch
from math import cosh, exp, inf, isinf, log1p, sinh, sqrt, tanh

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
)
from ..privacy.adjacency import Adjacency
from .number_of_trials import NumberOfTrials

# Most that a choice costs as a Gaussian release, in units of its price under zCDP: pi / 2.
CHOICE_AS_GAUSSIAN = 1.5707963267948968
# Of the exponents of the four vertices.
_VERTICES = (1.0, 0.25, 0.25, 0.0)


@singledispatch
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
    del event, order
    return inf


@renyi.register(GaussianEvent)
@renyi.register(PrefixSumEvent)
def _of_gaussian(event: GaussianEvent | PrefixSumEvent, order: float) -> float:
    return order * event.count * event.mu_squared / 2


@renyi.register
def _of_choice(event: ExponentialEvent, order: float) -> float:
    eta = event.ratio
    # A choice of bounded range is eta-DP as well.
    return event.count * min(order * eta * eta / 8, eta)


@renyi.register
def _of_perturbation(event: ObjectivePerturbationEvent, order: float) -> float:
    most = [share * event.ratio * event.ratio for share in _VERTICES]
    output = event.output_ratio * event.output_ratio
    return event.count * (perturbed_renyi(event.jacobian, most, order) + order * output / 2)


@renyi.register
def _of_pure(event: PurePerturbationEvent, order: float) -> float:
    epsilon = event.epsilon
    if isinf(epsilon):
        return inf
    if order * epsilon < 1:
        # Next to zero logarithms would leave nothing but their rounding, of either sign.
        products = sinh(order * epsilon / 2) * sinh((order - 1) * epsilon / 2)
        return event.count * log1p(2 * products / cosh(epsilon / 2)) / (order - 1)
    # Logarithms of the probabilities that the coin is right, and wrong.
    right, wrong = -log1p(exp(-epsilon)), -epsilon - log1p(exp(-epsilon))
    powers = [order * a + (1 - order) * b for a, b in ((right, wrong), (wrong, right))]
    return event.count * min(epsilon, float(logsumexp(powers)) / (order - 1))


@renyi.register
def _of_sample(event: SampledGaussianEvent, order: float) -> float:
    # As if every row took part.
    return order * gaussian_price(event) / 2


@renyi.register
def _of_search(event: SearchEvent, order: float) -> float:
    rho = event.ratio * event.ratio / 2
    if event.calculus == "approximate" or not 0 < rho < inf:
        return inf
    if event.published == "all":
        return event.count * event.mean_trials * rho * order
    return event.count * NumberOfTrials(event.mean_trials).renyi(order, rho)


def perturbed_renyi(jacobian: float, squares: list[float], order: float) -> float:
    """Renyi divergence of a perturbed objective.

    Parameters
    ----------
    jacobian : float
        Bound on the logarithm of the ratio of determinants.
    squares : list of float
        The T_v of the vertices.
    order : float
        Above 1.
    """
    if isinf(max(squares)) or isinf(jacobian):
        return inf
    return jacobian + float(logsumexp([order * (order - 1) * t / 2 for t in squares])) / (order - 1)


@singledispatch
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
    del event
    return inf


@gaussian_price.register(GaussianEvent)
@gaussian_price.register(PrefixSumEvent)
def _price_of_gaussian(event: GaussianEvent | PrefixSumEvent) -> float:
    return event.count * event.mu_squared


@gaussian_price.register
def _price_of_choice(event: ExponentialEvent) -> float:
    mu = _level_of_coin(event.ratio / 2)
    return event.count * mu * mu


@gaussian_price.register
def _price_of_pure(event: PurePerturbationEvent) -> float:
    mu = _level_of_coin(event.epsilon)
    return event.count * mu * mu


@gaussian_price.register
def _price_of_sample(event: SampledGaussianEvent) -> float:
    return event.count * (event.ratio * event.ratio)


@singledispatch
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
    del steps, adjacency
    return event if isinstance(event, NonPrivateEvent) else None


@grouped.register(GaussianEvent)
@grouped.register(PrefixSumEvent)
@grouped.register(ExponentialEvent)
def _grouped(event: Event, steps: int, adjacency: Adjacency) -> Event:
    del adjacency
    return replace(event, sensitivity=steps * event.sensitivity)


@grouped.register
def _grouped_search(event: SearchEvent, steps: int, adjacency: Adjacency) -> Event | None:
    del adjacency
    # Levels of Gaussian DP grow in proportion to the steps, and rho with their square.
    known = event.calculus != "approximate"
    return replace(event, sensitivity=steps * event.sensitivity) if known else None


@grouped.register
def _grouped_perturbation(event: PerturbationEvent, steps: int, adjacency: Adjacency) -> Event:
    # What k rows do to the slope is the mean of k times what each does, as for a privacy unit. Two
    # steps from one relation to the other are one row, which the price of a unit covers too.
    del adjacency
    grown = replace(
        event,
        sensitivity=steps * event.sensitivity,
        jacobian=steps * event.jacobian,
        output_sensitivity=steps * event.output_sensitivity,
    )
    if isinstance(grown, ObjectivePerturbationEvent):
        return replace(grown, of_units=True)
    return grown


@grouped.register
def _grouped_sample(event: SampledGaussianEvent, steps: int, adjacency: Adjacency) -> Event | None:
    # Rows are drawn independently of each other, so several rows are not one of more weight.
    one_row = (event.adjacency, adjacency) == (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE)
    if steps != 2 or not one_row:
        return None
    return replace(event, sensitivity=2 * event.sensitivity, adjacency=adjacency)


def _level_of_coin(log_odds: float) -> float:
    """Level of Gaussian DP at which a threshold is right with these log-odds."""
    if log_odds < 1:
        # Probabilities next to a half would lose what is beyond it.
        return 2 * sqrt(2.0) * float(erfinv(tanh(log_odds / 2)))
    return -2 * float(ndtri(expit(-log_odds)))
