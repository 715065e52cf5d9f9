"""A bandit among other things: pipelines, transformers before a stream, off-policy values."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from skdp import DPContextualBandit

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore:DPContextualBandit has .* users for:UserWarning"),
]

N, D, ARMS = 300, 3, ["a", "b"]


def bandit(epsilon=5.0):
    return DPContextualBandit(ARMS, epsilon=epsilon, data_norm=1.0, horizon=N, random_state=0)


def log(n=N):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    a = rng.choice(ARMS, n)
    return X, a, np.clip(0.5 + 0.4 * np.where(a == "a", 1, -1) * X[:, 0], 0, 1)


def part(rows, start, stop):
    return [values[start:stop] for values in rows]


def test_sampling_is_acting():
    rows = log()
    models = [bandit().partial_fit(*part(rows, 0, 100)) for _ in range(2)]
    np.testing.assert_array_equal(models[0].sample(rows[0]), models[1].act(rows[0]))
    assert models[0]._turn == N


def test_a_pipeline_of_stateless_steps_fits_and_predicts():
    X, a, r = log(4000)
    model = bandit(epsilon=1e4)
    line = make_pipeline(Normalizer(), FunctionTransformer(np.sign), model)
    line.fit(5 * X, a, dpcontextualbandit__r=r)
    signs = np.sign(X)
    np.testing.assert_array_equal(line.predict(5 * X), model.predict(signs))
    np.testing.assert_array_equal(line.decision_function(5 * X), model.decision_function(signs))
    assert (line.predict(5 * X) == np.where(X[:, 0] > 0, "a", "b")).mean() > 0.95


def test_a_stream_is_transformed_before_it_is_learned_from():
    rows, scaler = log(), Normalizer()
    plain, scaled = bandit(), bandit()
    for start in range(0, N, 50):
        X, a, r = part(rows, start, start + 50)
        plain.partial_fit(X, a, r)
        scaled.partial_fit(scaler.transform(7 * X), a, r)
    np.testing.assert_allclose(plain.coef_, scaled.coef_, rtol=1e-9)


def test_a_log_with_uneven_propensities_says_what_the_fitted_rule_would_earn():
    """By weights that are right, and not by weights that are not."""
    X, _, _ = log(20_000)
    rng = np.random.default_rng(1)
    likely = 0.15 + 0.7 * (X[:, 1] > 0)
    a = np.where(rng.random(len(X)) < likely, "a", "b")
    p = np.where(a == "a", likely, 1 - likely)
    means = 0.5 + 0.4 * X[:, :1] * [1, -1]
    r = (rng.random(len(X)) < means[np.arange(len(X)), (a == "b").astype(int)]).astype(float)
    model = bandit(epsilon=2.0).fit(X[:10_000], a[:10_000], r[:10_000])
    late = slice(10_000, None)
    choice = model.predict(X[late])
    truth = means[late][np.arange(10_000), (choice == "b").astype(int)].mean()
    assert truth > 0.68  # 0.7 at best
    agrees, q = choice == a[late], model.decision_function(X[late])
    of_choice, of_log = (np.where(arms == "a", *q.T) for arms in (choice, a[late]))
    inverse_propensities = agrees / p[late] * r[late]
    doubly_robust = of_choice + agrees / p[late] * (r[late] - of_log)
    for terms in (inverse_propensities, doubly_robust):
        assert abs(terms.mean() - truth) < 4 * terms.std() / 100 < 0.1
    assert doubly_robust.std() < inverse_propensities.std()
    even = agrees / 0.3 * r[late]
    assert abs(even.mean() - truth) > 0.1
