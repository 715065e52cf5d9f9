"""Bad parameters and data are refused in a good sentence that quotes no row, or handled."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from models_of_few_rows import both, classifier, machine, make_data, regressor

from skdp import DPLassoRegressor, DPLogisticRegression, PrivacyLeakWarning
from skdp.privacy.rows import Chunks
from skdp.problem.losses import Hinge, Logistic, OneVsRest, Softmax, Squared
from skdp.solvers import GD

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D = 60, 3
SECRET = "Ada-Lovelace"
NUMBER = 1234.5678


X, Y = make_data(N, D)


def with_entry(value, dtype=float):
    rows = X.astype(dtype)
    rows[5, 1] = value
    return rows


def refused(call, *complaints, error=ValueError):
    """The call is refused with these words, and neither it nor an error behind it quotes data."""
    with pytest.raises(error) as caught:
        call()
    for complaint in complaints:
        assert complaint in str(caught.value)
    quoted = [SECRET, str(NUMBER), str(X[5, 0])[:6], str(X[0, 0])[:6]]
    reason = caught.value
    while reason is not None:
        assert not [word for word in quoted if word in str(reason)]
        reason = reason.__context__


STRINGS = with_entry(SECRET, object)
BAD_ROWS = {
    "nan": (with_entry(np.nan), "X contains NaN"),
    "none": (with_entry(None, object), "X contains NaN; fill them with a known constant"),
    "missing in a frame": (pd.DataFrame(with_entry(pd.NA, object)), "X contains NaN; fill them"),
    "infinite": (with_entry(np.inf), "; clip values"),
    "one-dimensional": (X[:, 0], "Expected 2D array, got 1D array instead. Reshape your data"),
    "column of a frame": (pd.Series(X[:, 0]), "got a column; pass a frame, X.to_frame()"),
    "scalar": (NUMBER, "Expected 2D array, got scalar array instead. Reshape your data"),
    "three-dimensional": (X[None], "Found array with dim 3"),
    "no rows": (X[:0], "Found array with 0 sample(s)"),
    "no features": (X[:, :0], "Found array with 0 feature(s)"),
    "fewer rows than targets": (X[1:], "inconsistent numbers of samples: [59, 60]"),
    "strings": (STRINGS, "X holds entries that are not numbers"),
    "data frame with strings": (pd.DataFrame(STRINGS), "X holds entries that are not numbers"),
    "categories": (
        pd.DataFrame({"name": pd.Categorical([SECRET] * N)}),
        "X holds entries that are not numbers",
    ),
    "complex": (with_entry(NUMBER * 1j, complex), "Complex data not supported"),
    "integer beyond double precision": (with_entry(10**400, object), "some integers are too large"),
    "dates": (np.full((N, D), "2001-02-03", dtype="datetime64[D]"), "X holds dates or times"),
    "missing dates": (np.full((N, D), "NaT", dtype="datetime64[D]"), "X holds dates or times"),
    "missing times": (np.full((N, D), "NaT", dtype="timedelta64[s]"), "X holds dates or times"),
    "column of days": (
        pd.DataFrame({"a": pd.date_range("2001-02-03", periods=N, tz="UTC"), "b": 1.0, "c": 0.0}),
        "X holds dates or times in a.",
    ),
    "sparse with nan": (sp.csr_array(with_entry(np.nan)), "X contains NaN"),
}


@pytest.mark.parametrize(("rows", "complaint"), BAD_ROWS.values(), ids=BAD_ROWS)
@both
def test_bad_rows_are_refused(make, rows, complaint):
    refused(lambda: make().fit(rows, Y), complaint)


@pytest.mark.parametrize(
    "kind", ["strings", "complex", "one-dimensional", "nan", "dates", "missing times"]
)
@both
def test_bad_rows_are_refused_at_prediction_too(make, kind):
    model = make().fit(X, Y)
    rows, complaint = BAD_ROWS[kind]
    refused(lambda: model.predict(rows), complaint)


@both
def test_other_number_of_features_is_refused_at_prediction(make):
    refused(lambda: make().fit(X, Y).predict(X[:, :2]), "X has 2 features", "expecting 3 features")


def target_with(value, dtype=object):
    y = Y.astype(dtype)
    y[5] = value
    return y


BAD_TARGETS = {
    "missing": (None, "requires y to be passed"),
    "nan": (target_with(np.nan, float), "y contains NaN"),
    "infinite": (target_with(np.inf, float), "y contains infinity"),
    "complex": (target_with(NUMBER * 1j, complex), "Complex data not supported"),
    "shorter": (Y[:-1], "inconsistent numbers of samples: [60, 59]"),
}


@pytest.mark.parametrize(("y", "complaint"), BAD_TARGETS.values(), ids=BAD_TARGETS)
@both
def test_bad_targets_are_refused(make, y, complaint):
    refused(lambda: make().fit(X, y), complaint)


MISSING_TARGETS = [
    target_with(np.nan, float),
    target_with(np.nan),
    target_with(pd.NA),
    pd.Series(target_with(None)).astype("Int64"),
]


@pytest.mark.parametrize("y", MISSING_TARGETS, ids=["float", "object", "NA", "nullable"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@both
def test_missing_targets_are_said_to_be_of_y_and_come_with_advice(make, method, y):
    call = getattr(make(), method)
    refused(lambda: call(X, y), "Input y contains NaN; drop the rows without a target")


def test_missing_labels_among_texts_are_said_to_be_of_y():
    y = np.where(Y == 1, "yes", "no").astype(object)
    y[5] = np.nan
    for labels in (y, pd.Series(y).astype("category"), pd.Series(y).astype("string")):
        model = classifier(classes=["no", "yes"])
        refused(lambda m=model, y=labels: m.fit(X, y), "Input y contains NaN; drop the rows")


@pytest.mark.parametrize("y", [np.array([SECRET] * N), np.array([SECRET] * N, dtype=object)])
def test_unknown_labels_are_refused_without_naming_them(y):
    refused(lambda: classifier().fit(X, y), "needs labels among the 2 classes; y holds others")
    refused(lambda: classifier(classes=["a", "b"]).fit(X, y), "y holds others")
    refused(
        lambda: classifier().fit(X, Y + 1),
        "y holds others",
        "Inside VotingClassifier, StackingClassifier, BaggingClassifier",
        "inside OneVsRestClassifier 0 and 1",
    )


def test_continuous_labels_are_refused():
    refused(lambda: classifier().fit(X, Y + NUMBER), "needs labels among the 2 classes")
    refused(lambda: classifier(classes=None).fit(X, Y + X[:, 0]), "Unknown label type")


@pytest.mark.parametrize(
    "y",
    [
        np.array([SECRET] * N),
        target_with(SECRET),
        target_with(10**400),
        np.full(N, "2001-02-03", dtype="datetime64[D]"),
        np.full(N, "NaT", dtype="timedelta64[s]"),
    ],
    ids=["all", "one", "big", "dates", "missing times"],
)
def test_targets_of_a_regression_have_to_be_numbers(y):
    refused(lambda: regressor().fit(X, y), "needs numeric targets; y holds other values")


EPSILONS = (0, -1, 1e-11, 1.1e9, 1e300, -np.inf, np.nan, "1", None)
BAD_PARAMETERS = [
    *[({"epsilon": value}, "'epsilon' parameter") for value in EPSILONS],
    *[({"delta": value}, "'delta' parameter") for value in (1, -0.1, np.nan, "1", np.inf)],
    *[({"data_norm": value}, "'data_norm' parameter") for value in (0, -1, np.inf, np.nan, "1")],
    *[({"intercept_scaling": v}, "'intercept_scaling' parameter") for v in (0, -1, 1e300, None)],
    ({"delta": 1e-310}, "delta strictly between 0 and 1 (at least 1e-300)"),
    ({"adjacency": "add_remove"}, "'adjacency' parameter"),
    ({"fit_intercept": "yes"}, "'fit_intercept' parameter"),
    ({"solver": "unheard_of"}, "'solver' parameter"),
    ({"solver": GD}, "'solver' parameter"),
    ({"solver": GD(steps=0)}, "'steps' parameter of GD"),
    # Scikit-learn takes them for 1.
    *[
        ({name: True}, f"'{name}' parameter")
        for name in ("epsilon", "delta", "data_norm", "intercept_scaling", "max_weight", "horizon")
    ],
    ({"solver": GD(steps=True)}, "'steps' parameter of GD"),
    ({"constraint": 1.0}, "'constraint' parameter"),
    ({"random_state": -1}, "'random_state' parameter"),
    ({"random_state": "seed"}, "'random_state' parameter"),
]
BAD_CLASSIFIER_PARAMETERS = [
    *[({"C": value}, "'C' parameter") for value in (0, -1, np.nan, "1", True)],
    *[({"l1_ratio": value}, "'l1_ratio' parameter") for value in (-0.1, 1.1, None)],
    *[({"classes": value}, "'classes' parameter") for value in (5, "ab")],
    ({"classes": [0]}, "at least 2 classes, got 1 class"),
    *[
        ({"classes": value}, "needs each label once in classes, got a")
        for value in ([0, 0], [0, 0, 1], [0, 1, 1.0], ["a", "b", "a"], [True, 1, 0], Y)
    ],
    *[
        ({"classes": value}, "classes to be a list of labels of one kind")
        for value in ([0, np.nan, 1], [[0, 1]], [None, 1], [0, "a"], [True, "a"])
    ],
    ({"classes": []}, "at least 2 classes, got none"),
    ({"classes": ["0", "1"]}, "with the type that they have in y"),
    ({"class_weight": "heavy"}, "'class_weight' parameter"),
    ({"class_weight": {"a": 1.0}}, "class_weight for labels in classes, got ('a',)"),
    *[
        ({"class_weight": {0: value}}, "class weights that are 0 or between 1e-50 and 1e50")
        for value in (-1.0, np.nan, np.inf, 1e300, 1e-300, "1", None)
    ],
]
BAD_MACHINE_PARAMETERS = [
    *[({"C": value}, "'C' parameter") for value in (0, -1, np.nan, "1")],
    *[({"penalty": value}, "'penalty' parameter") for value in ("elasticnet", None)],
    *[({"loss": value}, "'loss' parameter") for value in ("log", None, Hinge)],
    *[
        ({"loss": loss}, f"a loss for two classes with one score a row, got {type(loss).__name__}")
        for loss in (Softmax(2), OneVsRest(Hinge(), 2), Squared())
    ],
    ({"solver": GD(clip=np.inf)}, "GD needs a finite clip for SquaredHinge"),
]
BAD_REGRESSOR_PARAMETERS = [
    *[({"alpha": value}, "'alpha' parameter") for value in (-1, np.inf, np.nan, "1", None)],
    *[({"loss": value}, "'loss' parameter") for value in ("absolute", None)],
    *[
        (
            {"loss": loss},
            f"loss for numeric targets with one score a row, got {type(loss).__name__}",
        )
        for loss in (Softmax(3), Logistic())
    ],
    *[
        ({"target_bounds": value}, "'target_bounds' parameter")
        for value in [
            *((1, 0), (0, 0), (0,), (0, 1, 2), ("a", "b"), (0, np.inf), (np.nan, 1), (None, 1)),
            *((2**60, 2**60 + 1), (0, 5e-324), (0, 10**400), (0, 1e300)),
        ]
    ],
    *[
        ({"target_bounds": value}, "must be None or a pair of numbers (low, high). Got")
        for value in (5, "ab", {0, 1}, {0: 1}, range(2), np.array(3.0))
    ],
    ({"solver": GD(clip=np.inf)}, "GD needs a finite clip for Squared"),
]


@pytest.mark.parametrize(
    ("make", "options", "complaint"),
    [
        *[(make, *case) for make in (classifier, machine, regressor) for case in BAD_PARAMETERS],
        *[(classifier, *case) for case in BAD_CLASSIFIER_PARAMETERS],
        *[(machine, *case) for case in BAD_MACHINE_PARAMETERS],
        *[(regressor, *case) for case in BAD_REGRESSOR_PARAMETERS],
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_bad_parameters_are_refused_before_anything_is_charged(make, options, complaint):
    model = make(**{"data_norm": None} | options)
    with pytest.raises(ValueError, match=re.escape(complaint)):
        model.fit(X, Y)
    assert not hasattr(model, "privacy_ledger_")


FRAME, NAN = pd.DataFrame(X, columns=["a", "b", "c"]), with_entry(np.nan)
CHUNKS = {
    "strings": ([(STRINGS, Y)], "X holds entries that are not numbers"),
    "one-dimensional": ([(X[:, 0], Y)], "Expected 2D array, got 1D array instead."),
    "nan": ([(with_entry(np.nan), Y)], "X contains NaN"),
    "infinite in a later chunk": ([(X, Y), (with_entry(np.inf), Y)], "X contains infinity"),
    "nan in a later sparse chunk": ([(sp.csr_array(x), Y) for x in (X, NAN)], "X contains NaN"),
    "quadruples": ([(X, Y, Y, Y)], "with privacy_unit=True, and without it there must be none"),
    "quintuples": ([(X, Y, Y, Y, Y)], "Chunks needs pairs (X_chunk, y_chunk), or triples"),
    "rows alone": ([X], "Chunks needs pairs (X_chunk, y_chunk), or triples with weights, got a"),
    "rows of a pair alone": ([(X,)], "Chunks needs pairs (X_chunk, y_chunk)"),
    "a word": (["ab"], "Chunks needs pairs (X_chunk, y_chunk)"),
    "none": ([None], "Chunks needs pairs (X_chunk, y_chunk)"),
    "no targets": ([(X, None)], "one target a row, got targets of 0 dimensions"),
    "two columns of targets": ([(X, np.c_[Y, Y])], "got targets of 2 dimensions"),
    "too few targets": ([(X, Y[1:])], "inconsistent numbers of samples: [60, 59]"),
    "changing names": ([(FRAME, Y), (FRAME[["b", "a", "c"]], Y)], "the same column names"),
    "names that come late": ([(X, Y), (FRAME, Y)], "the same column names"),
    "names that go missing": ([(FRAME, Y), (X, Y)], "the same column names"),
    "changing features": ([(X, Y), (X[:, :2], Y)], "3 features in every chunk, got 2"),
    "empty chunk": ([(X, Y), (X[:0], Y[:0])], "0 sample(s)"),
    "nothing": ([], "at least one row, got a source without any"),
    "nothing from a function": (list, "at least one row, got a source without any"),
}


@pytest.mark.parametrize(("chunks", "complaint"), CHUNKS.values(), ids=CHUNKS)
@both
def test_bad_chunks_are_refused_before_anything_is_charged(make, chunks, complaint):
    # Of regressions the linear one takes tables of targets.
    model = DPLassoRegressor() if make is regressor and "2 dimensions" in complaint else make()
    refused(lambda: model.fit(Chunks(chunks)), complaint)
    assert not hasattr(model, "privacy_ledger_")


@both
def test_chunks_come_with_their_targets_and_classes_are_given(make):
    refused(lambda: make().fit(Chunks([(X, Y)]), Y), "needs y=None when X is Chunks")
    refused(lambda: classifier(classes=None).fit(Chunks([(X, Y)])), "needs classes=[...]")
    labels = np.array([SECRET] * N)
    refused(lambda: classifier().fit(Chunks([(X, labels)])), "y holds others")
    refused(lambda: regressor().fit(Chunks([(X, labels)])), "y holds other values")


def test_sources_that_can_be_read_only_once_are_refused():
    once = zip([X], [Y], strict=True)
    for source in (iter([(X, Y)]), ((X, Y) for _ in range(1)), once, 5):
        with pytest.raises(TypeError, match="Chunks needs a source that can be read many times"):
            Chunks(source)


@both
def test_source_that_changes_its_number_of_rows_is_found_out(make):
    passes = []

    def source():
        passes.append(1)
        yield X[len(passes) // 3 :], Y[len(passes) // 3 :]

    model = make()
    refused(lambda: model.fit(Chunks(source, memory=0)), "the same rows at each pass")
    assert model.privacy_spent_.epsilon > 0


HARMLESS = {
    "zero rows": 0 * X,
    "one huge entry": with_entry(1e300),
    "all huge": 1e300 * X,
    "tiny": 1e-300 * X,
    "large integers": with_entry(2**70, object),
    "largest 64-bit integers": np.full((N, D), np.iinfo(np.int64).max),
    "numbers as strings": X.astype(str),
    "sparse zeros": sp.csr_array((N, D)),
}


@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"data_norm": None}], ids=str)
@pytest.mark.parametrize("rows", HARMLESS.values(), ids=HARMLESS)
@pytest.mark.filterwarnings("ignore:The share of the budget set aside:UserWarning")
@both
def test_extreme_rows_give_a_finite_model(make, rows, options):
    model = make(epsilon=20.0, **options).fit(rows, Y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()


@pytest.mark.parametrize("target_bounds", [(-1.0, 1.0), None], ids=str)
@pytest.mark.parametrize("value", [1e300, -1e300, 2**70, 1e-300])
@pytest.mark.filterwarnings("ignore:The share of the budget set aside:UserWarning")
@pytest.mark.filterwarnings("ignore:Many targets lie outside of target_bounds:UserWarning")
@pytest.mark.filterwarnings("ignore:Nearly all targets lie in a hundredth:UserWarning")
def test_extreme_targets_give_a_finite_model(value, target_bounds):
    for y in (target_with(value, float), np.full(N, float(value)), target_with(value)):
        model = regressor(target_bounds=target_bounds, epsilon=20.0).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e-10, 1e-5), (1e9, 1e-5), (1.0, 1e-300), (1.0, 0.999)]
)
@both
def test_extreme_budgets_give_a_finite_model(make, epsilon, delta):
    model = make(epsilon=epsilon, delta=delta, solver=GD(steps=20)).fit(X, Y)
    assert np.isfinite(model.coef_).all()
    assert model.privacy_spent_.epsilon <= epsilon


def test_columns_that_are_not_numbers_are_named():
    columns = {name: ["secret"] * len(X) for name in ("city", "job", "name", "street")}
    frame = pd.DataFrame(X).rename(columns=str).assign(**columns)
    with pytest.raises(ValueError, match="not numbers in city, job, name and 1 more") as refused:
        DPLogisticRegression(classes=[0, 1]).fit(frame, Y)
    assert "secret" not in str(refused.value)


# Settings of the process and extreme rows change neither the checks nor what is said.

WAYS = {
    "dense": lambda X, y: (X, y),
    "sparse": lambda X, y: (sp.csr_array(X), y),
    "chunks": lambda X, y: (Chunks([(X, y)]),),
}
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@pytest.fixture
def trusting():
    """Scikit-learn is told that all data are finite."""
    with sklearn.config_context(assume_finite=True):
        yield


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.usefixtures("trusting")
@each_way
@both
def test_rows_that_are_not_finite_are_refused_also_if_scikit_learn_trusts_them(make, way, bad):
    rows = X.copy()
    rows[7, 1] = bad
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        make().fit(*way(rows, Y))
    assert sklearn.get_config()["assume_finite"]


def test_how_many_labels_differ_is_said_only_where_they_are_read_off():
    # As many labels as half of the rows: scikit-learn warns from there on.
    labels = list(range(40))
    y = np.arange(N) % 40
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(classes=labels)._open(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes")
        with pytest.warns(PrivacyLeakWarning):
            classifier(classes=None)._open(X, y)


@each_way
def test_targets_that_double_precision_rounds_to_zero_are_met_in_silence(way):
    y = np.zeros(N, dtype=np.longdouble)
    # A plain zero where long double is no longer than double.
    y[7] = np.finfo(np.longdouble).tiny if np.finfo(np.longdouble).minexp < -2000 else 0.0
    with np.errstate(all="raise"):
        regressor()._open(*way(X, y), *([None] if way is WAYS["chunks"] else []))
