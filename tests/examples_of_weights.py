"""Examples of the query for the sum of weights."""

import numpy as np
from example_of_a_query import Example

from skdp.privacy.queries import TotalWeightQuery

N, D = 4, 3
NOTHING = np.zeros((N, D)), np.zeros(N)
# Rows of the first data set weigh 1 and those of the other nothing.
WEIGHTS = {"weights": np.ones(N), "other_weights": np.zeros(N)}
TOTAL = Example(TotalWeightQuery(), *NOTHING, *NOTHING, **WEIGHTS)

EXAMPLES = {TotalWeightQuery: ([TOTAL], [TOTAL])}
