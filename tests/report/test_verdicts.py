"""The table of verdicts: what it calls covered gives nobody away, and what leaks is shown to leak.

Each entry is run over data sets that differ in one row, with the same answers of its private parts:
recorded on one, replayed on the other. All that is public is compared then, in all parts: fitted
attributes, warnings, exceptions, what is printed, and the spend that is reported.
"""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from examples_of_steps import FREE_STEPS, VECTORIZERS, instance_of, public, usual_step
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, OrdinalEncoder

import skdp
from skdp import DPLinearRegression, DPLogisticRegression, PrivacyBudget, PrivacyLeakWarning
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.preprocessing import BoundsScaler, DPMinMaxScaler, DPStandardScaler
from skdp.privacy import opened_by
from skdp.privacy.rows import reading
from skdp.reporting import TABLE, verdict_of
from skdp.testing import RecordingOracle, ReplayOracle, Transcript

N = 60
RNG = np.random.default_rng(0)
# Two numbers and the code of a category; class 2 has no row, and class 1 has one.
X = np.column_stack([RNG.uniform(-1, 1, size=(N, 2)), np.arange(N) % 3])
LABELS = np.zeros(N, dtype=int)
LABELS[0] = 1
TARGETS = RNG.uniform(-1, 1, size=N)
CODES = [[0.0, 1.0, 2.0]]


def changed(row=None, target=None, y=LABELS):
    """D' of the data set D: the first row is another one."""
    other, targets = X.copy(), y.copy()
    if row is not None:
        other[0] = row
    if target is not None:
        targets[0] = target
    return other, targets


# What one row can do: each is within what models declare, so that nothing may come of it.
NEIGHBOURS = {
    "new label": {"target": 2},
    "empty class": {"target": 0},
    "new category": {"row": [0.5, 0.5, 7.0]},
    "outlier": {"row": [1e30, -1e30, 1.0]},
    "no zeros": {"row": [1e-30, 1e-30, 0.0]},
}
OF_NUMBERS = {"target": {"target": 1e9}} | {k: v for k, v in NEIGHBOURS.items() if "row" in v}


def logistic(**options):
    given = {"classes": [0, 1, 2], "data_norm": 2.0, "precondition": None, "solver": "gd"}
    return DPLogisticRegression(epsilon=0.5, **given | options)


def linear(**options):
    given = {"data_norm": 2.0, "target_bounds": (-1, 1), "precondition": None, "solver": "gd"}
    return DPLinearRegression(epsilon=0.5, **given | options)


def one_hot(**options):
    return OneHotEncoder(**{"categories": CODES, "handle_unknown": "ignore"} | options)


def scaler():
    return DPStandardScaler(epsilon=0.5, bounds=(-1, 1))


def columns(encoder=None, **options):
    given = [("numbers", scaler(), [0, 1]), ("codes", encoder or one_hot(), [2])]
    return ColumnTransformer(given, **options)


def frozen():
    return FrozenEstimator(linear().fit(X[::-1], TARGETS))


COVERED = {
    "model": logistic,
    "Pipeline": lambda: make_pipeline(Normalizer(), scaler(), BoundsScaler((-1, 1)), logistic()),
    "ColumnTransformer, dense": lambda: make_pipeline(columns(sparse_threshold=0), logistic()),
    "ColumnTransformer, of dense parts": lambda: make_pipeline(
        columns(one_hot(sparse_output=False)), logistic()
    ),
    "ColumnTransformer, ordinal": lambda: make_pipeline(
        columns(OrdinalEncoder(**ORDINAL)), logistic()
    ),
    "ColumnTransformer, sparse": lambda: make_pipeline(columns(sparse_threshold=1), logistic()),
    "ColumnTransformer, remainder": lambda: make_pipeline(
        ColumnTransformer([("n", DPMinMaxScaler(epsilon=0.5), [0])], remainder=scaler()), logistic()
    ),
    "FeatureUnion": lambda: make_pipeline(make_union(scaler(), Normalizer()), logistic()),
    "nested": lambda: make_pipeline(
        make_union(make_pipeline(columns(sparse_threshold=0)), scaler()), logistic()
    ),
    "TransformedTargetRegressor": lambda: TransformedTargetRegressor(
        linear(), func=np.tanh, inverse_func=np.arctanh, check_inverse=False
    ),
    "FrozenEstimator": frozen,
    "VotingRegressor": lambda: VotingRegressor([("a", linear()), ("b", linear(alpha=1.0))]),
}
ORDINAL = {"categories": CODES, "handle_unknown": "use_encoded_value", "unknown_value": -1}
REGRESSORS = ("TransformedTargetRegressor", "FrozenEstimator", "VotingRegressor")
LEAKING = {
    "ColumnTransformer": (
        lambda: make_pipeline(columns(sparse_threshold=0.6), logistic()),
        "new category",
    ),
    "OneHotEncoder, error": (
        lambda: make_pipeline(one_hot(handle_unknown="error", categories=[None] * 3), logistic()),
        "new category",
    ),
    "OneVsRestClassifier": (lambda: OneVsRestClassifier(logistic(classes=[0, 1])), "new label"),
    "VotingClassifier": (lambda: VotingClassifier([("a", logistic())]), "new label"),
    "classes": (lambda: logistic(classes=None), "new label"),
    "classes in a pipeline": (lambda: make_pipeline(logistic(classes=None)), "empty class"),
}


def outcome(estimator, X, y, oracle, capsys, **options):
    """All that comes of a fit, with the oracles that a factory makes."""
    found = {}
    with warnings.catch_warnings(record=True) as said, opened_by(oracle):
        warnings.simplefilter("always")
        try:
            estimator.fit(X, y, **options)
        except Exception as failure:
            found["exception"] = type(failure), str(failure), str(failure.__cause__)
        found["fit warns"] = [(w.category, str(w.message)) for w in said]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found["spent"] = str(skdp.privacy_spent(estimator))
        except ValueError as refusal:
            found["refusal"] = str(refusal)
        found["privacy_spent warns"] = [(w.category, str(w.message)) for w in said]
    found["printed"] = capsys.readouterr().out
    found["public"] = public(estimator)
    return found


def neighbours(make, y, change, capsys):
    """Outcomes of fits to D and to D' with the same answers."""
    return replayed(make(), (X, y), changed(**change, y=y), capsys)


def replayed(estimator, first, second, capsys, options=({}, {})):
    """Outcomes of fits to two data sets, with the answers that were given about the first."""
    transcripts = []

    def recording(rows, ledger, adjacency, noise):
        transcripts.append(Transcript())
        return RecordingOracle(rows, ledger, adjacency, noise, transcripts[-1])

    def replaying(rows, ledger, adjacency, noise):
        if not coming:
            raise RuntimeError("a private part is fitted that was not fitted before")
        return ReplayOracle(ledger, adjacency, coming.pop(0))

    first = outcome(clone(estimator), *first, recording, capsys, **options[0])
    coming = list(transcripts)
    second = outcome(clone(estimator), *second, replaying, capsys, **options[1])
    assert not coming or "exception" in second
    return first, second


@pytest.mark.parametrize(
    ("name", "change"),
    [
        # By day each third change, others for each in turn.
        pytest.param(name, change, marks=[pytest.mark.nightly] if (turn + k) % 3 else [])
        for turn, name in enumerate(COVERED)
        for k, change in enumerate(OF_NUMBERS if name in REGRESSORS else NEIGHBOURS)
    ],
)
@pytest.mark.by_day(6)
def test_what_is_covered_is_the_same_for_neighbours(name, change, capsys):
    regressor = name in REGRESSORS
    given = OF_NUMBERS[change] if regressor else NEIGHBOURS[change]
    first, second = neighbours(COVERED[name], TARGETS if regressor else LABELS, given, capsys)
    assert "exception" not in first
    assert first["spent"].startswith("epsilon=")
    assert not [w for w in first["fit warns"] if w[0] is PrivacyLeakWarning]
    assert not first["privacy_spent warns"]
    assert second == first


def requesting(estimator):
    """The estimator, of which all private steps request labels of people."""
    for part in parts_of(estimator):
        if hasattr(part, "epsilon"):
            part.set_fit_request(privacy_unit=True)
    return estimator


@pytest.mark.parametrize("name", [*COVERED, "MultiOutputRegressor"])
def test_what_is_covered_is_the_same_if_somebody_has_more_rows(name, capsys):
    """Under ``privacy_unit`` the number of rows is secret."""
    y = TARGETS if name in REGRESSORS else LABELS
    make = COVERED.get(name, lambda: MultiOutputRegressor(linear()))
    if name not in COVERED:
        y = np.column_stack([TARGETS, TARGETS[::-1]])
    people, more = np.arange(N), [0, 7, *range(N), 7, 7]
    outlier = X.copy()
    outlier[7] = [1e30, 0.0, 7.0]
    options = {"privacy_unit": people}, {"privacy_unit": people[more]}
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = requesting(make())
        first, second = replayed(estimator, (X, y), (outlier[more], y[more]), capsys, options)
    assert "exception" not in first
    assert name == "FrozenEstimator" or "of a privacy unit" in first["spent"]
    assert not first["privacy_spent warns"]
    assert second == first


@pytest.mark.parametrize("change", OF_NUMBERS)
@pytest.mark.by_day(2)
def test_several_targets_are_the_same_for_neighbours(change, capsys):
    y = np.column_stack([TARGETS, TARGETS[::-1]])
    given = OF_NUMBERS[change]
    first, second = neighbours(lambda: MultiOutputRegressor(linear()), y, given, capsys)
    assert len(first["public"][1]["estimators_"]) == 2
    assert not first["privacy_spent warns"]
    assert second == first
    labels = np.column_stack([LABELS, LABELS[::-1]])
    given = {"row": given.get("row"), "target": 2}
    first, second = neighbours(lambda: MultiOutputClassifier(logistic()), labels, given, capsys)
    assert not first["privacy_spent warns"]
    assert second == first


@pytest.mark.parametrize("name", LEAKING)
def test_what_leaks_is_named_and_really_differs(name, capsys):
    make, change = LEAKING[name]
    if "error" in name:
        codes = [[*np.unique(column)] for column in X.T]
        given = make().set_params(onehotencoder__categories=codes)
        make = lambda: given  # noqa: E731
    first, second = neighbours(make, LABELS, NEIGHBOURS[change], capsys)
    warned = [text for kind, text in first["privacy_spent warns"] if kind is PrivacyLeakWarning]
    assert len(warned) == 1
    assert {k: v for k, v in second.items() if k != "privacy_spent warns"} != {
        k: v for k, v in first.items() if k != "privacy_spent warns"
    }


@pytest.mark.parametrize("change", NEIGHBOURS)
@pytest.mark.by_day(2)
def test_the_layout_of_columns_is_judged_by_parameters_and_not_by_how_a_fit_went(change):
    for threshold in (0.2, 0.3, 0.6, 0.9):
        pipeline = make_pipeline(columns(sparse_threshold=threshold), logistic())
        pipeline.fit(*changed(**NEIGHBOURS[change]))
        with pytest.warns(PrivacyLeakWarning, match="sparse_threshold=0"):
            skdp.privacy_spent(pipeline)


TAKE_NUMBERS = [kind for kind in FREE_STEPS if kind not in (FeatureHasher, *VECTORIZERS)]


@pytest.mark.parametrize("kind", [*TAKE_NUMBERS, FeatureHasher], ids=lambda kind: kind.__name__)
def test_free_steps_pass_on_what_is_not_finite_where_searches_ask_them_to(kind):
    """So that no row fails a trial by what the steps before have made of it."""
    step, rows = usual_step(kind), X.copy()
    if kind is FeatureHasher:
        rows = [[(f"word{k}", value) for k, value in enumerate(row)] for row in X]
        step.set_params(input_type="pair")
    whole = dense(clone(step).fit(rows).transform(rows))
    for bad in (np.nan, np.inf, -np.inf, 1e300):
        rows[0] = [("word0", bad), ("word1", 0.5)] if isinstance(rows, list) else [bad, 0.5, bad]
        with reading.zero_unless_finite():
            moved = dense(clone(step).fit(rows).transform(rows))
        np.testing.assert_array_equal(moved[1:], whole[1:])


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows


def test_every_covered_class_of_the_table_was_tried():
    tried = {*FREE_STEPS, MultiOutputRegressor, MultiOutputClassifier}
    for make in [*COVERED.values(), *(make for make, _ in LEAKING.values())]:
        tried |= {type(part) for part in parts_of(make())}
    named = {kind for kind, entry in TABLE.items() if entry.best.kind != "refused"}
    assert named <= tried


def parts_of(thing):
    held = [v for v in thing.get_params(deep=True).values() if isinstance(v, BaseEstimator)]
    return [thing, *held]


class Centred(TransformerMixin, BaseEstimator):
    """Declares that it needs no fit, and takes the mean of the batch away."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X - X.mean(axis=0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class Normalized(Normalizer):
    """A subclass may do anything."""


class Sampled(Pipeline):
    """As pipelines of other packages, which make rows out of rows."""


REFUSED = {kind.__name__: kind for kind, entry in TABLE.items() if entry.best.kind == "refused"}
# Of the others those whose parameters, or code of others, read rows.
REFUSED |= {
    "Centred": lambda: make_pipeline(Centred(), logistic()),
    "Normalized": lambda: make_pipeline(Normalized(), logistic()),
    "Sampled": lambda: Sampled([("model", logistic())]),
    "OneHotEncoder": lambda: make_pipeline(OneHotEncoder(), logistic()),
    "SimpleImputer": lambda: make_pipeline(SimpleImputer(), logistic()),
}


class Untouchable:
    """Rows that nobody may look at."""

    def __getattribute__(self, name):
        raise AssertionError(f"rows were asked for {name}")


@pytest.mark.parametrize("name", REFUSED)
def test_what_reads_rows_is_refused_by_all_who_compose_and_nobody_recommends_a_budget(name):
    estimator = instance_of(REFUSED[name], logistic())
    said = []
    with pytest.raises(ValueError, match="privacy is known") as refusal:
        skdp.privacy_spent(estimator)
    said.append(str(refusal.value))
    for search in (DPGridSearchCV(estimator, {}), DPRandomizedSearchCV(estimator, {})):
        with pytest.raises(ValueError, match="needs") as refusal:
            search.fit(X, LABELS)
        assert "privacy_spent_" not in vars(search)
        said.append(str(refusal.value))
    with PrivacyBudget(1.0, 1e-5) as budget:
        with pytest.raises(ValueError, match="privacy is known") as refusal:
            budget.fit(estimator, Untouchable(), Untouchable())
        assert budget.spent.epsilon == 0
    said.append(str(refusal.value))
    assert not any("open a skdp.PrivacyBudget" in text for text in said)


def test_a_budget_fits_what_is_covered_and_warns_of_what_leaks():
    with PrivacyBudget(2.0, 1e-5) as budget:
        fitted = budget.fit(make_pipeline(scaler(), logistic()), X, LABELS)
        assert fitted[-1].coef_.shape == (3, 3)
        assert [entry.who for entry in budget.receipts] == [
            "DPStandardScaler",
            "DPLogisticRegression",
        ]
        with pytest.warns(PrivacyLeakWarning, match="OneVsRestClassifier reads the set of labels"):
            budget.fit(OneVsRestClassifier(logistic(classes=[0, 1])), X, LABELS)
    with pytest.raises(RuntimeError, match="needs an open budget"):
        budget.fit(logistic(), X, LABELS)


@pytest.mark.parametrize(
    "step",
    [
        FunctionTransformer(np.frompyfunc(lambda entry: entry, 1, 1)),
        HashingVectorizer(strip_accents=str.lower),
        TransformedTargetRegressor(
            DPLinearRegression(), func=np.frompyfunc(np.log, 1, 1), check_inverse=False
        ),
    ],
)
def test_functions_of_users_are_not_taken_for_those_of_numpy(step):
    assert "calls a function" in str(verdict_of(step))


@pytest.mark.parametrize("search", [DPGridSearchCV, DPRandomizedSearchCV])
@pytest.mark.parametrize(
    ("step", "said"),
    [
        (columns(), "sparse_threshold=0"),
        (FunctionTransformer(lambda rows: rows - rows.mean(axis=0)), "calls a function"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*compares scores:UserWarning")
def test_searches_warn_of_what_leaks_and_so_do_totals_of_them(search, step, said):
    found = search(make_pipeline(step, logistic()), {"dplogisticregression__C": [1.0]})
    with pytest.warns(PrivacyLeakWarning, match=said):
        found.fit(X, LABELS)
    with pytest.warns(PrivacyLeakWarning, match=said):
        skdp.privacy_spent(found)


@pytest.mark.filterwarnings("ignore:.*compares scores:UserWarning")
@pytest.mark.filterwarnings("ignore:.*reads the set of classes:skdp.PrivacyLeakWarning")
def test_totals_of_searches_say_that_classes_were_read_off_the_targets():
    search = DPGridSearchCV(logistic(classes=None), {"C": [1.0]})
    for target, classes in ((1, 2), (2, 2)):
        search.fit(*changed(target=target))
        assert search.classes_.size == classes
        for fitted in (search, search.best_estimator_):
            with pytest.warns(PrivacyLeakWarning, match=r"read the set of classes off y"):
                skdp.privacy_spent(fitted)
    search.set_params(estimator__classes=[0, 1, 2]).fit(X, LABELS)
    for fitted in (search, search.best_estimator_):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            skdp.privacy_spent(fitted)


@pytest.mark.filterwarnings("ignore:.*compares scores:UserWarning")
@pytest.mark.parametrize("exhaustive", [False, True])
def test_searches_find_the_steps_that_columns_were_fitted_by(exhaustive):
    """A column transformer fits copies of its steps, and their receipts are the ones that count."""
    layout = ColumnTransformer([("num", DPStandardScaler(bounds=(-1, 1)), [0, 1])])
    space = {"dplogisticregression__C": [0.5, 1.0]}
    search = DPGridSearchCV(
        make_pipeline(layout, logistic()), space, epsilon=2.0, exhaustive=exhaustive
    ).fit(X, LABELS)
    total = skdp.privacy_spent(search.best_estimator_)
    assert total.spent == pytest.approx(search.privacy_spent_, rel=1e-3)
    (receipt,) = total.receipts
    assert "columntransformer.num" in receipt.who


def test_columns_that_a_function_chooses_are_refused():
    layout = ColumnTransformer([("n", Normalizer(), lambda rows: [0, 1])])
    assert verdict_of(layout).kind == "refused"
    assert verdict_of(ColumnTransformer([("n", scaler(), [0, 1])])).kind == "covered"


def test_the_page_lists_every_verdict():
    page = (
        Path(__file__).resolve().parents[2] / "docs" / "reference" / "composition.md"
    ).read_text()
    rows = re.findall(r"^\| (`[^|]+`) \| (\w+) \|", page, flags=re.MULTILINE)
    lines = {name: kind for names, kind in rows for name in re.findall(r"\w+", names)}
    listed = {kind.__name__: entry.best.kind for kind, entry in TABLE.items()}
    assert {name: lines.get(name) for name in listed} == listed
