"""How far apart the minimisers of two data sets with one feature are, by numerical integration."""

from math import exp, log

import numpy as np
from scipy.special import ndtr

from skdp.privacy import Adjacency
from skdp.privacy.accounting import Spend, gdp
from skdp.privacy.queries import PerturbedMinimumQuery
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds, TargetBounds

CELLS = 1500


def asked(loss, n, mu, *, clip=None, strength=0.0, adjacency=Adjacency.REPLACE_ONE):
    """The query for rows in [-1, 1] without an intercept, and its mechanism, at a price mu^2."""
    problem = Problem(loss, n, 1, RowBounds(1.0))
    spend = Spend(mu**2)
    query = PerturbedMinimumQuery.planned(problem, clip, strength, adjacency, spend)
    return query, query.mechanism(adjacency, spend)


def asked_purely(loss, n, epsilon, *, clip=None, strength=0.0, adjacency=Adjacency.REPLACE_ONE):
    """The same with pure epsilon, for targets in [-1, 1] if the loss is of residuals."""
    target = TargetBounds(-1.0, 1.0) if loss.of_residuals else None
    problem = Problem(loss, n, 1, RowBounds(1.0, target=target))
    spend = Spend(epsilon)
    query = PerturbedMinimumQuery.planned(problem, clip, strength, adjacency, spend, pure=True)
    return query, query.mechanism(adjacency, spend)


def stores(data):
    return DenseRows(np.array(data[0], dtype=float)[:, None], np.array(data[1], dtype=float))


def laplace(x):
    """Distribution function of the density ``exp(-|x|) / 2``, that of pure noise in one entry."""
    return np.where(x < 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x)))


def largest_ratio(query, scale, data, other, law=laplace, count=CELLS // 3):
    """Largest log-ratio of the probabilities that two data sets give to a cell of minimisers."""
    p, q = cells(query, scale, data, other, law, count)
    likely = np.minimum(p, q) > 1e-9
    return float(np.abs(np.log(p[likely] / q[likely])).max())


def cells(query, scale, data, other, law=ndtr, count=CELLS):
    """Probabilities that two data sets give to the same cells of minimisers.

    The minimiser is a decreasing function of the slope, so a cell's probability is that of the
    slopes at its edges. Edges are dense where slopes are likely, and around -1 and 1, where the
    losses have corners. Merging points to cells can only bring the data sets closer.
    """
    one, two = stores(data), stores(other)
    bulk = scale * np.linspace(-8.0, 8.0, count // 10)
    edges = [query.evaluate_under(rows, np.array([b]))[0] for rows in (one, two) for b in bulk]
    edges += np.linspace(min(edges), max(edges), count // 2).tolist()
    edges += [centre + x for centre in (-1, 1) for x in np.linspace(-0.05, 0.05, count // 10)]
    edges = np.unique(edges)

    def probabilities(rows):
        slopes = [query.slope_at(rows, np.array([w]))[0] for w in edges]
        return np.clip(-np.diff(law(np.array(slopes) / scale)), 0.0, None)

    return probabilities(one), probabilities(two)


def delta(p, q, epsilon):
    """The smallest delta with which p is epsilon-close to q."""
    return float(np.maximum(p - exp(epsilon) * q, 0.0).sum())


def delta_with_a_release(p, q, epsilon, move):
    """The same if a Gaussian release follows that moves by ``move(L)`` standard deviations.

    It is chosen with the log-ratio L of the minimiser in view, the worst that could be done.
    """
    total = 0.0
    for a, b in zip(p, q, strict=True):
        if a == 0:
            continue
        ratio = log(a / b) if b > 0 else 50.0
        d, left = move(ratio), epsilon - ratio
        if d == 0:
            total += a * max(0.0, 1 - exp(left))
        elif left >= 0:
            total += a * gdp.delta(d, left)
        else:
            # Of a privacy profile below zero: HS(e) = 1 - exp(e) + exp(e) HS(-e).
            total += a * (1 - exp(left) + exp(left) * gdp.delta(d, -left))
    return total
