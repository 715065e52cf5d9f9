"""Diagrams of estimators say what is spent, by which solver, and where to read on."""

from importlib import metadata

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from skdp import DPContextualBandit, DPLinearRegression, DPLogisticRegression
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.reporting import documentation
from skdp.solvers import GD

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(200, 2))
Y = (X[:, 0] > 0).astype(int)


def model(**options):
    return DPLogisticRegression(**{"data_norm": 2.0, "classes": [0, 1]} | options)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (model(epsilon=0.7), "epsilon 0.7, delta"),
        (model(), "solver &#x27;auto&#x27;"),
        (DPLinearRegression(epsilon=3.0), "epsilon 3.0, delta"),
        (DPContextualBandit([0, 1], horizon=10, epsilon=0.9), "epsilon 0.9, delta"),
        (BoundsScaler((-1, 1)), "spends nothing"),
        (make_pipeline(DPStandardScaler(epsilon=0.6), model()), "epsilon 0.6, delta"),
        (DPGridSearchCV(model(), {"C": [1.0]}, epsilon=4.0, delta=1e-5), "epsilon 4.0, delta"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_before_a_fit_a_diagram_says_what_may_be_spent(estimator, words):
    assert words in estimator._repr_html_()


def test_after_a_fit_it_says_what_was_spent_and_by_which_solver():
    fitted = model(epsilon=0.7, delta=1e-5, solver=GD(steps=2)).fit(X, Y)
    # Of parameters that have changed since nothing is to be seen.
    html = fitted.set_params(epsilon=9.0, solver="auto")._repr_html_()
    assert "spent epsilon 0.7 at delta 1e-05; solver GD" in html
    pipeline = make_pipeline(DPStandardScaler(epsilon=0.6, bounds=(-1, 1)), model()).fit(X, Y)
    html = pipeline._repr_html_()
    assert "spent epsilon 0.6" in html
    assert "spent epsilon 1 " in html


def test_a_search_shows_its_winner():
    search = DPGridSearchCV(model(solver=GD(steps=2)), {"C": [0.5, 1.0]}, epsilon=4.0, n_iter=2)
    assert (
        "best_estimator_: DPLogisticRegression, spent epsilon 4" in search.fit(X, Y)._repr_html_()
    )


@pytest.mark.parametrize(
    "address", ["https://docs.example.org/skdp/", "https://nobody.example/docs", None]
)
def test_the_link_is_the_one_that_the_package_states(address, monkeypatch):
    stated = ["Issues, https://issues.example.org"]
    stated += [] if address is None else [f"Documentation, {address}"]
    # A domain in which there is nothing: until the project has a home, there is no link.
    address = None if address == "https://nobody.example/docs" else address

    class Stated(dict):
        def get_all(self, name):
            return stated if name == "Project-URL" else None

    monkeypatch.setattr(metadata, "metadata", lambda name: Stated())
    documentation.cache_clear()
    try:
        html = model()._repr_html_()
        page = f"{address}reference/api/skdp.DPLogisticRegression.html" if address else ""
        assert model()._get_doc_link() == page
    finally:
        documentation.cache_clear()
    assert ('<a class="sk-estimator-doc-link' in html) == (address is not None)
    assert address is None or f'href="{page}"' in html
