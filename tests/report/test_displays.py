"""Displays draw what receipts say, or say that they read rows."""

import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

import skdp
from skdp import DPLinearRegression, DPLogisticRegression, PrivacyLeakWarning
from skdp.model_selection import DPRandomizedSearchCV
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.reporting.displays import (
    BudgetDisplay,
    CalibrationDisplay,
    CoefficientDisplay,
    EpsilonCurveDisplay,
)
from skdp.solvers import GD

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(400, 3))
REAL = X @ [1.0, -2.0, 0.5]
Y = (REAL > 0).astype(int)


class Axes:
    """Notes what is drawn, so that nothing else is needed."""

    def __init__(self):
        self.figure, self.calls = self, []

    def __getattr__(self, name):
        return lambda *args, **options: self.calls.append((name, args, options))

    def drawn(self, name):
        return [(args, options) for called, args, options in self.calls if called == name]


def model(**options):
    given = {"data_norm": 2.0, "classes": [0, 1], "solver": GD(steps=3), "precondition": None}
    return DPLogisticRegression(**given | options)


def test_bars_are_the_shares_of_the_ledger():
    fitted = model(precondition="full").fit(X, Y)
    axes = Axes()
    display = BudgetDisplay.from_estimator(fitted, ax=axes)
    assert display.ax_ is axes
    assert sum(display.shares) == pytest.approx(1.0)
    events = fitted.privacy_ledger_
    whole = sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in events)
    found = dict(zip(display.labels, display.shares, strict=True))
    looks = [e for e in events if e.query == "second_moments"]
    price = sum((e.sensitivity / e.noise_scale) ** 2 for e in looks)
    assert found["coordinates of the features (2)"] == pytest.approx(price / whole)
    ((_, widths), _), *_ = axes.drawn("barh")
    assert sum(widths) == pytest.approx(100.0)


def test_bars_of_a_pipeline_are_shares_of_the_whole():
    scaler = DPStandardScaler(epsilon=0.5, bounds=(-1, 1))
    fitted = make_pipeline(scaler, model(epsilon=0.5)).fit(X, Y)
    display = BudgetDisplay.from_report(skdp.report(fitted), ax=Axes())
    assert sum(display.shares) == pytest.approx(1.0)
    # Both have the same budget.
    assert display.shares[0] == pytest.approx(0.5, rel=1e-6)
    assert set(display.fits) == {"Pipeline.dpstandardscaler", "Pipeline.dplogisticregression"}


def test_a_stream_shows_the_part_that_has_cost_most():
    stream = model(precondition="full")
    for k in range(3):
        stream.partial_fit(X[100 * k : 100 * k + 100], Y[100 * k : 100 * k + 100])
    assert sum(BudgetDisplay.from_estimator(stream, ax=Axes()).shares) == pytest.approx(1.0)


def test_what_has_no_share_is_refused_by_name():
    search = DPRandomizedSearchCV(model(), {"C": [0.5, 1.0]}, epsilon=4.0, n_iter=2).fit(X, Y)
    with pytest.raises(ValueError, match="private search of DPRandomizedSearchCV"):
        BudgetDisplay.from_estimator(search, ax=Axes())
    with pytest.raises(ValueError, match="got none"):
        BudgetDisplay.from_estimator(BoundsScaler((-1, 1)).fit(X), ax=Axes())


def test_noise_of_coefficients_is_that_between_fits():
    fits = [model(epsilon=0.5).fit(X, Y) for _ in range(6)]
    display = CoefficientDisplay.from_estimator(*fits, feature_names=["a", "b", "c"], ax=Axes())
    coefficients = np.vstack([fit.coef_ for fit in fits])
    np.testing.assert_allclose(display.means, coefficients.mean(axis=0))
    np.testing.assert_allclose(display.noise, coefficients.std(axis=0, ddof=1))
    assert (display.noise > 0).all()
    assert display.names == ["a", "b", "c"]
    (_, drawn), *_ = display.ax_.drawn("errorbar")
    np.testing.assert_allclose(drawn["xerr"], 2 * display.noise / np.sqrt(6))


def test_one_fit_is_refused_by_the_name_of_its_solver():
    fitted = model().fit(X, Y)
    with pytest.raises(ValueError, match="the ledger of GD tells the noise of answers"):
        CoefficientDisplay.from_estimator(fitted, ax=Axes())
    with pytest.raises(ValueError, match="differ in nothing but noise"):
        CoefficientDisplay.from_estimator(fitted, model(epsilon=2.0).fit(X, Y), ax=Axes())
    with pytest.raises(ValueError, match="3 feature_names, got 1"):
        CoefficientDisplay.from_estimator(fitted, clone(fitted).fit(X, Y), feature_names=["a"])
    several = model(classes=[0, 1, 2]).fit(X, Y)
    with pytest.raises(ValueError, match="got 3 classes"):
        CoefficientDisplay.from_estimator(several, several, ax=Axes())


def test_a_single_fit_with_released_errors_is_drawn_with_them():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 2))
    fitted = DPLinearRegression(
        solver="one_step", data_norm=4.0, target_bounds=(-11, 11), epsilon=8.0
    ).fit(rows, rows @ [1.0, -2.0] + rng.normal(size=len(rows)))
    display = CoefficientDisplay.from_estimator(fitted, ax=Axes())
    np.testing.assert_array_equal(display.means, fitted.coef_)
    np.testing.assert_array_equal(display.standard_errors, fitted.inference_.bse[:2])
    assert np.all(display.standard_errors > 0)


@pytest.mark.parametrize(
    ("private", "plain", "y"),
    [
        (model(), LogisticRegression(), Y),
        (DPLinearRegression(data_norm=2.0, target_bounds=(-4, 4)), LinearRegression(), REAL),
    ],
    ids=["classes", "regression"],
)
def test_scores_against_epsilon_lie_beside_baseline_and_forecast(private, plain, y):
    axes = Axes()
    with pytest.warns(PrivacyLeakWarning, match="fits 4 models to these rows"):
        display = EpsilonCurveDisplay.from_estimator(
            private, X, y, baseline=plain, epsilons=(50.0, 0.01), n_fits=2, random_state=0, ax=axes
        )
    assert display.epsilons.tolist() == [0.01, 50.0]
    assert display.scores.shape == (2, 2)
    assert display.baseline > 0.9
    # What noise is expected to take away is next to all, and next to nothing.
    assert display.forecast[0] < display.forecast[1] <= display.baseline
    assert [options["label"] for _, options in axes.drawn("axhline")] == ["without privacy"]
    assert display.means == pytest.approx(display.scores.mean(axis=1))
    assert private.epsilon == 1.0
    assert not hasattr(private, "coef_")


def test_a_curve_without_baseline_has_no_forecast():
    with pytest.warns(PrivacyLeakWarning):
        display = EpsilonCurveDisplay.from_estimator(
            model(), X, Y, epsilons=(1.0,), n_fits=1, ax=Axes()
        )
    assert display.baseline is display.forecast is None
    with pytest.raises(ValueError, match="a parameter epsilon, got Pipeline"):
        EpsilonCurveDisplay.from_estimator(make_pipeline(model()), X, Y)


def test_calibration_warns_that_it_reads_rows():
    pytest.importorskip("matplotlib")
    fitted = model().fit(X, Y)
    with pytest.warns(PrivacyLeakWarning, match="another release"):
        display = CalibrationDisplay.from_estimator(fitted, X, Y, n_bins=5)
    assert display.prob_true.size <= 5


def test_a_missing_matplotlib_is_named_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'skdp\[plot\]'"):
        BudgetDisplay.from_estimator(model().fit(X, Y))


def test_displays_draw_on_axes_of_matplotlib():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    fits = [model().fit(X, Y) for _ in range(2)]
    with pytest.warns(PrivacyLeakWarning):
        curve = EpsilonCurveDisplay.from_estimator(
            model(), X, Y, baseline=LogisticRegression(), epsilons=(1.0,), n_fits=1
        )
    drawn = [curve, BudgetDisplay.from_estimator(fits[0]), CoefficientDisplay.from_estimator(*fits)]
    for display in drawn:
        assert display.figure_ is display.ax_.figure
        assert display.ax_.get_xlabel()
        display.figure_.canvas.draw()
        matplotlib.pyplot.close(display.figure_)
