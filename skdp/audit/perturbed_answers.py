"""Answers whose noise enters the computation: from rows drawn in secret, or a random slope."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log

import numpy as np

from ..data.base import RowStore
from ..privacy.mechanisms.perturbation import ObjectivePerturbation
from ..privacy.mechanisms.sampled_gaussian import SampledGaussian
from ..privacy.mechanisms.sites import SampledSites
from ..privacy.queries.base import PerturbedQuery
from ..privacy.queries.perturbed_minimum import PerturbedMinimumQuery
from ..privacy.randomness import SecretNoise
from .answers import Answer

__all__ = ["MinimumAnswer", "SampledAnswer"]


@dataclass(frozen=True, eq=False)
class SampledAnswer(Answer):
    """A sum over rows that were drawn in secret, with normal noise.

    The likelihood is taken as if rows that both data sets share were drawn in their mean, which is
    exact if they contribute nothing.

    Parameters
    ----------
    mechanism : SampledGaussian or SampledSites
        What drew and added the noise.
    query : PerturbedQuery
        The question.
    stores : tuple of RowStore
        The data sets.
    row : int
        The row in which they differ, in the order in which rows are drawn.
    given : ndarray
        What was published.
    """

    mechanism: SampledGaussian | SampledSites
    query: PerturbedQuery
    stores: tuple[RowStore, ...]
    row: int
    given: np.ndarray

    @property
    def published(self) -> np.ndarray:
        """The answer that was given."""
        return self.given

    def log_ratio(self, answers: np.ndarray, first: int, second: int) -> np.ndarray:
        """Of mixtures of two normals."""
        logs = [self._log_density(answers, which) for which in (first, second)]
        return logs[1] - logs[0]

    def again(self, which: int, count: int, noise: SecretNoise) -> np.ndarray:
        """Fresh answers, each from rows of its own."""
        rows = self.stores[which]
        sums = [
            self.query.evaluate_under(rows, self.mechanism.perturbation(noise))
            for _ in range(count)
        ]
        return self.mechanism.randomize(np.stack(sums, axis=-1), noise)

    def squared_distance(self, first: int, second: int) -> float:
        """As if the row were in every sample, scaled down by the rate."""
        move = self._parts(second)[1] - self._parts(first)[1]
        return (
            float(np.vdot(move, move))
            * (self.mechanism.sampling_rate / self.mechanism.noise_scale) ** 2
        )

    def _parts(self, which: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean without the row in question, and what the row adds if it is drawn."""
        rows, rate = self.stores[which], self.mechanism.sampling_rate
        marks = np.zeros(self.mechanism.n_samples, dtype=bool)
        none = self.query.evaluate_under(rows, marks)
        everything = self.query.evaluate_under(rows, ~marks)
        own = np.zeros_like(none)
        if rows.n_samples == self.mechanism.n_samples:
            marks[self.row] = True
            own = self.query.evaluate_under(rows, marks) - none
        return none + rate * (everything - none - own), own

    def _log_density(self, answers: np.ndarray, which: int) -> np.ndarray:
        mean, own = self._parts(which)
        rate, variance = self.mechanism.sampling_rate, self.mechanism.noise_scale**2
        axes = tuple(range(mean.ndim))

        def normal(centre: np.ndarray) -> np.ndarray:
            away = answers - centre.reshape(*centre.shape, *[1] * (answers.ndim - centre.ndim))
            return -0.5 * np.square(away).sum(axis=axes) / variance

        without = log(1 - rate) if rate < 1 else -inf
        return np.logaddexp(without + normal(mean), log(rate) + normal(mean + own))


@dataclass(frozen=True, eq=False)
class MinimumAnswer(Answer):
    """The minimiser of an objective with a random slope.

    Its density is that of the slope for which it is the minimiser, times a Jacobian, which is left
    out here, as is the noise on the output: both are a small part of what is charged.

    Parameters
    ----------
    mechanism : ObjectivePerturbation
        What drew the slope.
    query : PerturbedMinimumQuery
        The question.
    stores : tuple of RowStore
        The data sets.
    given : ndarray
        What was published.
    """

    mechanism: ObjectivePerturbation
    query: PerturbedMinimumQuery
    stores: tuple[RowStore, ...]
    given: np.ndarray

    @property
    def published(self) -> np.ndarray:
        """The answer that was given."""
        return self.given

    def log_ratio(self, answers: np.ndarray, first: int, second: int) -> np.ndarray:
        """Of the slopes."""
        flat = answers.reshape(*self.given.shape, -1)
        out = np.empty(flat.shape[-1])
        for k in range(out.size):
            one, other = (self._slope(flat[..., k], which) for which in (first, second))
            out[k] = (np.vdot(one, one) - np.vdot(other, other)) / 2
        return out.reshape(answers.shape[self.given.ndim :])

    def again(self, which: int, count: int, noise: SecretNoise) -> np.ndarray:
        """Fresh minimisers."""
        rows = self.stores[which]
        found = [
            self.query.evaluate_under(rows, self.mechanism.perturbation(noise))
            for _ in range(count)
        ]
        return self.mechanism.randomize(np.stack(found, axis=-1), noise)

    def squared_distance(self, first: int, second: int) -> float:
        """How far apart the slopes are at what was published."""
        move = self._slope(self.given, second) - self._slope(self.given, first)
        return float(np.vdot(move, move))

    def _slope(self, w: np.ndarray, which: int) -> np.ndarray:
        return self.query.slope_at(self.stores[which], w) / self.mechanism.noise_scale
