"""Laws of the secret number of runs of a private search.

A search runs a private mechanism K times and keeps the best outcome. What that costs depends on the
law of K alone, through its generating function f(q) = E[q^K]: an outcome that another run beats
with probability p is returned with f'(1 - p) times the density that one run gives it. All laws here
have K >= 1, so that there is always an outcome.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, inf, log, log1p, pi, sqrt
from typing import ClassVar, final

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

__all__ = ["NegativeBinomial", "Poisson", "RunLaw", "law_of"]

# Means beyond would ask for more runs than anybody waits for.
_LARGEST_MEAN = 1e6
# What is left of the law when a draw stops adding up: below the resolution of the uniform number.
_NOTHING = 1e-18
# Laws of a smaller log(E[K]) are taken to be a single run.
_NO_SPREAD = 1e-9


@dataclass(frozen=True)
class RunLaw(ABC):
    """The law of a random number of runs, at least 1.

    Parameters
    ----------
    mean : float
        Expected number of runs, in [1, 1e6].

    Raises
    ------
    ValueError
        If a parameter is outside its range.
    """

    name: ClassVar[str]

    mean: float

    def __post_init__(self) -> None:
        if not 1 <= self.mean <= _LARGEST_MEAN:
            raise ValueError(
                f"{type(self).__name__} needs a mean number of runs in [1, 1e6], got {self.mean}."
            )

    @final
    def slope(self, beaten: np.ndarray) -> np.ndarray:
        """f'(1 - p) for probabilities p of being beaten, in [0, 1]; decreases from the mean."""
        return np.exp(self.log_slope(beaten))

    @abstractmethod
    def log_slope(self, beaten: np.ndarray) -> np.ndarray:
        """Logarithm of f'(1 - p), which may itself be below the least float."""

    @final
    def at(self, z: np.ndarray) -> np.ndarray:
        """F(z) = f'(1 - p) for p = Phi(-z); increases from ``once`` to the mean."""
        return self.slope(ndtr(-z))

    @abstractmethod
    def curvature(self, z: np.ndarray) -> np.ndarray:
        """Bound on the size of F''(z), and on the square of F'(z), relative to F(z)."""

    @property
    @final
    def once(self) -> float:
        """Probability that there is one run; 0 where that is below the least float."""
        return exp(self.log_once)

    @property
    @abstractmethod
    def log_once(self) -> float:
        """Logarithm of the probability that there is one run."""

    @abstractmethod
    def _odds(self, k: int) -> float:
        """P[K = k + 1] / P[K = k]."""

    @abstractmethod
    def _growth(self, order: float, rho: float, profile: Callable[[float], float]) -> float:
        """Growth of a Renyi divergence by selection, beside log(E[K]) / (order - 1)."""

    @final
    def renyi(self, order: float, rho: float, profile: Callable[[float], float]) -> float:
        """Renyi divergence of a search whose runs are rho-zCDP.

        Theorems 2 and 6 of Papernot and Steinke (2022), at the best second order or slack.

        Parameters
        ----------
        order : float
            Order a > 1.
        rho : float
            Level of zero-concentrated differential privacy of a run, that is, a bound rho a on its
            divergence of every order a.
        profile : callable
            The delta of a run for a given epsilon.
        """
        if not 0 < rho < inf:
            return 0.0 if rho == 0 else inf
        # Divergences increase with the order, so that one of a larger order will do.
        larger = max(order, 1 + sqrt(log(self.mean) / rho))
        return min(
            a * rho + self._growth(a, rho, profile) + log(self.mean) / (a - 1)
            for a in (order, larger)
        )

    @final
    def draw(self, uniform: float) -> int:
        """The number of runs, from a number that is uniform in (0, 1).

        Parameters
        ----------
        uniform : float
            Secret.
        """
        # Shares of large laws begin far below the least float, so their logarithms add up.
        k, log_share = 1, self.log_once
        share = below = exp(log_share)
        while below < uniform and (k < self.mean or share > _NOTHING):
            log_share += log(self._odds(k))
            share = exp(log_share)
            below += share
            k += 1
        return k


@dataclass(frozen=True)
class NegativeBinomial(RunLaw):
    r"""The negative binomial law, truncated to K >= 1.

    .. math:: P[K = k] \propto (1 - \gamma)^k \prod_{l < k} (l + \eta) / (l + 1)

    with f'(1 - p) = E[K] (gamma / (gamma + (1 - gamma) p))^(eta + 1). With eta = 0 it is the
    logarithmic law, with eta = 1 the geometric one. The smaller eta, the less a search costs and
    the more often there is a single run.

    Parameters
    ----------
    mean : float
        Expected number of runs, in [1, 1e6].
    eta : float, default=0.0
        Shape, in (-1, 100].

    References
    ----------
    Papernot and Steinke, "Hyperparameter tuning with Renyi differential privacy", 2022.
    """

    name: ClassVar[str] = "negative_binomial"

    eta: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not -1 < self.eta <= 100:
            raise ValueError(f"NegativeBinomial needs an eta in (-1, 100], got {self.eta}.")

    @cached_property
    def log_gamma(self) -> float:
        """log(gamma), which gives the law its mean."""
        target = log(self.mean)
        if target < _NO_SPREAD:
            return 0.0
        low, high = -1.0, -1e-12
        while self._log_mean(low) < target:
            low, high = 2 * low, low
        return float(brentq(lambda g: self._log_mean(g) - target, low, high, xtol=1e-13))

    def _log_mean(self, log_gamma: float) -> float:
        g, eta = log_gamma, self.eta
        # eta (1 - gamma) / (gamma (1 - gamma^eta)), whose limit at eta = 0 is the logarithmic law.
        if abs(eta * g) < 1e-12:
            return log(-expm1(g)) - g - log(-g)
        # Without a power of gamma that might be too large for a float.
        falls = g if eta > 0 else (1 + eta) * g
        return log(-expm1(g)) - falls - log(-expm1(-abs(eta * g)) / abs(eta))

    def log_slope(self, beaten: np.ndarray) -> np.ndarray:
        """Logarithm of ``E[K] (gamma / (gamma + (1 - gamma) p))^(eta + 1)``."""
        with np.errstate(divide="ignore"):
            log_beaten = np.log(beaten)
        # gamma itself is below the least float if eta is close to -1.
        return log(self.mean) - (1 + self.eta) * np.logaddexp(0.0, self._log_odds + log_beaten)

    def curvature(self, z: np.ndarray) -> np.ndarray:
        """k r ((1 + k) r + |z|), with k = eta + 1, r = phi / (gamma / (1 - gamma) + p)."""
        k = 1 + self.eta
        r = np.exp(-z * z / 2 - log(2 * pi) / 2 - np.logaddexp(-self._log_odds, log_ndtr(-z)))
        return k * r * ((1 + k) * r + np.abs(z))

    @property
    def _log_odds(self) -> float:
        """The logarithm of (1 - gamma) / gamma."""
        return log(-expm1(self.log_gamma)) - self.log_gamma if self.log_gamma else -inf

    @property
    def log_once(self) -> float:
        """The logarithm of f'(0) = E[K] gamma^(eta + 1)."""
        return log(self.mean) + (1 + self.eta) * self.log_gamma

    def _odds(self, k: int) -> float:
        return -expm1(self.log_gamma) * (k + self.eta) / (k + 1)

    def _growth(self, order: float, rho: float, profile: Callable[[float], float]) -> float:
        # (1 + eta) ((1 - 1/b) b rho + log(1/gamma) / b) is least over b >= 1 at the b below.
        del order, profile
        loss = -self.log_gamma
        second = max(1.0, sqrt(loss / rho))
        return (1 + self.eta) * ((second - 1) * rho + loss / second)


@dataclass(frozen=True)
class Poisson(RunLaw):
    """The Poisson law, given that K >= 1: its number of runs varies little.

    f'(1 - p) = E[K] exp(-m p), where m is the mean of the law before it is truncated. Truncation
    multiplies f' by a constant, so the arguments of Papernot and Steinke (2022) carry over.

    Parameters
    ----------
    mean : float
        Expected number of runs, in [1, 1e6].
    """

    name: ClassVar[str] = "poisson"

    @cached_property
    def rate(self) -> float:
        """Mean m of the law before truncation: m / (1 - exp(-m)) is the mean after."""
        if log(self.mean) < _NO_SPREAD:
            return 0.0
        return float(brentq(lambda m: m / -expm1(-m) - self.mean, 1e-12, self.mean, xtol=1e-13))

    def log_slope(self, beaten: np.ndarray) -> np.ndarray:
        """Logarithm of ``E[K] exp(-m p)``."""
        return log(self.mean) - self.rate * beaten

    def curvature(self, z: np.ndarray) -> np.ndarray:
        """m phi (m phi + |z|)."""
        moved = self.rate * _density(z)
        return moved * (moved + np.abs(z))

    @property
    def log_once(self) -> float:
        """The logarithm of f'(0) = E[K] exp(-m)."""
        return log(self.mean) - self.rate

    def _odds(self, k: int) -> float:
        return self.rate / (k + 1)

    def _growth(self, order: float, rho: float, profile: Callable[[float], float]) -> float:
        del rho
        return self.rate * profile(log1p(1 / (order - 1)))


def law_of(name: str, mean: float, eta: float) -> RunLaw:
    """The law of this name.

    Parameters
    ----------
    name : {'negative_binomial', 'poisson'}
        Which.
    mean : float
        Expected number of runs, at least 1.
    eta : float
        Shape of the negative binomial law.

    Raises
    ------
    ValueError
        If there is no law of this name, or a parameter is outside its range.
    """
    if name == NegativeBinomial.name:
        return NegativeBinomial(float(mean), float(eta))
    if name != Poisson.name:
        raise ValueError(
            f"law_of needs {NegativeBinomial.name!r} or {Poisson.name!r}, got {name!r}."
        )
    return Poisson(float(mean))


def _density(z: np.ndarray) -> np.ndarray:
    return np.exp(-z * z / 2) / sqrt(2 * pi)
