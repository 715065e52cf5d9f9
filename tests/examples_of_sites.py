"""Examples of queries to several sites, with neighbouring data sets."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from example_of_a_query import Example

from skdp.privacy.mechanisms import Trust
from skdp.privacy.queries import SiteGradientsQuery, SiteRequest
from skdp.problem import Sites


@dataclass(frozen=True)
class SiteExample(Example):
    """Sites keep their sizes, so a row whose contribution is removed becomes a row of zeros."""

    at_sites: ClassVar[bool] = True

    def without(self, units, i):
        X, *others = units[i]
        return [*units[:i], (np.zeros_like(X), *others), *units[i + 1 :]]


def queries(gradients, seed):
    """The same queries, asked of sites of different sizes."""
    rng = np.random.default_rng(seed)
    for k, example in enumerate(gradients):
        problem, n = example.query.problem, len(example.X)
        # A row of zeros contributes nothing if there is no intercept and no scale that moves zero.
        if problem.bounds.intercept_value or problem.bounds.scaling is not None:
            continue
        sizes = [1, n - 1] if k % 2 else [n]
        order = rng.permutation(n) if k % 3 else None
        sites = Sites(tuple(range(len(sizes))), np.array(sizes), order)
        W = np.tile(example.query.w, (len(sizes), *[1] * example.query.w.ndim))
        request = SiteRequest(problem, sites, np.arange(len(sizes)), W, example.query.clip_norm)
        yield example, request


def examples(gradients, seed=0):
    for example, request in queries(gradients, seed):
        query = SiteGradientsQuery(request, Trust(), None, np.ones(request.active.size))
        yield SiteExample(query, example.X, example.y, example.other_X, example.other_y)


def examples_from(random_gradients, crafted_gradients):
    """Examples, made of examples of gradients."""
    random, crafted = list(random_gradients), list(crafted_gradients)
    return {
        SiteGradientsQuery: (list(examples(random)), list(examples(crafted))),
    }
