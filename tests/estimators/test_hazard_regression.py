"""Proportional hazards for times to an event: coefficients, curves, targets in all forms."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skdp import DPHazardRegressor, inference, plan
from skdp.model_selection import DPGridSearchCV
from skdp.problem.losses import Hazard
from skdp.solvers import OneStep

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

BETA = np.array([0.7, -0.5, 0.0])


def people(n=20_000, seed=0, exits=1.5):
    """Features within (-1, 1), and times of whom two of three have an event."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    event, last = rng.weibull(1.4, n) * np.exp(-X @ BETA / 1.4), rng.uniform(0, exits, n)
    return X, np.rec.fromarrays([event <= last, np.minimum(event, last)], names="event, time")


def model(**options):
    return DPHazardRegressor(**{"data_bounds": (-1, 1), "max_time": 1.5, "epsilon": 2.0} | options)


@pytest.fixture(scope="module")
def fitted():
    X, y = people()
    return model(solver="one_step").fit(X, y)


def test_coefficients_are_log_hazard_ratios_within_their_errors(fitted):
    found = fitted.inference_
    np.testing.assert_allclose(fitted.coef_, found.params)
    # Five standard errors, of three coefficients.
    assert np.all(np.abs(found.params - BETA) < 5 * found.bse)
    assert np.all(found.bse < 0.1)
    assert inference(fitted) is found


def test_level_of_the_baseline_is_that_of_the_population(fitted):
    """Survival of somebody average at a time, as the Weibull law gives it."""
    true = np.exp(-(fitted.times_**1.4))
    curve = fitted.predict_survival_function(np.zeros((1, 3)), return_array=True)[0]
    np.testing.assert_allclose(curve, true, atol=0.06)


def test_summary_has_hazard_ratios(fitted):
    text = str(fitted.summary())
    assert "hazard ratio" in text
    assert f"{np.exp(fitted.coef_[0]):.4g}" in text


def test_curves_are_those_of_the_cumulated_hazard(fitted):
    X = people(5)[0]
    survival = fitted.predict_survival_function(X)
    hazard = fitted.predict_cumulative_hazard_function(X, return_array=True)
    np.testing.assert_allclose(
        fitted.predict_survival_function(X, return_array=True), np.exp(-hazard)
    )
    for curve, row in zip(survival, hazard, strict=True):
        assert curve(0.0) == 1.0
        np.testing.assert_allclose(curve(fitted.times_), np.exp(-row))
        assert curve.domain == (0.0, fitted.times_[-1])
        assert np.all(np.diff(curve(np.linspace(0, 2, 50))) <= 0)
    np.testing.assert_allclose(
        hazard, np.exp(fitted.predict(X))[:, None] * np.cumsum(fitted.baseline_hazard_)
    )


@pytest.mark.parametrize("solver", ["one_step", "gd"])
def test_targets_in_all_forms_give_the_same_model(solver):
    X, y = people(4000)
    flat = np.where(y.event, y.time, -y.time)
    forms = [
        y,
        np.rec.fromarrays([y.time, y.event], names="t, d"),
        pd.DataFrame({"event": y.event, "time": y.time}),
        pd.DataFrame({"time": y.time, "event": y.event}),
        pd.DataFrame({"event": y.event.astype(int), "time": y.time}),
        flat,
    ]
    fits = []
    for form in forms:
        fits.append(model(solver=solver, random_state=0).fit(X, form))
        assert fits[-1].score(X, form) == fits[0].score(X, y)
    for fit in fits:
        np.testing.assert_array_equal(fit.coef_, fits[0].coef_)


FORM, FIELD = "needs events beside times: y as a str", "needs y with a field"


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.rec.fromarrays([np.ones(9, bool), np.full(9, -1.0)], names="e, t"), FIELD),
        (np.rec.fromarrays([np.ones(9, bool), np.full(9, np.nan)], names="e, t"), FIELD),
        (np.rec.fromarrays([np.full(9, 2), np.full(9, 1.0)], names="e, t"), FIELD),
        (np.rec.fromarrays([np.ones(9, bool), np.ones(9), np.ones(9)], names="e, t, u"), FIELD),
        (pd.DataFrame({"event": ["yes"] * 9, "time": np.ones(9)}), FIELD),
        (np.ones((9, 2)), FORM),
        ((np.ones(9, bool), np.ones(9)), FORM),
        ([(True, 1.0)] * 9, FORM),
        (np.ones(9, bool), FORM),
    ],
)
def test_targets_that_are_no_times_are_refused_without_quoting_them(y, said):
    with pytest.raises(ValueError, match=f"DPHazardRegressor {said}") as refusal:
        model().fit(np.zeros((9, 3)), y)
    assert "-1" not in str(refusal.value)


def test_a_curve_at_words_is_refused_without_quoting_them(fitted):
    curve = fitted.predict_survival_function(np.zeros((1, 3)))[0]
    with pytest.raises(ValueError, match="needs times as numbers, got a list of 1 item"):
        curve(["a word"])


@pytest.mark.parametrize("times", [[], [1.0, 1.0], [0.0, 1.0], [1.0, np.inf], ["a"], [[1.0]]])
def test_cut_points_that_do_not_increase_are_refused(times):
    with pytest.raises(ValueError, match="'times' parameter"):
        model(times=times, max_time=None).fit(*people(50))
    with pytest.raises(ValueError, match=r"needs max_time=None with times.*got max_time=1\.5"):
        model(times=[0.5, 1.0]).fit(*people(50))


@pytest.mark.parametrize("kind", ["structured", "signed"])
def test_searches_compare_models_of_times_by_concordance(kind):
    X, y = people(2000)
    y = y if kind == "structured" else np.where(y.event, y.time, -y.time)
    space = {"alpha": [1.0, 10.0]}
    with pytest.raises(ValueError, match=r"needs public rows for scores of times to an event"):
        DPGridSearchCV(model(), space).fit(X, y)
    public = X[:500], y[:500]
    search = DPGridSearchCV(model(), space, epsilon=20.0, validation=public).fit(X[500:], y[500:])
    assert search.best_score_ == search.best_estimator_.score(*public)


def test_given_cut_points_are_the_periods():
    times = [0.2, 0.5, 1.0]
    found = model(times=times, max_time=None).fit(*people(5000))
    np.testing.assert_array_equal(found.times_, times)
    assert "survival curve" in str(found.plan_)


def kaplan_meier(y, at):
    """Its curve without privacy, one event after another."""
    order = np.argsort(y.time)
    event, time = y.event[order], y.time[order]
    curve = np.cumprod(1 - event / np.arange(len(y), 0, -1))
    return curve[np.searchsorted(time, at, side="right") - 1]


def test_survival_of_the_population_is_kaplan_and_meiers(fitted):
    y = people()[1]
    np.testing.assert_allclose(
        fitted.population_survival_, kaplan_meier(y, fitted.times_), atol=0.06
    )
    given = model(times=[0.2, 0.5, 1.0], max_time=None, epsilon=5.0).fit(*people())
    exact = kaplan_meier(y, given.times_)
    np.testing.assert_allclose(given.population_survival_, exact, atol=0.02)


def test_the_longest_time_is_found_where_it_is_not_given():
    found = model(max_time=None).fit(*people())
    assert 0.8 < found.times_[-1] < 3.1
    assert len(found.times_) >= 4


def test_auto_has_intervals_where_rows_are_enough():
    rich, poor = plan(model(), 100_000, 3), plan(model(), 1000, 3)
    assert isinstance(rich.solver, OneStep)
    assert not isinstance(poor.solver, OneStep)
    assert "times to an event" in str(poor)


def test_models_of_few_people_are_not_far_off():
    """Clipped gradients stay near what they start from where noise is large."""
    X, y = people(300)
    for seed in range(3):
        with pytest.warns(match=r"random_state|next to nothing"):
            found = model(epsilon=0.1, random_state=seed).fit(X, y)
        assert np.all(np.abs(found.coef_) < 20)


def test_spend_is_the_budget_and_no_more(fitted):
    assert fitted.privacy_spent_.epsilon == pytest.approx(2.0, rel=1e-6)
    queries = [event.query for event in fitted.privacy_ledger_]
    # Two for the norm of the rows, and the life table.
    assert queries.count("histogram") == 3
    assert "score_and_curvature" in queries


def test_exponential_hazards_without_noise_are_found_exactly():
    """A million people, half of them with one binary feature: rates .5 and 1."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, size=(200_000, 1)).astype(float)
    time = rng.exponential(1 / np.where(X[:, 0] == 1, 1.0, 0.5))
    y = np.where(time < 1, time, -1.0)
    ends = {"times": np.linspace(0.25, 1, 4), "max_time": None}
    with pytest.warns(match="adds no noise"):
        found = model(epsilon=float("inf"), **ends, data_bounds=(0, 1)).fit(X, y)
    np.testing.assert_allclose(found.coef_, np.log(2), atol=0.04)
    np.testing.assert_allclose(np.cumsum(found.baseline_hazard_), 0.5 * found.times_, rtol=0.04)


def concordance(y, risk, weights):
    """The score of a model whose only feature is the risk."""
    known = DPHazardRegressor()
    known.coef_, known.intercept_, known.n_features_in_ = np.ones(1), 0.0, 1
    return known.score(risk[:, None], y, weights)


def by_pairs(y, risk, weights):
    """Concordance by its definition, pair by pair."""
    pairs = agreeing = 0.0
    for i, a in enumerate(y):
        for j, b in enumerate(y):
            later = abs(b) > abs(a) or (abs(b) == abs(a) and np.signbit(b))
            if i != j and not np.signbit(a) and later:
                both = weights[i] * weights[j]
                pairs += both
                agreeing += both * (0.5 * (risk[i] == risk[j]) + (risk[i] > risk[j]))
    return agreeing / pairs if pairs else np.nan


@pytest.mark.parametrize("seed", range(6))
def test_concordance_is_that_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    n = 40
    y = rng.choice([-1.0, 1.0], n) * rng.integers(1, 12, n)
    risk, weights = rng.integers(0, 9, n) / 2, rng.integers(0, 3, n).astype(float)
    found = concordance(y, risk, weights)
    assert found == pytest.approx(by_pairs(y, risk, weights), rel=1e-12)
    assert np.isnan(concordance(-np.abs(y), risk, weights))


def test_loss_of_an_event_has_mean_score_zero():
    """Over times of events and of exits, at the score that the model has."""
    loss, z = Hazard((0.5, 1.0, 2.0), (0.3, 0.2, 0.9)), 0.4
    ends = np.array([0.0, *loss.times])
    survival = np.concatenate([[1.0], loss.survival(np.array([z]))[0]])
    # Everybody stays up to a random end of a period.
    for last in range(1, 4):
        chances = [*(-np.diff(survival[: last + 1])), survival[last]]
        y = np.array([*ends[1 : last + 1], -ends[last]])
        mean = chances @ loss.derivative(y, np.full(last + 1, z))
        assert abs(mean) < 1e-12


def test_periods_add_up_to_the_derivative():
    loss, rng = Hazard((0.5, 1.0, 2.0), (0.3, 0.2, 0.9)), np.random.default_rng(0)
    y, z = rng.choice([-1.0, 1.0], 50) * rng.uniform(0, 3, 50), rng.normal(size=50)
    score, slopes = loss.by_period(y, z)
    np.testing.assert_allclose(score.sum(axis=1), -loss.derivative(y, z), atol=1e-14)
    assert np.all((slopes >= 0) & (slopes <= loss.slopes(z)))
    assert np.all(slopes.sum(axis=1) < 1)


def test_scores_of_test_rows_are_refused_where_they_do_not_fit():
    X, y = people(2000)
    found = model().fit(X, y)
    with pytest.raises(ValueError, match="as many times and weights as rows"):
        found.score(X[:10], y)


def test_times_that_are_all_zero_are_told_by_released_counts():
    X, _ = people(5000)
    with pytest.warns(UserWarning, match="next to nobody is left after 0.0009.*not all zero"):
        model(solver="gd").fit(X, np.zeros(5000))


@pytest.mark.parametrize("event", [True, False])
def test_tables_without_an_event_are_told_by_released_counts(event):
    X, y = people(5000)
    told = []
    for _ in range(6):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model(solver="gd").fit(X, y.time if event else -y.time)
        told.append(any("shows no events" in str(w.message) for w in caught))
    # Noise alone is beyond two standard deviations in one of 44 fits.
    assert not any(told) if event else any(told)
