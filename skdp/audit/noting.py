"""Which kind of answer a mechanism gives."""

from __future__ import annotations

from typing import cast

import numpy as np

from ..data.base import RowStore
from ..privacy.mechanisms.base import Mechanism
from ..privacy.mechanisms.gaussian import GaussianMechanism
from ..privacy.mechanisms.gumbel import GumbelMechanism
from ..privacy.mechanisms.perturbation import ObjectivePerturbation
from ..privacy.mechanisms.sampled_gaussian import SampledGaussian
from ..privacy.mechanisms.sites import SampledSites, SiteNoise
from ..privacy.queries.base import PerturbedQuery, Query
from ..privacy.queries.perturbed_minimum import PerturbedMinimumQuery
from .answers import Answer
from .exact_answers import GaussianAnswer, VertexAnswer
from .perturbed_answers import MinimumAnswer, SampledAnswer

__all__ = ["answer_to"]


def answer_to(
    query: Query,
    mechanism: Mechanism,
    stores: tuple[RowStore, ...],
    given: np.ndarray,
    row: int | None,
) -> Answer:
    """What a question comes to for some data sets.

    Parameters
    ----------
    query : Query
        The question.
    mechanism : Mechanism
        What answered it.
    stores : tuple of RowStore
        The data sets.
    given : ndarray
        What was published.
    row : int or None
        The row in which the data sets differ, where it is one.

    Raises
    ------
    TypeError
        If it is not known how this kind of mechanism answers.
    """
    if isinstance(mechanism, ObjectivePerturbation):
        return MinimumAnswer(mechanism, cast(PerturbedMinimumQuery, query), stores, given)
    if isinstance(mechanism, SampledGaussian | SampledSites):
        asked = cast(PerturbedQuery, query)
        drawn = row
        # Sites have an order of their own.
        if drawn is None or isinstance(mechanism, SampledSites):
            drawn = _drawn_as(asked, mechanism.n_samples, stores)
        return SampledAnswer(mechanism, asked, stores, drawn, given)
    with np.errstate(all="ignore"):
        exact = tuple(query.evaluate(rows) for rows in stores)
    if isinstance(mechanism, GumbelMechanism):
        return VertexAnswer(mechanism, exact, given)
    if isinstance(mechanism, GaussianMechanism):
        return GaussianAnswer(mechanism, exact, given)
    if isinstance(mechanism, SiteNoise):
        return GaussianAnswer(
            mechanism, exact, given, _covariance(mechanism), mechanism.trust.summed
        )
    raise TypeError(
        f"An audit of answers needs a likelihood for {type(mechanism).__name__}, and knows none; "
        "audit what is published instead, with sees='model'."
    )


def _drawn_as(query: PerturbedQuery, n: int, stores: tuple[RowStore, ...]) -> int:
    """Which of the rows that are drawn is the one in which the data sets differ."""
    for k in range(n):
        marks = np.arange(n) == k
        sums = [query.evaluate_under(rows, marks) for rows in stores[:2]]
        if not np.array_equal(sums[0], sums[1]):
            return k
    return 0


def _covariance(mechanism: SiteNoise) -> np.ndarray:
    """Of the messages of the sites, before they are summed."""
    own = np.diag(mechanism.own_noise_scales**2)
    n = len(own)
    if mechanism.trust.source == "central":
        return np.eye(n) * mechanism.noise_scales[0] ** 2 / n
    if mechanism.trust.source != "pairwise":
        return own
    laplacian = n * np.eye(n) - np.ones((n, n))
    if mechanism.edges is not None:
        laplacian = np.zeros((n, n))
        for i, j in mechanism.edges.tolist():
            laplacian[[i, j], [i, j]] += 1
            laplacian[[i, j], [j, i]] -= 1
    scale = mechanism.trust.ratio * mechanism.own_noise_scales
    return own + np.outer(scale, scale) * laplacian
