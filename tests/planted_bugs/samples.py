"""Bugs in queries about a sample of the rows whose positions everybody may know."""

from functools import partial

import numpy as np
import pytest
from known_noise import seeded
from planted_bugs.bug import Bug, Value, gives, refused
from privacy import test_public_sample

from skdp import DPLogisticRegression
from skdp.privacy import Adjacency, PrivateOracle, opened_by
from skdp.privacy.accounting import Ledger, Spend
from skdp.privacy.rows import DenseRows, PrivacyUnits
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


def samples_and_all_rows_have_one_account():
    """A row may be in both, so that what they cost adds up."""
    ledger = Ledger(5.0, 1e-6)
    oracle = PrivateOracle(DenseRows(*data()), ledger, *OPTIONS)
    asked(oracle)
    asked(oracle, np.arange(N))
    assert ledger.total == pytest.approx(0.2), f"{ledger.total} is not the sum of both"


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


MARGINS = test_public_sample.test_the_problem_of_a_sample_is_refused_for_more_rows
BUGS = (
    Bug("a sample in which a row may be twice", {"RowStore.sample": unchecked}, partial(test_public_sample.test_positions_that_do_not_increase_are_refused, [0, 3, 3, 5]), "DID NOT RAISE"),
    Bug("a sample of the longest rows", {"RowStore.sample": by_value}, partial(test_public_sample.test_a_row_moves_what_it_is_charged_for_or_nothing, 5)),
    Bug("a sample that is taken before it is paid", {"PrivateOracle._release": taken_early}, test_public_sample.test_nothing_is_read_before_it_is_paid),
    Bug("a sample with an account of its own", {"Oracle.on_sample": on_their_own}, samples_and_all_rows_have_one_account, "not the sum of both"),
    Bug("a margin for rounding by the rows of a sample", {"PrivateOracle._refuse_number_of_rows": gives(None)}, partial(MARGINS, "gradient"), "DID NOT RAISE"),
    Bug("a norm that does not say how many rows its margin for rounding is for", {"GradientNormQuery.problem": Value(None)}, partial(MARGINS, "gradient_norm"), "DID NOT RAISE"),
    Bug("a sample of the rows of people", {"ResidentRows._taken": of_whoever}, rows_of_people_are_not_sampled, "were sampled"),
    Bug("a sample of runs of rows", {"stages.drawn": in_runs}, rows_that_lie_together_are_drawn_apart, "next to another"),
)  # fmt: skip
