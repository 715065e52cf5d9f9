"""Errors list the options in one order, which is alphabetical."""

import numpy as np
import pytest

from skdp import DPLogisticRegression
from skdp.solvers import GD


def test_a_mistyped_solver_gets_auto_and_what_it_may_have_been():
    model = DPLogisticRegression(data_norm=1.0, solver="objectve_perturbation")
    with pytest.raises(ValueError, match="such as 'auto' or 'objective_perturbation'") as error:
        model.fit(np.zeros((4, 1)), [0, 1, 0, 1])
    assert "'dda'" not in str(error.value)


def test_solvers_list_their_options_alphabetically():
    with pytest.raises(ValueError, match="'exponential', 'momentum', 'uniform'"):
        DPLogisticRegression(data_norm=1.0, classes=[0, 1], solver=GD(schedule="steep")).fit(
            np.zeros((4, 1)), [0, 1, 0, 1]
        )
