"""Examples of gradients over a sample, with neighbouring data sets."""

from dataclasses import dataclass

import numpy as np
from example_of_a_query import Example
from examples_of_gradient_differences import EXAMPLES as DIFFERENCES
from examples_of_sites import SiteExample, queries

from skdp.privacy.queries import GradientDifferenceQuery, SampledGradientQuery

RATE = 0.25


@dataclass(frozen=True)
class AllDrawn:
    """The query with every row drawn, as if that were its answer."""

    query: SampledGradientQuery

    @property
    def name(self):
        return self.query.name

    def sensitivity(self, adjacency):
        return self.query.sensitivity(adjacency)

    def evaluate(self, rows):
        return self.query.evaluate_under(rows, np.ones(rows.n_samples, dtype=bool))


@dataclass(frozen=True)
class SampledExample(Example):
    """The row in question is drawn, which is when its neighbours differ."""

    @property
    def asked(self):
        return AllDrawn(self.query)


@dataclass(frozen=True)
class SampledSiteExample(SiteExample):
    """The same, of a site."""

    asked = SampledExample.asked


def sampled(full):
    for e in full:
        query = SampledGradientQuery(e.query, RATE)
        yield SampledExample(query, e.X, e.y, e.other_X, e.other_y)


def of_sites(gradients):
    for e, request in queries(gradients, 0):
        query = SampledGradientQuery(request, RATE)
        yield SampledSiteExample(query, e.X, e.y, e.other_X, e.other_y)


def examples_from(random_gradients, crafted_gradients):
    """Examples of samples for gradients, their differences, and sites."""
    both = random_gradients, crafted_gradients
    differences = DIFFERENCES[GradientDifferenceQuery]
    return {
        SampledGradientQuery: tuple(
            [*sampled(gradients), *sampled(apart), *of_sites(gradients)]
            for gradients, apart in zip(map(list, both), differences, strict=True)
        )
    }
