"""Tables as they are: columns in units of their own, with known ranges or none."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import skdp
from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.problem.constraints import L2Ball
from skdp.solvers import Screening
from skdp.solvers.preconditioning import Whitening
from skdp.testing import record_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

D = 6
UNITS = np.array([1e-6, 1.0, 1e5, 1.0, 30.0, 1e3])
ORIGIN = np.array([0.0, 1900.0, 0.0, -5.0, 100.0, 0.0])


def table(n=6000, seed=0):
    """Six columns of which each matters, in their own units; labels and targets."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, D))
    score = Z @ [1.5, -1.0, 1.0, 1.0, -1.5, 1.0]
    return Z * UNITS + ORIGIN, (score + rng.logistic(size=n) > 0).astype(int), score


def bounds(width=4.0):
    return ORIGIN - width * UNITS, ORIGIN + width * UNITS


def classifier(**settings):
    return DPLogisticRegression(epsilon=1.0, classes=[0, 1], **settings)


def asked(model):
    return {event.query for event in model.privacy_ledger_}


def stage_of_ranges(plan):
    (stage,) = [stage for stage in plan.stages if stage.purpose == "ranges of columns"]
    return stage


def found(model):
    return "ranges of columns" in dict(model.plan_.bounds)


def test_columns_in_their_own_units_are_learned_from():
    X, y, _ = table()
    model = classifier(random_state=0).fit(X[:5000], y[:5000])
    assert found(model)
    # Without privacy .83, and about .68 where one column hides the others.
    assert model.score(X[5000:], y[5000:]) > 0.81
    assert model.privacy_spent_.epsilon <= 1.0


@pytest.mark.parametrize("given", [False, True], ids=["found", "given"])
def test_regression_on_columns_in_their_own_units(given):
    X, _, score = table()
    y = score + np.random.default_rng(1).normal(size=score.size)
    known = {"data_bounds": bounds()} if given else {}
    model = DPLinearRegression(epsilon=1.0, target_bounds=(-12, 12), random_state=0, **known)
    assert model.fit(X[:5000], y[:5000]).score(X[5000:], y[5000:]) > 0.8


def test_svm_on_columns_in_their_own_units():
    X, y, _ = table()
    model = DPSVMClassifier(epsilon=1.0, classes=[0, 1], random_state=0).fit(X[:5000], y[:5000])
    assert model.score(X[5000:], y[5000:]) > 0.81


def test_known_ranges_cost_nothing_and_are_published():
    X, y, _ = table()
    low, high = bounds()
    model = classifier(data_bounds=(low, high), random_state=0).fit(X, y)
    assert not found(model)
    assert "magnitude_votes" not in {event.query for event in model.privacy_ledger_}
    for ours, theirs in zip(model.data_bounds_, (low, high), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_ranges_may_be_given_by_name():
    X, y, _ = table(500)
    low, high = bounds()
    names = list("fedcba")
    frame = pd.DataFrame(X, columns=names)
    by_name = {name: (low[j], high[j]) for j, name in enumerate(names)}
    model = classifier(random_state=0)
    ours = model.set_params(data_bounds=by_name).fit(frame, y).coef_
    theirs = model.set_params(data_bounds=(low, high)).fit(frame, y).coef_
    np.testing.assert_array_equal(ours, theirs)


def test_predictions_hold_features_to_the_ranges_of_the_fit():
    X, y, _ = table(2000)
    model = classifier(data_bounds=bounds(), random_state=0).fit(X, y)
    low, high = bounds()
    wild = X[:50] + 1e9
    held = np.clip(wild, low, high)
    np.testing.assert_allclose(
        model.decision_function(wild), held @ model.coef_[0] + model.intercept_[0], rtol=1e-9
    )
    kept = wild.copy()
    model.predict(wild)
    np.testing.assert_array_equal(wild, kept)


def test_where_nothing_can_be_seen_columns_are_held_to_one_and_nothing_is_asked():
    X, y, _ = table(60)
    frame = pd.DataFrame(X, columns=["age", *"bcdef"])
    with pytest.warns(skdp.BudgetWarning, match=r"6 columns, of which most .*: age, b, c, d, e, f"):
        model = classifier(random_state=0).fit(frame, y)
    assert asked(model).isdisjoint({"magnitude_votes", "column_cells"})
    np.testing.assert_array_equal(model.data_bounds_, [[-1] * D, [1] * D])
    assert list(model.unseen_columns_) == list(frame)


def test_only_columns_whose_ranges_are_not_known_are_searched():
    X, y, _ = table()
    frame, (low, high) = pd.DataFrame(X, columns=list("abcdef")), bounds()
    known = {name: (low[j], high[j]) for j, name in enumerate(frame)}
    sought = known | {"b": None, "c": None}
    model = classifier(data_bounds=sought, random_state=0)
    transcript = record_fit(model, frame, y)
    ranges = stage_of_ranges(model.plan_)
    assert (ranges.columns, ranges.codes) == ((1, 2), False)
    votes = [content for query, content, *_ in transcript.entries if query == "magnitude_votes"]
    assert votes == [((1, 2),)]
    others = [0, 3, 4, 5]
    for ours, theirs in zip(model.data_bounds_, (low, high), strict=True):
        np.testing.assert_allclose(ours[others], theirs[others], rtol=1e-12)
    held = np.clip(X, *model.data_bounds_)
    assert ((held == X).mean(axis=0) > 0.9).all()
    assert model.score(frame, y) > 0.81
    # By index, and by what is left out, it is the same.
    by_index = {j: (low[j], high[j]) for j in others}
    again = classifier(data_bounds=by_index, random_state=0).fit(X, y)
    assert stage_of_ranges(again.plan_).columns == (1, 2)
    np.testing.assert_allclose(again.data_bounds_[0][others], low[others], rtol=1e-12)
    # What is said of a column that is not searched does not ask for it.
    assert stage_of_ranges(skdp.plan(model, 6000, D)) == ranges


def test_ranges_that_are_sought_are_sought_in_wide_sparse_rows_too():
    rng = np.random.default_rng(0)
    X = sp.lil_array(rng.random((3000, 1500)) * (rng.random((3000, 1500)) < 0.01))
    X[:, [0]] = rng.normal(50, 10, size=(3000, 1))
    y = (X[:, [0]].toarray().ravel() > 50).astype(int)
    known = dict.fromkeys(range(1, 1500), (0, 1)) | {0: None}
    model = classifier(data_bounds=known, random_state=0).fit(sp.csr_array(X), y)
    assert stage_of_ranges(model.plan_).columns == (0,)
    assert 60 < model.data_bounds_[1][0] < 200


def test_ranges_that_nobody_can_look_for_have_to_be_given():
    X, y, _ = table(500)
    with pytest.raises(ValueError, match="needs all bounds of rows"):
        classifier(data_bounds={0: (-1, 1), 1: None}, buffer=False).partial_fit(X, y)


def test_columns_that_are_not_seen_are_listed_after_the_fit():
    X, y, _ = table()
    X[:, 3] = y
    model = classifier(random_state=0).fit(X, y)
    assert list(model.unseen_columns_) == [3]
    assert (model.data_bounds_[0][3], model.data_bounds_[1][3]) == (-1, 1)
    assert not list(classifier(data_bounds=bounds(), random_state=0).fit(X, y).unseen_columns_)
    assert not list(
        classifier(data_norm=3.0, random_state=0).fit(X / UNITS / 1e5, y).unseen_columns_
    )


@pytest.mark.parametrize(("n", "words"), [(200, "a half may not be found"), (90, "most will not")])
def test_ranges_that_noise_hides_are_warned_of_before_rows_are_read(n, words):
    X, y, _ = table(n)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    with pytest.warns(skdp.BudgetWarning, match=f"{words}.* of: b, d") as warned:
        classifier(data_bounds=dict.fromkeys("acef", (0, 1)), random_state=0).fit(frame, y)
    assert len([w for w in warned if issubclass(w.category, skdp.BudgetWarning)]) == 1


def test_a_hundred_codes_beside_few_columns_hide_nothing():
    """Codes do not vote: ranges are found as if they were not there."""
    rng = np.random.default_rng(5)
    n, large = 12_000, slice(0, 3)
    X = (rng.random((n, 100)) < 0.3).astype(float)
    X[:, large] = 3000 + 100 * rng.normal(size=(n, 3))
    y = (X[:, 0] + X[:, 1] > 6000 + 50 * X[:, 3]).astype(int)
    model = classifier(random_state=0).fit(X, y)
    low, high = model.data_bounds_
    assert np.all((low[large] > 2000) & (low[large] < 2850))
    assert np.all((high[large] > 3150) & (high[large] < 4200))
    # Noise shows one or another of the codes, in one fit of thirty.
    assert len(set(range(3, 100)) & set(model.unseen_columns_)) >= 96
    assert model.score(X, y) > 0.9


def test_people_divide_one_vote_among_their_rows():
    X, y, _ = table(6000)
    people = np.repeat(np.arange(3000), 2)
    model = classifier(random_state=0).fit(X, y, privacy_unit=people)
    assert found(model)
    held = np.clip(X, *model.data_bounds_)
    assert ((held == X).mean(axis=0) > 0.9).all()
    votes = [e for e in model.privacy_ledger_ if e.query == "magnitude_votes"]
    assert [round(e.sensitivity, 3) for e in votes] == [1.414]


@pytest.mark.parametrize(
    "settings",
    [
        {"data_norm": 3.0},
        {"l1_ratio": 0.5},
        {"constraint": L2Ball(1.0)},
    ],
    ids=["norm", "l1", "constraint"],
)
def test_columns_are_not_scaled_where_units_are_the_users(settings):
    X, y, _ = table()
    assert not found(classifier(random_state=0, **settings).fit((X - ORIGIN) / UNITS, y))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("k", [D, 3])
def test_features_are_selected_and_fitted_in_the_units_of_the_user(alpha, k):
    Z = table()[0] / UNITS
    y = Z[:, 1] - ORIGIN[1] + np.random.default_rng(1).normal(scale=0.1, size=len(Z))
    X = (Z - ORIGIN / UNITS) * np.array([3.0, 1.0, 1.0, 1.0, 0.3, 0.3])
    settings = {"epsilon": 4.0, "alpha": alpha, "target_bounds": (-5, 5), "random_state": 0}
    model = DPLinearRegression(solver=Screening(k=k), **settings).fit(X, y)
    assert not found(model)
    assert model.score(X, y) > 0.97
    with pytest.raises(ValueError, match="Pass data_norm in place of them"):
        model.set_params(data_bounds=(-9.0, 9.0)).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_explicit_penalty_is_about_columns_as_they_come(n_classes):
    X, _, score = table()
    X, (low, high) = X - ORIGIN, (-5 * UNITS, 5 * UNITS)
    score += np.random.default_rng(1).logistic(size=score.size)
    y = np.digitize(score, [-1.0, 1.0] if n_classes == 3 else [0.0])
    options = {"C": 1e-3, "fit_intercept": False}
    ours = DPLogisticRegression(
        epsilon=1e6,
        classes=range(n_classes),
        data_bounds=(low, high),
        random_state=0,
        **options,
    ).fit(X, y)
    theirs = LogisticRegression(**options, tol=1e-8, max_iter=10000).fit(X, y)
    # The smallest column all but vanishes by the penalty, whose units are its own.
    ours, theirs = (ours.coef_ * UNITS, theirs.coef_ * UNITS)
    assert np.abs(theirs[:, 0]).max() < 1e-6
    np.testing.assert_allclose(ours, theirs, atol=0.05)


def test_sparse_rows_stay_sparse_and_agree_with_dense_ones():
    X, y, _ = table(3000)
    X = X - ORIGIN
    X[np.random.default_rng(3).random(X.shape) < 0.6] = 0.0
    model = classifier(random_state=0)
    sparse = model.fit(sp.csr_array(X), y)
    assert found(sparse)
    low, high = sparse.data_bounds_
    assert np.all((low <= 0) & (high >= 0))
    dense = X.clip(low, high) @ sparse.coef_[0] + sparse.intercept_[0]
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), dense, rtol=1e-9)
    assert sparse.score(X, y) > 0.6


def test_blocks_of_a_stream_keep_the_ranges_of_the_first():
    X, y, _ = table(20000)
    model = classifier(random_state=0, horizon=20000)
    ranges = set()
    for i in range(0, 20000, 1000):
        model.partial_fit(X[i : i + 1000], y[i : i + 1000])
        if model.data_bounds_ is not None:
            ranges.add(model.data_bounds_[0].tobytes())
    assert len(ranges) == 1
    assert model.score(X, y) > 0.8


@pytest.mark.filterwarnings("ignore:The share of the budget set aside:UserWarning")
def test_later_calls_look_for_what_the_first_was_too_small_to_see():
    X, y, _ = table(4000)
    model = classifier(random_state=0, solver="gd").partial_fit(X[:60], y[:60])
    assert list(model.unseen_columns_) == list(range(D))
    model.partial_fit(X[60:], y[60:])
    assert found(model)
    assert not model.unseen_columns_
    ranges = model.data_bounds_
    # And not for what has been seen.
    model.partial_fit(X[:2000], y[:2000])
    assert not found(model)
    np.testing.assert_array_equal(model.data_bounds_, ranges)


def test_several_targets_are_found_with_the_ranges_of_columns():
    X, _, score = table()
    Y = np.column_stack([score, 1e4 + 100 * score])
    model = DPLinearRegression(epsilon=2.0, random_state=0).fit(X, Y)
    assert found(model)
    assert model.score(X, Y) > 0.7


def test_streams_of_sums_take_known_ranges():
    X, y, _ = table(6000)
    model = classifier(random_state=0, buffer=False, horizon=6000, data_bounds=bounds(3.0))
    assert model.partial_fit(X, y).score(X, y) > 0.75
    with pytest.raises(ValueError, match="data_bounds"):
        classifier(buffer=False).partial_fit(X, y)


def test_the_plan_says_what_ranges_cost():
    planned = skdp.plan(classifier(), 6000, D)
    assert dict(planned.bounds)["ranges of columns"] == 0.1
    assert "ranges of columns, up to 10%;" in str(planned)
    few = skdp.plan(classifier(), 300, D)
    assert dict(few.bounds)["ranges of columns"] == 0.2
    assert "ranges of columns, up to 20% (a half may not be found)" in str(few)
    # Nothing is paid where nothing can be seen.
    none = skdp.plan(classifier(), 60, D)
    assert dict(none.bounds)["ranges of columns"] == 0.0
    assert "ranges of columns that are not given" in str(none)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"data_bounds": (1, 0)}, "low < high"),
        ({"data_bounds": ([0, 0], 1)}, "got 2 for the low ends of 6 features"),
        ({"data_bounds": {"a": (0, 1)}}, "features have no names"),
        ({"data_bounds": 3}, r"data_bounds=\(low, high\)"),
    ],
)
def test_ranges_that_cannot_be_are_refused(settings, message):
    X, y, _ = table(50)
    with pytest.raises(ValueError, match=message):
        classifier(**settings).fit(X, y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("fedcbaz", r"got 1 that no column has, such as 'z'; the 6 columns begin with 'f'\."),
        ("xyz", "got 3 that no column has"),
        (["f", 0], "got a name and an index of one"),
        ([9], "got 1 that no column has, such as 9"),
    ],
)
def test_names_and_ranges_that_do_not_match_are_refused_by_name(given, message):
    X, y, _ = table(50)
    frame = pd.DataFrame(X, columns=list("fedcba"))
    with pytest.raises(ValueError, match=message):
        classifier(data_bounds=dict.fromkeys(given, (0, 1))).fit(frame, y)


@pytest.mark.parametrize(
    ("of", "targets"), [(classifier, {}), (DPLinearRegression, {"target_bounds": (0, 1)})]
)
def test_a_norm_that_one_column_makes_up_is_warned_of(of, targets):
    X, y, _ = table()
    with pytest.warns(UserWarning, match="Column 2 makes up nearly all"):
        of(data_norm=4e5, random_state=0).set_params(epsilon=4.0, **targets).fit(X, y)


@pytest.mark.parametrize("solver", ["auto", Screening(k=2)])
def test_the_column_is_named_as_it_came_and_a_model_without_a_norm_hears_what_it_can_do(solver):
    X, y, _ = table()
    model = DPLassoRegressor(epsilon=4.0, target_bounds=(0, 1), solver=solver, random_state=0)
    with pytest.warns(UserWarning, match="Column 2 makes up nearly all") as warned:
        model.fit(X, y)
    said = " ".join(str(w.message) for w in warned)
    assert "with BoundsScaler in front" in said
    assert "Leave out" not in said


@pytest.mark.parametrize(
    ("given", "message"),
    [((100, 200), "Many targets lie outside"), ((-1e5, 1e5), "in a hundredth")],
)
def test_target_bounds_that_do_not_fit_are_warned_of(given, message):
    X, _, score = table()
    with pytest.warns(UserWarning, match=message):
        DPLinearRegression(
            epsilon=1.0, data_bounds=bounds(), target_bounds=given, random_state=0
        ).fit(X, score)


def test_target_bounds_that_fit_are_not():
    X, _, score = table()
    for width in (6.0, 60.0):
        DPLinearRegression(
            epsilon=1.0, data_bounds=bounds(), target_bounds=(-width, width), random_state=0
        ).fit(X, score)


@pytest.mark.filterwarnings("ignore:The share of the budget set aside:UserWarning")
def test_weights_that_turn_out_small_leave_nothing_to_be_seen():
    X, y, _ = table(3000)
    model = classifier(random_state=0).set_params(max_weight=1.0)
    model.fit((X - ORIGIN) / UNITS, y, sample_weight=np.full(len(y), 0.02))
    assert found(model)
    np.testing.assert_array_equal(model.data_bounds_, [[-1] * D, [1] * D])
    assert "magnitude_votes" not in asked(model)


def test_predictions_of_sparse_rows_hold_zeros_to_a_range_without_them():
    X, y, _ = table(500)
    model = classifier(data_bounds=(1, 3), random_state=0).fit(np.abs(X), y)
    rows = np.zeros((4, D))
    rows[1:, 0] = [0.5, 2.0, 9.0]
    np.testing.assert_allclose(
        model.decision_function(sp.csr_array(rows)), model.decision_function(rows), rtol=1e-12
    )


def test_a_perturbed_minimum_that_would_not_get_half_of_the_budget_is_refused_beforehand():
    X, y, _ = table()
    model = classifier(solver="objective_perturbation", precondition=Whitening(share=0.46))
    with pytest.raises(ValueError, match="more than half of the budget"):
        model.fit(X, y)
    assert not hasattr(model, "privacy_ledger_")
    model.set_params(data_bounds=bounds(), random_state=0).fit(X, y)
