"""What every transformer has to keep: scikit-learn's interface, an honest receipt, no secrets.

A new transformer of ``skdp.preprocessing`` is tested once it has an entry in
``examples_of_transformers.py``.
"""

import copy
import inspect
import pickle
import re

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from by_night import each_check_once
from examples_of_transformers import (
    EXAMPLES,
    OF_CATEGORIES,
    D,
    N,
    make_rows,
    make_table,
    make_targets,
)
from frames import polars
from published_attributes import assert_same, published
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from twin_oracle import distance

import skdp.preprocessing
from skdp import (
    BudgetExceededError,
    PrivacyBudget,
    PrivacyLeakWarning,
    PrivacySpent,
    privacy_spent,
    report,
)
from skdp.preprocessing import (
    BoundsScaler,
    Delegating,
    DPSimpleImputer,
    FreeTransformer,
    PrivateTransformer,
    Transformer,
)
from skdp.privacy import PrivateOracle, opened_by
from skdp.privacy.accounting import GaussianEvent, ThresholdEvent, gdp
from skdp.privacy.rows import BlockStore
from skdp.testing import check_seed_stays_behind, record_fit, replay_fit

pytestmark = [
    # The checks of scikit-learn set seeds, and fit to few rows.
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore:The share of the budget set aside:UserWarning"),
    # The checks fit a few rows at epsilon 1.
    pytest.mark.filterwarnings("ignore:.* sees no value beside the noise:UserWarning"),
]

SEED = 1_234_567_891
INSTANCES = [instance for examples in EXAMPLES.values() for instance in examples]
PRIVATE = [t for t in INSTANCES if isinstance(t, PrivateTransformer)]
FREE = [t for t in INSTANCES if isinstance(t, FreeTransformer)]
every_transformer = pytest.mark.parametrize("given", INSTANCES, ids=str)
every_private = pytest.mark.parametrize("given", PRIVATE, ids=str)
every_private_and_categories = pytest.mark.parametrize("given", [*PRIVATE, *OF_CATEGORIES], ids=str)
every_free = pytest.mark.parametrize("given", FREE, ids=str)


def seeded(given):
    """A copy whose noise, if it has any, is reproducible."""
    private = isinstance(given, PrivateTransformer)
    return clone(given).set_params(random_state=SEED) if private else clone(given)


def data_for(given, seed=0):
    """Rows for a transformer, and the targets that it needs."""
    X = make_table(seed) if given in OF_CATEGORIES else make_rows(seed)
    return X, make_targets(given, X)


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows


def test_every_transformer_has_examples():
    def family(cls):
        return {cls}.union(*map(family, cls.__subclasses__()))

    defined = {c for c in family(Transformer) if c.__module__.startswith("skdp.")}
    concrete = {c for c in defined if not inspect.isabstract(c)}
    public = {
        thing
        for _, thing in inspect.getmembers(skdp.preprocessing, inspect.isclass)
        if issubclass(thing, BaseEstimator) and not inspect.isabstract(thing)
    }
    taken = {*EXAMPLES, *map(type, OF_CATEGORIES)}
    assert concrete == public == taken, "add examples of it to EXAMPLES"
    assert set(INSTANCES) == {*PRIVATE, *FREE}


# Not those with a number for each of three columns: the checks fit one column, and two; nor those
# for labels that the checks do not have.
OF_ANY_WIDTH = [
    t
    for t in INSTANCES
    if not isinstance(getattr(t, "n_bins", None), list) and getattr(t, "classes", None) is None
]
CHECKS = parametrize_with_checks(OF_ANY_WIDTH)


# Rebuilt from a list: scikit-learn 1.6 passes a generator, of which pytest 9 warns.
@pytest.mark.parametrize(CHECKS.args[0], each_check_once(CHECKS.args[1]), **CHECKS.kwargs)
@pytest.mark.filterwarnings("ignore:DPSelectKBest.*ranges.*:skdp.BudgetWarning")
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


@every_free
def test_a_free_transformer_spends_nothing_and_learns_nothing(given):
    rows = make_rows()
    here, elsewhere = clone(given).fit(rows), clone(given).fit(1e6 * make_rows(seed=1) + 5)
    for fitted in (here, elsewhere):
        assert fitted.privacy_spent_ == PrivacySpent(0.0, 0.0)
        assert fitted.privacy_ledger_ == ()
    np.testing.assert_array_equal(here.transform(rows), elsewhere.transform(rows))


def mu_of(receipt):
    return sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in receipt) ** 0.5


@every_private
def test_the_total_is_under_the_relation_of_the_fit_whatever_parameters_say_later(given):
    fitted = clone(given).set_params(adjacency="zero_out").fit(*data_for(given))
    before = privacy_spent(fitted)
    assert before.adjacency == "zero_out"
    assert privacy_spent(fitted.set_params(adjacency="replace_one")) == before


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-6), (1.0, 1e-5), (8.0, 0.01)])
@every_private_and_categories
def test_the_receipt_adds_up_to_the_budget(given, epsilon, delta):
    # Enough rows for the smallest budget.
    X = np.tile(data_for(given)[0], (20, 1))
    fitted = clone(given).set_params(epsilon=epsilon, delta=delta).fit(X, make_targets(given, X))
    assert all(type(e) in (GaussianEvent, ThresholdEvent) for e in fitted.privacy_ledger_)
    kept = sum(getattr(event, "threshold_delta", 0.0) for event in fitted.privacy_ledger_)
    spent = gdp.epsilon(mu_of(fitted.privacy_ledger_), delta - kept)
    assert spent == pytest.approx(epsilon, rel=1e-9)
    assert fitted.privacy_spent_ == PrivacySpent(epsilon, delta)


@pytest.mark.parametrize("of_people", [False, True])
@every_private_and_categories
def test_all_that_is_published_follows_from_paid_answers(given, of_people):
    fitted, (X, y), (other, _) = seeded(given), data_for(given), data_for(given, seed=5)
    people = np.arange(len(X)) // 3
    options, options_of_other = {}, {}
    if given not in OF_CATEGORIES:
        other = 1e3 * other
    if of_people:
        # A person with many more rows.
        other = np.concatenate([other, other[:40]])
        options = {"privacy_unit": people}
        options_of_other = {"privacy_unit": np.append(people, np.zeros(40, dtype=int))}
    transcript = record_fit(fitted, X, y, **options)
    first = published(fitted)
    replay_fit(fitted, other, make_targets(given, other), transcript, **options_of_other)
    assert_same(first, fitted)
    if of_people:
        assert fitted.n_samples_seen_ == len(X) // 3
        assert report(fitted).facts["unit"] == "all rows of one privacy unit together"


@pytest.mark.parametrize("given", [*INSTANCES, *OF_CATEGORIES], ids=str)
def test_all_that_is_published_is_documented_and_no_more(given):
    fitted = seeded(given).fit(*data_for(given))
    section = inspect.getdoc(type(given)).partition("Attributes\n---")[2].partition("\n\n")[0]
    entries = re.findall(r"(?m)^(\w+_(?:, \w+_)*) : ", section)
    told = sorted(name for entry in entries for name in entry.split(", "))
    # Names that these rows have not.
    assert told == sorted({*published(fitted), "feature_names_in_"})


@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
@every_private
def test_neighbours_are_no_further_apart_than_promised(given, adjacency):
    budget = gdp.mu(given.epsilon, 1e-5)
    rng, found = np.random.default_rng(3), []
    for row in ([1e4, 1e4, 1e4], [-1e4, -1e4, -1e4], [0.0, 1e-9, -1e300]):
        X = make_rows()
        other = np.delete(X, 7, axis=0)
        X[7] = rng.permutation(row)
        if adjacency == "replace_one":
            other = X.copy()
            other[7] = -X[7]
        fitted = clone(given).set_params(adjacency=adjacency)
        mu, largest = distance(fitted, X, other, *(make_targets(given, r) for r in (X, other)))
        assert mu <= budget * (1 + 1e-9), "further apart than promised"
        assert mu <= mu_of(fitted.privacy_ledger_) * (1 + 1e-9), "more was told than was charged"
        assert largest <= 1 + 1e-9, "a move beyond the sensitivity"
        found.append(mu)
    # Something was asked that the row has a say in.
    assert max(found) > 0.3 * budget


def no_disk(*_):
    raise OSError("the disk is gone")


class Unreadable(BlockStore):
    """Rows that cannot be read."""

    resident, n_samples, n_features, sparse = False, 100, 4, False

    def blocks(self):
        no_disk()


@every_private_and_categories
def test_the_budget_is_charged_before_rows_are_read(given):
    def oracle(rows, ledger, adjacency, noise):
        if given in OF_CATEGORIES:
            rows.category_counts = no_disk
        else:
            rows = Unreadable()
        return PrivateOracle(rows, ledger, adjacency, noise)

    transformer = clone(given).fit(*data_for(given))
    ceiling = PrivacyBudget(2 * given.epsilon, 1e-3, adjacency=given.adjacency, accounting="sums")
    with ceiling:
        with opened_by(oracle), pytest.raises(OSError, match="the disk is gone") as caught:
            transformer.fit(*data_for(given))
        (receipt,) = ceiling.receipts
    assert receipt.spent == transformer.privacy_spent_
    assert 0 < transformer.privacy_spent_.epsilon <= given.epsilon
    (event,) = transformer.privacy_ledger_
    assert event.count == 1
    (note,) = caught.value.__notes__
    assert "stopped after spending epsilon=" in note
    with pytest.raises(Exception, match="not fitted yet"):
        transformer.transform(data_for(given)[0])


def no_oracle(*_):
    raise AssertionError("an oracle was opened")


@pytest.mark.parametrize(
    ("options", "X", "complaint"),
    [
        ({"epsilon": -1.0}, make_rows(), "'epsilon' parameter"),
        ({"delta": 1.0}, make_rows(), "'delta' parameter"),
        ({"adjacency": "add_remove"}, make_rows(), "'adjacency' parameter"),
        ({"random_state": "seed"}, make_rows(), "'random_state' parameter"),
        ({"bounds": (1.0, 0.0)}, make_rows(), "low < high"),
        ({"bounds": ([0.0, 0.0], [1.0, 1.0])}, make_rows(), "2 for the low ends of 3 features"),
        ({}, np.full((N, 3), np.inf), "X contains infinity"),
        ({}, np.full((N, 3), "secret"), "not numbers"),
    ],
)
@every_private
def test_bad_input_charges_nothing_and_keeps_earlier_results(given, options, X, complaint):
    new = clone(given).set_params(**options)
    with opened_by(no_oracle), pytest.raises(ValueError, match=complaint) as caught:
        new.fit(X, make_targets(given, make_rows()))
    assert "secret" not in str(caught.value).replace("'seed'", "")
    assert not published(new)

    fitted = clone(given).fit(*data_for(given))
    before = published(fitted)
    with opened_by(no_oracle), pytest.raises(ValueError, match=complaint):
        fitted.set_params(**options).fit(X, make_targets(given, make_rows()))
    assert_same(before, fitted)


WAYS = {
    "pickle": lambda t: pickle.loads(pickle.dumps(t)),
    "oldest pickle": lambda t: pickle.loads(pickle.dumps(t, protocol=0)),
    "copy": copy.deepcopy,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@every_transformer
def test_a_copy_transforms_alike_and_knows_neither_rows_nor_seed(given, way):
    X = make_rows()
    marker = np.array([0.1234567890123, 12.9876543210987, -0.5647382910564])
    X[5] = marker
    fitted = seeded(given).fit(X, make_targets(given, X))
    np.testing.assert_array_equal(dense(way(fitted).transform(X)), dense(fitted.transform(X)))
    assert way(fitted).privacy_ledger_ == fitted.privacy_ledger_
    packed = pickle.dumps(fitted)
    for value in marker:
        assert value.tobytes() not in packed
    if isinstance(given, PrivateTransformer):
        check_seed_stays_behind(fitted, SEED)


@every_private
def test_no_two_fits_share_noise(given):
    X = np.tile(make_rows(), (20, 1))
    y = make_targets(given, X)
    fits = [clone(given).fit(X, y)]
    fits += joblib.Parallel(n_jobs=2, prefer="threads")(
        joblib.delayed(clone(given).fit)(X, y) for _ in range(2)
    )
    # Bounds are on a grid, so two fits may agree on them; the answers behind them may not.
    transcripts = [record_fit(clone(given), X, y) for _ in range(2)]
    answers = [t.entries[0][3] for t in transcripts]
    # Answers are rounded to a grid, on which a few of many may agree.
    assert np.mean(answers[0] == answers[1]) < 0.5
    assert len({id(f.privacy_ledger_) for f in fits}) == 3


@every_transformer
def test_sparse_rows_give_what_dense_rows_give(given):
    X = make_rows()
    X[7, 0] = 10.0
    y = make_targets(given, X)
    fitted = seeded(given).fit(X, y)
    if not get_tags(given).input_tags.sparse:
        with pytest.raises(TypeError, match="needs dense rows"):
            clone(given).fit(sp.csr_array(X))
        return
    for kind in (sp.csr_array, sp.csr_matrix, sp.csc_matrix):
        rows = kind(X)
        before = rows.toarray()
        sparse = seeded(given).fit(rows, y)
        out = sparse.transform(rows)
        assert getattr(out, "format", "dense") == ("dense" if given._always_dense else "csr")
        np.testing.assert_allclose(dense(out), fitted.transform(X), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(rows.toarray(), before)


def without_sparse_rows(transformer):
    """The same with dense rows, which frames need."""
    if getattr(transformer, "encode", None) == "onehot":
        transformer.set_params(encode="onehot-dense")
    return transformer


def names_out(fitted):
    """Those of scikit-learn's own."""
    if not isinstance(fitted, Delegating):
        return list(fitted.feature_names_in_)
    return list(fitted.to_sklearn().get_feature_names_out())


@every_transformer
def test_names_of_features_and_the_kind_of_output_are_scikit_learns(given):
    pd = pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")
    X, y = data_for(given)
    table = pd.DataFrame(X, columns=["age", "income", "score"])
    fitted = without_sparse_rows(seeded(given)).set_output(transform="pandas").fit(table, y)
    out = fitted.transform(table)
    assert list(fitted.get_feature_names_out()) == list(out.columns) == names_out(fitted)
    assert list(fitted.feature_names_in_) == list(table.columns)
    rows = table.to_numpy()
    plain = without_sparse_rows(seeded(given)).fit(rows, y).transform(rows)
    np.testing.assert_array_equal(out.to_numpy(), plain)
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(table[["income", "age", "score"]])


@every_transformer
def test_polars_tables_are_taken_and_given(given):
    pl = polars()
    X, y = data_for(given)
    table = pl.DataFrame(X, schema=["age", "income", "score"])
    fitted = without_sparse_rows(seeded(given)).set_output(transform="polars").fit(table, y)
    out = fitted.transform(table)
    assert isinstance(out, pl.DataFrame)
    assert out.columns == names_out(fitted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@every_transformer
def test_single_precision_stays_and_rows_are_not_changed(given, dtype):
    X = make_rows().astype(dtype)
    X[7, 0] = 3
    before = X.copy()
    y = make_targets(given, X)
    out = dense(seeded(given).fit_transform(X, y))
    assert out.dtype == (np.float32 if dtype is np.float32 else np.float64)
    np.testing.assert_array_equal(X, before)
    double = dense(seeded(given).fit_transform(X.astype(float), y))
    np.testing.assert_allclose(out, double, rtol=1e-4, atol=1e-4)


@every_transformer
def test_scikit_learns_own_does_the_same(given):
    X, y = data_for(given)
    fitted = seeded(given).fit(X, y)
    if not hasattr(fitted, "to_sklearn"):
        pytest.skip("scikit-learn has none")
    own = fitted.to_sklearn()
    np.testing.assert_allclose(
        dense(own.transform(X)), dense(fitted.transform(X)), rtol=1e-6, atol=1e-6
    )
    if hasattr(fitted, "inverse_transform"):
        Z = fitted.transform(X)
        back = own.inverse_transform(Z) if hasattr(own, "inverse_transform") else None
        np.testing.assert_allclose(fitted.inverse_transform(Z), back, rtol=1e-6, atol=1e-6)


@every_transformer
def test_missing_values_are_taken_where_that_is_said(given):
    X = make_rows()
    X[::5, 0] = np.nan
    if not get_tags(given).input_tags.allow_nan:
        with opened_by(no_oracle), pytest.raises(ValueError, match="X contains NaN"):
            clone(given).fit(X, make_targets(given, X))
        return
    out = clone(given).fit_transform(X)
    assert np.isfinite(out[1::5]).all()
    missing = out[::5]
    if isinstance(given, DPSimpleImputer):
        assert np.ptp(missing[:, 0]) == 0
    elif len(missing[0]) == D:
        assert np.isnan(missing[:, 0]).all()
    else:
        assert not missing[:, : len(missing[0]) // D].any()


@every_transformer
def test_the_layout_of_what_comes_out_is_known_beforehand(given):
    """A ColumnTransformer would choose by the share of zeros, which one row can turn."""
    if get_tags(given).input_tags.sparse:
        pytest.skip("its layout is that of the rows")
    parts = [("given", clone(given), [0, 1, 2]), ("dense", BoundsScaler((1.0, 5.0)), [0])]
    beside = ColumnTransformer(parts).fit(*data_for(given))
    if sp.issparse(clone(given).fit_transform(*data_for(given))):
        with pytest.warns(PrivacyLeakWarning, match="sparse_threshold"):
            privacy_spent(beside)
    else:
        privacy_spent(beside)


@every_transformer
def test_it_is_a_step_of_a_pipeline(given):
    X, y = data_for(given)
    pipeline = make_pipeline(seeded(given), skdp.preprocessing.RowNormClipper()).fit(X, y)
    assert np.linalg.norm(dense(pipeline.transform(X)), axis=1).max() <= 1 + 1e-12
    assert clone(pipeline)[0].get_params() == pipeline[0].get_params()


@every_private
def test_a_fit_beyond_an_open_budget_is_refused_before_rows_are_read(given):
    X = np.tile(make_rows(), (20, 1))
    first = clone(given).set_params(epsilon=1.0, adjacency="replace_one")
    with PrivacyBudget(epsilon=1.5, delta=1e-5, adjacency="replace_one") as budget:
        y = make_targets(given, X)
        budget.fit(first, X, y)
        assert budget.spent.epsilon == pytest.approx(1.0, rel=1e-6)
        published_before = published(first)
        with opened_by(no_oracle), pytest.raises(BudgetExceededError):
            first.set_params(epsilon=1.4).fit(X, y)
        assert_same(published_before, first)
