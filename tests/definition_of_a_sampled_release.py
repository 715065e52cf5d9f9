"""What a single sampled release costs by its definition, by quadrature."""

from math import exp

import numpy as np
import pytest
from scipy.stats import norm

from skdp.privacy import Adjacency
from skdp.privacy.accounting import SampledReleases, subsampling


def check_one_release(adjacency):
    """Epsilon of a single release is that of the definition, which may not be undercut."""
    pytest.importorskip("dp_accounting", reason="dp-accounting is an optional dependency")
    rate, z = 0.3, 1.0
    x = np.linspace(-20, 20, 400_001)
    step = x[1] - x[0]
    ends = [(1, -1)] if adjacency is Adjacency.REPLACE_ONE else [(1, None), (None, 1)]
    for delta in (1e-3, 1e-2):
        reported = subsampling.epsilon((SampledReleases(rate, z, 1, adjacency),), 0.0, delta)
        exact = 0.0
        for pair in ends:
            p, q = (
                norm.pdf(x, 0, z)
                if end is None
                else (1 - rate) * norm.pdf(x, 0, z) + rate * norm.pdf(x, end, z)
                for end in pair
            )
            exact = max(exact, np.maximum(p - exp(reported) * q, 0).sum() * step)
        assert exact <= delta * (1 + 1e-6), "less than the definition demands"
        assert exact >= 0.99 * delta, "more than the definition demands"
