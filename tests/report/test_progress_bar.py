"""Bars of progress: for amounts that are public, on terminals, and nowhere else."""

import io
import sys

import numpy as np
import pytest

from skdp import DPLogisticRegression
from skdp.audit import audit
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.solvers import GD

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(200, 2))
Y = (X[:, 0] > 0).astype(int)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """What a call writes to a terminal on standard error."""

    def call(run, **options):
        # Set here and not beforehand, since pytest sets its own before each test.
        monkeypatch.setattr(sys, "stderr", Terminal())
        run(**options)
        return sys.stderr.getvalue()

    return call


def model(**options):
    given = {"data_norm": 2.0, "classes": [0, 1], "solver": GD(steps=2), "precondition": None}
    return DPLogisticRegression(**given | options)


def public_search():
    space = {"C": [0.25, 0.5, 1.0]}
    DPGridSearchCV(model(), space, epsilon=4.0, delta=1e-5, exhaustive=True).fit(X, Y)


def secret_search():
    DPRandomizedSearchCV(model(), {"C": [0.25, 0.5, 1.0]}, epsilon=4.0, delta=1e-5).fit(X, Y)


def small_audit(**options):
    audit(model(), X, Y, runs=50, n_jobs=1, **options)


@pytest.mark.parametrize(
    ("run", "last"),
    [(public_search, "DPGridSearchCV [" + "#" * 30 + "] 3 of 3"), (small_audit, "] 8 of 8")],
)
def test_public_amounts_are_shown_on_a_terminal_and_wiped_at_the_end(run, last, shown):
    *lines, wiped, end = shown(run).split("\r")
    assert lines[-1].endswith(last)
    assert wiped.isspace()
    assert end == ""


def test_the_number_of_secret_trials_is_shown_nowhere(shown):
    assert shown(secret_search) == ""


@pytest.mark.parametrize("run", [public_search, small_audit])
def test_nothing_is_shown_without_a_terminal(run, capsys):
    run()
    assert capsys.readouterr() == ("", "")


def test_joblib_prints_instead_if_it_is_asked_to(shown):
    assert "Done" in (said := shown(small_audit, verbose=10))
    assert "] 8 of 8" not in said
