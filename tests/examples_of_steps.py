"""Steps that handle each row by itself, with usual and unusual parameters, and rows around a probe.

Of each entry of the table of verdicts all parameters are listed, with values to try. Rows come as
contents, of which neighbours are made, in containers: the same numbers in other types, layouts and
names. A step that is covered makes the same of the probe whatever rows surround it.
"""

import inspect
import warnings
from itertools import product

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import PolynomialCountSketch, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.utils import get_tags

from skdp import DPLogisticRegression, PrivacyBudget, privacy_spent, privatize
from skdp.model_selection import DPRandomizedSearchCV
from skdp.preprocessing import BoundsScaler, RowNormClipper
from skdp.privacy import PrivacyUnit
from skdp.reporting import verdict_of

NAN = float("nan")
PROBE, GAP = (1.0, 0.0, 2.0), (NAN, 1.0, NAN)
OTHERS = ((0.0, 1.0, 1.0), (2.0, 0.0, 0.0), (1.0, 3.0, 2.0), (0.0, 0.0, 1.0))
# What may surround the probe; the first is the one that others are compared with.
CONTENTS = {
    "as usual": (*OTHERS, PROBE),
    "outlier": (*OTHERS[:3], (2e5, 0.0, 5e5), PROBE),
    "other category": (*OTHERS[:3], (7.0, 7.0, 7.0), PROBE),
    "no zeros": (*(tuple(entry + 1 for entry in row) for row in OTHERS), PROBE),
    "all zeros": (*((0.0, 0.0, 0.0) for _ in OTHERS), PROBE),
    "gap": (*OTHERS[:3], (NAN, 0.0, NAN), PROBE),
    "gaps": (*((NAN, NAN, NAN) for _ in OTHERS), PROBE),
    "two rows": (OTHERS[0], PROBE),
    "many rows": (*(OTHERS * 10), PROBE),
}
TEXTS = {
    "as usual": ["a b", "b b", "", "c", "a b c"],
    "other words": ["zz é", "<>!?", "", "\u0130x", "a b c"],
    "long": ["a " * 300, "b " * 40000, "c", "longestwordofall", "a b c"],
    "two rows": ["b", "a b c"],
    "many rows": [*["a b", "c c"] * 20, "a b c"],
}
TOKENS = {name: [text.split() for text in given] for name, given in TEXTS.items()}
CATEGORIES = {
    "as usual": [["f"], ["m"], ["f"], ["m"], ["f"]],
    "other category": [["f"], ["m"], ["f"], ["other, and longer"], ["f"]],
    "gap": [["f"], ["m"], ["f"], [None], ["f"]],
    "two rows": [["m"], ["f"]],
    "many rows": [*[["m"], ["f"]] * 20, ["f"]],
}


def _frame(rows, names="abcdefghijkl"):
    return pd.DataFrame(rows, columns=[f"{names[k % 12]}{k}" for k in range(rows.shape[1])])


CONTAINERS = {
    "float64": np.copy,
    "float32": lambda rows: rows.astype(np.float32),
    "int64": lambda rows: rows.astype(np.int64),
    "F order": lambda rows: rows.copy(order="F"),
    "object": lambda rows: rows.astype(object),
    "CSR": sp.csr_matrix,
    "CSC": sp.csc_matrix,
    "frame": _frame,
    "frame, other names": lambda rows: _frame(rows, "zyxwvutsrqpo"),
    "frame of integers": lambda rows: _frame(rows.astype(np.int64)),
    "frame of floats and integers": lambda rows: _frame(rows).astype({"a0": np.int64}),
}
OF_TEXTS = {
    "list": list,
    "array": np.array,
    "objects": lambda texts: np.array(texts, dtype=object),
    "series": pd.Series,
}
OF_CATEGORIES = {
    "objects": lambda rows: np.array(rows, dtype=object),
    "texts": np.array,
    "frame": lambda rows: pd.DataFrame(rows, columns=["sex"]),
    "frame of categories": lambda rows: pd.DataFrame(rows, columns=["sex"]).astype("category"),
}
BOOL = (False, True)
CODES = [[0.0, 1.0, 2.0, 3.0]] * 3
KNOTS = np.linspace(0, 3, 5)[:, None] * [1.0, 0.5, 2.0]
# As many combinations of values are all tried, of more of them pairs.
MOST = 500
OF_PROJECTIONS = {
    "n_components": (2, "auto"),
    "eps": (0.9, 0.5),
    "compute_inverse_components": BOOL,
    "random_state": (None, 0),
}
OF_WORDS = {"input": ("content",), "encoding": ("utf-8",), "decode_error": ("strict", "ignore"), "strip_accents": (None, "unicode", "ascii"), "preprocessor": (None,), "tokenizer": (None,), "analyzer": ("word", "char", "char_wb"), "stop_words": (None, "english"), "token_pattern": (r"\b\w+\b",), "ngram_range": ((1, 1), (1, 2)), "lowercase": BOOL, "binary": BOOL, "dtype": (np.float64, np.float32)}  # fmt: skip
OF_COUNTS = {"vocabulary": (["a", "b", "a b"], None), "max_df": (1.0, 0.5, 2), "min_df": (1, 2), "max_features": (None, 1)}  # fmt: skip
OF_TFIDF = {"norm": ("l2", "l1", None), "use_idf": (False, True), "smooth_idf": BOOL, "sublinear_tf": BOOL}  # fmt: skip
OF_CATEGORIES_LISTED = {"min_frequency": (None, 2), "max_categories": (None, 2)}
# Of each class all parameters with values to try, those first with which the others are tried.
FREE_STEPS = {
    Binarizer: {"threshold": (0.0, 1.5), "copy": BOOL},
    BoundsScaler: {"bounds": ((0, 3), ([0, 0, 0], [1, 2, 3])), "feature_range": ((-1, 1), (0, 2))},
    CountVectorizer: OF_WORDS | OF_COUNTS,
    FeatureHasher: {"input_type": ("string",), "n_features": (4, 64), "alternate_sign": BOOL, "dtype": (np.float64, np.float32)},
    FunctionTransformer: {"func": (np.tanh, None, np.log1p, np.sqrt, np.abs, np.square, np.reciprocal), "inverse_func": (None, np.arctanh), "validate": BOOL, "accept_sparse": BOOL, "check_inverse": BOOL, "feature_names_out": (None, "one-to-one"), "kw_args": (None,), "inv_kw_args": (None,)},
    GaussianRandomProjection: OF_PROJECTIONS,
    HashingVectorizer: OF_WORDS | {"n_features": (8, 64), "norm": ("l2", "l1", None), "alternate_sign": BOOL},
    MissingIndicator: {"features": ("all", "missing-only"), "missing_values": (NAN, 2), "sparse": ("auto", True, False), "error_on_new": BOOL},
    Normalizer: {"norm": ("l2", "l1", "max"), "copy": BOOL},
    OneHotEncoder: {"categories": (CODES, "auto", [[0, 1, 2]] * 3, [[0.5, 1.0, 2.0]] * 3, [[0.0, 1.0, NAN]] * 3), "handle_unknown": ("ignore", "error", "infrequent_if_exist", "warn"), "drop": (None, "first"), "sparse_output": BOOL, "dtype": (np.float64, np.int64), "feature_name_combiner": ("concat",)} | OF_CATEGORIES_LISTED,
    OrdinalEncoder: {"categories": (CODES, "auto", [[0, 1, 2]] * 3, [[0.5, 1.0, 2.0]] * 3), "handle_unknown": ("use_encoded_value", "error"), "unknown_value": (-1, NAN), "encoded_missing_value": (NAN, -2), "dtype": (np.float64, np.float32)} | OF_CATEGORIES_LISTED,
    PolynomialCountSketch: {"gamma": (1.0, 0.5), "degree": (2, 3), "coef0": (0, 1), "n_components": (8, 100), "random_state": (None, 0)},
    PolynomialFeatures: {"degree": (2, 3, (2, 3), 4), "interaction_only": BOOL, "include_bias": BOOL, "order": ("C", "F")},
    RBFSampler: {"gamma": (1.0, "scale"), "n_components": (4, 100), "random_state": (None, 0)},
    RowNormClipper: {"max_norm": (1.0, 2.5)},
    SimpleImputer: {"strategy": ("constant", "mean", "most_frequent"), "keep_empty_features": (True, False), "missing_values": (NAN, 2), "fill_value": (None, 5), "copy": BOOL, "add_indicator": BOOL},
    SparseRandomProjection: OF_PROJECTIONS | {"density": ("auto", 0.5), "dense_output": BOOL},
    SplineTransformer: {"knots": (KNOTS, "uniform", "quantile"), "n_knots": (3,), "degree": (3, 1), "extrapolation": ("constant", "linear", "continue", "periodic", "error"), "include_bias": BOOL, "order": ("C", "F"), "handle_missing": ("error", "zeros"), "sparse_output": BOOL},
    TfidfTransformer: OF_TFIDF,
    TfidfVectorizer: OF_WORDS | OF_COUNTS | OF_TFIDF,
}  # fmt: skip
# Older versions of scikit-learn lack some parameters.
FREE_STEPS = {
    kind: {
        name: given for name, given in values.items() if name in inspect.signature(kind).parameters
    }
    for kind, values in FREE_STEPS.items()
}
VECTORIZERS = (CountVectorizer, HashingVectorizer, TfidfVectorizer)
# The same of rows of texts.
OF_TEXT_CODES = {"categories": [["f", "m"]]}


def cases(*, whole=False):
    """Classes with parameters: each value once beside the first ones, or all combinations."""
    for kind, values in FREE_STEPS.items():
        first = {name: given[0] for name, given in values.items()}
        turned = [{name: value} for name, given in values.items() for value in given[1:]]
        yield from ((kind, first | turn) for turn in [{}, *turned])
        if whole and np.prod([len(given) for given in values.values()]) <= MOST:
            yield from (
                (kind, dict(zip(values, v, strict=True))) for v in product(*values.values())
            )
        elif whole:
            pairs = (a | b for a, b in product(turned, turned) if [*a] < [*b])
            yield from ((kind, first | pair) for pair in pairs)
        if kind in (OneHotEncoder, OrdinalEncoder):
            yield kind, first | OF_TEXT_CODES


def step_of(kind, parameters):
    """A step of a class; parameters that its scikit-learn does not have are left out."""
    known = kind._get_param_names()
    return kind(**{name: value for name, value in parameters.items() if name in known})


def usual_step(kind):
    """A step of a class with the parameters with which others are tried, and without chance."""
    return step_of(
        kind, {name: given[0] for name, given in FREE_STEPS[kind].items()} | {"random_state": 0}
    )


def instance_of(kind, model):
    """An estimator of a class, or of a function without arguments, around a model if it holds one."""
    held = {
        "estimator": model,
        "estimators": [("a", model)],
        "param_grid": {},
        "param_distributions": {},
    }
    names = inspect.signature(kind).parameters
    if "estimator" not in names:
        # So chains called it in older versions of scikit-learn.
        held["base_estimator"] = model
    return kind(**{name: value for name, value in held.items() if name in names})


def rows_for(step):
    """Contents and containers of the rows that a step takes."""
    if isinstance(step, VECTORIZERS):
        return TEXTS, OF_TEXTS
    if isinstance(step, FeatureHasher):
        return TOKENS, {"list": list}
    categories = getattr(step, "categories", "auto")
    if not isinstance(categories, str) and isinstance(categories[0][0], str):
        return CATEGORIES, OF_CATEGORIES
    # Random projections have fewer components than there are columns.
    wide = 42 if isinstance(step, GaussianRandomProjection | SparseRandomProjection) else 1
    return {name: np.tile(np.array(rows), wide) for name, rows in CONTENTS.items()}, CONTAINERS


def public(thing, seen=()):
    """Public attributes of a fitted estimator and of all that it holds, in comparable form."""
    if isinstance(thing, BaseEstimator):
        if any(thing is other for other in seen):
            return "itself"
        names = sorted(n for n in vars(thing) if n.endswith("_") and not n.startswith("_"))
        held = {name: public(getattr(thing, name), (*seen, thing)) for name in names}
        parts = {k: public(v, (*seen, thing)) for k, v in thing.get_params(deep=False).items()}
        return type(thing).__name__, held, parts
    if sp.issparse(thing):
        return "sparse", thing.shape, public(thing.toarray())
    if isinstance(thing, np.ndarray):
        held = [public(part, seen) for part in thing] if thing.dtype == object else thing.tobytes()
        return thing.shape, str(thing.dtype), held
    if isinstance(thing, dict):
        return {repr(key): public(value, seen) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [public(part, seen) for part in thing]
    if isinstance(thing, int | float | str | None | type) or not hasattr(thing, "__dict__"):
        return repr(thing)
    return type(thing).__name__, public(vars(thing), seen)


def _outcome(step, rows):
    """Values of the probe, which is the last row, and all else that is public of a fit."""
    np.random.seed(0)  # noqa: NPY002
    found = {}
    step = clone(step)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            moved = step.fit_transform(rows)
            probe = moved.tocsr()[[-1]].toarray() if sp.issparse(moved) else np.asarray(moved)[-1]
            # Models take numbers only.
            probe = np.asarray(probe, dtype=float).ravel()
        except Exception as failure:
            return {"raises": type(failure)}, None
        found["draws"] = np.random.random()  # noqa: NPY002
        found["names"] = public(_names(step))
    found["warns"] = [(w.category, str(w.message)) for w in said]
    found["columns"], found["sparse"] = moved.shape[1], sp.issparse(moved)
    found["type"] = str(moved.dtype) if hasattr(moved, "dtype") else None
    found["attributes"] = {
        name: public(value) for name, value in vars(step).items() if name.endswith("_")
    }
    return found, probe


def _names(step):
    try:
        return step.get_feature_names_out()
    except (AttributeError, TypeError, ValueError) as failure:
        return type(failure)


def check_rows_around_are_not_seen(step, *, turn=None):
    """What a step makes of the probe, and publishes, does not depend on the rows around it.

    Contents that differ in the number of rows are compared under ``privacy_unit``, if the step is
    covered there; those of as many rows if it is covered at all. Within a container all that is
    public is the same. Between containers that it takes the values are, up to their precision.

    Parameters
    ----------
    step : estimator
        Not fitted.
    turn : int, optional
        Which container is tried beside the first; by default all are.

    Returns
    -------
    int
        Number of data sets that were compared; 0 if the step is not covered, or if it refuses its
        parameters.
    """
    by_rows, by_units = (verdict_of(step, unit).kind == "covered" for unit in PrivacyUnit)
    if not by_rows:
        assert not by_units, "a step is covered for people and not for rows"
        return 0
    contents, known = rows_for(step)
    tags = get_tags(step).input_tags
    gaps = tags.allow_nan and np.isnan(getattr(step, "missing_values", NAN))
    taken = [name for name in known if tags.sparse or name not in ("CSR", "CSC")]
    if turn is not None and len(taken) > 1:
        taken = [taken[0], taken[1 + turn % (len(taken) - 1)]]
    if not by_units:
        usual = next(iter(contents.values()))
        contents = {name: rows for name, rows in contents.items() if len(rows) == len(usual)}
    with_gaps = [name for name in taken if "int" not in name and "texts" not in name]
    if not gaps:
        contents = {name: rows for name, rows in contents.items() if not name.startswith("gap")}
    without = {name: rows for name, rows in contents.items() if not name.startswith("gap")}
    count = _compare(step, contents, {name: known[name] for name in with_gaps})
    others = [taken[0], *(name for name in taken if name not in with_gaps)]
    count += _compare(step, without, {name: known[name] for name in others})
    if gaps and known is CONTAINERS:
        probed = {name: np.vstack([rows[:-1], GAP]) for name, rows in contents.items()}
        count += _compare(step, probed, {name: known[name] for name in with_gaps})
    return count


def _compare(step, contents, containers):
    """Compare what a step makes of the last row, over contents and containers; how many it took."""
    usual, first, count = next(iter(contents.values())), None, 0
    for name, make in containers.items():
        expected, probe = _outcome(step, make(usual))
        if first is None:
            if probe is None:
                return 0
            first = probe
        if probe is not None:
            near = 1e-5 if "32" in name else 1e-12
            np.testing.assert_allclose(probe, first, near, near, err_msg=f"{name} moves the probe")
        for what, rows in contents.items():
            found, moved = _outcome(step, make(rows))
            told = f"{what} in {name}"
            assert found == expected, f"{told} shows"
            if moved is not None:
                message = f"{told} moves the probe"
                np.testing.assert_allclose(moved, probe, 1e-12, 1e-12, err_msg=message)
            count += 1
    return count


# Whoever composes for people, by what it does with a pipeline.


def people(n_units=30, *, most=1, rng=0):
    """Rows, labels and people: the first has ``most`` rows, all others one."""
    people = np.concatenate([np.zeros(most, dtype=int), np.arange(1, n_units)])
    X = np.random.default_rng(rng).normal(size=(people.size, 200))
    return X, (X[:, 0] > 0).astype(int), people


def _pipeline(components, model=None):
    private = DPLogisticRegression(epsilon=1.0, classes=[0, 1], data_norm=10.0)
    model = LogisticRegression() if model else private
    step = GaussianRandomProjection(components, eps=0.9, random_state=0)
    return Pipeline([("projection", step), ("model", model)])


def fitted_for_people(components):
    """A pipeline with a random projection, fitted to people."""
    X, y, labels = people()
    return _pipeline(components).fit(X, y, model__privacy_unit=labels)


def _search(components):
    X, y, labels = people()
    search = DPRandomizedSearchCV(_pipeline(3), {"projection__n_components": [components]})
    search.fit(X, y, privacy_unit=labels)


def _open_budget(components):
    X, y, labels = people()
    with PrivacyBudget(5.0, 1e-5, privacy_unit=True) as budget:
        budget.fit(_pipeline(components), X, y, model__privacy_unit=labels)


def _searched(components):
    X, y, labels = people()
    search = DPRandomizedSearchCV(_pipeline(3), {"model__C": [1.0]}).fit(X, y, privacy_unit=labels)
    search.estimator.set_params(projection__n_components=components)
    privacy_spent(search)


NUMBER_OF_ROWS_MATTERS = {
    "privacy_spent": lambda components: privacy_spent(fitted_for_people(components)),
    "privacy_spent of a search": _searched,
    "search": _search,
    "PrivacyBudget.fit": _open_budget,
    "privatize": lambda components: privatize(
        _pipeline(components, model="public"), epsilon=1.0, classes=[0, 1], privacy_unit=True
    ),
}


def refusal_for_people(user, components):
    """What somebody says who composes a pipeline with a random projection; empty if nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            NUMBER_OF_ROWS_MATTERS[user](components)
        except ValueError as refusal:
            return str(refusal)
    return ""
