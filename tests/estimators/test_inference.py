"""What inference_ says, in whose units, and who has none."""

import importlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up_census import made_up
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import skdp
from skdp import (
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
    Inference,
    inference,
)
from skdp.preprocessing import BoundsScaler, DPStandardScaler, RowNormClipper

N, D = 3000, 3
RANGES = ([-2.0, 10.0, 0.0], [2.0, 30.0, 0.01])


# Seeds are meant.
pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")


def rows(seed=0):
    """Features of very different units."""
    return np.random.default_rng(seed).uniform(*RANGES, size=(N, D))


def target(X):
    z = X @ [1.0, 0.1, -200.0]
    return z + np.random.default_rng(1).normal(scale=0.5, size=N)


def label(X):
    return (X @ [1.0, 0.1, -200.0] + np.random.default_rng(1).logistic(size=N) > 1.0).astype(int)


def linear(**options):
    options = {"target_bounds": (-5.0, 6.0), "data_bounds": RANGES} | options
    return DPLinearRegression(epsilon=1.0, solver="one_step", random_state=0, **options)


def logistic(**options):
    options = {"classes": [0, 1], "data_bounds": RANGES} | options
    return DPLogisticRegression(epsilon=2.0, solver="one_step", random_state=0, **options)


def softmax(**options):
    return logistic(**{"classes": ["low", "mid", "high"]} | options)


def of_three(X):
    z = X @ [1.0, 0.1, -200.0] + np.random.default_rng(1).logistic(size=N)
    return np.array(["low", "mid", "high"])[np.digitize(z, [0.0, 2.0])]


MODELS = {"linear": (linear, target), "logistic": (logistic, label)}
SEVERAL = MODELS | {"softmax": (softmax, of_three)}
each = pytest.mark.parametrize("kind", SEVERAL)
both = pytest.mark.parametrize("kind", MODELS)


def fitted(kind):
    make, y = SEVERAL[kind]
    X = rows()
    return make().fit(X, y(X))


@both
def test_it_is_about_the_published_coefficients_in_the_units_of_the_features(kind):
    model = fitted(kind)
    found = model.inference_
    assert isinstance(found, Inference)
    np.testing.assert_allclose(found.params[:D], np.ravel(model.coef_), rtol=1e-12)
    np.testing.assert_allclose(found.params[D], np.ravel(model.intercept_)[0], rtol=1e-9)
    np.testing.assert_allclose(found.bse, np.sqrt(np.diag(found.cov_params())), rtol=1e-12)
    assert np.all(np.abs(found.params[:D] - [1.0, 0.1, -200.0]) < 5 * found.bse[:D])
    assert np.all((found.noise_share > 0) & (found.noise_share < 1))


@each
def test_the_units_of_a_column_change_nothing_else(kind):
    make, y = SEVERAL[kind]
    X, units = rows(), np.array([1.0, 1e3, 1e-4])
    ends = tuple(np.array(end) * units for end in RANGES)
    first, second = make().fit(X, y(X)), make(data_bounds=ends).fit(X * units, y(X))
    np.testing.assert_allclose(first.inference_.tvalues[:D], second.inference_.tvalues[:D], 1e-6)
    np.testing.assert_allclose(first.inference_.bse[:D], units * second.inference_.bse[:D], 1e-6)


def test_tests_and_intervals_are_those_of_normal_estimates():
    found = fitted("linear").inference_
    low, high = found.conf_int(alpha=0.1).T
    np.testing.assert_allclose(high - low, 2 * 1.6448536 * found.bse, rtol=1e-6)
    np.testing.assert_allclose((low + high) / 2, found.params, rtol=1e-9)
    np.testing.assert_allclose(found.tvalues, found.params / found.bse)
    by_name, by_weights = found.t_test("x1"), found.t_test([0, 1, 0, 0])
    np.testing.assert_allclose(by_name.tvalue, found.tvalues[1])
    np.testing.assert_allclose(by_name.pvalue, found.pvalues[1])
    np.testing.assert_allclose(by_weights.conf_int(), found.conf_int()[[1]])
    pair = found.t_test([[1, 1, 0, 0], [0, 0, 0, 1]], q=[2.0, 0.0])
    cov = found.cov_params()
    expected = np.sqrt(cov[0, 0] + 2 * cov[0, 1] + cov[1, 1])
    np.testing.assert_allclose(pair.sd, [expected, found.bse[3]])
    np.testing.assert_allclose(pair.tvalue[0], (found.params[0] + found.params[1] - 2) / expected)
    alone = found.wald_test("x0")
    np.testing.assert_allclose(alone.statistic, found.tvalues[0] ** 2)
    np.testing.assert_allclose(alone.pvalue, found.pvalues[0])
    assert found.wald_test(np.eye(4)).df_denom == 4


def test_simultaneous_intervals_are_wider_and_not_wider_than_those_of_bonferroni():
    found = fitted("linear").inference_
    each, together = (np.ptp(found.conf_int(simultaneous=s), axis=1) for s in (False, True))
    bonferroni = np.ptp(found.conf_int(alpha=0.05 / 4), axis=1)
    assert np.all(each < together)
    assert np.all(together < 1.01 * bonferroni)
    np.testing.assert_array_equal(together, np.ptp(found.conf_int(simultaneous=True), axis=1))


def test_the_summary_names_features_and_says_what_was_clipped():
    pandas = pytest.importorskip("pandas")
    X = rows()
    frame = pandas.DataFrame(X, columns=["age", "a<b", "rent"])
    model = linear().fit(frame, target(X))
    found = model.inference_
    assert found.names == ("age", "a<b", "rent", "const")
    text, html = str(model.summary()), found.summary(alpha=0.1)._repr_html_()
    for said in ("age", "const", "std err", "[0.025", "targets clipped", "3,000 rows", "privacy"):
        assert said in text
    assert "<td" in html
    assert "a&lt;b" in html
    assert "a<b" not in html
    assert "0.95]" in html
    assert f"{found.params[0]:.4g}" in text


def test_coefficients_behind_scalers_are_brought_to_the_units_of_what_goes_in():
    X = rows()
    scalers = BoundsScaler(RANGES), DPStandardScaler(epsilon=2.0, bounds=(-1, 1), random_state=0)
    model = linear(data_bounds=None, data_norm=3.0, clip_predictions=False)
    pipe = make_pipeline(*scalers, model).fit(X, target(X))
    found, scaled = inference(pipe), pipe[-1].inference_
    np.testing.assert_allclose(X @ found.params[:D] + found.params[D], pipe.predict(X), rtol=1e-9)
    np.testing.assert_allclose(found.tvalues[:D], scaled.tvalues[:D], rtol=1e-9)
    # Predictions at a point have the same error in both units.
    point = X[:1]
    R, S = (np.append(row, 1.0) for row in (point[0], pipe[:-1].transform(point)[0]))
    np.testing.assert_allclose(found.t_test(R).sd, scaled.t_test(S).sd, rtol=1e-6)
    assert found.names == ("x0", "x1", "x2", "const")
    np.testing.assert_array_equal(inference(pipe[-1]).bse, scaled.bse)


def test_several_classes_are_each_against_the_first_with_the_errors_of_all():
    model = fitted("softmax")
    found, labels = model.inference_, model.classes_.tolist()
    assert labels == ["high", "low", "mid"]
    assert found.names[:5] == ("low: x0", "low: x1", "low: x2", "low: const", "mid: x0")
    w = np.column_stack([model.coef_, model.intercept_])
    np.testing.assert_allclose(w.sum(axis=0), 0, atol=1e-9 * np.abs(w).max())
    np.testing.assert_allclose(found.params, (w[1:] - w[0]).ravel(), rtol=1e-9)
    one = found.of_class("mid")
    assert one.names == ("x0", "x1", "x2", "const")
    np.testing.assert_array_equal(one.conf_int(), found.conf_int()[4:])
    np.testing.assert_array_equal(one.t_test("x1").sd, found.t_test("mid: x1").sd)
    assert "mid against high" in str(one.summary())
    # Two classes share the rows of the first, and errors go together.
    cov, pair = found.cov_params(), found.t_test([0, -1, 0, 0, 0, 1, 0, 0])
    np.testing.assert_allclose(pair.sd**2, cov[1, 1] + cov[5, 5] - 2 * cov[1, 5])
    assert "against high" in str(found.summary())
    for label in ("high", "none", 0):
        with pytest.raises(ValueError, match=r"of_class needs a class"):
            found.of_class(label)
    with pytest.raises(ValueError, match=r"of_class needs a class"):
        fitted("logistic").inference_.of_class(1)


def test_a_pipeline_is_in_the_units_of_what_goes_into_it_for_each_class():
    X = rows()
    model = softmax(data_bounds=None, data_norm=2.0)
    pipe = make_pipeline(BoundsScaler(RANGES), model).fit(X, of_three(X))
    found, scaled = inference(pipe), model.inference_
    assert found.names[3:5] == ("low: const", "mid: x0")
    z = X @ found.of_class("mid").params[:D] + found.of_class("mid").params[D]
    scores = pipe.decision_function(X)
    np.testing.assert_allclose(z, scores[:, 2] - scores[:, 0], rtol=1e-6, atol=1e-9)
    kept = [0, 1, 2, 4, 5, 6]
    np.testing.assert_allclose(found.tvalues[kept], scaled.tvalues[kept], rtol=1e-9)


@pytest.mark.filterwarnings("ignore::skdp.UnresolvedWarning")
@pytest.mark.parametrize("step", [RowNormClipper(1.0), Normalizer()])
def test_steps_that_are_not_affine_are_named(step):
    X = rows()
    pipe = make_pipeline(step, linear(data_bounds=None, data_norm=1.0)).fit(X, target(X))
    with pytest.raises(ValueError, match=f"a {type(step).__name__}, behind which"):
        inference(pipe)


def test_a_shift_without_an_intercept_is_refused():
    X = rows()
    model = linear(data_bounds=None, data_norm=2.0, fit_intercept=False)
    pipe = make_pipeline(BoundsScaler(RANGES), model).fit(X, target(X))
    with pytest.raises(ValueError, match="needs a model with an intercept"):
        inference(pipe)


@pytest.mark.parametrize(
    ("solver", "named"), [("auto", "(TrackedGD|GD)"), ("adassp", "AdaSSP"), ("svrg", "SVRG")]
)
def test_a_fit_whose_error_is_not_known_says_so_and_names_its_solver(solver, named):
    X = rows()
    model = linear().set_params(solver=solver).fit(X, target(X))
    with pytest.raises(AttributeError, match=rf"solver='one_step'.*fitted by {named},"):
        _ = model.inference_
    for ask in (lambda new: new.inference_, lambda new: new.summary()):
        with pytest.raises(NotFittedError, match=r"before it is fitted. Fit it with solver='one_s"):
            ask(linear())


def test_no_old_inference_stays_beside_a_new_model():
    X = rows()
    model = linear().fit(X, target(X))
    model.set_params(solver="gd").fit(X, target(X))
    assert not hasattr(model, "inference_")


@pytest.mark.parametrize("model", [DPLassoRegressor(), DPSVMClassifier()])
def test_models_without_normal_errors_are_refused(model):
    model.coef_ = np.zeros(D)
    with pytest.raises(ValueError, match="needs DPHazardRegressor, DPLinearRegression, DPLog"):
        inference(model)
    with pytest.raises(AttributeError, match=r"are not known\. Those of DPHazard"):
        _ = model.inference_


def test_what_is_no_model_is_refused_without_being_quoted():
    with pytest.raises(ValueError, match=r"^inference needs .* got ndarray\.$"):
        inference(rows())


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, np.nan])
def test_alphas_that_are_no_probabilities_are_refused(alpha):
    found = fitted("linear").inference_
    for ask in (found.conf_int, found.summary, found.t_test("x0").conf_int):
        with pytest.raises(ValueError, match="alpha"):
            ask(alpha)


@pytest.mark.parametrize("weights", ["x7", [1.0, 2.0], np.zeros((2, 3))])
def test_combinations_of_other_coefficients_are_refused(weights):
    with pytest.raises(ValueError, match=r"Inference\.t_test needs"):
        fitted("linear").inference_.t_test(weights)


def test_the_example_prints_private_intervals_beside_exact_ones(monkeypatch, tmp_path, capsys):
    pytest.importorskip("pandas")
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples"))
    monkeypatch.setenv("SKDP_DATA", str(tmp_path))
    example = importlib.import_module("odds_ratios")
    census = importlib.import_module("census")
    made_up(census, 10_000).to_csv(tmp_path / "adult_raw.csv.gz", index=False)
    example.main()
    said = capsys.readouterr().out
    assert "DPLogisticRegression, 10,000 rows" in said
    assert "Spent: epsilon = 1.000, delta = 1e-06" in said
    # Made-up incomes grow with age.
    line = next(line for line in said.splitlines()[15:] if line.startswith("age, decades"))
    odds, low = (float(number) for number in re.findall(r"\d+\.\d+", line)[:2])
    assert odds > low > 1
    assert len(re.findall(r"\[", line)) == 2


def test_what_hangs_on_noise_is_nan_wherever_it_enters():
    X = rows()
    X[:, 1] = 20 + 5 * (X[:, 0] + 0.02 * (X[:, 1] - 20) / 10)
    with pytest.warns(skdp.UnresolvedWarning):
        found = linear().fit(X, target(X)).inference_
    hidden = ~found.trusted
    assert hidden[:2].all()
    assert np.isnan(found.tvalues[hidden]).all()
    assert np.isnan(found.conf_int()[hidden]).all()
    assert np.isfinite(found.conf_int(trust_all=True)).all()
    assert np.isnan(found.t_test("x0").sd).all()
    assert np.isnan(found.wald_test(np.eye(4)).pvalue)
    assert "nan" in str(found.summary())


def test_after_partial_fit_inference_and_coefficients_are_of_the_latest_call():
    X = rows()
    y = target(X)
    model = linear().partial_fit(X, y).partial_fit(X[:2000], 1.0 - y[:2000])
    found = model.inference_
    assert (found.nobs, model.n_samples_seen_) == (2000, N + 2000)
    np.testing.assert_allclose(found.params, [*model.coef_, model.intercept_], rtol=1e-12)
    # The earlier rows have effects of the other sign.
    assert np.all(np.abs(found.params[:D] - np.array([-1.0, -0.1, 200.0])) < 6 * found.bse[:D])


@pytest.mark.parametrize("share", [-0.004, 0.0, 0.004, 0.02])
def test_rows_weighted_down_are_explained_where_there_are_more_than_noise(share):
    found = replace(fitted("linear").inference_, clipped={"rows weighted down": (share, 0.01)})
    assert f"rows weighted down {share:.1%} +- 1.0%" in str(found)
    assert ("Weighted down are" in str(found)) == (share > 0.01)


def test_it_shows_itself_as_its_summary():
    found = fitted("linear").inference_
    assert repr(found) == str(found.summary())


def test_indicators_of_all_categories_are_told_what_to_do():
    rng = np.random.default_rng(2)
    level = rng.integers(0, 3, size=N)
    indicators, y = np.eye(3)[level], 1.0 * level
    with pytest.warns(skdp.UnresolvedWarning, match="of a column one less.*, or more budget"):
        linear(data_bounds=(0.0, 1.0)).fit(indicators, y)
    counts = skdp.DPPoissonRegressor(
        epsilon=1.0,
        solver="one_step",
        data_bounds=(0.0, 1.0),
        target_bounds=(0, 400),
        random_state=0,
    )
    with pytest.warns(skdp.UnresolvedWarning, match="a smaller cap as target_bounds"):
        counts.fit(indicators[:, 1:], rng.poisson(1.0 + level))
    linear(data_bounds=(0.0, 1.0)).fit(indicators[:, 1:], y)
