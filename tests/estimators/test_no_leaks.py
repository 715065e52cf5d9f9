"""What fitted models hold and say: no row, no exact statistic, no noise, no seed.

Rows and statistics of the training data are planted as numbers that cannot occur by chance, and
searched for in all that leaves a model: its object graph, pickles, texts, warnings and errors. What
is out of scope: local variables of the frames of a traceback, which a debugger can see.
"""

import copy
import json
import pickle
import traceback
import warnings

import numpy as np
import pytest
from copies_of_objects import COPIES
from object_graphs import kinds_within, planted_in, reached
from sklearn.base import clone

import skdp
from skdp import (
    DPContextualBandit,
    DPHazardRegressor,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPSVMClassifier,
)
from skdp.solvers import FTRL, GD, Blocks

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore:DPContextualBandit has .* users for:UserWarning"),
]

N, D, SEED = 211, 3, 1_234_567_891
MARKER = np.array([0.1234567890123, -0.4876543210987, 0.5647382910564])


def make_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.55, 0.55, size=(N, D))
    X[5] = X[207] = MARKER
    y = 3.0 * X[:, 0] + rng.normal(size=N)
    y[5], y[7] = 2.718281828459, 6.283185307179
    return X, y, (X[:, 0] > 0.13).astype(int)


X, REAL, BINARY = make_rows()
SHARED = {"data_norm": 1.0, "random_state": SEED, "epsilon": 2.0}
CLASSES = SHARED | {"classes": [0, 1]}
NUMBERS = SHARED | {"target_bounds": (-4.0, 7.0)}
MODELS = {
    "logistic": DPLogisticRegression(**CLASSES),
    "logistic, found bounds": DPLogisticRegression(classes=[0, 1], random_state=SEED, epsilon=50.0),
    "logistic, balanced": DPLogisticRegression(**CLASSES, class_weight="balanced"),
    "machine": DPSVMClassifier(**CLASSES, warm_start=True),
    "linear": DPLinearRegression(**NUMBERS, warm_start=True),
    "linear, found bounds": DPLinearRegression(random_state=SEED, epsilon=50.0),
    "lasso": DPLassoRegressor(**NUMBERS, feature_bound=0.6),
    "counts": DPPoissonRegressor(**SHARED, target_bounds=(0.0, 7.0), warm_start=True),
    "counts, found bounds": DPPoissonRegressor(random_state=SEED, epsilon=50.0),
    "quantiles": DPQuantileRegressor(**NUMBERS, quantile=[0.1, 0.9], warm_start=True),
    "quantile, found bounds": DPQuantileRegressor(random_state=SEED, epsilon=50.0),
    "hazards": DPHazardRegressor(**SHARED, max_time=7.0),
    "hazards, found bounds": DPHazardRegressor(random_state=SEED, epsilon=50.0),
    "bandit": DPContextualBandit([0, 1], **SHARED),
}
STREAMS = {
    "logistic": DPLogisticRegression(**CLASSES, solver=Blocks(first=40)),
    "machine": DPSVMClassifier(**CLASSES, solver="gd"),
    "linear": DPLinearRegression(**NUMBERS),
    "lasso": DPLassoRegressor(**NUMBERS, solver=FTRL(), horizon=N),
    "counts": DPPoissonRegressor(**SHARED, target_bounds=(0.0, 7.0)),
    "quantiles": DPQuantileRegressor(**NUMBERS, quantile=[0.1, 0.9]),
    "logistic, sums": DPLogisticRegression(**CLASSES, buffer=False, horizon=N),
    "bandit": DPContextualBandit([0, 1], **SHARED, horizon=N),
}


def test_every_public_estimator_is_searched():
    public = {getattr(skdp, name) for name in skdp.__all__ if name.startswith("DP")}
    assert {type(model) for model in MODELS.values()} == public
    assert {type(model) for model in STREAMS.values()} == public - {DPHazardRegressor}


def columns_of(model):
    """The arguments of fit, or those of one call for each part of a stream."""
    if isinstance(model, DPContextualBandit):
        return X, BINARY, np.clip(REAL, 0, 1)
    numbers = np.abs(REAL) if isinstance(model, DPPoissonRegressor) else REAL
    return X, (BINARY if hasattr(model, "classes") else numbers)


def statistics(*columns):
    """Exact functions of the rows that a careless fit might keep."""
    norms = np.linalg.norm(X, axis=1)
    y = columns[-1].astype(float)
    out = {"row, feature 0": MARKER[0], "row, feature 1": MARKER[1], "row, feature 2": MARKER[2]}
    out |= {"largest norm": norms.max(), "mean norm": norms.mean(), "least norm": norms.min()}
    for name, of in {"X": X, "X^2": X**2, "Xy": X * y[:, None], "y": y[:, None]}.items():
        for k in range(of.shape[1]):
            column = of[:, k]
            exact = {"mean": column.mean(), "sum": column.sum(), "sd": column.std()}
            exact |= {"max": column.max(), "min": column.min(), "median": np.median(column)}
            out |= {f"{what} of {name} {k}": value for what, value in exact.items()}
    covariance = X.T @ X / N
    out |= {f"covariance {i}{j}": covariance[i, j] for i in range(D) for j in range(i)}
    # Whole numbers and the bounds of y are published otherwise.
    return {name: value for name, value in out.items() if value % 1 and abs(value) > 1e-6}


def fitted(model):
    model = clone(model)
    model.fit(*columns_of(model))
    model.predict(X)
    return model


def streamed(model):
    model = clone(model)
    columns = columns_of(model)
    for start in range(0, N, 30):
        model.partial_fit(*(column[start : start + 30] for column in columns))
    return model


WAYS = {"as it is": lambda model: model} | COPIES
# What goes on from call to call is secret while it goes on; it never travels.
SECRET = {"_session", "_public_rng"}
ALLOWED = ("builtins.", "numpy.", "skdp.")
# What a bandit's learners have made of answers, and how often they get some.
PUBLIC = {"skdp.bandit.policies.ftrl._Streams", "skdp.privacy.streams.stream_plan.StreamPlan"}
FORBIDDEN = ("random", "Noise", "Rows", "Oracle", "Session", "Buffer", "Stream", "function")


def check_clean(model, columns, *, travelled):
    state = {name: value for name, value in vars(model).items() if name not in SECRET}
    assert travelled <= (not SECRET & set(vars(model)))
    if not travelled:
        # The user's own seed is a parameter, and is there until the model travels.
        assert state.pop("random_state") == SEED
    assert not planted_in(state, statistics(*columns))
    assert SEED not in [x for x in reached(state) if isinstance(x, int)]
    kinds = kinds_within(state) - PUBLIC
    assert all(kind.startswith(ALLOWED) for kind in kinds), kinds
    assert not [kind for kind in kinds if any(word in kind for word in FORBIDDEN)]
    arrays = [x for x in reached(state) if isinstance(x, np.ndarray)]
    assert all(size not in array.shape for array in arrays for size in (N, N - 1))


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_fitted_model_holds_no_row_no_statistic_no_noise_and_no_seed(model):
    model = fitted(model)
    for name, way in WAYS.items():
        check_clean(way(model), columns_of(model), travelled=name != "as it is")


@pytest.mark.parametrize("model", STREAMS.values(), ids=STREAMS)
@pytest.mark.by_day(3)
def test_nor_does_a_model_in_the_middle_of_a_stream(model):
    model = streamed(model)
    for name, way in WAYS.items():
        check_clean(way(model), columns_of(model), travelled=name != "as it is")


def contents(model):
    """The ways in which a model becomes bytes or text."""
    yield from (pickle.dumps(model, protocol=p) for p in range(pickle.HIGHEST_PROTOCOL + 1))
    yield repr(vars(pickle.loads(pickle.dumps(model)))).encode()
    public = model.get_params() | {"random_state": None}
    yield repr(public).encode()
    other = clone(model).set_params(random_state=None)
    yield repr(other).encode()
    # The page shows parameters, and attributes that are fitted, since scikit-learn 1.9.
    shown = copy.copy(model)
    yield shown._repr_html_().encode()
    yield json.dumps(shown._repr_mimebundle_()).encode()
    yield repr(tuple(model.privacy_ledger_)).encode() + repr(model.privacy_spent_).encode()


def marks(values):
    """How numbers look in bytes and in texts."""
    for value in values:
        yield np.float64(value).tobytes()
        yield np.float64(value).tobytes()[::-1]
        yield f"{abs(value):.8f}".rstrip("0").encode()


@pytest.mark.parametrize("model", [*MODELS.values(), *STREAMS.values()], ids=str)
@pytest.mark.by_day(7)
def test_bytes_and_texts_hold_none_of_them(model):
    made = fitted(model) if model in MODELS.values() else streamed(model)
    secrets = list(statistics(*columns_of(made)).values())
    for content in contents(made):
        assert not [mark for mark in marks(secrets) if mark in content]
        for word in (b"PCG64", b"MT19937", b"SeedSequence", b"bit_generator"):
            assert word not in content
        assert SEED.to_bytes(4, "little") not in content
        assert str(SEED).encode() not in content


def test_skops_files_hold_none_of_them_and_predict():
    skops = pytest.importorskip("skops.io", reason="needs skops: pip install skops")
    for name in ("logistic, balanced", "machine", "lasso", "bandit"):
        model = fitted(MODELS[name])
        data = skops.dumps(model)
        types = skops.get_untrusted_types(data=data)
        # All that has to be trusted is this package's own.
        assert all(name.startswith("skdp.") for name in types)
        other = skops.loads(data, trusted=types)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.privacy_ledger_ == model.privacy_ledger_
        check_clean(other, columns_of(model), travelled=True)


def test_a_clone_has_the_seed_which_is_a_parameter_and_nothing_else():
    for model in MODELS.values():
        other = clone(fitted(model))
        assert other.get_params()["random_state"] == SEED
        assert set(vars(other)) == set(other.get_params(deep=False))
        assert not planted_in(other, statistics(*columns_of(model)))


def spoken(model, *columns):
    """Texts of all warnings, and of the exception with its notes and causes, of one fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(*columns)
        except Exception as error:
            texts = traceback.TracebackException.from_exception(error)
            said = []
            while texts is not None:
                said += list(texts.format_exception_only())
                texts = texts.__cause__ or texts.__context__
        else:
            said = []
    return "\n".join([*said, *(str(w.message) for w in caught)])


def spoil(columns, how):
    rows, y = columns[0].copy(), columns[-1].copy()
    if how == "NaN":
        rows[5, 1] = np.nan
    elif how == "strings":
        rows = rows.astype(object)
        rows[7, 0] = "0.3141592653589"
    elif how == "target":
        y = y.astype(object)
        y[9] = "0.3141592653589"
    elif how == "label":
        y = y.astype(float)
        y[9] = 0.3141592653589
    return (rows, *columns[1:-1], y)


WAYS_TO_FAIL = ["fine", "NaN", "strings", "target", "label", "solver", "answers"]


@pytest.mark.parametrize("how", WAYS_TO_FAIL)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_warnings_and_errors_quote_no_data(model, how, monkeypatch):
    model = clone(model)
    if how == "solver":
        monkeypatch.setattr(GD, "solve", lambda *_: 1 / 0)
    elif how == "answers":
        # So small a budget that something has to be said of it.
        model.set_params(epsilon=1e-4)
        if "data_norm" in model.get_params() and not isinstance(model, DPContextualBandit):
            model.set_params(data_norm=None)
    columns = columns_of(model)
    text = spoken(model, *spoil(columns, how))
    if how in ("NaN", "strings"):
        assert text
    assert "0.31415" not in text
    secrets = statistics(*columns).values()
    assert not [value for value in secrets if f"{abs(value):.6f}"[:7] in text]
    assert str(BINARY.sum()) not in text
    assert str(SEED) not in text


def test_searches_find_what_is_there():
    for name in ("logistic", "linear"):
        model = fitted(MODELS[name])
        columns = columns_of(model)
        assert planted_in(
            streamed(STREAMS["logistic"]), statistics(*columns_of(STREAMS["logistic"]))
        )
        for secret, value in [*statistics(*columns).items()][::5]:
            leaky = copy.deepcopy(model)
            leaky.coef_ = leaky.coef_.copy()
            leaky.coef_.flat[1] = value
            assert secret in planted_in(leaky, statistics(*columns))
        hidden = copy.deepcopy(model)
        hidden._progress.parts.kept = lambda rows=X: rows
        assert planted_in(hidden, statistics(*columns))
        with pytest.raises(AssertionError):
            check_clean(hidden, columns, travelled=True)
