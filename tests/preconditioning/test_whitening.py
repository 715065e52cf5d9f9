"""Whitening: what it costs, what it learns, and that the model keeps its meaning."""

import tracemalloc

import numpy as np
import pytest
from by_night import by_night
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from skdp import DPLogisticRegression
from skdp.problem.constraints import L2Ball
from skdp.solvers import GD
from skdp.solvers.preconditioning import OPTIONS, Whitening
from skdp.testing import record_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")


def badly_scaled(n=4000, seed=0):
    """Columns of sizes 1 to 1/100 with a common mean, each carrying the same signal; rows <= 1."""
    rng = np.random.default_rng(seed)
    sizes = np.geomspace(1, 0.01, 8)
    Z = rng.uniform(-1, 1, size=(n, 8))
    y = (Z.sum(axis=1) + 0.3 * rng.normal(size=n) > 0).astype(int)
    X = (0.5 + 0.5 * Z) * sizes
    return X / np.linalg.norm(sizes), y


def model(epsilon=1.0, **parameters):
    given = {"data_norm": 1.0, "classes": [0, 1], "random_state": 0, "precondition": "auto"}
    return DPLogisticRegression(epsilon=epsilon, delta=1e-6, **(given | parameters))


@pytest.mark.parametrize("precondition", ["diagonal", "full", "auto", Whitening(0.3)])
def test_the_looks_are_on_the_receipt_and_within_the_budget(precondition):
    fitted = model(precondition=precondition).fit(*badly_scaled())
    prices = [(e.query, e.count * (e.sensitivity / e.noise_scale) ** 2) for e in receipt(fitted)]
    (counts, of_counts), (_, of_first), *_ = prices
    looks = [price for query, price in prices if query == "second_moments"]
    share = 0.3 if isinstance(precondition, Whitening) else 0.1
    whole = sum(price for _, price in prices)
    assert counts == "histogram"
    assert sum(looks) / (whole - of_counts) == pytest.approx(share, rel=1e-9)
    assert len(looks) == (1 if precondition == "diagonal" else 2)
    if len(looks) == 2:
        assert of_first == pytest.approx(0.3 * sum(looks))
    assert fitted.privacy_spent_.epsilon == pytest.approx(1.0, rel=1e-6)
    # [x, R] has norm sqrt(2) R, and two orthogonal ones differ by sqrt(2) times its square.
    first = receipt(fitted)[1]
    assert first.sensitivity == pytest.approx(np.sqrt(2) * 2 * 1.0**2 / 4000, rel=1e-4)


def receipt(fitted):
    return list(fitted.privacy_ledger_)


@pytest.mark.nightly
@pytest.mark.parametrize("precondition", ["diagonal", *by_night("full")])
def test_columns_of_different_size_are_learned(precondition):
    X, y = badly_scaled(40_000)
    X, X_test, y, y_test = X[:30_000], X[30_000:], y[:30_000], y[30_000:]
    plain = [model(random_state=s, precondition=None).fit(X, y) for s in range(3)]
    better = [model(random_state=s, precondition=precondition).fit(X, y) for s in range(3)]
    gains = [
        b.score(X_test, y_test) - p.score(X_test, y_test)
        for b, p in zip(better, plain, strict=True)
    ]
    # Seeds differ by 0.003.
    assert np.mean(gains) > 0.02


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("precondition", ["diagonal", "full", "auto"])
def test_the_model_is_linear_in_the_features_as_they_came(precondition, dtype):
    X, y = badly_scaled()
    fitted = model(precondition=precondition).fit(X.astype(dtype), y)
    scores = X.astype(dtype) @ fitted.coef_.T + fitted.intercept_
    np.testing.assert_array_equal(fitted.decision_function(X.astype(dtype)), scores.ravel())
    assert fitted.coef_.dtype == dtype
    assert fitted.coef_.shape == (1, 8)


@pytest.mark.nightly
@pytest.mark.parametrize("C", [0.01, *by_night(1.0)])
@pytest.mark.parametrize("precondition", ["full", *by_night("diagonal")])
def test_the_penalty_is_about_the_coefficients_as_they_are_published(C, precondition):
    X, y = badly_scaled(2000)
    exact = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y)
    fitted = model(1e8, C=C, precondition=precondition).fit(X, y)
    np.testing.assert_allclose(fitted.coef_, exact.coef_, rtol=0.02, atol=2e-3)
    np.testing.assert_allclose(fitted.intercept_, exact.intercept_, rtol=0.02, atol=2e-3)


def test_several_classes_and_no_intercept():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(3000, 4)) * [1, 0.1, 0.1, 0.1] / 2
    y = np.argmax(X / [1, 0.1, 0.1, 0.1] @ rng.normal(size=(4, 3)), axis=1)
    fitted = model(2.0, classes=range(3), fit_intercept=False).fit(X, y)
    assert fitted.coef_.shape == (3, 4)
    np.testing.assert_array_equal(fitted.intercept_, np.zeros(3))
    assert fitted.score(X, y) > 0.7


@pytest.mark.parametrize(
    "tied", [{"l1_ratio": 0.5}, {"constraint": L2Ball(1.0)}], ids=["l1", "constraint"]
)
def test_what_is_tied_to_coordinates_is_not_conditioned(tied):
    X, y = badly_scaled(200)
    fitted = model(**tied).fit(X, y)
    assert "second_moments" not in {event.query for event in fitted.privacy_ledger_}
    refused = model(precondition="full", **tied)
    with pytest.raises(ValueError, match="Whitening needs a ridge penalty or none"):
        refused.fit(X, y)
    assert not hasattr(refused, "privacy_ledger_")


def test_sparse_rows_are_taken_if_they_have_few_features():
    X, y = badly_scaled(200)
    for rows in (X, csr_array(X)):
        fitted = model(random_state=0).fit(rows, y)
        assert "second_moments" in {event.query for event in fitted.privacy_ledger_}
    wide = csr_array((200, 1001))
    with pytest.raises(ValueError, match=r"sparse ones of up to 1000 features, got .* of 1001"):
        model(precondition="diagonal").fit(wide, y)


@pytest.mark.parametrize("classes", [2, *by_night(3)])
def test_several_sizes_of_data_get_no_look_a_narrow_one_or_two(classes):
    # The mean is longer than its noise from n mu = 2 sqrt(8) on, for the mu of the look.
    looks = []
    for n in (40, 300, 60_000):
        X, y = badly_scaled(n)
        y = y + (np.arange(n) % classes == 2)
        transcript = record_fit(model(classes=range(classes)), X, y)
        looks.append([c[1] for name, c, *_ in transcript.entries if name == "second_moments"])
    assert looks == [[], [False], [False, True]]


def test_the_unconditioned_fit_has_the_whole_budget():
    X, y = badly_scaled(40)
    fitted = model().fit(X, y)
    assert {event.query for event in fitted.privacy_ledger_} == {"gradient"}
    assert fitted.privacy_spent_.epsilon == pytest.approx(1.0, rel=1e-6)


def test_scaling_alone_takes_memory_for_a_few_rows_however_many_features():
    rng = np.random.default_rng(0)
    d = 20_000
    X = rng.normal(size=(60, d)) / np.sqrt(d)
    y = np.arange(60) % 2
    tracemalloc.start()
    fitted = model(epsilon=100.0, precondition="diagonal", solver=GD(steps=3)).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "second_moments" in {event.query for event in fitted.privacy_ledger_}
    # A matrix with a row and a column for each feature would take 50 times as much.
    assert peak < 8 * X.nbytes < 8 * d * d / 40


def test_noise_in_many_variances_does_not_make_rows_longer_than_they_can_be():
    """Else gradients get noise for a length that no row has."""
    rng = np.random.default_rng(0)
    n, d = 1600, 2000
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    fitted = model(precondition="diagonal").fit(X, np.arange(n) % 2)
    look, gradients = (
        next(e for e in fitted.privacy_ledger_ if e.query == query)
        for query in ("second_moments", "gradient")
    )
    # Features count as having a variance of twice the noise at least, and clips are .3 of a length.
    longest = 1.0 / np.sqrt(2 * look.noise_scale)
    assert gradients.sensitivity * n / (2 * 0.3) < 1.5 * longest


def test_long_rows_are_left_as_they_are_and_their_gradients_are_clipped():
    X, y = badly_scaled(2000)
    fitted = model(solver=GD(clip=0.5)).fit(X, y)
    (event,) = [e for e in fitted.privacy_ledger_ if e.query == "gradient"]
    transcript = record_fit(model(solver=GD(clip=0.5)), X, y)
    _, content, *_ = [entry for entry in transcript.entries if entry[0] == "gradient"][-1]
    # The bound on a gradient is the typical length times the clip, not what a row may be long.
    assert event.sensitivity == pytest.approx(2 * content[1] / 2000, rel=1e-4)
    typical = content[1] / 0.5
    assert 0.5 < typical / np.sqrt(8) < 1.5


def test_options_are_refused_by_name():
    with pytest.raises(ValueError, match="The 'precondition' parameter"):
        model(precondition="whiten").fit(*badly_scaled(50))
    assert "auto" in OPTIONS
