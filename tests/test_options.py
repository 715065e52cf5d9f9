"""Errors list the options in one order, which is alphabetical."""

import re

import numpy as np
import pytest

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.solvers import GD, SOLVERS
from skdp.validation import one_of


def test_options_are_listed_alphabetically():
    assert str(one_of("b", "c", "a")) == "a str among {'a', 'b', 'c'}"


def test_an_option_is_one_of_the_strings():
    options = one_of("a", "b")
    assert options.is_satisfied_by("a")
    assert not any(options.is_satisfied_by(v) for v in ("c", 1, None, ["a"]))


@pytest.mark.parametrize("estimator", [DPLogisticRegression, DPLinearRegression])
@pytest.mark.parametrize("parameter", ["solver", "adjacency"])
def test_an_unknown_option_gets_the_list(estimator, parameter):
    model = estimator(data_norm=1.0, **{parameter: "unheard_of"})
    with pytest.raises(ValueError, match=f"'{parameter}' parameter") as error:
        model.fit(np.zeros((4, 1)), [0, 1, 0, 1])
    (listed,) = re.findall(r"among \{(.*?)\}", str(error.value))
    names = listed.replace("'", "").split(", ")
    assert names == sorted(names)
    assert parameter != "solver" or set(names) < {"auto", *SOLVERS}


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
