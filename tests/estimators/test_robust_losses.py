"""Bounded losses of regression resist wild targets, whichever solver is used."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from skdp import DPLinearRegression
from skdp.problem.losses import Huber, Tukey

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")


def make_data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(5000, 3))
    clean = X @ [1.0, -2.0, 0.5] + 0.2 * rng.normal(size=5000)
    return X, clean, np.where(rng.uniform(size=5000) < 0.2, 9.0, clean)


X, CLEAN, WILD = make_data()


@pytest.mark.parametrize("epsilon", [1.0, 10.0, 1e4])
@pytest.mark.parametrize("solver", ["auto", "gd"])
@pytest.mark.parametrize("loss", [Huber(0.1), Tukey(), Tukey(0.4)], ids=str)
def test_wild_targets_are_resisted_at_any_budget(loss, solver, epsilon):
    model = DPLinearRegression(
        epsilon=epsilon,
        data_norm=1.8,
        target_bounds=(-10, 10),
        loss=loss,
        solver=solver,
        precondition="auto",
        random_state=0,
    )
    # One target in five is wrong, and least squares is worse than the mean.
    assert LinearRegression().fit(X, WILD).score(X, CLEAN) < 0
    # Found: 0.93 to 0.98.
    assert model.fit(X, WILD).score(X, CLEAN) > 0.9
