"""Quantile regression: agreement with scikit-learn, coverage, order, and one budget for all."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import d2_pinball_score, mean_pinball_loss

import skdp
from skdp import DPQuantileRegressor
from skdp.solvers import GD, QuantileGD

pytestmark = pytest.mark.filterwarnings("ignore::skdp.NoPrivacyWarning")

N, D = 20_000, 4
COEF = np.array([1.0, -0.5, 0.0, 0.3])
QUANTILES = [0.1, 0.5, 0.9]
BOUNDS = {"data_bounds": (-1, 1), "target_bounds": (-4, 4)}


def spread_rows(n=N, seed=0):
    """Rows whose targets spread more, the larger the first feature is."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, D))
    return X, X @ COEF + 0.5 + (0.4 + 0.3 * X[:, 0]) * rng.normal(size=n)


X, Y = spread_rows()
TEST_X, TEST_Y = spread_rows(100_000, 1)


def losses(predicted, y=TEST_Y):
    return [mean_pinball_loss(y, z, alpha=q) for q, z in zip(QUANTILES, predicted.T, strict=True)]


@pytest.fixture(scope="module")
def private():
    return DPQuantileRegressor(epsilon=1.0, quantile=QUANTILES, **BOUNDS).fit(X, Y)


@pytest.mark.parametrize("solver", ["auto", "gd"])
def test_without_noise_the_pinball_loss_is_that_of_scikit_learn(solver):
    options = {"epsilon": float("inf"), "quantile": QUANTILES, "solver": solver, **BOUNDS}
    ours = DPQuantileRegressor(**options).fit(X, Y)
    fits = [QuantileRegressor(quantile=q, alpha=0).fit(X[:5000], Y[:5000]) for q in QUANTILES]
    theirs = np.column_stack([fit.predict(TEST_X) for fit in fits])
    np.testing.assert_allclose(losses(ours.predict(TEST_X)), losses(theirs), rtol=0.02)
    if solver == "auto":
        coef = np.array([fit.coef_ for fit in fits])
        assert np.abs(ours.coef_ - coef).max() < 0.1


def test_the_share_below_each_quantile_is_right_at_a_small_budget(private):
    below = np.mean(TEST_Y[:, None] <= private.predict(TEST_X), axis=0)
    # Noise of a share is about .006, with what slopes add to it.
    np.testing.assert_allclose(below, QUANTILES, atol=0.06)
    constant = losses(np.tile(np.quantile(Y, QUANTILES), (len(TEST_Y), 1)))
    assert np.all(losses(private.predict(TEST_X)) < 0.85 * np.array(constant))


def test_quantiles_never_cross_and_sorting_is_never_worse(private):
    far = 10 * np.random.default_rng(0).normal(size=(1000, D))
    assert np.all(np.diff(private.predict(far), axis=1) >= 0)
    rng = np.random.default_rng(1)
    scores, y = rng.normal(size=(500, 3)), rng.normal(size=500)
    assert sum(losses(private._means(scores), y)) <= sum(losses(scores, y)) + 1e-12


def test_all_quantiles_cost_one_budget(private):
    one = DPQuantileRegressor(epsilon=1.0, quantile=0.5, **BOUNDS).fit(X, Y)
    assert private.privacy_spent_ == one.privacy_spent_
    asked = [sum(e.count for e in m.privacy_ledger_) for m in (private, one)]
    assert asked[0] == asked[1]


def test_where_there_is_nothing_to_see_quantiles_are_nearly_constant():
    noise = np.random.default_rng(0).normal(size=5000)
    model = DPQuantileRegressor(epsilon=1.0, quantile=QUANTILES, **BOUNDS).fit(X[:5000], noise)
    predicted = model.predict(X[:5000])
    constant = losses(np.tile(np.quantile(noise, QUANTILES), (5000, 1)), noise)
    assert np.all(np.array(losses(predicted, noise)) < 1.15 * np.array(constant))


def test_alpha_has_the_meaning_of_scikit_learn():
    options = {"epsilon": float("inf"), "data_norm": 2.0, "target_bounds": (-4, 4)}
    for alpha in (0.02, 0.1):
        ours = DPQuantileRegressor(quantile=0.5, alpha=alpha, **options).fit(X, Y)
        theirs = QuantileRegressor(quantile=0.5, alpha=alpha).fit(X[:5000], Y[:5000])
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=0.05)


def test_rows_without_weight_do_not_count():
    options = {"epsilon": float("inf"), "quantile": 0.9, **BOUNDS}
    other = np.where(np.arange(N) % 2, Y, 3.0)
    weighted = DPQuantileRegressor(**options).fit(X, other, sample_weight=np.arange(N) % 2)
    alone = DPQuantileRegressor(**options).fit(X[1::2], Y[1::2])
    np.testing.assert_allclose(weighted.coef_, alone.coef_, atol=0.05)
    assert abs(weighted.intercept_ - alone.intercept_) < 0.02


@pytest.mark.parametrize("quantile", [0.9, [0.9], QUANTILES])
@pytest.mark.parametrize("clipped", [True, False])
def test_shapes_scores_and_plain_models(quantile, clipped):
    model = DPQuantileRegressor(quantile=quantile, clip_predictions=clipped, **BOUNDS).fit(X, Y)
    predicted, several = model.predict(X), np.ndim(quantile)
    listed = np.atleast_1d(quantile)
    assert predicted.shape == ((N, len(listed)) if several else (N,))
    assert model.coef_.shape == ((len(listed), D) if several else (D,))
    assert np.shape(model.intercept_) == ((len(listed),) if several else ())
    columns = predicted.reshape(N, -1).T
    d2 = [d2_pinball_score(Y, z, alpha=q) for q, z in zip(listed, columns, strict=True)]
    assert np.isclose(model.score(X, Y), np.mean(d2))
    plain = model.to_sklearn()
    np.testing.assert_allclose(plain.predict(X[:50]), predicted[:50], rtol=1e-9, atol=1e-9)


def test_streams_units_and_earlier_models_are_learned_from():
    options = {"epsilon": 8.0, "quantile": QUANTILES, **BOUNDS}
    stream = DPQuantileRegressor(**options, horizon=N)
    for rows in np.array_split(np.arange(N), 4):
        stream.partial_fit(X[rows], Y[rows])
    sums = DPQuantileRegressor(**options, horizon=N, buffer=False).partial_fit(X, Y)
    of_people = DPQuantileRegressor(**options).fit(X, Y, privacy_unit=np.arange(N) // 2)
    again = DPQuantileRegressor(**options, warm_start=True).fit(X, Y).fit(X, Y)
    for model in (stream, sums, of_people, again):
        assert model.score(TEST_X, TEST_Y) > 0.2
    assert again.coef_.shape == (3, D)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_other_solvers_and_no_intercept(fit_intercept):
    options = {"epsilon": 20.0, "quantile": [0.25, 0.75], "fit_intercept": fit_intercept}
    y = X @ COEF + 0.1 * (Y - X @ COEF - 0.5)
    for solver in (QuantileGD(rounds=4, steps=10, average=0.3), GD(), "ppm"):
        model = DPQuantileRegressor(**options, solver=solver, **BOUNDS).fit(X, y)
        assert model.score(X, y) > 0.3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *(({"quantile": q}, "increasing order") for q in ([0.5, 0.1], [], [[0.1]], ["a"], [1.5])),
        ({"quantile": [0.5, 0.1]}, r"Got \(0\.5, 0\.1\) instead"),
        ({"quantile": 1.0}, "in the range"),
        *(
            ({"solver": s}, "Use the solver 'gd'")
            for s in ("accmd", "frank_wolfe", "one_step", "svrg", "tracked_gd")
        ),
        ({"alpha": 0.1}, r"with data_bounds.*got alpha=0\.1\. Put BoundsScaler in front"),
        ({"delta": 0}, "only fits of DPLogisticRegression.* leave delta out"),
    ],
)
def test_what_cannot_be_done_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        DPQuantileRegressor(**BOUNDS | options).fit(X[:500], Y[:500])


@pytest.mark.parametrize("quantile", [0.9, QUANTILES])
def test_evaluations_are_the_exact_scores_but_for_noise(quantile):
    model = DPQuantileRegressor(quantile=quantile, **BOUNDS).fit(X, Y)
    rows, y = TEST_X[:5000], TEST_Y[:5000]
    found = skdp.evaluate(model, rows, y, epsilon=1e6, residual_bound=10.0).scores
    predicted, listed = model.predict(rows).reshape(5000, -1), np.atleast_1d(quantile)
    exact = [mean_pinball_loss(y, z, alpha=q) for q, z in zip(listed, predicted.T, strict=True)]
    low = predicted[:, 0] if len(listed) > 1 else -np.inf
    covered = np.mean((low <= y) & (y <= predicted[:, -1]))
    assert abs(found["pinball_loss"].value - np.mean(exact)) < 1e-3
    assert abs(found["coverage"].value - covered) < 1e-3
    assert found["coverage"].low < covered < found["coverage"].high


def test_intervals_of_scores_hold_those_of_the_population(private):
    truth = np.mean(losses(private.predict(TEST_X)))
    held = []
    for seed in range(40):
        rows = spread_rows(3000, 100 + seed)
        score = skdp.evaluate(private, *rows, epsilon=1.0).scores["pinball_loss"]
        held.append(score.low <= truth <= score.high)
    # Of 40 intervals at 95 % fewer than 28 hold with a probability of 1e-7.
    assert sum(held) >= 28


def test_metrics_of_errors_are_refused_for_several_quantiles(private):
    with pytest.raises(ValueError, match="pinball_loss, coverage"):
        skdp.evaluate(private, X[:500], Y[:500], epsilon=9.0, metrics=["r2"])


def test_evaluations_by_groups_and_of_scikit_learns_models():
    fitted = QuantileRegressor(quantile=0.9, alpha=0).fit(X[:2000], Y[:2000])
    groups = np.arange(5000) % 2
    asked = {"epsilon": 50.0, "groups": groups, "group_values": [0, 1], "public_model": True}
    found = skdp.evaluate(fitted, TEST_X[:5000], TEST_Y[:5000], target_bounds=(-4, 4), **asked)
    assert {"pinball_loss", "coverage"} == set(found.by_group[0])
    assert 0.8 < found.by_group[1]["coverage"].value < 1


@pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")
@pytest.mark.filterwarnings("ignore::skdp.BudgetWarning")
@pytest.mark.parametrize("epsilon", [256.0, 1e4])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_huge_budgets_come_near_quantiles_without_noise(seed, epsilon):
    rng = np.random.default_rng(seed)
    X, q = rng.uniform(-1, 1, size=(15_000, 8)), np.array([0.1, 0.5, 0.9])
    centre, spread = X @ np.linspace(-1, 1, 8), 0.55 + 0.25 * X[:, 0]
    y = centre + spread * rng.normal(size=len(X))
    model = skdp.DPQuantileRegressor(
        quantile=q,
        epsilon=epsilon,
        delta=1e-6,
        data_bounds=(-1, 1),
        target_bounds=(-6, 6),
        random_state=seed,
    ).fit(X, y)
    true = centre[:, None] + spread[:, None] * norm.ppf(q)
    lost = [
        np.mean(np.maximum(q * (y[:, None] - z), (q - 1) * (y[:, None] - z)))
        for z in (model.predict(X), true)
    ]
    assert lost[0] < 1.02 * lost[1]
