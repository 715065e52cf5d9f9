"""Test rows are shown to a model when they are paid for, and nothing of it but answers gets out."""

import warnings

import numpy as np
import pytest
from models_that_misbehave import (
    PANIC,
    Batch,
    Fixed,
    Listing,
    Panicking,
    Popping,
    Spoiling,
    Talking,
    noting,
)

from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency, PrivateOracle, SystemNoise
from skdp.privacy.accounting import Ledger, Spend
from skdp.privacy.queries import (
    GroupMeansQuery,
    MetricMeansQuery,
    OutcomeCountsQuery,
    absolute_error,
    brier_score,
    clipped_target,
    log_loss,
    squared_error,
    squared_r2_term,
)
from skdp.privacy.rows import DenseRows, Predictor, predicted_rows

N = 300
CLASSES = np.array([0, 1])
BINS = np.array([0.25, 0.5, 0.75])
COUNTS = [
    OutcomeCountsQuery("correctness", 2),
    OutcomeCountsQuery("prediction", 2),
    OutcomeCountsQuery("score", 2, edges=BINS),
]
MEANS = MetricMeansQuery((log_loss(0.01), brier_score()), N)
MISBEHAVING = [Panicking(), Talking(), *(Spoiling(how) for how in ("label", "nan", "length"))]


def make_rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2))
    return X, (X[:, 0] + rng.normal(size=N) > 0).astype(int)


def store(model, X, y, *, groups=None, **options):
    options = {"classes": CLASSES, "columns": (0, 1), "scores": "predict_proba", **options}
    return predicted_rows(Predictor(model, **options), X, y, np.asarray, groups, np.asarray)


def predictions(model, X, y, **options):
    """What is kept of each row."""
    kept = []
    store(model, X, y, **options).sum(lambda block: kept.append(block.X) or np.zeros(1))
    return np.concatenate(kept)


@pytest.mark.parametrize("rows_at_a_time", [None, 1, 7])
def test_predictions_are_those_of_the_model(rows_at_a_time):
    X, y = make_rows()
    groups = np.arange(N) % 3
    kept = predictions(Fixed(), X, y, groups=groups, rows_at_a_time=rows_at_a_time)
    expected = np.column_stack([Fixed().predict(X), groups, Fixed().predict_proba(X)])
    np.testing.assert_array_equal(kept, expected)


def test_scores_are_in_the_order_of_the_classes_and_others_have_none():
    X, y = make_rows()
    kept = predictions(Fixed(), X, y, classes=np.array([1, 5, 0]), columns=(1, -1, 0))
    p = Fixed().predict_proba(X)
    expected = np.column_stack([p[:, 1], np.zeros(N), p[:, 0]])
    np.testing.assert_array_equal(kept[:, 2:], expected)
    np.testing.assert_array_equal(kept[:, 0], np.where(Fixed().predict(X) == 1, 0, 2))


@pytest.mark.parametrize("model", MISBEHAVING, ids=lambda m: f"{type(m).__name__} {vars(m)}")
def test_a_row_that_upsets_a_model_moves_no_other(model):
    X, y = make_rows()
    near = X.copy()
    near[200, 0] = PANIC
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before, after = predictions(model, X, y), predictions(model, near, y)
    others = np.arange(N) != 200
    np.testing.assert_array_equal(after[others], before[others])
    assert np.isfinite(before).all()
    # Rows are handed out in copies.
    assert (X != -PANIC).all()


@pytest.mark.parametrize("model", MISBEHAVING, ids=lambda m: f"{type(m).__name__} {vars(m)}")
@pytest.mark.parametrize("query", [*COUNTS, MEANS], ids=lambda q: q.public()[0])
def test_answers_stay_within_their_sensitivity_whatever_a_model_says(model, query):
    X, y = make_rows()
    X[200, 0], y[200] = 3.0, 1
    near, near_y = X.copy(), y.copy()
    near[200, 0], near_y[200] = PANIC, 0
    move = np.linalg.norm(
        query.evaluate(store(model, near, near_y)) - query.evaluate(store(model, X, y))
    )
    assert 0 < move <= query.sensitivity(Adjacency.REPLACE_ONE) * (1 + 1e-9)


def test_what_is_missing_counts_as_a_mistake():
    n = 40
    X, y = np.full((n, 1), PANIC), np.arange(n) % 2
    means = MetricMeansQuery(MEANS.metrics, n)
    rows = store(Panicking(), X, y)
    right, table, bins = (query.evaluate(rows)[0] for query in COUNTS)
    np.testing.assert_array_equal(right, [[n, 0]])
    np.testing.assert_array_equal(table, [[0, n / 2], [n / 2, 0]])
    # The worst bin for the label.
    np.testing.assert_array_equal(bins, [[0, 0, 0, n / 2], [n / 2, 0, 0, 0]])
    np.testing.assert_allclose(means.moments(means.evaluate(rows)), np.ones((2, 2)))


def test_row_by_row_a_model_sees_no_other_row():
    X, y = (part[:60] for part in make_rows())
    near = X.copy()
    near[0] = 1e6
    for rows_at_a_time, moved in ((1, False), (None, True)):
        kept = [predictions(Batch(), rows, y, rows_at_a_time=rows_at_a_time) for rows in (X, near)]
        assert (kept[0][1:] != kept[1][1:]).any() == moved


def test_the_model_is_asked_once_and_not_before_the_charge():
    asked = []
    X, y = make_rows()
    rows, ledger = store(noting(Fixed, asked), X, y), Ledger(1.0, 1e-5)
    oracle = PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, SystemNoise())
    with pytest.raises(BudgetExceededError):
        oracle.outcome_counts("prediction", 2, spend=Spend(1.0))
    assert asked == []
    whole = oracle.budget.split(2)
    oracle.outcome_counts("prediction", 2, spend=whole[0])
    oracle.metric_means((brier_score(),), N, spend=whole[1])
    assert sum(asked) == N
    assert [event.query for event in ledger.receipt()] == ["outcome_counts", "metric_means"]


def test_an_interrupted_model_has_been_paid_for_and_can_be_asked_again():
    class Interrupted(Fixed):
        def predict(self, X):
            raise KeyboardInterrupt

    X, y = make_rows()
    ledger = Ledger(1.0, 1e-5)
    rows = store(Interrupted(), X, y)
    oracle = PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, SystemNoise())
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            oracle.outcome_counts("prediction", 2, spend=oracle.budget.split(4)[0])
    assert ledger.receipt()[0].count + len(ledger.receipt()) >= 2


@pytest.mark.parametrize(
    "model",
    [Listing("abstain"), Listing(None), Listing([1, 2]), Listing(np.nan, first=2**53)],
    ids=["text", "none", "list", "nan among large numbers"],
)
def test_an_odd_prediction_in_a_list_moves_no_other(model):
    X, y = make_rows()
    near = X.copy()
    near[200, 0] = PANIC
    options = {"classes": model.classes_, "scores": None}
    before, after = (predictions(model, rows, y, **options) for rows in (X, near))
    others = np.arange(N) != 200
    np.testing.assert_array_equal(before[:, 0], X[:, 0] > 0)
    np.testing.assert_array_equal(after[others], before[others])
    assert np.isnan(after[200, 0])


def test_predictions_of_a_regression_may_be_listed_and_no_others_are_taken():
    X, y = make_rows()
    listing = Listing(PANIC)
    kept = predictions(listing, X, y, classes=None, scores=None)
    np.testing.assert_array_equal(kept[:, 0], X[:, 0] > 0)
    listing.predict = lambda X: dict.fromkeys(range(len(X)))
    assert np.isnan(predictions(listing, X, y, classes=None, scores=None)[:, 0]).all()


def listed(numbers):
    return [{"x": float(x)} for x in numbers]


def in_an_array(numbers):
    rows = np.empty((len(numbers), 1), dtype=object)
    rows[:, 0] = listed(numbers)
    return rows


def in_a_record(numbers):
    rows = np.empty(len(numbers), dtype=[("o", object), ("z", float)])
    rows["o"] = listed(numbers)
    return rows


def in_a_frame(numbers):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({"z": numbers, "o": listed(numbers)})


def in_a_column(numbers):
    return in_a_frame(numbers)["o"]


@pytest.mark.parametrize("laid", [listed, in_an_array, in_a_record, in_a_frame, in_a_column])
def test_objects_in_rows_are_copied_for_every_call(laid):
    """A model that spoils them spoils no other try, and not what it was given."""

    class PoppingRecords(Popping):
        def predict(self, rows):
            records = getattr(rows, "dtype", None) is not None and rows.dtype.names
            return super().predict(rows["o"] if records else rows)

    X, y = (part[:60] for part in make_rows())
    numbers = X[:, 0].copy()
    numbers[7] = PANIC
    rows = laid(numbers)
    expected = np.where(numbers == PANIC, np.nan, numbers > 0)
    for rows_at_a_time in (20, 1):
        options = {"scores": None, "rows_at_a_time": rows_at_a_time}
        kept = predictions(PoppingRecords(), rows, y, **options)[:, 0]
        np.testing.assert_array_equal(kept, expected)


def test_a_row_that_was_alone_is_not_asked_about_twice():
    asked = []
    X, y = (part[:5] for part in make_rows())
    X[2] = PANIC
    assert np.isnan(predictions(noting(Panicking, asked), X, y, rows_at_a_time=1)[2]).sum() == 3
    assert asked == [1] * 5


class Ending(Fixed):
    """Ends in some way at a certain row, and quotes it."""

    def __init__(self, how):
        self.how = how

    def predict(self, X):
        if (X == PANIC).any():
            raise self.how(f"row {X}")
        return super().predict(X)


@pytest.mark.parametrize("how", [SystemExit, GeneratorExit, RecursionError, BaseException])
@pytest.mark.by_day(2)
def test_a_model_that_exits_has_refused_a_row(how):
    X, y = make_rows()
    X[7] = PANIC
    kept = predictions(Ending(how), X, y)
    np.testing.assert_array_equal(np.isnan(kept[:, 0]), np.arange(N) == 7)


@pytest.mark.parametrize("how", [MemoryError, KeyboardInterrupt])
def test_a_model_that_cannot_go_on_quotes_no_row(how):
    X, y = make_rows()
    X[7] = PANIC
    with pytest.raises(how) as caught:
        predictions(Ending(how), X, y)
    assert "row [" not in repr(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "metric",
    [
        clipped_target(-1.7e308, 1.7e308, 1.0),
        clipped_target(1.0e305, 1.1e305, 1.0),
        clipped_target(2.0, 2.0, 1.0),
        squared_error(-1.0, 1.0, 1e200),
        squared_error(-1.0, 1.0, 1e-200),
        absolute_error(-1.0, 1.0, np.inf),
        squared_r2_term(-1.0, 1.0, 1e80, mean=0.0, unexplained=0.5),
        squared_r2_term(-1.0, 1.0, 1e-82, mean=0.0, unexplained=0.5),
    ],
    ids=lambda metric: f"{metric.name} {metric.facts}",
)
def test_ranges_that_numbers_cannot_be_brought_to_are_refused(metric):
    with pytest.raises(ValueError, match=r"^MetricMeansQuery needs ranges"):
        MetricMeansQuery((brier_score(), metric), N)


@pytest.mark.parametrize("far", [1e300, 1.0, 1e-280])
def test_ranges_at_the_ends_of_numbers_keep_the_sensitivity(far):
    query = MetricMeansQuery((clipped_target(-far, far, 1.0), absolute_error(-far, far, far)), N)
    X, y = np.zeros((N, 2)), np.full(N, 0.9 * far)
    for target, prediction in ((1.7e308, 0.0), (-far, np.inf), (0.0, np.nan), (-1.7e308, 1.7e308)):
        near, other = X.copy(), y.copy()
        near[3, 0], other[3] = prediction, target
        move = query.evaluate(DenseRows(near, other)) - query.evaluate(DenseRows(X, y))
        assert 0 < np.linalg.norm(move) <= query.sensitivity(Adjacency.REPLACE_ONE) * (1 + 1e-9)


def test_groups_that_are_no_numbers_count_towards_the_first():
    query = GroupMeansQuery(MetricMeansQuery((squared_error(-2.0, 6.0, 3.0),), 2), 3)
    answers = [
        query.evaluate(DenseRows(np.array([[1.0, group], [0.5, 2.0]]), np.array([0.0, 1.0])))
        for group in (np.nan, 0.0)
    ]
    assert np.array_equal(*answers)
