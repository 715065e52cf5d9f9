"""What is particular to OneStep: the error of its solution is known."""

import warnings

import numpy as np
import pytest
from by_night import by_night
from sklearn.linear_model import LogisticRegression

from skdp import DPLinearRegression, DPLogisticRegression, UnresolvedWarning, plan
from skdp.privacy import PrivateOracle
from skdp.testing import exact_fit

N, D = 2000, 3
BETA = np.array([1.0, -0.5, 0.3])
LINEAR = {"data_norm": 2.0, "target_bounds": (-4.0, 4.0), "solver": "one_step"}
LABELS = {"data_norm": 2.0, "classes": [0, 1], "solver": "one_step"}
CLASSES = LABELS | {"classes": [0, 1, 2]}
# Of the second and third class against the first.
AGAINST = np.array([[1.0, -0.5, 0.3, 0.2], [-0.7, 0.4, 0.8, -0.3]])
# So large that rows are as good as never weighted down.
HUGE = 1e9


# Seeds are meant.
pytestmark = pytest.mark.filterwarnings("ignore")


def rows(n=N, seed=0, size=1.0):
    return np.random.default_rng(seed).uniform(-size, size, size=(n, D))


def targets(X, seed=1):
    errors = np.random.default_rng(seed).uniform(-1, 1, size=len(X))
    return X @ BETA + 0.2 + (0.2 + 0.3 * np.abs(X[:, 0])) * errors


def labels(X, seed=1):
    return (np.random.default_rng(seed).logistic(size=len(X)) < X @ BETA + 0.2).astype(int)


def classes(X, seed=1):
    z = np.column_stack([np.zeros(len(X)), with_constant(X) @ AGAINST.T])
    return np.argmax(z + np.random.default_rng(seed).gumbel(size=z.shape), axis=1)


def truth(y):
    return AGAINST.ravel() if y is classes else np.array([*BETA, 0.2])


def sandwich(V, scores, hessian):
    inverse = np.linalg.inv(hessian)
    return np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))


def with_constant(X):
    return np.column_stack([X, np.ones(len(X))])


@pytest.mark.parametrize("alpha", [0.0, 50.0])
def test_without_noise_it_is_least_squares_with_robust_standard_errors(alpha):
    X = rows()
    y, V = targets(X), with_constant(rows())
    model = DPLinearRegression(epsilon=HUGE, alpha=alpha, random_state=0, **LINEAR).fit(X, y)
    hessian = V.T @ V + alpha * np.diag([1.0] * D + [0.0])
    beta = np.linalg.solve(hessian, V.T @ y)
    errors = sandwich(V, V * (y - V @ beta)[:, None], hessian)
    np.testing.assert_allclose(model.inference_.params, beta, atol=1e-4)
    np.testing.assert_allclose(model.inference_.bse, errors, rtol=2e-3)
    np.testing.assert_array_equal(model.inference_.params[:D], model.coef_)


def test_without_noise_it_is_maximum_likelihood_with_robust_standard_errors():
    X = rows()
    y, V = labels(X), with_constant(X)
    model = DPLogisticRegression(epsilon=HUGE, random_state=0, **LABELS).fit(X, y)
    exact = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    beta = np.append(exact.coef_, exact.intercept_)
    p = 1 / (1 + np.exp(-V @ beta))
    errors = sandwich(V, V * (y - p)[:, None], (V * (p * (1 - p))[:, None]).T @ V)
    np.testing.assert_allclose(model.inference_.params, beta, atol=1e-3)
    np.testing.assert_allclose(model.inference_.bse, errors, rtol=1e-2)


@pytest.mark.parametrize("C", [None, 0.01])
def test_without_noise_several_classes_are_those_of_a_multinomial_logit(C):
    X = rows()
    y, V = classes(X), with_constant(X)
    model = DPLogisticRegression(epsilon=HUGE, C=C, random_state=0, **CLASSES).fit(X, y)
    exact = LogisticRegression(C=C or np.inf, tol=1e-10, max_iter=1000).fit(X, y)
    w = np.column_stack([exact.coef_, exact.intercept_])
    p = exact.predict_proba(X)
    # Of all three; a sum of scores that changes no probability is fixed by the ridge, or as zero.
    hessian = np.block(
        [[(V * (p[:, [a]] * ((a == b) - p[:, [b]]))).T @ V for b in range(3)] for a in range(3)]
    )
    hessian += np.kron(np.eye(3), (1 / C if C else 0.0) * np.diag([1.0] * D + [0.0]))
    scores = ((np.eye(3)[y] - p)[:, :, None] * V[:, None]).reshape(N, -1)
    inverse = np.linalg.pinv(hessian, rcond=1e-12)
    against = np.kron([[-1.0, 1, 0], [-1, 0, 1]], np.eye(D + 1))
    cov = against @ inverse @ (scores.T @ scores) @ inverse @ against.T
    np.testing.assert_allclose(model.coef_, exact.coef_ - exact.coef_.mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(model.inference_.params, against @ w.ravel(), atol=2e-3)
    np.testing.assert_allclose(model.inference_.bse, np.sqrt(np.diag(cov)), rtol=2e-2)


def test_weights_of_rows_count_in_estimates_and_errors():
    X, weights = rows(), np.random.default_rng(5).uniform(0.2, 1.0, size=N)
    y, V = targets(X), with_constant(X)
    model = DPLinearRegression(epsilon=HUGE, random_state=0, **LINEAR)
    model.fit(X, y, sample_weight=weights)
    W = V * weights[:, None]
    beta = np.linalg.solve(W.T @ V, W.T @ y)
    errors = sandwich(V, W * (y - V @ beta)[:, None], W.T @ V)
    np.testing.assert_allclose(model.inference_.params, beta, atol=1e-4)
    np.testing.assert_allclose(model.inference_.bse, errors, rtol=2e-3)


@pytest.mark.parametrize("y", [targets, labels], ids=["linear", "logistic"])
def test_errors_of_people_with_several_rows_are_robust_to_clusters(y):
    people = np.repeat(np.arange(N), np.random.default_rng(3).integers(1, 6, N))
    # Rows of a person are the same one, so that those who have more do not tell more.
    X = rows()
    y = y(X)
    options = {"epsilon": HUGE, "random_state": 0, **(LABELS if y.dtype.kind == "i" else LINEAR)}
    model = (DPLogisticRegression if y.dtype.kind == "i" else DPLinearRegression)(**options)
    mixed = np.random.default_rng(4).permutation(len(people))
    alone = model.fit(X, y).inference_
    together = model.fit(X[people][mixed], y[people][mixed], privacy_unit=people[mixed]).inference_
    np.testing.assert_allclose(together.params, alone.params, atol=1e-5)
    np.testing.assert_allclose(together.bse, alone.bse, rtol=1e-4)
    assert together.nobs == N
    assert "2,000 privacy units" in str(together.summary())


def test_long_rows_do_not_bias_the_coefficients():
    X = rows()
    X[::5] *= 20.0
    y = np.clip(0.05 * (X @ BETA) + 0.1, -4.0, 4.0)
    model = DPLinearRegression(epsilon=100.0, **LINEAR)
    exact_fit(model, X, y)
    np.testing.assert_allclose(model.coef_, 0.05 * BETA, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        *by_night((DPLinearRegression(**LINEAR), targets)),
        (DPLogisticRegression(**LABELS), labels),
    ],
)
@pytest.mark.by_day(1)
def test_standard_errors_are_as_large_as_the_spread_of_fits(model, y):
    found = []
    for seed in range(50):
        X = rows(1000, seed)
        fitted = model.set_params(random_state=seed).fit(X, y(X, seed + 1000)).inference_
        without_noise = np.sqrt(np.diag(fitted.sampling))
        found.append((fitted.params - [*BETA, 0.2], fitted.bse, without_noise))
    apart, errors, naive = map(np.array, zip(*found, strict=True))
    spread = np.sqrt(np.mean(apart**2, axis=0))
    # The spread of fifty is known up to a tenth.
    assert np.all(np.abs(np.median(errors, axis=0) / spread - 1) < 0.45)
    assert np.all(np.median(naive, axis=0) < 0.75 * spread)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (DPLinearRegression(**LINEAR), targets),
        (DPLogisticRegression(**LABELS), labels),
        (DPLogisticRegression(**CLASSES), classes),
    ],
    ids=["linear", "logistic", "softmax"],
)
def test_intervals_cover_the_truth_as_often_as_they_say(model, y):
    covered, naive, fits = 0.0, 0.0, 400
    for seed in range(fits):
        X = rows(5000, seed)
        fitted = model.set_params(random_state=seed).fit(X, y(X, seed + 1000)).inference_
        apart = np.abs(fitted.params - truth(y))
        covered += np.mean(apart < 1.96 * fitted.bse) / fits
        naive += np.mean(apart < 1.96 * np.sqrt(np.diag(fitted.sampling))) / fits
    assert 0.92 < covered < 0.98
    assert naive < 0.9


def test_it_spends_the_budget_on_a_chain_of_steps_and_moments_of_scores():
    X = rows()
    model = DPLinearRegression(epsilon=1.0, random_state=0, **LINEAR).fit(X, targets(X))
    asked = [event.query for event in model.privacy_ledger_]
    assert asked == [*["score_and_curvature"] * 3, "score_moments", "histogram"]
    assert model.privacy_spent_.epsilon == pytest.approx(1.0, abs=1e-6)
    model = DPLogisticRegression(epsilon=1.0, random_state=0, **LABELS).fit(X, labels(X))
    asked = [event.query for event in model.privacy_ledger_]
    assert asked == [*["score_and_curvature"] * 4, "score_moments"]
    assert model.privacy_spent_.epsilon == pytest.approx(1.0, abs=1e-6)


def test_too_few_rows_are_refused_before_anything_is_read(monkeypatch):
    def reads(*args):
        raise AssertionError("rows were read")

    monkeypatch.setattr(PrivateOracle, "_release", reads)
    model, X = DPLinearRegression(epsilon=0.5, **LINEAR), rows(100)
    with pytest.raises(ValueError, match=r"^OneStep needs n \* mu of at least 24 .*got 14"):
        model.fit(X, targets(X))
    assert not hasattr(model, "privacy_spent_")
    with pytest.raises(ValueError, match=r"^OneStep needs n \* mu"):
        plan(model, 100, D)


def test_each_class_but_one_counts_for_the_rows_that_are_needed():
    two, five = (DPLogisticRegression(**LABELS | {"classes": range(k)}) for k in (2, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan(two, 600, D)
        # 16 coefficients in place of 4 need eight times the rows.
        with pytest.raises(ValueError, match=r"n \* mu of at least 192 .* for 16 coefficients"):
            plan(five, 600, D)


def test_wide_intervals_are_warned_of_before_the_fit():
    model = DPLinearRegression(epsilon=0.5, **LINEAR)
    with pytest.warns(UserWarning, match="expects wide intervals"):
        plan(model, 400, D)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan(model, 4000, D)


def test_directions_in_the_noise_are_told_of_and_have_no_standard_errors():
    X = rows()
    X[:, 1] = X[:, 0] + 0.02 * X[:, 1]
    model = DPLinearRegression(epsilon=4.0, random_state=0, **LINEAR)
    with pytest.warns(UnresolvedWarning, match="no standard errors to be trusted for"):
        model.fit(X, targets(X))
    found = model.inference_
    assert not found.trusted[:2].any()
    assert found.trusted.any()
    np.testing.assert_array_equal(np.isnan(found.bse), ~found.trusted)
    assert np.isfinite(found.cov_params(trust_all=True)).all()


def test_targets_beyond_their_bounds_are_told_of():
    X = rows()
    model = DPLinearRegression(epsilon=4.0, random_state=0, **LINEAR)
    model.set_params(target_bounds=(-0.4, 0.4))
    with pytest.warns(UnresolvedWarning, match="beyond target_bounds"):
        model.fit(X, targets(X))
    share, sd = model.inference_.clipped["targets clipped"]
    assert abs(share - np.mean(np.abs(targets(X)) > 0.4)) < 5 * sd < 0.1
