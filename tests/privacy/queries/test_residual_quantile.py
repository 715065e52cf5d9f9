"""What the query for a quantile of residuals refuses."""

import numpy as np
import pytest

from skdp.privacy.queries import ResidualQuantileQuery
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Squared


@pytest.mark.parametrize("share", [-0.1, 0.0, 1.0, 1.5, np.nan])
def test_shares_that_are_no_shares_are_refused(share):
    problem = Problem(Squared(), 10, 2, RowBounds(1.0))
    with pytest.raises(ValueError, match=r"needs a share in \(0, 1\), got"):
        ResidualQuantileQuery(problem, problem.start(), np.array([0.0, 1.0]), share, True)
