"""Selections from Gaussian runs whose exact privacy loss is known, some of them as bad as possible.

A run is a normal number x, of mean mu for one data set and 0 for its neighbour, so that it is
mu-GDP and no better; what it publishes is x. The order of outcomes is free: it is what an adversary
chooses.
"""

import numpy as np
from scipy.special import ndtr

STEP = 2e-3


def grid(mu):
    return np.arange(-11, 11 + mu, STEP)


def exact_delta(epsilon, mu, law, beaten, more=0.0):
    """The delta of the best of K runs, with another release of this mu^2.

    ``beaten`` maps x and the mean to the probability p of being beaten.
    """
    x = grid(mu)
    here = np.exp(-((x - mu) ** 2) / 2) * law.slope(beaten(x, mu))
    there = np.exp(-(x**2) / 2) * law.slope(beaten(x, 0.0))
    if more:
        # Given x, the other release is a normal number again.
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.nan_to_num((epsilon - np.log(here / there)) / np.sqrt(more), nan=np.inf)
        half = np.sqrt(more) / 2
        gain = here * ndtr(half - left) - np.exp(epsilon) * there * ndtr(-half - left)
    else:
        gain = np.maximum(here - np.exp(epsilon) * there, 0.0)
    return float(gain.sum() * STEP / np.sqrt(2 * np.pi))


def larger_is_better(x, mean):
    return ndtr(mean - x)


def smaller_is_better(x, mean):
    return ndtr(x - mean)


def telling_tail(cut, tail):
    """Smaller is better, but the largest outcomes, which tell most, are placed right at ``cut``."""

    def beaten(x, mean):
        at_tail = ndtr(mean - tail)
        ordinary = ndtr(x - mean) + at_tail * (x > cut)
        return np.where(x > tail, ndtr(cut - mean) + at_tail - ndtr(mean - x), ordinary)

    return beaten


def worst_delta(epsilon, mu, law, more=0.0):
    """The largest delta among all orders above, over cuts and tails."""
    tails = mu / 2 + (epsilon - np.linspace(0, 1.5, 6)) / mu
    cuts = np.linspace(-3, 1, 9)
    orders = [telling_tail(cut, tail) for cut in cuts for tail in tails]
    orders += [larger_is_better, smaller_is_better]
    return max(exact_delta(epsilon, mu, law, order, more) for order in orders)
