"""What steps make of one row does not decide who wins: it counts as zero, or nothing is tried."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import VotingRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, PolynomialFeatures

import skdp
from skdp import DPLinearRegression, DPLogisticRegression, DPPoissonRegressor, DPSVMClassifier
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import DPOneHotEncoder, DPSimpleImputer, DPStandardScaler
from skdp.solvers import GD

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*compares scores whose noise:UserWarning",
    "ignore::skdp.BudgetWarning",
    "ignore::skdp.SeededNoiseWarning",
)
N = 60
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 1, size=(N, 2))
Y = (X[:, 0] > 0.5).astype(int)
PLAIN = {"data_norm": 3.0, "solver": GD(steps=2), "precondition": None}
LOG = FunctionTransformer(np.log1p)
NONE = FunctionTransformer()
WAYS = {"dense": np.asarray, "sparse": sp.csr_array, "frame": pd.DataFrame}


def model():
    return DPLogisticRegression(classes=[0, 1], **PLAIN)


def with_entry(entry, X=X):
    """A neighbour of the rows, one of which has this entry."""
    other = X.copy()
    other[3, 1] = entry
    return other


def prefers(kind):
    """A score by which one candidate is far better, however it is fitted."""

    def score(found, X, y):
        return np.full(len(y), float(kind in str(found.steps[0][1])))

    return score


def search(pipeline, space, **options):
    given = {"exhaustive": True, "epsilon": 20.0, "random_state": 0, "score_range": (0, 1)}
    return DPGridSearchCV(pipeline, space, **given | options)


def coefficients(found):
    last = found.best_estimator_
    last = getattr(last, "regressor_", last)
    return (last.steps[-1][1] if hasattr(last, "steps") else last).coef_


@pytest.mark.parametrize("units", [False, True])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    ("step", "entry"), [(LOG, -1.0), (LOG, -2.0), (PolynomialFeatures(2), 1e200)], ids=str
)
def test_a_row_that_a_step_makes_infinite_fails_no_candidate(step, entry, way, units):
    kind = type(step).__name__ if step is not LOG else "log1p"
    space = {"step": ["passthrough", step]}
    pipeline = Pipeline([("step", NONE), ("model", model())])
    found = search(pipeline, space, scoring=prefers(kind))
    labels = {"privacy_unit": np.arange(N) // 2} if units else {}
    for rows in (X, with_entry(entry)):
        assert found.fit(way(rows), Y, **labels).best_params_ != {"step": "passthrough"}


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("later", [NONE, PolynomialFeatures(2), Normalizer()], ids=str)
def test_entries_that_are_not_finite_count_as_zero_in_fits_and_in_scores(later, scaled):
    # In one search by steps that say so, in front of each private one.
    zeros = FunctionTransformer(np.nan_to_num, kw_args={"posinf": 0.0, "neginf": 0.0})
    scaler = [DPStandardScaler(bounds=(-1, 1))] if scaled else []
    steps = [[LOG, *scaler, later, model()], [LOG, later, zeros, model()]]
    if scaled:
        steps[1][1:2] = [zeros, *scaler, later]
    space, found = {"dplogisticregression__C": [1.0]}, []
    for parts in steps:
        with pytest.warns(skdp.PrivacyLeakWarning) if zeros in parts else nullcontext():
            found.append(
                search(make_pipeline(*parts), space, score_range=None).fit(with_entry(-1.0), Y)
            )
    assert found[0].best_score_ == found[1].best_score_
    np.testing.assert_array_equal(*map(coefficients, found))


@pytest.mark.parametrize("entry", [np.nan, -1.0])
@pytest.mark.parametrize("composed", ["columns", "union", "filled"])
def test_parts_of_composed_steps_fail_no_candidate(composed, entry):
    fill = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)
    of = {
        "columns": ColumnTransformer(
            [("log", LOG, [1]), ("scaler", DPStandardScaler(bounds=(0, 1)), [0])],
            sparse_threshold=0,
            n_jobs=2,
        ),
        "union": FeatureUnion([("log", LOG), ("none", "passthrough")]),
        "filled": fill,
    }[composed]
    pipeline = make_pipeline(of, model())
    name = pipeline.steps[0][0]
    found = search(pipeline, {name: [of, "passthrough"]}, scoring=prefers("passthrough"))
    for rows in (X, with_entry(entry)):
        # It is the other one that a missing entry would fail.
        assert found.fit(rows, Y).best_params_ == {name: "passthrough"}
    found.set_params(scoring=prefers(type(of).__name__))
    for rows in (X, with_entry(entry)):
        assert found.fit(rows, Y).best_params_ != {name: "passthrough"}


def test_targets_that_a_function_makes_infinite_count_as_zero():
    y = Y.astype(float)
    linear = DPLinearRegression(target_bounds=(0.0, 1.0), **PLAIN)
    options = {"check_inverse": False, "inverse_func": np.expm1}
    whole = TransformedTargetRegressor(linear, func=np.log1p, **options)
    found = search(whole, {"regressor__fit_intercept": [False]}, score_range=(-1.0, 0.0))
    coefs = []
    for target in (-1.0, 0.0):
        y[3] = target
        coefs.append(coefficients(found.fit(X, y)))
    np.testing.assert_array_equal(*coefs)


def category(**options):
    encoder = OneHotEncoder(categories=[["a", "b"]], sparse_output=False, **options)
    return make_pipeline(encoder, model())


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
@pytest.mark.parametrize("exhaustive", [False, True])
@pytest.mark.parametrize("within", ["pipeline", "columns", "target", "vote"])
def test_a_row_that_steps_refuse_is_refused_before_anything_is_drawn_or_spent(within, exhaustive):
    rows = np.resize(["a", "b"], (N, 1)).astype(object)
    pipeline, prefix, y = category(), "", Y
    if within == "columns":
        encoders = ColumnTransformer([("codes", pipeline.steps[0][1], [0])], sparse_threshold=0)
        pipeline.steps[0] = ("columns", encoders)
        space = {"columns__codes__handle_unknown": ["error", "ignore"]}
    else:
        if within in ("target", "vote"):
            linear = DPLinearRegression(target_bounds=(0.0, 1.0), **PLAIN)
            pipeline.steps[-1] = ("linear", linear)
            if within == "target":
                pipeline, prefix = TransformedTargetRegressor(pipeline), "regressor__"
            else:
                pipeline, prefix = VotingRegressor([("one", pipeline)]), "one__"
        space = {f"{prefix}onehotencoder__handle_unknown": ["error", "ignore"]}
    found = search(pipeline, space, exhaustive=exhaustive, score_range=(-1.0, 1.0))
    found.fit(rows, y)
    other = rows.copy()
    other[3] = "SECRET"
    again = search(pipeline, space, exhaustive=exhaustive, score_range=(-1.0, 1.0))
    for _ in range(5):
        with pytest.raises(ValueError, match="whose steps take all rows") as refused:
            again.set_params(random_state=None).fit(other, y)
        assert "SECRET" not in str(refused.value)
        assert refused.value.__context__ is None
        assert not hasattr(again, "privacy_spent_")
    # Candidates that take any row are not refused.
    name = next(iter(space))
    again.set_params(param_grid={name: ["ignore"]}, random_state=0).fit(other, y)


def test_rows_that_are_numbers_for_some_candidates_only_are_refused():
    rows = np.resize(["1", "2"], (N, 1)).astype(object)
    encoder = OneHotEncoder(categories=[["1", "2"]], handle_unknown="ignore", sparse_output=False)
    found = search(make_pipeline(encoder, model()), {"onehotencoder": [encoder, "passthrough"]})
    found.fit(rows, Y)
    rows[3] = "x"
    with pytest.raises(ValueError, match="whose steps take all rows"):
        found.fit(rows, Y)


def logarithms(X):
    if np.any(X <= 0):
        raise ArithmeticError
    return np.log(X)


@pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")
def test_what_takes_the_place_of_a_private_step_is_tried_with_its_parameters():
    scaler = DPStandardScaler(bounds=(0, 1))
    pipeline = Pipeline([("step", scaler), ("model", model())])
    functions = {"step": [NONE], "step__func": [np.tanh, logarithms]}
    found = search(pipeline, [functions, {"step": [scaler]}])
    found.fit(X, Y)
    with pytest.raises(ValueError, match="whose steps take all rows"):
        found.fit(with_entry(-1.0), Y)


def test_more_kinds_of_candidates_than_can_be_looked_at_are_refused():
    space = {f"normalizer__{name}": [str(k) for k in range(50)] for name in ("norm", "copy")}
    found = search(make_pipeline(Normalizer(), model()), space)
    with pytest.raises(ValueError, match="at most 2,000 combinations"):
        found.fit(X, Y)


@pytest.mark.parametrize("units", [False, True])
def test_a_row_at_which_a_score_raises_has_the_lowest_and_moves_no_other(units):
    def score(found, X, y, lowest=False):
        values = 1 / (1 + np.exp(-found.decision_function(X)))
        if lowest:
            return np.where(X[:, 1] > 5, 0.0, values)
        if np.any(X[:, 1] > 5):
            raise ZeroDivisionError
        return values

    rows = with_entry(6.0)
    labels = {"privacy_unit": np.arange(N) // 2} if units else {}
    found = [
        search(model(), {"C": [1.0]}, scoring=scoring).fit(rows, Y, **labels).best_score_
        for scoring in (score, lambda *given: score(*given, lowest=True))
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score"])
@pytest.mark.parametrize("validation", [None, (X, Y)], ids=["paid", "public"])
@pytest.mark.parametrize(
    "without",
    [DPSVMClassifier(classes=[0, 1]), DPLinearRegression(target_bounds=(0, 1))],
    ids=["svm", "regressor"],
)
def test_scores_of_probabilities_need_models_that_have_them(without, validation, scoring):
    found = DPGridSearchCV(
        without, {"fit_intercept": [True]}, scoring=scoring, validation=validation
    )
    with pytest.raises(ValueError, match="predict_proba"):
        found.fit(X, Y)
    assert not hasattr(found, "privacy_spent_")


def table_of(entry):
    words = np.resize(["a", "b", None], N).astype(object)
    return pd.DataFrame({"size": np.where(np.arange(N) == 3, entry, X[:, 0]), "word": words})


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_private_steps_of_a_raw_table_take_words_and_gaps_but_no_others():
    """What is refused is what the steps themselves refuse, whichever columns they have."""
    numbers = make_pipeline(DPSimpleImputer(bounds=(0, 1)), DPStandardScaler(bounds=(0, 1)))
    words = make_pipeline(DPSimpleImputer(strategy="most_frequent"), DPOneHotEncoder())
    columns = ColumnTransformer(
        [("numbers", numbers, ["size"]), ("words", words, ["word"])], sparse_threshold=0
    )
    found = search(make_pipeline(columns, model()), {"dplogisticregression__C": [0.1, 1.0]})
    found.set_params(epsilon=50.0).fit(table_of(np.nan), Y)
    found.set_params(estimator=make_pipeline(DPOneHotEncoder(), model()))
    found.fit(table_of(np.nan)[["word"]], Y)
    found.set_params(estimator=make_pipeline(columns, model()))
    # A column that no step takes is nobody's, whatever it holds.
    found.fit(table_of(np.nan).assign(day=pd.Timestamp("2001-02-03")), Y)
    texts = table_of(0.5).astype(object)
    texts.loc[3, "size"] = "SECRET"
    with pytest.raises(ValueError, match="whose steps take all rows") as refused:
        found.fit(texts, Y)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("first", [False, True])
def test_a_target_that_one_candidate_refuses_does_not_make_others_win(first):
    """Counts are never negative, and three classes are more than two; nothing is spent on them."""
    bounds = {"target_bounds": (0, 4), "data_norm": 3.0}
    of_numbers = [DPLinearRegression(**bounds), DPPoissonRegressor(**bounds)]
    of_labels = [DPLogisticRegression(classes=list(range(k)), **PLAIN) for k in (3, 2)]
    cases = (of_numbers, -1.0, "of at least 0"), (of_labels, 2, "among the 2 classes")
    for candidates, target, said in cases:
        candidates = candidates[::-1] if first else candidates
        found = search(Pipeline([("m", candidates[0])]), {"m": candidates})
        y = Y.astype(type(target))
        y[3] = target
        with pytest.raises(ValueError, match=said):
            found.fit(X, y)
        assert not hasattr(found, "privacy_spent_")


def test_counts_that_a_function_makes_negative_are_zero():
    """One row with so small a target would fail all trials of this candidate, and of no other."""
    bounds = {"target_bounds": (0, 4), "data_norm": 3.0}
    candidates = [DPLinearRegression(**bounds), DPPoissonRegressor(**bounds)]
    options = {"check_inverse": False, "inverse_func": np.exp}
    whole = TransformedTargetRegressor(candidates[0], func=np.log, **options)

    def score(found, X, y):
        return np.full(len(y), float(isinstance(found.regressor_, DPPoissonRegressor)))

    found = search(whole, {"regressor": candidates}, scoring=score)
    for least in (1.0, 0.5):
        y = 1.0 + Y
        y[3] = least
        assert isinstance(found.fit(X, y).best_params_["regressor"], DPPoissonRegressor)
