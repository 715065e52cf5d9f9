"""Scores of counts: those of scikit-learn but for noise, with intervals that hold."""

from math import inf

import numpy as np
import pytest
from sklearn.metrics import d2_tweedie_score, mean_poisson_deviance

import skdp
from skdp import DPPoissonRegressor
from skdp.model_selection.evaluation import Mean, ratio_of

METRICS = ("d2", "mean_poisson_deviance", "calibration")


def claims(n, seed):
    rng = np.random.default_rng(seed)
    X, exposure = rng.uniform(-1, 1, size=(n, 2)), rng.uniform(0.1, 1.0, size=n)
    events = rng.poisson(0.4 * exposure * np.exp(X @ [1.0, -0.5]))
    return X, events / exposure, exposure


@pytest.fixture(scope="module")
def model():
    X, rates, exposure = claims(20_000, 0)
    options = {"epsilon": 8.0, "data_bounds": (-1, 1), "target_bounds": (0, 8)}
    return DPPoissonRegressor(**options).fit(X, rates, sample_weight=exposure)


def exact(model, X, rates, weights):
    predicted, of = model.predict(X), {"sample_weight": weights}
    return {
        "d2": d2_tweedie_score(rates, predicted, power=1, **of),
        "mean_poisson_deviance": mean_poisson_deviance(rates, predicted, **of),
        "calibration": float(predicted @ weights / (rates @ weights)),
    }


@pytest.mark.parametrize("weighted", [True, False])
def test_with_a_huge_budget_scores_are_those_of_scikit_learn(model, weighted):
    X, rates, exposure = claims(5_000, 1)
    # Without exposures targets are counts.
    y, weights = (rates, exposure) if weighted else (np.round(rates * exposure), np.ones(5_000))
    given = {"sample_weight": weights} if weighted else {}
    found = skdp.evaluate(model, X, y, epsilon=1e6, **given)
    assert set(found.scores) == set(METRICS)
    for name, value in exact(model, X, y, weights).items():
        low, high = found.scores[name].low, found.scores[name].high
        assert low <= value <= high
        assert abs(found.scores[name].value - value) < 0.02, name


def test_intervals_hold_the_scores_of_the_population(model):
    truth = exact(model, *claims(400_000, 2))
    held = []
    for seed in range(40):
        X, rates, exposure = claims(4_000, 100 + seed)
        found = skdp.evaluate(model, X, rates, epsilon=4.0, sample_weight=exposure)
        held += [[s.low <= truth[m] <= s.high for m, s in found.scores.items()]]
    # Of 40 intervals at 95 % fewer than 28 hold with a probability of 1e-7.
    assert np.sum(held, axis=0).min() >= 28
    assert np.mean(held) > 0.85


def test_a_ratio_whose_bottom_is_hidden_has_no_interval():
    hidden = ratio_of(Mean(1.0, 1.0, 0.1), Mean(0.4, 1.0, 0.1), 100, 1.96)
    assert np.isnan(hidden.value)
    assert hidden.noise == inf
    value, low, high, noise = ratio_of(Mean(1.0, 0.0, 0.1), Mean(2.0, 0.0, 0.1), 100, 1.0)
    assert (value, noise) == (0.5, pytest.approx(0.05 * np.sqrt(1.25)))
    assert (low, high) == pytest.approx((0.5 - noise, 0.5 + noise))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metrics": ["d2", "r2"]}, "or of counts d2"),
        ({"target_bounds": (-1, 5)}, r"\(0, cap\) for counts"),
        ({"metrics": ["r2"], "sample_weight": np.ones(500)}, "each row counts once"),
        ({"sample_weight": np.ones(3)}, "a weight for each of 500 rows, got 3"),
        ({"groups": np.zeros(500), "group_values": [0, 1], "metrics": ["d2"]}, "by groups"),
    ],
)
def test_what_cannot_be_scored_is_refused_before_anything_is_spent(model, options, words):
    X, rates, _ = claims(500, 3)
    with pytest.raises(ValueError, match=words):
        skdp.evaluate(model, X, rates, epsilon=9.0, **options)


@pytest.mark.parametrize("shape", [599, (600, 2)])
def test_weights_of_another_length_do_not_tell_how_many_rows_people_have(model, shape):
    X, rates, _ = claims(600, 3)
    options = {"privacy_unit": np.arange(600) // 3, "sample_weight": np.ones(shape)}
    with pytest.raises(ValueError, match="privacy_unit needs") as refused:
        skdp.evaluate(model, X, rates, epsilon=1.0, **options)
    assert "600" not in str(refused.value)


def test_a_cap_that_was_found_is_not_taken_for_one_that_is_known():
    X = np.zeros((500, 1))
    model = DPPoissonRegressor(data_norm=1.0).fit(X, np.ones(500))
    with pytest.raises(ValueError, match=r"got None\. Pass them to evaluate; .* \(0, cap\)"):
        skdp.evaluate(model, X, np.ones(500), epsilon=1.0)
