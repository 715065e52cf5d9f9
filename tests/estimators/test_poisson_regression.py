"""Counts and rates: exposures, caps, standard errors, and agreement with scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score

from skdp import DPPoissonRegressor
from skdp.privacy.rows import BoundedBlock, DenseRows, RawBlock
from skdp.problem import CountBounds, RowBounds

pytestmark = pytest.mark.filterwarnings("ignore::skdp.NoPrivacyWarning")

N, D = 20_000, 3
COEF, RATE = np.array([0.6, -0.4, 0.0]), 0.3
EXACT = {"epsilon": float("inf"), "delta": 1e-5, "data_norm": 2.0, "target_bounds": (0, 50)}


def claims(n=N, seed=0, dispersion=0.0):
    """Rows, numbers of events and exposures."""
    rng = np.random.default_rng(seed)
    X, exposure = rng.uniform(-1, 1, size=(n, D)), rng.uniform(0.1, 1.0, size=n)
    mean = exposure * RATE * np.exp(X @ COEF)
    if dispersion:
        mean = mean * rng.gamma(1 / dispersion, dispersion, size=n)
    return X, rng.poisson(mean), exposure


X, EVENTS, EXPOSURE = claims()
RATES = EVENTS / EXPOSURE


@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize("solver", ["auto", "gd", "spider", "one_step"])
def test_without_noise_the_fit_is_that_of_scikit_learn(solver, alpha):
    theirs = PoissonRegressor(alpha=alpha, tol=1e-10).fit(X, RATES, sample_weight=EXPOSURE)
    ours = DPPoissonRegressor(**EXACT, alpha=alpha, solver=solver)
    ours.fit(X, RATES, sample_weight=EXPOSURE)
    # One weighs long rows down, the other takes few steps.
    atol = 0.03 if solver in ("one_step", "spider") else 2e-3
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=atol)
    assert abs(ours.intercept_ - theirs.intercept_) < atol


def test_exposures_in_other_units_are_rates_in_other_units():
    monthly = DPPoissonRegressor(**EXACT | {"target_bounds": (0, 50 / 12)}, max_weight=12.0)
    monthly.fit(X, RATES / 12, sample_weight=12 * EXPOSURE)
    yearly = DPPoissonRegressor(**EXACT).fit(X, RATES, sample_weight=EXPOSURE)
    np.testing.assert_allclose(monthly.coef_, yearly.coef_, atol=1e-3)
    assert abs(monthly.intercept_ + np.log(12) - yearly.intercept_) < 1e-3


def test_rows_at_sites_and_sparse_rows_have_their_exposures():
    at_once = DPPoissonRegressor(**EXACT).fit(X, RATES, sample_weight=EXPOSURE)
    sparse = DPPoissonRegressor(**EXACT).fit(sp.csr_matrix(X), RATES, sample_weight=EXPOSURE)
    np.testing.assert_allclose(sparse.coef_, at_once.coef_, atol=1e-3)
    sites = np.arange(N) % 4
    apart = DPPoissonRegressor(**EXACT).fit(X, RATES, sample_weight=EXPOSURE, sites=sites)
    np.testing.assert_allclose(apart.coef_, at_once.coef_, atol=0.1)
    # Nobody sees the rows of all of them together.
    finite = DPPoissonRegressor(**EXACT | {"epsilon": 1.0}).fit(X, RATES, EXPOSURE, sites=sites)
    assert not any("intercept" in event.query for event in finite.privacy_ledger_)
    assert abs(apart.intercept_ - at_once.intercept_) < 0.1


def test_texts_have_counts():
    rng = np.random.default_rng(0)
    words = sp.csr_matrix(rng.uniform(size=(4000, 1500)) * (rng.random((4000, 1500)) < 0.01))
    model = DPPoissonRegressor(epsilon=4.0, data_norm=2.0, target_bounds=(0, 4))
    model.fit(words, rng.poisson(0.5, size=4000))
    assert 0.6 < model.predict(words).mean() / 0.5 < 1.6


def test_a_row_is_its_events_below_the_cap_beside_its_exposure():
    y, v = np.array([0.0, 4.0, 1e300, 40.0, 3.0]), np.array([0.5, 0.25, 1.0, 0.05, 7.0])
    raw = RawBlock(np.zeros((5, D)), y, v)
    block = BoundedBlock(raw, RowBounds(1.0, target=CountBounds(0.0, 2.0))).loaded()
    np.testing.assert_allclose(block.y, [0.0, 0.5, 1.0, 1.0, 1.0])
    expected = np.log(np.array([0.5, 0.25, 1.0, 0.05, 1.0]) / 2)
    np.testing.assert_allclose(block.scores(np.zeros(D)), expected)
    assert block.weights is None
    # A row without exposure adds nothing, whatever its rate and its features.
    nothing = RawBlock(np.full((2, D), 1e5), np.array([1e300, 0.0]), np.array([0.0, np.nan]))
    block = BoundedBlock(nothing, RowBounds(1.0, target=CountBounds(0.0, 2.0))).loaded()
    assert not block.y.any()
    assert np.exp(block.scores(np.full(D, 100.0))).max() < 1e-100


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_rare_events_are_neither_lost_nor_made_up(epsilon):
    """A clip by the count would leave a fraction of the events."""
    model = DPPoissonRegressor(epsilon=epsilon, data_bounds=(-1, 1), target_bounds=(0, 4))
    model.fit(X, RATES, sample_weight=EXPOSURE)
    expected = float(model.predict(X) @ EXPOSURE)
    assert 0.8 < expected / EVENTS.sum() < 1.25
    assert model.score(X, RATES, sample_weight=EXPOSURE) > 0.02


def test_a_cap_grows_with_the_budget_until_it_cuts_nothing_off():
    rng = np.random.default_rng(0)
    counts = np.exp(rng.normal(0, 1.5, size=N))
    caps = []
    for epsilon in (0.3, 3.0, 1e4):
        model = DPPoissonRegressor(epsilon=epsilon, data_bounds=(-1, 1)).fit(X, counts)
        caps.append(model.target_bounds_[1])
    assert caps[0] < caps[1] < caps[2]
    assert caps[-1] >= counts.max()


def test_the_cap_is_of_events_and_not_of_rates():
    """One event in a short time has a large rate, and is one event."""
    short = np.full(N, 0.01)
    model = DPPoissonRegressor(epsilon=4.0, data_bounds=(-1, 1))
    events = np.minimum(EVENTS, 1)
    model.fit(X, events / np.where(EVENTS > 0, short, 1.0), np.where(EVENTS > 0, short, 1.0))
    assert model.target_bounds_ == (0.0, 1.0)


def test_score_is_that_of_scikit_learn_and_predictions_travel():
    model = DPPoissonRegressor(epsilon=2.0, data_bounds=(-1, 1), target_bounds=(0, 4))
    model.fit(X, RATES, sample_weight=EXPOSURE)
    predicted = model.predict(X)
    weights = {"sample_weight": EXPOSURE}
    expected = d2_tweedie_score(RATES, predicted, power=1, **weights)
    assert abs(model.score(X, RATES, **weights) - expected) < 1e-12
    np.testing.assert_allclose(model.to_sklearn().predict(X), predicted, rtol=1e-12)
    free = DPPoissonRegressor(epsilon=2.0, data_norm=2.0, target_bounds=(0, 4), max_weight=1.0)
    free.set_params(clip_predictions=False).fit(X, RATES, sample_weight=EXPOSURE)
    plain = free.to_sklearn()
    assert type(plain) is PoissonRegressor
    np.testing.assert_allclose(plain.predict(X), free.predict(X), rtol=1e-12)
    sums = model._sums_of_score(RATES, predicted)
    by_sums = model._score_by_sums(*sums)
    assert abs(by_sums - model.score(X, RATES)) < 1e-9


@pytest.mark.parametrize("buffer", [True, False])
def test_streams_and_people_learn_rates(buffer):
    options = {"epsilon": 8.0, "data_norm": 2.0, "target_bounds": (0, 4), "buffer": buffer}
    model = DPPoissonRegressor(**options, horizon=N)
    for rows in np.array_split(np.arange(N), 4):
        model.partial_fit(X[rows], RATES[rows], EXPOSURE[rows])
    assert 0.6 < float(model.predict(X) @ EXPOSURE) / EVENTS.sum() < 1.6
    person = np.arange(N) // 2
    of_people = DPPoissonRegressor(**options).fit(X, RATES, EXPOSURE, privacy_unit=person)
    assert of_people.privacy_unit_ == "privacy_unit"
    assert 0.75 < float(of_people.predict(X) @ EXPOSURE) / EVENTS.sum() < 1.3


@pytest.mark.parametrize(
    ("options", "y", "words"),
    [
        ({}, -RATES, "at least 0"),
        ({"target_bounds": (1, 4)}, RATES, r"must be \(0, cap\)"),
        ({"target_bounds": (0, 0)}, RATES, r"must be \(0, cap\)"),
        ({"solver": "tracked_gd"}, RATES, "Use the solver 'gd'"),
        ({"solver": "objective_perturbation"}, RATES, "Use the solver 'gd'"),
        ({"delta": 0}, RATES, "only fits of DPLogisticRegression.* leave delta out"),
    ],
)
def test_what_cannot_be_done_is_refused(options, y, words):
    model = DPPoissonRegressor(**{"data_norm": 2.0, "target_bounds": (0, 4)} | options)
    with pytest.raises(ValueError, match=words) as refusal:
        model.fit(X, y)
    assert str(y.max())[:6] not in str(refusal.value)


def test_scores_of_targets_below_zero_are_refused_in_the_words_of_the_fit():
    model = DPPoissonRegressor(data_norm=2.0, target_bounds=(0, 4)).fit(X, RATES)
    with pytest.raises(ValueError, match="DPPoissonRegressor needs targets of at least 0"):
        model.score(X, -RATES)


def test_exposures_are_the_weights_of_features():
    """Moments are about what the curvature of the loss weighs, which is exposure."""
    few = slice(1000)
    (block,) = DenseRows(X[few], RATES[few], EXPOSURE[few]).blocks()
    bounded = BoundedBlock(block, RowBounds(2.0, target=CountBounds(0.0, 2.0)))
    np.testing.assert_allclose(bounded.masses, EXPOSURE[few], atol=1e-7)
