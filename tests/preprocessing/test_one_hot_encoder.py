"""Categories that are found privately, and what becomes of all others."""

import pickle
from datetime import date
from hashlib import blake2b
from math import inf, sqrt

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import check_estimator

from skdp import (
    BudgetWarning,
    DPLogisticRegression,
    PrivacyBudget,
    PrivacySpent,
    privacy_spent,
    privatize,
    report,
)
from skdp import plan as skdp_plan
from skdp.exceptions import NoPrivacyWarning
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import DPOneHotEncoder, DPSimpleImputer, DPStandardScaler, bucket_of
from skdp.privacy import gdp, opened_by
from skdp.privacy.rows import category_of
from skdp.testing import check_seed_stays_behind

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")
N, DELTA = 3000, 1e-5
TOWNS, SIZES = ["Bern", "Chur", "Thun"], [1, 2, 3]


def table(seed=0, rare=()):
    """Towns and sizes; what is rare comes last."""
    rng = np.random.default_rng(seed)
    out = np.empty((N, 2), dtype=object)
    out[:, 0], out[:, 1] = rng.choice(TOWNS, N), rng.choice(SIZES, N)
    for k, row in enumerate(rare):
        out[N - 1 - k] = row
    return out


def encoder(**options):
    return DPOneHotEncoder(**{"delta": DELTA, "random_state": 0} | options)


def test_what_is_found_is_encoded_as_scikit_learn_does_and_the_rest_is_infrequent():
    X = table(rare=[("Wil", 3), ("Zug", 9)])
    fitted = encoder().fit(X)
    assert [c.tolist() for c in fitted.categories_] == [TOWNS, SIZES]
    plain = OneHotEncoder(
        categories=[TOWNS, SIZES], handle_unknown="ignore", sparse_output=False
    ).fit(X)
    out = fitted.transform(X)
    np.testing.assert_array_equal(out[:, [0, 1, 2, 4, 5, 6]], plain.transform(X))
    np.testing.assert_array_equal(out[:, 3], ~np.isin(X[:, 0], TOWNS))
    np.testing.assert_array_equal(out.sum(axis=1), 2)
    names = fitted.get_feature_names_out(["town", "size"])
    assert [*names[:4]] == ["town_Bern", "town_Chur", "town_Thun", "town_infrequent_sklearn"]
    assert [*names[4:]] == ["size_1", "size_2", "size_3", "size_infrequent_sklearn"]
    back = fitted.inverse_transform(out)
    kept = np.isin(X[:, 0], TOWNS)
    assert (back[kept, 0] == X[kept, 0]).all()
    assert (back[~kept, 0] == "infrequent_sklearn").all()


def test_zeros_stand_for_what_is_ignored():
    X = table()
    fitted = encoder(handle_unknown="ignore").fit(X)
    out = fitted.transform(np.array([["Wil", 1], ["Bern", 9]], dtype=object))
    np.testing.assert_array_equal(out, [[0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0]])
    assert fitted.inverse_transform(out).tolist() == [[None, 1], ["Bern", None]]
    with pytest.raises(ValueError, match="encoded rows of 6 columns"):
        fitted.inverse_transform(out[:, :5])


def test_counts_are_those_of_the_rows_but_for_noise_and_none_is_below_the_threshold():
    X = table()
    fitted = encoder(epsilon=1.0).fit(X)
    for j, (found, counts) in enumerate(zip(fitted.categories_, fitted.counts_, strict=True)):
        exact = [(X[:, j] == value).sum() for value in found]
        assert np.abs(counts - exact).max() < 6 * fitted.noise_scale_
        assert counts.min() > fitted.threshold_
    assert fitted.privacy_spent_ == PrivacySpent(1.0, DELTA)
    (event,) = fitted.privacy_ledger_
    assert fitted.noise_scale_ == event.noise_scale
    assert event.sensitivity == pytest.approx(2.0, rel=1e-4)
    spent = gdp.epsilon(event.sensitivity / event.noise_scale, DELTA - event.threshold_delta)
    assert spent == pytest.approx(1.0, rel=1e-9)
    assert event.threshold_delta == pytest.approx(0.01 * DELTA)


def test_nothing_is_spent_on_columns_that_are_given():
    X = table()
    for given in ([[*TOWNS, "Wil"], SIZES], ([*TOWNS], np.array(SIZES))):
        fitted = encoder(categories=[*given]).fit(X)
        assert fitted.privacy_spent_ == PrivacySpent(0.0, 0.0)
        assert fitted.privacy_ledger_ == ()
        assert fitted.counts_ == [None, None]
        assert fitted.threshold_ is None
        with PrivacyBudget(1.0, DELTA) as budget:
            budget.fit(clone(fitted), X)
            assert budget.rule == "gaussian"
        assert fitted.transform([["Uri", 1]]).sum() == 1
    one = encoder(categories=[TOWNS, None]).fit(X)
    assert one.privacy_ledger_[0].sensitivity == pytest.approx(sqrt(2), rel=1e-4)
    assert [*one.get_feature_names_out()][:4] == ["x0_Bern", "x0_Chur", "x0_Thun", "x1_1"]
    assert one.counts_[0] is None
    # Given ones stay in their order.
    assert encoder(categories=[TOWNS[::-1], SIZES]).fit(X).categories_[0].tolist() == TOWNS[::-1]


def test_a_dictionary_names_columns():
    pd = pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")
    frame = pd.DataFrame(table(), columns=["town", "size"])
    fitted = encoder(categories={"size": SIZES}).fit(frame)
    assert fitted.counts_[1] is None
    assert fitted.categories_[0].tolist() == TOWNS
    for wrong, complaint in [
        ({"wealth": [1]}, "columns that X has, got those of 'wealth'"),
        ([SIZES], "an entry for each of 2 columns, got 1"),
        ([SIZES, "all"], "for column 1, got 'all'"),
        ([SIZES, [(1, 2)]], "numbers or texts for column 1"),
        ([SIZES, [1, 1.0]], "different categories for column 1"),
    ]:
        with pytest.raises(ValueError, match=complaint):
            encoder(categories=wrong).fit(frame)


def test_frames_give_names_and_types_of_columns_are_not_taken_for_facts():
    pd = pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")
    X = table(rare=[("Wil", 9)])
    frame = pd.DataFrame({"town": pd.Categorical(X[:, 0]), "size": X[:, 1].astype(float)})
    assert "Wil" in frame.town.cat.categories
    fitted = encoder().set_output(transform="pandas").fit(frame)
    out = fitted.transform(frame)
    assert [*out.columns] == [*fitted.get_feature_names_out()]
    assert out.columns[0] == "town_Bern"
    assert "town_Wil" not in out.columns
    # A column of floats has the names of one of integers.
    assert out.columns[4] == "size_1"
    np.testing.assert_array_equal(out.to_numpy(), encoder().fit_transform(X))
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame[["size", "town"]])


def test_a_row_of_a_list_does_not_change_the_names_of_others():
    """As it would in an array of one type: truth values beside a number would be numbers."""
    rows = [[True, 1], [False, 2]] * 500
    fits = [encoder().fit(given) for given in (rows, [*rows[1:], [3, 0.5]], [*rows[1:], ["a", ""]])]
    names = [[*fitted.get_feature_names_out()] for fitted in fits]
    assert names[0] == names[1] == names[2]
    assert names[0][:2] == ["x0_False", "x0_True"]


def test_what_is_missing_is_one_category():
    pd = pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")
    X = table()
    X[::3, 0] = [None, np.nan, pd.NA, "Bern"] * (N // 12)
    X[::2, 1] = np.nan
    fitted = encoder().fit(X)
    assert fitted.categories_[0].tolist()[:3] == TOWNS
    assert fitted.categories_[0].size == 4
    assert np.isnan(fitted.categories_[0][3])
    np.testing.assert_array_equal(fitted.categories_[1], [1.0, 2.0, 3.0, np.nan])
    assert fitted.get_feature_names_out()[3] == "x0_nan"
    missing = pd.isna(X[:, 0])
    np.testing.assert_array_equal(fitted.transform(X)[:, 3], missing)


def test_caps_and_least_counts_are_public():
    rng = np.random.default_rng(0)
    X = rng.choice(list("abcde"), p=[0.4, 0.3, 0.15, 0.1, 0.05], size=(N, 1))
    assert encoder().fit(X).categories_[0].tolist() == list("abcde")
    assert encoder(max_categories=3).fit(X).categories_[0].tolist() == ["a", "b"]
    capped = encoder(max_categories=3, handle_unknown="ignore").fit(X)
    assert capped.categories_[0].tolist() == ["a", "b", "c"]
    for least in (380, 380 / N):
        assert encoder(min_frequency=least).fit(X).categories_[0].tolist() == ["a", "b", "c"]


def test_rare_categories_make_no_difference():
    """Neighbours that differ in a category of one row, under the same noise."""
    fits = [encoder().fit(table(rare=[(town, 1)])) for town in ("Uri", "Wil")]
    first, second = (fit.get_feature_names_out().tolist() for fit in fits)
    assert first == second
    assert [c.tolist() for c in fits[0].counts_] == [c.tolist() for c in fits[1].counts_]


def test_a_copy_knows_neither_rows_nor_seed():
    fitted = encoder(random_state=1_234_567_891).fit(table(rare=[("Wildhaus", 1)]))
    packed = pickle.dumps(fitted)
    assert b"Wildhaus" not in packed
    assert b"Thun" in packed
    np.testing.assert_array_equal(
        pickle.loads(packed).transform(table()), fitted.transform(table())
    )
    check_seed_stays_behind(fitted, 1_234_567_891)


def test_a_pickle_does_not_tell_which_texts_of_the_rows_are_one_object():
    X = table()
    X[:, 1] = X[:, 0]
    other = X.copy()
    # The same row, of which one text lies elsewhere in memory.
    other[0, 1] = X[0, 0].encode().decode()
    assert other[0, 1] is not X[0, 0]
    for made in (encoder(), DPSimpleImputer(strategy="most_frequent", random_state=0)):
        assert pickle.dumps(clone(made).fit(X)) == pickle.dumps(clone(made).fit(other))


def test_people_count_once_in_each_column():
    X = table(rare=[("Wil", k) for k in range(1500)])
    people = np.array([*range(1500), *[1500] * 1500])
    by_rows, by_people = encoder().fit(X), encoder().fit(X, privacy_unit=people)
    assert "Wil" in by_rows.categories_[0]
    assert "Wil" not in by_people.categories_[0]
    assert by_people.n_samples_seen_ == 1501
    assert by_people.privacy_unit_ == "privacy_unit"
    assert np.sum(by_people.counts_[0]) == pytest.approx(1501, abs=6 * 2 * by_people.noise_scale_)


@pytest.mark.parametrize(
    ("X", "kind", "complaint"),
    [
        (sp.csr_array(np.eye(3)), TypeError, "needs dense rows"),
        (np.array(["secret"] * 5), ValueError, "at least one row and one column"),
        (np.empty((0, 2)), ValueError, "Found array with 0 sample"),
        (np.ones((3, 2)) * 1j, ValueError, "Complex data not supported"),
        ([["secret", [1]]] * 5, ValueError, "numbers or texts"),
        ([["secret"], ["secret", 2]], ValueError, "at least one row and one column"),
    ],
)
def test_tables_that_cannot_be_read_are_refused_unquoted(X, kind, complaint):
    fitted = encoder().fit(table())
    before = vars(fitted).copy()
    with pytest.raises(kind, match=complaint) as caught:
        fitted.fit(X)
    assert "secret" not in str(caught.value)
    assert vars(fitted).keys() == before.keys()


def hashed(X=None, **options):
    """An encoder for which rows are too few."""
    with pytest.warns(BudgetWarning):
        return encoder(**{"epsilon": 0.05} | options).fit(table()[:300] if X is None else X)


def test_too_few_rows_are_hashed_for_nothing():
    fitted = hashed()
    assert fitted.hashed_.all()
    assert fitted.privacy_spent_ == PrivacySpent(0.0, 0.0)
    assert fitted.privacy_ledger_ == ()
    assert (fitted.threshold_, fitted.counts_) == (None, [None, None])
    X = table(rare=[("never seen", None)])
    out = fitted.transform(X)
    assert out.shape == (N, 16)
    np.testing.assert_array_equal(out.reshape(N, 2, 8).sum(axis=2), 1)
    names = fitted.get_feature_names_out(["town", "size"])
    assert (names[7], names[8], names[15]) == (
        "town_bucket_07",
        "size_bucket_00",
        "size_bucket_07",
    )
    back = fitted.inverse_transform(out)
    for town in TOWNS:
        assert {*back[X[:, 0] == town, 0]} == {f"bucket_{bucket_of((2, town), 8):02d}"}
    sparse = hashed(sparse_output=True).transform(X)
    np.testing.assert_array_equal(sparse.toarray(), out)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X), out)
    assert hashed(max_categories=5).transform(X).shape == (N, 10)


def test_the_warning_names_columns_and_comes_before_rows_are_read():
    pd = pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")

    def no_oracle(*_):
        raise AssertionError("an oracle was opened")

    frame = pd.DataFrame(table()[:300], columns=["town", "size"])
    said = r"rows with this budget for 1 column\(s\), and here n_samples=300\. .* are size\. Pass"
    with (
        opened_by(no_oracle),
        pytest.warns(BudgetWarning, match=said),
        pytest.raises(AssertionError, match="an oracle was opened"),
    ):
        encoder(epsilon=0.05, categories={"town": TOWNS}).fit(frame)
    mixed = hashed(frame, categories={"town": TOWNS}).set_output(transform="pandas")
    assert mixed.hashed_.tolist() == [False, True]
    assert [*mixed.transform(frame).columns[:4]] == [
        *(f"town_{t}" for t in TOWNS),
        "size_bucket_00",
    ]


def test_buckets_are_those_of_categories_whatever_the_type_of_the_column():
    kinds = [int, np.int8, float, np.float32, object]
    codes = np.array([[1], [2], [31]])
    fitted = hashed()
    both = [fitted.transform(np.hstack([codes, codes]).astype(kind)) for kind in kinds]
    for out in both[1:]:
        np.testing.assert_array_equal(out, both[0])
    # As where categories are found, a number is another category than its digits.
    assert bucket_of(category_of("1"), 2**60) != bucket_of(category_of(1), 2**60)
    assert bucket_of(category_of(True), 2**60) != bucket_of(category_of(1), 2**60)
    with_gaps = np.array([[None, np.nan], [np.nan, None]], dtype=object)
    gaps = fitted.transform(with_gaps)
    np.testing.assert_array_equal(gaps[0], gaps[1])


# By hand, from what the notes of the class say.
@pytest.mark.parametrize(
    ("entry", "written"),
    [
        ("Bern", b"2:Bern"),
        ("Zürich", b"2:Z\xc3\xbcrich"),
        (31, b"1:0x1f"),
        (-31.0, b"1:-0x1f"),
        (0.5, b"1:0x1.0000000000000p-1"),
        (True, b"0:0x1"),
        (b"Bern", b"3:Bern"),
        (None, b"4:"),
    ],
)
def test_buckets_are_the_same_everywhere_and_for_ever(entry, written):
    first = blake2b(written, digest_size=8).digest()
    assert bucket_of(category_of(entry), 32) == int.from_bytes(first, "big") % 32


def test_texts_and_numbers_of_any_length_have_a_bucket():
    assert bucket_of(category_of("\ud800"), 32) in range(32)
    assert bucket_of(category_of(10**5000), 32) in range(32)
    found = {bucket_of(category_of(f"name {k}"), 32) for k in range(1000)}
    assert found == {*range(32)}


def test_without_delta_all_that_is_not_listed_is_hashed():
    X = table()
    with pytest.warns(BudgetWarning, match="needs delta > 0 to find categories"):
        fitted = DPOneHotEncoder(delta=0, categories=[TOWNS, None]).fit(X)
    assert fitted.hashed_.tolist() == [False, True]
    model = DPLogisticRegression(epsilon=1.0, delta=0, classes=[0, 1], data_norm=1.5)
    with pytest.warns(BudgetWarning):
        pipeline = make_pipeline(clone(fitted), model).fit(X, X[:, 0] == "Bern")
    total = privacy_spent(pipeline)
    assert (total.epsilon, total.delta) == (1.0, 0.0)
    listed = encoder(delta=0, categories=[TOWNS, SIZES]).fit(X)
    assert listed.privacy_spent_ == PrivacySpent(0.0, 0.0)


def test_a_small_table_is_privatized_without_categories_from_start_to_end():
    """Eight columns at a tenth of epsilon .1."""
    pd = pytest.importorskip("pandas", reason="needs pandas: pip install 'skdp[test]'")
    rng = np.random.default_rng(0)
    names = [f"c{k}" for k in range(8)]
    X = pd.DataFrame(rng.choice(list("abcde"), size=(1500, 8)), columns=names)
    y = (X["c0"] == "a").astype(int)
    columns = ColumnTransformer([("codes", OneHotEncoder(), names)])
    script = make_pipeline(columns, LogisticRegression())
    made, plan = privatize(script, epsilon=0.1, classes=[0, 1], facts=X.dtypes, return_plan=True)
    assert "8 public buckets" in str(plan)
    ahead = skdp_plan(made, 1500, 8)
    assert ahead.n_features == 8 * 8
    assert "too few rows to find categories: 8 public buckets in each of 8 columns" in str(ahead)
    assert skdp_plan(made, 10**6, 8).n_features == 8 * 8
    with pytest.warns(BudgetWarning, match="are c0, c1, c2, .* Pass categories"):
        made.fit(X, y)
    assert made[-1].n_features_in_ == 8 * 8
    assert made[-1].plan_.n_features == ahead.n_features
    assert privacy_spent(made).epsilon <= 0.1
    assert not [r for r in privacy_spent(made).receipts if "codes" in r.who and r.events]
    public = report(made).to_dict()["public"]
    assert "c7: hashed into 8 public buckets (its categories could not be found)" in public


def test_a_column_without_a_frequent_category_warns():
    X = table()
    X[:, 0] = [f"name {k}" for k in range(N)]
    with pytest.warns(UserWarning, match="no category that is frequent enough .* column 0"):
        fitted = encoder().fit(X)
    assert fitted.get_feature_names_out()[0] == "x0_infrequent_sklearn"
    np.testing.assert_array_equal(fitted.transform(X)[:, 0], 1)


def test_noise_is_left_out_where_epsilon_is_infinite():
    with pytest.warns(NoPrivacyWarning):
        fitted = DPOneHotEncoder(epsilon=inf).fit(table())
    assert [c.tolist() for c in fitted.categories_] == [TOWNS, SIZES]
    assert fitted.counts_[0].sum() == N
    assert fitted.privacy_spent_.epsilon == inf


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_checks_of_scikit_learn_pass():
    """Few rows of numbers, each a category of its own."""
    estimator = DPOneHotEncoder(epsilon=1e6, random_state=0)
    failed = [
        r["check_name"] for r in check_estimator(estimator, on_fail=None) if r["status"] == "failed"
    ]
    assert failed == []


# Small budgets are warned of.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_privatize_keeps_its_budget_where_a_search_tries_encoders(epsilon):
    X = np.random.default_rng(0).choice([0.0, 1.0, 2.0], size=(N, 2))
    trial = make_pipeline(DPOneHotEncoder(), LogisticRegression())
    search = GridSearchCV(trial, {"logisticregression__C": [0.1, 1.0]})
    whole = make_pipeline(DPStandardScaler(bounds=(0, 3), with_mean=False), search)
    made = privatize(whole, epsilon=epsilon, delta=DELTA, classes=[False, True])
    total = privacy_spent(made.fit(X, X[:, 0] > 1), DELTA)
    assert 0.9 * epsilon < total.epsilon <= epsilon


def test_a_search_takes_columns_of_texts_and_refuses_what_trials_would():
    """A row that makes trials of some candidates fail would tell of itself by who wins."""
    X = table()
    y = (X[:, 0] == "Bern").astype(int)
    texts = make_pipeline(encoder(random_state=None), DPLogisticRegression(classes=[0, 1]))
    search = DPGridSearchCV(
        texts, {"dplogisticregression__C": [0.1, 1.0]}, epsilon=60.0, delta=DELTA, exhaustive=True
    )
    assert search.fit(X, y).privacy_spent_ == PrivacySpent(60.0, DELTA)
    X[5, 0] = date(2020, 1, 1)
    with pytest.raises(ValueError, match="take all rows") as caught:
        search.fit(X, y)
    assert "2020" not in str(caught.value)
    # Nothing has been spent, and what was found before is still there.
    assert hasattr(search, "best_estimator_")
