"""Queries about a sample of the rows that everybody knows: theorem S3 of docs/proofs."""

import numpy as np
import pytest
from twin_oracle import TwinOracle

from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency, PrivateOracle, SeededNoise
from skdp.privacy.accounting import Ledger, Spend, SubsampledGaussianDP
from skdp.privacy.rows import ChunkedRows, Chunks, DenseRows
from skdp.problem import ColumnBounds, Problem, RowBounds
from skdp.problem.losses import Logistic
from skdp.testing import RecordingOracle, ReplayOracle, Transcript

N, D = 60, 3
SAMPLE = np.arange(5, 45, 4)
PROBLEM = Problem(Logistic(), len(SAMPLE), D, RowBounds(1.0, 1.0))
W = np.array([0.5, -1.0, 2.0, 0.1])


def data(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, D)), rng.integers(0, 2, N).astype(float)


def replaced(position):
    """Rows of which one is another one, on the other side and of another class."""
    X, y = data()
    X[position], y[position] = -X[position], 1 - y[position]
    return X, y


def asked(kind, rows, ledger=None, **more):
    return kind(
        rows,
        ledger or Ledger(5.0, 1e-6),
        Adjacency.REPLACE_ONE,
        SeededNoise(np.random.default_rng(0)),
        **more,
    )


def gradient(oracle):
    return oracle.for_problem(PROBLEM).gradient(W, spend=Spend(0.1), clip_norm=0.3)


def test_the_answer_is_that_about_a_store_of_these_rows():
    X, y = data()
    ledger, other = Ledger(5.0, 1e-6), Ledger(5.0, 1e-6)
    found = gradient(asked(PrivateOracle, DenseRows(X, y), ledger).on_sample(SAMPLE))
    alone = gradient(asked(PrivateOracle, DenseRows(X[SAMPLE], y[SAMPLE]), other))
    np.testing.assert_array_equal(found, alone)
    assert ledger.receipt() == other.receipt()


@pytest.mark.parametrize("position", range(N))
def test_a_row_moves_what_it_is_charged_for_or_nothing(position):
    X, y = data()
    twin = TwinOracle(
        DenseRows(X, y),
        DenseRows(*replaced(position)),
        Ledger(5.0, 1e-6),
        Adjacency.REPLACE_ONE,
        SeededNoise(np.random.default_rng(0)),
    )
    gradient(twin.on_sample(SAMPLE))
    assert twin.largest <= 1
    assert (twin.largest > 0) == (position in SAMPLE)


@pytest.mark.parametrize("positions", [[0, 3, 3, 5], [4, 2], [-1, 3], [1, N], []], ids=str)
def test_positions_that_do_not_increase_are_refused(positions):
    """A row that is in a sample twice would move sums by twice as much."""
    oracle = asked(PrivateOracle, DenseRows(*data())).on_sample(np.array(positions, dtype=int))
    with pytest.raises(ValueError, match=r"needs positions of rows that increase"):
        gradient(oracle)


def moments(oracle, **options):
    bounds = ColumnBounds(np.full(D, -1.0), np.ones(D))
    return oracle.column_moments(bounds, len(SAMPLE), **options)


SUMS = {
    "gradient": lambda oracle, **options: oracle.gradient(W, **options),
    "gradient_norm": lambda oracle, **options: oracle.gradient_norm(W, **options),
    "gradient_difference": lambda oracle, **options: oracle.gradient_difference(W, -W, **options),
    "gradient_and_share": lambda oracle, **options: oracle.gradient_and_share(
        W, clip_norm=0.3, of_share=0.1, **options
    ),
    "second_moments": lambda oracle, **options: oracle.second_moments(full=True, **options),
    "column_moments": moments,
}


@pytest.mark.parametrize("name", SUMS)
def test_the_problem_of_a_sample_is_refused_for_more_rows(name):
    """Its margin for rounding is that of a sum over the rows of the sample."""
    ledger = Ledger(5.0, 1e-6)
    oracle = asked(PrivateOracle, DenseRows(*data()), ledger).for_problem(PROBLEM)
    for of_more in (oracle, oracle.on_sample(np.arange(len(SAMPLE) + 1))):
        with pytest.raises(ValueError, match=rf"no fewer rows than '{name}' is asked .*got 10 for"):
            SUMS[name](of_more, spend=Spend(0.1))
    assert ledger.total == 0
    SUMS[name](oracle.on_sample(SAMPLE), spend=Spend(0.1))


def test_the_problem_of_a_sample_is_refused_for_secret_samples_of_more_rows():
    block = SubsampledGaussianDP(0.5, ((8.0, 1),))
    oracle = asked(PrivateOracle, DenseRows(*data()), Ledger(5.0, 1e-6, calculus=block))
    with pytest.raises(ValueError, match=r"no fewer rows than 'sampled_gradient' is asked"):
        oracle.for_problem(PROBLEM).gradient(W, spend=oracle.reserved.spends[0], sampled=True)


def test_nothing_is_read_before_it_is_paid():
    X, y = data()
    passes = []

    def source():
        passes.append(1)
        yield X, y

    rows = ChunkedRows(Chunks(source, memory=0), np.asarray)
    first = len(passes)
    poor = Ledger(1e-3, 1e-6)
    with pytest.raises(BudgetExceededError):
        gradient(asked(PrivateOracle, rows, poor).on_sample(SAMPLE))
    assert len(passes) == first
    rich = asked(PrivateOracle, rows).on_sample(SAMPLE)
    gradient(rich)
    gradient(rich)
    # The sample is taken once.
    assert len(passes) == first + 1


def test_transcripts_tell_samples_apart():
    transcript, ledger = Transcript(), Ledger(5.0, 1e-6)
    recording = asked(RecordingOracle, DenseRows(*data()), transcript=transcript)
    found = gradient(recording.on_sample(SAMPLE))
    np.testing.assert_array_equal(
        gradient(ReplayOracle(ledger, Adjacency.REPLACE_ONE, transcript).on_sample(SAMPLE)), found
    )
    for others in (SAMPLE + 1, None):
        replay = ReplayOracle(Ledger(5.0, 1e-6), Adjacency.REPLACE_ONE, transcript)
        with pytest.raises(AssertionError, match="another content"):
            gradient(replay if others is None else replay.on_sample(others))
