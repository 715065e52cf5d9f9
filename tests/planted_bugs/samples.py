"""Bugs in queries about a sample of the rows whose positions everybody may know."""

import numpy as np
import pytest
from planted_bugs.bug import TOO_FAR, Bug, Value, gives, refused
from planted_bugs.noise import seeded
from twin_oracle import TwinOracle

from skdp import DPLogisticRegression
from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency, PrivateOracle, opened_by
from skdp.privacy.accounting import Ledger, Spend
from skdp.privacy.rows import ChunkedRows, Chunks, DenseRows, PrivacyUnits
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Logistic
from skdp.solvers import defaults
from skdp.testing import RecordingOracle, Transcript

N, D = 30, 2
SAMPLE = np.arange(3, 27, 4)
OPTIONS = Adjacency.REPLACE_ONE, seeded()


def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, D)), rng.integers(0, 2, N).astype(float)


def asked(oracle, positions=SAMPLE):
    """A gradient at a point at which all rows of a class add about the same."""
    sampled = oracle.on_sample(positions)
    problem = Problem(Logistic(), len(positions), D, RowBounds(1.0, 1.0))
    return sampled.for_problem(problem).gradient(np.zeros(D + 1), spend=Spend(0.1))


def a_row_is_in_a_sample_once():
    oracle = PrivateOracle(DenseRows(*data()), Ledger(5.0, 1e-6), *OPTIONS)
    for positions in ([2, 5, 5, 9], [9, 2], [4, -1]):
        with refused("a row may be in it twice"):
            asked(oracle, np.array(positions))


def a_row_moves_a_sample_by_itself_or_not_at_all():
    """Wherever it is, and whatever it becomes: it does not decide who else is asked."""
    for position in range(N):
        (X, y), (other_X, other_y) = data(), data()
        other_X[position], other_y[position] = 3.0, 1 - y[position]
        rows = DenseRows(X, y), DenseRows(other_X, other_y)
        twin = TwinOracle(*rows, Ledger(5.0, 1e-6), *OPTIONS)
        asked(twin)
        assert twin.largest <= 1, f"row {position} moved by {twin.largest} times the bound"
        assert (twin.largest > 0) == (position in SAMPLE), "moved by a row that is not in it"


def samples_are_taken_when_they_are_paid():
    passes = []

    def source():
        passes.append(1)
        yield data()

    rows = ChunkedRows(Chunks(source, memory=0), np.asarray)
    first = len(passes)
    with refused("not charged", BudgetExceededError):
        asked(PrivateOracle(rows, Ledger(1e-3, 1e-6), *OPTIONS))
    assert len(passes) == first, "read before it is paid"


def samples_and_all_rows_have_one_account():
    """A row may be in both, so that what they cost adds up."""
    ledger = Ledger(5.0, 1e-6)
    oracle = PrivateOracle(DenseRows(*data()), ledger, *OPTIONS)
    asked(oracle)
    asked(oracle, np.arange(N))
    assert ledger.total == pytest.approx(0.2), f"{ledger.total} is not the sum of both"


def margins_for_rounding_are_those_of_all_that_is_asked():
    """In a sum over more rows than its problem has, rounding may add up to more than the margin."""
    oracle = PrivateOracle(DenseRows(*data()), Ledger(5.0, 1e-6), *OPTIONS)
    problem = Problem(Logistic(), len(SAMPLE), D, RowBounds(1.0, 1.0))
    few, w = oracle.for_problem(problem), np.zeros(D + 1)
    with refused("the margin of a few rows for all"):
        few.gradient(w, spend=Spend(0.1))
    with refused("the margin of a few rows for a norm about all"):
        few.gradient_norm(w, spend=Spend(0.1))


def rows_of_people_are_not_sampled():
    """Where the rows of somebody lie tells how many rows those before have."""
    X, y = data()
    people = PrivacyUnits.of(np.arange(N) // 2)
    with refused("rows of people were sampled", TypeError):
        DenseRows(X, y, None, people).sample(np.arange(3))


def rows_that_lie_together_are_drawn_apart():
    """Else a row that comes to lie elsewhere changes many rows of a sample."""
    n, transcript = 4_000, Transcript()
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    model = DPLogisticRegression(classes=[0, 1], epsilon=30.0, data_norm=3.0, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(defaults.Pilot, "LEAST_ENTRIES", 0)
        patch.setattr(defaults.Pilot, "EVIDENCE", 40.0)
        with opened_by(lambda *parts: RecordingOracle(*parts, transcript=transcript)):
            model.fit(X, y)
    contents = [content for name, content, *_ in transcript if name == "gradient"]
    positions = contents[0][-1]
    m = len(positions)
    assert 500 < m < n / 4
    pairs = np.sum(np.diff(positions) == 1)
    # Each other one is in the sample with the same probability.
    assert abs(pairs - m**2 / n) < 6 * np.sqrt(m**2 / n), f"{pairs} of {m} lie next to another"


def unchecked(honest, self, positions):
    return self._taken(positions)


def by_value(honest, self, positions):
    """As if rows that are longer told more."""
    longest = np.argsort(np.linalg.norm(self.X, axis=1))[-len(positions) :]
    return honest(self, np.sort(longest))


def taken_early(honest, self, query, spend):
    self._of(self._rows)
    return honest(self, query, spend)


def on_their_own(honest, self, positions):
    other = honest(self, positions)
    other._ledger = Ledger(5.0, 1e-6)
    return other


def in_runs(honest, n, m, rng):
    starts = 32 * honest(n // 32, -(-m // 32), rng)
    return (starts[:, None] + np.arange(32)).ravel()


def of_whoever(honest, self, positions):
    return type(self)(self.X[positions], self.y[positions])


BUGS = (
    Bug("a sample in which a row may be twice", {"RowStore.sample": unchecked}, a_row_is_in_a_sample_once, "in it twice"),
    Bug("a sample of the longest rows", {"RowStore.sample": by_value}, a_row_moves_a_sample_by_itself_or_not_at_all, f"{TOO_FAR}|moved by a row"),
    Bug("a sample that is taken before it is paid", {"PrivateOracle._release": taken_early}, samples_are_taken_when_they_are_paid, "before it is paid"),
    Bug("a sample with an account of its own", {"Oracle.on_sample": on_their_own}, samples_and_all_rows_have_one_account, "not the sum of both"),
    Bug("a margin for rounding by the rows of a sample", {"PrivateOracle._refuse_number_of_rows": gives(None)}, margins_for_rounding_are_those_of_all_that_is_asked, "the margin of a few rows for all"),
    Bug("a norm that does not say how many rows its margin for rounding is for", {"GradientNormQuery.problem": Value(None)}, margins_for_rounding_are_those_of_all_that_is_asked, "rows for a norm"),
    Bug("a sample of the rows of people", {"ResidentRows._taken": of_whoever}, rows_of_people_are_not_sampled, "were sampled"),
    Bug("a sample of runs of rows", {"base.drawn": in_runs}, rows_that_lie_together_are_drawn_apart, "next to another"),
)  # fmt: skip
