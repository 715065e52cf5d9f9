"""Concordance and Brier score of models of times, by definition and over draws of rows."""

import warnings

import numpy as np
import pytest

import skdp
from skdp import DPHazardRegressor
from skdp.privacy.queries import TargetTableQuery
from skdp.testing import row_stores

TIMES = np.array([0.25, 0.5, 0.75, 1.0])
HAZARDS = np.full(4, 0.3)


def known(coef=1.0):
    """A public model, which nobody has fitted."""
    model = DPHazardRegressor()
    model.coef_, model.intercept_, model.n_features_in_ = np.array([coef]), 0.0, 1
    model.times_, model.baseline_hazard_ = TIMES, HAZARDS
    return model


def people(n, seed):
    """Exponential times with the hazards of the model; exits in the middle of periods."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1))
    event = rng.exponential(1 / (1.2 * np.exp(X[:, 0])))
    last = rng.integers(1, 9, size=n) / 4 - 0.125
    return X, np.where(event <= last, event, -last)


def scores(X, y, **options):
    given = {"epsilon": 1e7, "public_model": True} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return skdp.evaluate(known(), X, y, **given)


def by_definition(X, y):
    """Concordance of all pairs in groups, and the Brier score weighed by who is still seen."""
    risk, period = X[:, 0], np.searchsorted(TIMES, np.abs(y))
    # Last sights at an end are in the next period, here there are none.
    edges = np.arange(-5.0, 2.01, 0.5) - np.log(HAZARDS.sum())
    bins = np.searchsorted(edges, risk, side="right")
    first = (y > 0)[:, None] & (period[:, None] < period) & (period[:, None] < 4)
    agreeing = (bins[:, None] > bins) + 0.5 * (bins[:, None] == bins)
    index = agreeing[first].mean()
    at_risk, seen = len(y), []
    for k in range(4):
        events, exits = np.sum((period == k) & (y > 0)), np.sum((period == k) & (y < 0))
        kept = (seen[-1] if seen else 1.0) * (1 - exits / (at_risk - events))
        seen.append(kept)
        at_risk -= events + exits
    errors = np.zeros((len(y), 4))
    for i, target in enumerate(y):
        for k, time in enumerate(TIMES):
            survival = np.exp(-HAZARDS[: k + 1].sum() * np.exp(risk[i]))
            if target > 0 and target <= time:
                errors[i, k] = survival**2 / (1.0 if period[i] == 0 else seen[period[i] - 1])
            elif abs(target) > time:
                errors[i, k] = (1 - survival) ** 2 / seen[k]
    return index, errors.mean()


def test_scores_without_noise_are_those_of_the_definition():
    X, y = people(1500, 0)
    found = scores(X, y).scores
    index, brier = by_definition(X, y)
    assert found["concordance"].value == pytest.approx(index, abs=1e-3)
    assert found["integrated_brier_score"].value == pytest.approx(brier, abs=1e-3)


def test_scores_of_structured_targets_are_the_same():
    X, y = people(1500, 0)
    table = np.rec.fromarrays([y > 0, np.abs(y)], names="event, time")
    one, other = scores(X, y), scores(X, table)
    for name, score in one.scores.items():
        assert other.scores[name].value == pytest.approx(score.value, abs=1e-4)


def test_intervals_hold_the_scores_of_the_population():
    """At epsilon = 2; 60 draws of 4,000 rows, of which each interval leaves out a few."""
    whole = scores(*people(400_000, 99)).scores
    held = {name: [] for name in whole}
    for seed in range(60):
        found = scores(*people(4000, seed), epsilon=2.0).scores
        for name, (_, low, high) in found.items():
            held[name].append(low <= whole[name].value <= high)
    # Of 60 draws at 95 %, fewer than 46 hold it with a probability of 1e-7.
    assert min(sum(inside) for inside in held.values()) >= 46


def test_the_noise_of_the_brier_score_takes_in_that_of_its_weights():
    X, y = people(3000, 0)
    name, values, noise = "integrated_brier_score", [], []
    for seed in range(60):
        found = scores(X, y, epsilon=3.0, random_state=seed)
        values.append(found.scores[name].value), noise.append(found.noise[name])
    # Were the weights taken for exact, .77.
    assert 0.85 < np.mean(noise) / np.std(values) < 1.2


def test_scores_by_groups_and_of_few_rows_are_refused():
    X, y = people(300, 0)
    with pytest.raises(ValueError, match="needs groups=None for times"):
        skdp.evaluate(known(), X, y, epsilon=1.0, groups=X[:, 0] > 0, group_values=[True, False])
    with pytest.raises(ValueError, match=r"suit a model of times.*; got 'r2'.$"):
        skdp.evaluate(known(), X, y, epsilon=1.0, metrics=["r2"])
    with pytest.raises(ValueError, match="needs target_bounds=None and residual_bound=None"):
        skdp.evaluate(known(), X, y, epsilon=1.0, target_bounds=(0, 1))
    with pytest.raises(ValueError, match="more test rows"):
        skdp.evaluate(known(), X[:20], y[:20], epsilon=1.0)


def test_noise_that_hides_scores_leaves_no_interval():
    found = scores(*people(800, 0), epsilon=1.0).scores
    assert all(np.isnan(score.low) for score in found.values())


def test_every_layout_of_rows_counts_each_row_once():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    query = TargetTableQuery(np.array([-1.0, 0.0]), np.array([0.5]))
    for rows in row_stores(X, y).values():
        counts = query.evaluate(rows)
        assert counts.shape == (3, 2)
        assert counts.sum() == 30
        assert counts[2, 1] == np.sum((y >= 0) & (X[:, 0] >= 0.5))
