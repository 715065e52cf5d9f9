"""One privacy budget, divided among named steps so that together they spend exactly that."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum, inf, sqrt
from typing import Any

from ..privacy.accounting import gdp
from ..validation import check_numbers, numbers_in, shown

# Roundings of a level and of an epsilon, which would otherwise show in the total.
_SAFE = 1 - 1e-9
# How far fractions may be from 1 together, as 0.33 three times is.
_NEARLY = 0.015


def split_budget(shares: Mapping[str, float], *, epsilon: float, delta: float) -> dict[str, float]:
    r"""Divide a privacy budget among the steps of a pipeline, or among several models.

    Under Gaussian differential privacy mu^2 adds up, not epsilon. So a step of share s is given the
    epsilon of

    .. math:: \mu_s = \sqrt{s} \, \mu(\varepsilon, \delta)

    at the same delta, and all of them together are (epsilon, delta)-DP with nothing left over, if
    the noise of all is Gaussian: that is, unless one is a :class:`~skdp.DPLassoRegressor`, a search
    or uses the solver ``objective_perturbation``. With these the total may exceed ``epsilon``, by
    2 % to 30 % in what was tried; :func:`skdp.privatize` divides for them, too. The epsilons that
    are returned add up to more than ``epsilon``.

    A :class:`~skdp.preprocessing.DPOneHotEncoder` has a threshold besides, which adds a hundredth
    of its delta: for each of these take a hundredth off ``delta``, here and for the steps. All of
    them together are then (epsilon, delta)-DP for the delta before.

    Parameters
    ----------
    shares : mapping of str to float
        For each step its fraction of the budget, which add up to 1, or positive weights, the
        largest at least 1, which are divided by their sum.
    epsilon : float
        Budget of all steps together, positive.
    delta : float
        Slack of all steps together, in (0, 1). Each step gets the same.

    Returns
    -------
    dict of str to float
        The epsilon of each step, under its name.

    Raises
    ------
    ValueError
        If shares are not positive and finite, or fractions do not add up to 1, or the budget is
        outside its range.

    See Also
    --------
    skdp.privatize : Makes a whole pipeline private and divides the budget itself.
    skdp.privacy_spent : Adds up what steps have spent.

    Examples
    --------
    >>> from skdp import split_budget
    >>> parts = split_budget({"scaler": 0.1, "model": 0.9}, epsilon=1.0, delta=1e-6)
    >>> {name: round(epsilon, 2) for name, epsilon in parts.items()}
    {'scaler': 0.29, 'model': 0.94}
    """
    who = "split_budget"
    check_budget(who, epsilon, delta)
    weights = check_shares(who, shares)
    if len(weights) == 1:
        return dict.fromkeys(weights, float(epsilon))
    whole, level = fsum(weights.values()), gdp.mu(epsilon, delta) * sqrt(_SAFE)
    return {
        name: gdp.epsilon(sqrt(weight / whole) * level, delta) for name, weight in weights.items()
    }


def check_budget(who: str, epsilon: Any, delta: Any) -> None:
    """Refuse what is no budget that could be divided.

    Raises
    ------
    ValueError
        If epsilon is not positive, or delta not in (0, 1).
    """
    check_numbers(who, epsilon=epsilon, delta=delta)
    if not (epsilon > 0 and 0 < delta < 1):
        raise ValueError(
            f"{who} needs epsilon > 0 and delta in (0, 1), got epsilon={shown(epsilon)} and "
            f"delta={shown(delta)}."
        )


def check_shares(who: str, shares: Mapping[str, float]) -> dict[str, float]:
    """Weights of a division as floats.

    Raises
    ------
    ValueError
        If it is no mapping, or is empty, or a weight is no positive finite number.
    """
    needed = f"{who} needs shares as a dictionary of positive numbers by the names of steps"
    given: object = shares
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f"{needed}, got {shown(given)}.")
    found = {}
    for name, weight in given.items():
        values = numbers_in(weight)
        if values is None or values.ndim or not 0 < values < inf:
            raise ValueError(f"{needed}, got {shown(weight)} for {shown(name)}.")
        found[name] = float(values)
    whole = fsum(found.values())
    if max(found.values()) < 1 and abs(whole - 1) > _NEARLY:
        raise ValueError(
            f"{who} needs fractions that add up to 1, or weights such as 1 and 4, got shares "
            f"that add up to {whole:g}."
        )
    return found
