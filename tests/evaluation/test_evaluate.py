"""What ``skdp.evaluate`` returns: scores, intervals, curves, a receipt, and nothing else."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from evaluations_of_twins import Evaluating, apart, make_rows
from models_that_misbehave import PANIC, Batch, Fixed, Numbers, Panicking, noting
from object_graphs import planted_in
from sklearn import metrics
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import NMF
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, scale
from sklearn.svm import LinearSVC

import skdp
from skdp import BudgetExceededError, DPLogisticRegression, PrivacyBudget, PrivacyLeakWarning
from skdp.model_selection.evaluation import is_pointwise
from skdp.preprocessing import BoundsScaler
from skdp.testing import record_fit, replay_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

PUBLIC = {"public_model": True, "pointwise": True}
NOISELESS = {"epsilon": 1e8, "random_state": 0, **PUBLIC}
GROUPED = {"groups": None, "group_values": [0, 1]}


class Classes:
    """Knows three classes."""

    classes_ = np.array(["a", "b", "c"])

    def predict_proba(self, X):
        p = np.exp(np.column_stack([X[:, 0], X[:, 1], -X[:, 0]]))
        return p / p.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def several(n=400, seed=0):
    X = make_rows(n, seed)[0]
    rng = np.random.default_rng(seed)
    return X, np.array([rng.choice(Classes.classes_, p=p) for p in Classes().predict_proba(X)])


def regression(n=400, seed=0):
    X = make_rows(n, seed)[0]
    return X, X[:, 0] + np.random.default_rng(seed).normal(size=n)


def test_scores_of_two_classes_without_noise_are_those_of_scikit_learn():
    X, y, _ = make_rows()
    predicted, p = Fixed().predict(X), Fixed().predict_proba(X)[:, 1]
    found = skdp.evaluate(Fixed(), X, y, **NOISELESS)
    expected = {
        "accuracy": metrics.accuracy_score(y, predicted),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted),
        "precision": metrics.precision_score(y, predicted),
        "recall": metrics.recall_score(y, predicted),
        "f1": metrics.f1_score(y, predicted),
        "log_loss": metrics.log_loss(y, np.clip(p, 0.01, 0.99)),
        "brier_score": metrics.brier_score_loss(y, p),
        "roc_auc": metrics.roc_auc_score(y, p),
    }
    assert found.scores.keys() == expected.keys()
    for name, value in expected.items():
        # The area is exact to the first order in what its bins hide.
        at = 1e-2 if name == "roc_auc" else 2e-3
        assert abs(found.scores[name].value - value) < at, name
    matrix = metrics.confusion_matrix(y, predicted)
    np.testing.assert_allclose(found.confusion_matrix.counts, matrix, atol=0.1)
    roc = found.roc_curve
    fpr = [np.mean(p[y == 0] >= t) for t in roc.thresholds]
    tpr = [np.mean(p[y == 1] >= t) for t in roc.thresholds]
    np.testing.assert_allclose([roc.fpr, roc.tpr], [fpr, tpr], atol=1e-2)
    calibration = found.calibration_curve
    inside = [(p >= a) & (p < b) for a, b in zip(calibration.edges, calibration.edges[1:])]  # noqa: B905
    np.testing.assert_allclose(calibration.share, [y[k].mean() for k in inside], atol=1e-2)


def test_scores_of_several_classes_without_noise_are_means_over_classes():
    X, y = several()
    model = Classes()
    found = skdp.evaluate(model, X, y, **NOISELESS)
    predicted, p = model.predict(X), model.predict_proba(X)
    own = p[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    true = y[:, None] == model.classes_
    expected = {
        "accuracy": metrics.accuracy_score(y, predicted),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted),
        "precision": metrics.precision_score(y, predicted, average="macro"),
        "recall": metrics.recall_score(y, predicted, average="macro"),
        "f1": metrics.f1_score(y, predicted, average="macro"),
        "log_loss": -np.mean(np.log(np.maximum(own, 0.01))),
        "brier_score": np.mean(np.sum((p - true) ** 2, axis=1)) / 2,
    }
    for name, value in expected.items():
        assert abs(found.scores[name].value - value) < 2e-3, name


def test_the_area_of_several_classes_without_noise_is_that_of_each_against_the_rest():
    X, y = several()
    p = Classes().predict_proba(X)
    expected = metrics.roc_auc_score(y, p, multi_class="ovr", labels=Classes.classes_)
    found = skdp.evaluate(Classes(), X, y, metrics="roc_auc", **NOISELESS).scores["roc_auc"]
    assert abs(found.value - expected) < 5e-3
    assert found.low < expected < found.high
    assert "roc_auc" not in skdp.evaluate(Classes(), X, y, **NOISELESS).scores
    with pytest.warns(UserWarning, match="no interval for roc_auc"):
        skdp.evaluate(Classes(), X, y, metrics="roc_auc", epsilon=2.0, **PUBLIC)


def test_scores_of_a_regression_without_noise_are_those_of_clipped_residuals():
    X, y = regression()
    found = skdp.evaluate(Numbers(), X, y, target_bounds=(-5, 5), residual_bound=2.0, **NOISELESS)
    target = np.clip(y, -5, 5)
    r = np.clip(target - X[:, 0], -2, 2)
    expected = {
        "r2": 1 - np.mean(r**2) / np.var(target),
        "mean_squared_error": np.mean(r**2),
        "mean_absolute_error": np.mean(np.abs(r)),
    }
    for name, value in expected.items():
        assert abs(found.scores[name].value - value) < 2e-3, name


def test_scores_of_groups_without_noise_are_those_of_their_rows():
    X, y, groups = make_rows()
    found = skdp.evaluate(Fixed(), X, y, **NOISELESS, **GROUPED | {"groups": groups})
    predicted = Fixed().predict(X)
    for g in (0, 1):
        rows = groups == g
        of_group = found.by_group[g]
        assert abs(of_group["accuracy"].value - np.mean(predicted[rows] == y[rows])) < 2e-3
        assert abs(of_group["selection_rate"].value - predicted[rows].mean()) < 2e-3
        assert abs(of_group["f1"].value - metrics.f1_score(y[rows], predicted[rows])) < 2e-3
        positive = predicted[rows & (y == 1)].mean()
        assert abs(of_group["true_positive_rate"].value - positive) < 2e-3
    gap = found.difference("accuracy", 1, 0)
    assert np.isclose(
        gap.value, found.by_group[1]["accuracy"][0] - found.by_group[0]["accuracy"][0]
    )
    assert gap.low < gap.value < gap.high
    with pytest.raises(ValueError, match="asked about"):
        found.difference("accuracy", 1, 7)


def test_errors_of_groups_without_noise_are_those_of_their_rows():
    X, y = regression()
    groups = np.random.default_rng(5).choice(["a", "b", "c"], p=[0.5, 0.3, 0.2], size=len(y))
    asked = {"groups": groups, "group_values": ["a", "b", "c", "none"], "target_bounds": (-5, 5)}
    with pytest.warns(UserWarning, match="no interval for mean_squared_error of group none"):
        found = skdp.evaluate(Numbers(), X, y, residual_bound=3.0, **asked, **NOISELESS)
    r = np.clip(np.clip(y, -5, 5) - X[:, 0], -3, 3)
    for g in ("a", "b", "c"):
        expected = np.mean(r[groups == g] ** 2), np.mean(np.abs(r[groups == g]))
        values = [found.by_group[g][f"mean_{of}_error"].value for of in ("squared", "absolute")]
        np.testing.assert_allclose(values, expected, atol=5e-3)
    assert abs(found.scores["mean_squared_error"].value - np.mean(r**2)) < 2e-3
    assert found.difference("mean_absolute_error", "a", "b").low < 0.2


def test_losses_of_groups_without_noise_are_those_of_their_rows():
    X, y, groups = make_rows()
    asked = GROUPED | {"groups": groups, "metrics": ["log_loss", "brier_score", "accuracy"]}
    found = skdp.evaluate(Fixed(), X, y, **NOISELESS, **asked)
    p = Fixed().predict_proba(X)[:, 1]
    for g in (0, 1):
        rows = groups == g
        brier = metrics.brier_score_loss(y[rows], p[rows])
        assert abs(found.by_group[g]["brier_score"].value - brier) < 2e-3
        loss = metrics.log_loss(y[rows], np.clip(p[rows], 0.01, 0.99))
        assert abs(found.by_group[g]["log_loss"].value - loss) < 5e-3
    assert abs(found.scores["brier_score"].value - metrics.brier_score_loss(y, p)) < 2e-3
    assert set(found.by_group[0]) == set(asked["metrics"])


def test_accuracy_alone_is_cheaper_than_a_table():
    X, y, _ = make_rows()
    alone = skdp.evaluate(Fixed(), X, y, epsilon=2.0, metrics=["accuracy"], **PUBLIC)
    both = skdp.evaluate(Fixed(), X, y, epsilon=2.0, metrics=["accuracy", "f1"], **PUBLIC)
    # Of two cells with a known sum, half the difference: noise of one row. Of four, twice as much.
    assert np.isclose(both.noise["accuracy"], np.sqrt(2) * alone.noise["accuracy"])


@pytest.mark.parametrize("metrics", [None, "roc_auc", ["log_loss", "brier_score"], ["roc_curve"]])
def test_the_whole_budget_is_spent_and_no_more(metrics):
    X, y, _ = make_rows()
    found = skdp.evaluate(Fixed(), X, y, epsilon=3.0, delta=1e-6, metrics=metrics, **PUBLIC)
    assert found.privacy_spent_ == (3.0, 1e-6)


SURE = {"epsilon": 30.0, "random_state": 0}
TASKS = {
    "two classes": (Evaluating(Fixed(), random_state=0), make_rows()[:2]),
    "three classes": (Evaluating(Classes(), random_state=0), several()),
    "area of several": (
        Evaluating(Classes(), metrics=["roc_auc"], epsilon=30.0, random_state=0),
        several(),
    ),
    "regression": (Evaluating(Numbers(), target_bounds=(-5, 5), random_state=0), regression()),
    "groups": (Evaluating(Fixed(), group_values=[0, 1], random_state=0), make_rows()),
    "groups of losses": (
        Evaluating(Fixed(), group_values=[0, 1], metrics=["log_loss"], random_state=0),
        make_rows(),
    ),
    "groups of errors": (
        Evaluating(Numbers(), group_values=[0, 1], target_bounds=(-5, 5), random_state=0),
        (*regression(), make_rows()[2]),
    ),
    "zero out": (Evaluating(Fixed(), adjacency="zero_out", random_state=0), make_rows()[:2]),
    "row by row": (Evaluating(Fixed(), pointwise=False, **SURE), make_rows(100)[:2]),
}
every_task = pytest.mark.parametrize(("task", "rows"), TASKS.values(), ids=TASKS)


def published(result):
    names = ("scores", "noise", "by_group", "privacy_ledger_", "privacy_spent_", "n_samples")
    curves = [vars(curve) for curve in (result.roc_curve, result.calibration_curve) if curve]
    return [*(getattr(result, name) for name in names), *curves]


@every_task
def test_results_follow_from_answers(task, rows):
    """Replayed on garbage: answers are all that a result depends on."""
    X, y, *groups = rows
    transcript = record_fit(task, X, y, **({"groups": groups[0]} if groups else {}))
    first = published(task.result)
    rng = np.random.default_rng(9)
    garbage = {"groups": np.zeros_like(groups[0])} if groups else {}
    replay_fit(task, 1e3 * rng.normal(size=X.shape), rng.permutation(y), transcript, **garbage)
    np.testing.assert_equal(published(task.result), first)


@pytest.mark.parametrize("wild", [PANIC, 1e300, np.nan])
@every_task
def test_neighbours_are_no_further_apart_than_is_charged(task, rows, wild):
    near = [part.copy() for part in rows]
    near[0][7], near[1][7] = wild, near[1][near[1] != near[1][7]][0]
    if len(rows) > 2:
        near[2][7] = 1 - near[2][7]
    result, mu, largest = apart(task, rows, near)
    charged = sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in result.privacy_ledger_)
    # A row that is replaced is two steps under zero-out.
    steps = 2 if result.adjacency == "zero_out" else 1
    assert 0 < largest <= steps
    assert mu**2 <= steps**2 * charged


def test_a_result_holds_no_row_no_exact_score_no_model_and_no_seed():
    X, y, groups = make_rows()
    X[3] = 0.123456789, 0.987654321
    exact = {"accuracy": np.mean(Fixed().predict(X) == y), "share": y.mean()}
    exact |= {"entry": X[3, 0], "score": Fixed().predict_proba(X)[3, 1]}
    for options in ({}, GROUPED | {"groups": groups}):
        found = skdp.evaluate(
            Fixed(), X, y, epsilon=2.0, random_state=1_234_567, **PUBLIC, **options
        )
        kept = pickle.dumps(found)
        assert planted_in(found, exact | {"seed": 1_234_567}) == []
        assert b"Fixed" not in kept
        assert repr(pickle.loads(kept)) == repr(found)


def test_what_a_model_raises_or_warns_of_is_not_passed_on():
    X, y, _ = make_rows()
    X[5, 0] = PANIC
    found = skdp.evaluate(Panicking(), X, y, epsilon=2.0, **PUBLIC)
    assert 0.5 < found.scores["accuracy"].value < 1


def test_a_model_that_mixes_rows_is_asked_row_by_row():
    X, y, _ = make_rows(100)
    near = X.copy()
    near[7] = 1e6
    options = SURE | {"pointwise": None, "metrics": ["accuracy", "brier_score"]}
    task = Evaluating(Batch(), **options)
    _, _, largest = apart(task, (X, y), (near, y))
    assert largest <= 1


CENTRING = FunctionTransformer(lambda Z: Z - Z.mean(axis=0))


def searched(X, y):
    steps = [("centring", FunctionTransformer()), ("model", LogisticRegression())]
    return GridSearchCV(Pipeline(steps), {"centring__func": [CENTRING.func]}, cv=2).fit(X, y)


def overwritten(X, y):
    model, plain = LogisticRegression().fit(X, y), LogisticRegression().fit(X, y)
    model.predict = lambda Z: plain.predict(Z - Z.mean(axis=0))
    return model


def centred(X, y):
    return make_pipeline(CENTRING, LogisticRegression()).fit(X, y)


MIXING = {
    "frozen": lambda X, y: FrozenEstimator(centred(X, y)),
    "calibrated": lambda X, y: CalibratedClassifierCV(FrozenEstimator(centred(X, y))).fit(X, y),
    "searched": searched,
    "overwritten": overwritten,
}


@pytest.mark.parametrize("fitted", MIXING.values(), ids=MIXING)
@pytest.mark.by_day(2)
def test_models_that_mix_rows_deep_inside_are_asked_row_by_row(fitted):
    X, y, _ = make_rows(200)
    near, other = X.copy(), y.copy()
    near[7], other[7] = 1e6, 1 - y[7]
    task = Evaluating(fitted(X, y), **SURE, pointwise=None, metrics=["accuracy"])
    _, _, largest = apart(task, (X, y), (near, other))
    assert 0 < largest <= 1


def test_rows_of_a_list_are_asked_one_by_one():
    """In an array of several rows one fraction makes fractions of all whole numbers."""
    y = make_rows(100)[1]
    codes = 2**53 + y
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model.fit(codes[:, None], y)
    X = [[int(code)] for code in codes]
    near = [*X[:7], [0.5], *X[8:]]
    task = Evaluating(model, **SURE, pointwise=None, metrics=["accuracy"])
    _, _, largest = apart(task, (X, y), (near, np.where(np.arange(100) == 7, 1 - y, y)))
    assert 0 < largest <= 1


class Own(LogisticRegression):
    """A subclass may do anything."""


@pytest.mark.parametrize(
    ("model", "known"),
    [
        (LogisticRegression(), True),
        (DPLogisticRegression(), True),
        (RandomForestClassifier(), True),
        (make_pipeline(StandardScaler(), LinearSVC()), True),
        (make_pipeline(FunctionTransformer(), LogisticRegression()), True),
        (FrozenEstimator(make_pipeline(StandardScaler(), LinearSVC())), True),
        (make_pipeline(OneHotEncoder(dtype=np.float32), LogisticRegression()), True),
        (DPLogisticRegression(classes=[0, 1], data_norm=9.0).fit(*make_rows()[:2]), True),
        (make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()), False),
        (make_pipeline(FunctionTransformer(np.matmul), LogisticRegression()), False),
        (make_pipeline(FunctionTransformer(np.frompyfunc(abs, 1, 1)), LinearSVC()), False),
        (make_pipeline(FunctionTransformer(np.matrix), LinearSVC()), False),
        (make_pipeline(ColumnTransformer([], remainder=CENTRING), LinearSVC()), False),
        (VotingClassifier([("a", make_pipeline(CENTRING, LinearSVC()))]), False),
        (KNeighborsClassifier(metric=lambda a, b: abs(a - b).sum()), False),
        (DummyClassifier(), True),
        (DummyClassifier(strategy="uniform"), False),
        (make_pipeline(BoundsScaler((0, 1)), DPLogisticRegression()), True),
        (make_pipeline(ColumnTransformer([("a", StandardScaler(), [0])]), LinearSVC()), True),
        (make_pipeline(FunctionTransformer(scale), LogisticRegression()), False),
        (make_pipeline(FunctionTransformer(lambda X: X - X.mean()), LinearSVC()), False),
        (make_pipeline(NMF(), LogisticRegression()), False),
        (Own(), False),
        (make_pipeline(StandardScaler(), Own()), False),
        (Fixed(), False),
    ],
)
def test_models_are_known_to_be_pointwise_by_their_parts(model, known):
    assert is_pointwise(model) == known


def test_sparse_rows_lists_and_frames_are_taken():
    X, y, _ = make_rows()
    model = LogisticRegression().fit(X, y)
    options = NOISELESS | {"metrics": ["accuracy", "brier_score"]}
    first = skdp.evaluate(model, X, y, **options).scores
    for rows in (sp.csr_array(X), sp.coo_array(X), X.tolist()):
        found = skdp.evaluate(model, rows, y.tolist(), **options).scores
        np.testing.assert_allclose(np.array([*found.values()]), np.array([*first.values()]))


def test_a_frame_of_other_columns_is_refused_before_it_costs():
    pd = pytest.importorskip("pandas")
    X, y, _ = make_rows()
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = LogisticRegression().fit(frame, y)
    skdp.evaluate(model, frame, y, **NOISELESS)
    with pytest.raises(ValueError, match="columns of the model"):
        skdp.evaluate(model, frame[["b", "a"]], y, **NOISELESS)


def test_a_frame_whose_objects_cannot_be_copied_is_refused():
    pl = pytest.importorskip("polars")
    y = make_rows()[1]
    frame = pl.DataFrame({"a": pl.Series([object() for _ in y], dtype=pl.Object)})
    for rows in (frame, frame["a"]):
        with pytest.raises(ValueError, match="so that the model gets copies"):
            skdp.evaluate(Fixed(), rows, y, **NOISELESS)


def test_a_budget_is_charged_and_refuses_before_the_model_is_asked():
    X, y, _ = make_rows()
    asked = []
    with PrivacyBudget(epsilon=1.0, delta=1e-5) as budget:
        skdp.evaluate(Fixed(), X, y, epsilon=0.8, metrics=["accuracy"], **PUBLIC)
        assert np.isclose(budget.spent.epsilon, 0.8)
        with pytest.raises(BudgetExceededError):
            skdp.evaluate(noting(Fixed, asked), X, y, epsilon=0.8, metrics=["accuracy"], **PUBLIC)
        with pytest.raises(ValueError, match="metrics"):
            skdp.evaluate(noting(Fixed, asked), X, y, epsilon=0.1, metrics=["r2"], **PUBLIC)
        assert np.isclose(budget.spent.epsilon, 0.8)
    assert asked == []


@pytest.mark.filterwarnings("ignore:evaluate was given rows that the model was fitted to")
def test_totals_take_evaluations_for_fits_on_the_same_rows():
    X, y, _ = make_rows()
    model = DPLogisticRegression(epsilon=3.0, classes=[0, 1], data_norm=9.0).fit(X, y)
    found = skdp.evaluate(model, X, y, epsilon=4.0)
    total = skdp.privacy_spent([model, found])
    mu = sum(
        e.count * (e.sensitivity / e.noise_scale) ** 2
        for e in (*model.privacy_ledger_, *found.privacy_ledger_)
    )
    assert 4.0 < total.epsilon < 7.0
    assert np.isclose(total.epsilon, skdp.privacy.gdp.epsilon(np.sqrt(mu), 1e-5))


@pytest.mark.filterwarnings("ignore:The pipeline publishes more")
@pytest.mark.filterwarnings("ignore:evaluate was given rows that the model was fitted to")
def test_a_model_that_is_not_known_to_be_private_is_warned_of():
    X, y, _ = make_rows()
    options = {"epsilon": 4.0, "metrics": ["accuracy"], "pointwise": True}
    exact, private = LogisticRegression(), DPLogisticRegression(classes=[0, 1], data_norm=9.0)
    for model in (exact, make_pipeline(StandardScaler(), private), Fixed()):
        if hasattr(model, "fit"):
            model.fit(X, y)
        with pytest.warns(PrivacyLeakWarning, match="not known to be private"):
            skdp.evaluate(model, X, y, **options)
        skdp.evaluate(model, X, y, public_model=True, **options)
    for model in (private, make_pipeline(BoundsScaler((-9, 9)), private)):
        skdp.evaluate(model.fit(X, y), X, y, **options)


def test_classes_of_a_private_training_set_are_told_by_totals():
    X, y, _ = make_rows()
    with pytest.warns(PrivacyLeakWarning, match="not known to be private"):
        found = skdp.evaluate(Fixed(), X, y, epsilon=4.0, pointwise=True)
    with pytest.warns(PrivacyLeakWarning, match="classes"):
        skdp.privacy_spent(found)
    with pytest.warns(PrivacyLeakWarning, match="not known to be private"):
        found = skdp.evaluate(Fixed(), X, y, epsilon=4.0, pointwise=True, classes=[0, 1])
    assert np.isclose(skdp.privacy_spent(found).epsilon, 4.0)


def test_few_rows_are_refused_or_warned_of_by_public_facts():
    X, y, _ = make_rows()
    with pytest.raises(ValueError, match="Nothing was read or spent"):
        skdp.evaluate(Fixed(), X[:40], y[:40], epsilon=0.1, **PUBLIC)
    with pytest.warns(UserWarning, match="mainly noise"):
        skdp.evaluate(Fixed(), X, y, epsilon=0.1, metrics=["accuracy"], **PUBLIC)


def test_what_noise_hides_has_no_interval_and_is_named():
    X, y, _ = make_rows()
    rare = (np.arange(len(y)) < 3).astype(int)
    options = {"metrics": ["recall", "roc_auc", "accuracy"], "random_state": 0}
    with pytest.warns(UserWarning, match="no interval for recall, roc_auc"):
        found = skdp.evaluate(Fixed(), X, rare, epsilon=1.0, **PUBLIC, **options)
    assert found.hidden == ["recall", "roc_auc"]
    assert np.isnan(found.scores["recall"].low)
    assert np.isfinite(found.scores["accuracy"].low)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"metrics": ["bleu"]}, "accuracy, .*; got 'bleu'"),
        ({"metrics": []}, "list of names"),
        ({"metrics": [1]}, "list of names"),
        ({"classes": [0]}, "at least 2 labels"),
        ({"classes": ["a", 1]}, "one kind"),
        ({"classes": [3, 4]}, "labels among the 2 of classes"),
        ({"groups": np.zeros(400)}, "group_values"),
        ({"group_values": [0, 1]}, "groups, one for each row"),
        ({"groups": np.zeros(3), "group_values": [0, 1]}, "a group for each of 400"),
        ({"groups": np.full(400, 2), "group_values": [0, 1]}, "groups among the 2"),
        ({"bins": [0.5, 0.2]}, "increase"),
        ({"bins": [0.5, 1.2]}, "increase"),
        ({"bins": ["a"]}, "inner edges"),
        ({"bins": 1}, "bins"),
        ({"confidence": 2}, "confidence"),
        ({"least_probability": 0.0}, "least_probability"),
        ({"adjacency": "add_one"}, "adjacency"),
        ({"pointwise": "yes"}, "pointwise"),
        ({"public_model": None}, "public_model"),
    ],
    ids=str,
)
def test_malformed_parameters_are_refused_before_the_model_is_asked(change, message):
    X, y, _ = make_rows()

    class Untouched(Fixed):
        def predict(self, X):
            raise AssertionError("asked")

    with PrivacyBudget(epsilon=10.0, delta=1e-5) as budget:
        with pytest.raises(ValueError, match=message):
            skdp.evaluate(Untouched(), X, y, **{"epsilon": 2.0, **PUBLIC, **change})
        assert budget.spent.epsilon == 0


HUGE, TINY = {"target_bounds": (0, 1e200)}, {"target_bounds": (-1e-200, 1e-200)}
BY_SIGN = {"groups": regression()[1] > 0, "group_values": [False, True], "metrics": "r2"}
BOUNDED, UNIT = {"target_bounds": (-5, 5)}, "Change the unit"
WITHOUT_ONE = np.where(regression()[1] > 2, np.nan, regression()[1])


@pytest.mark.parametrize(
    ("model", "rows", "options", "message"),
    [
        (object(), make_rows()[:2], {}, "with predict"),
        (LogisticRegression(), make_rows()[:2], {}, "not fitted"),
        (Fixed(), (np.ones((3, 2)), np.ones(2)), {}, "got 3 and 2"),
        (Fixed(), (np.ones((0, 2)), np.ones(0)), {}, "got 0 and 0"),
        (Fixed(), (5.0, np.ones(2)), {}, "test rows and as many"),
        (Fixed(), (np.ones((3, 2)), None), {}, "test rows and as many"),
        (
            LogisticRegression().fit(*make_rows()[:2]),
            (np.ones((9, 3)), np.ones(9)),
            {},
            "2 features",
        ),
        (LinearRegression().fit(*regression()), regression(), {}, "target_bounds"),
        (Numbers(), (np.ones((9, 2)), ["a"] * 9), {}, "target_bounds"),
        (Numbers(), regression(), HUGE, UNIT),
        (Numbers(), regression(), TINY, UNIT),
        (Numbers(), regression(), BOUNDED | {"residual_bound": 1e100}, UNIT),
        (Numbers(), regression(), BOUNDED | {"residual_bound": 1e-100}, UNIT),
        (
            Numbers(),
            regression(),
            BOUNDED | BY_SIGN,
            r"a regression, by groups, mean_squared_error, .*'r2'",
        ),
        (Numbers(), (regression()[0], WITHOUT_ONE), BOUNDED, "contains NaN"),
        (Numbers(), (regression()[0], ["1.0"] * 400), BOUNDED, "numbers as targets"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_malformed_data_are_refused(model, rows, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        skdp.evaluate(model, *rows, **{"epsilon": 2.0, **PUBLIC} | options)


def test_a_summary_has_every_score_and_the_receipt():
    X, y, groups = make_rows()
    found = skdp.evaluate(Fixed(), X, y, epsilon=4.0, **PUBLIC, **GROUPED | {"groups": groups})
    text = found.summary()
    assert all(name in text for name in found.scores)
    assert "group 1" in text
    assert "epsilon=4 at delta=1e-05" in text


def test_r2_of_few_rows_has_no_interval_whatever_they_are():
    X, y = regression()
    for factor in (0.01, 1.0):
        options = {"epsilon": 0.8, "target_bounds": (-5, 5), **PUBLIC}
        with pytest.warns(UserWarning, match="no interval for r2"):
            found = skdp.evaluate(Numbers(), factor * X, factor * y, **options)
        assert found.hidden == ["r2"]
