"""Weights for the rows of any example of a query, and examples of the query for their sum."""

import numpy as np
from example_of_a_query import Example

from skdp.privacy.queries import TotalWeightQuery

N, D = 4, 3


def random_weights(rng, n):
    """Weights of every size, 0, 1 and ones beyond the bound among them."""
    weights = rng.uniform(size=n)
    special = [0.0, 1.0, 1e-300, 7.0, 1e300]
    for i in np.flatnonzero(rng.random(n) < 0.5):
        weights[i] = special[rng.integers(len(special))]
    return weights


def weighted(examples, seed):
    """Each example with weights of its rows and of those that come in."""
    rng = np.random.default_rng(seed)
    for example in examples:
        n = len(example.X)
        yield example, random_weights(rng, n), random_weights(rng, n)


class WeightExample(Example):
    """Rows of the first data set weigh 1 and those of the other nothing, unless told otherwise."""

    def check(self, adjacency, *weights):
        return super().check(adjacency, *(weights or (np.ones(N), np.zeros(N))))


NOTHING = np.zeros((N, D)), np.zeros(N)
TOTAL = WeightExample(TotalWeightQuery(), *NOTHING, *NOTHING)

EXAMPLES = {TotalWeightQuery: ([TOTAL], [TOTAL])}
