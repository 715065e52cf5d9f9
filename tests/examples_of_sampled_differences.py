"""Examples of gradient differences over a sample, with neighbouring data sets."""

from dataclasses import dataclass

import numpy as np
from example_of_a_query import Example
from examples_of_gradient_differences import EXAMPLES as DIFFERENCES

from skdp.privacy.queries.gradient_difference import GradientDifferenceQuery
from skdp.privacy.queries.sampled_difference import SampledDifferenceQuery
from skdp.testing import check_sensitivity

RATE = 0.25


@dataclass(frozen=True)
class AllDrawn:
    """The query with every row drawn, as if that were its answer."""

    query: SampledDifferenceQuery

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

    def check(self, adjacency, *weights):
        data = self.X, self.y, self.other_X, self.other_y
        return check_sensitivity(AllDrawn(self.query), *data, adjacency, *weights)


def sampled(examples):
    for e in examples:
        query = SampledDifferenceQuery(e.query, RATE)
        yield SampledExample(query, e.X, e.y, e.other_X, e.other_y)


EXAMPLES = {
    SampledDifferenceQuery: tuple(list(sampled(e)) for e in DIFFERENCES[GradientDifferenceQuery])
}
