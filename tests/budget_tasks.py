"""What the tests of budgets hand to workers: importable there, and without pytest."""

import os
import pickle
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.base import clone

from skdp import BudgetExceededError, DPLogisticRegression, PrivacyBudget, PrivacyLeakWarning
from skdp.privacy.accounting import gdp

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(120, 2))
Y = (X[:, 0] > 0).astype(int)
EPSILON, DELTA = 2.0, 1e-5
MU = gdp.mu(EPSILON, DELTA)


def share(n):
    """Epsilon of a fit that takes one n-th of the ceiling in mu^2."""
    return gdp.epsilon(MU / np.sqrt(n), DELTA)


def model(n=10, **parameters):
    """A model that takes one n-th of the ceiling, and little time."""
    given = {"classes": [0, 1], "data_norm": 2.0, "precondition": None, "solver": "gd"}
    return DPLogisticRegression(epsilon=share(n), delta=DELTA, **(given | parameters))


def budget(**parameters):
    """A ceiling."""
    return PrivacyBudget(**({"epsilon": EPSILON, "delta": DELTA} | parameters))


@contextmanager
def budget_of_copies():
    """A budget that closes without a word about fits of copies, where a test makes some."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        with budget() as opened:
            yield opened


def folders():
    """Folders of the ceilings that are open in this process."""
    return set(Path(tempfile.gettempdir()).glob(f"skdp-budget-{os.getpid()}-*"))


def charged(ceiling):
    """Total in shares of the whole mu^2."""
    return sum(entry.amount for entry in ceiling.receipts) / MU**2


class Untouchable:
    """A row source that nobody may look at."""

    def __getattribute__(self, name):
        raise AssertionError(f"a row source was asked for {name}")

    def __len__(self):
        raise AssertionError("a row source was asked for its length")

    def __array__(self, *args, **kwargs):
        raise AssertionError("a row source was read")


def outcome(estimator):
    """Process and outcome of a fit."""
    try:
        estimator.fit(X, Y)
    except BudgetExceededError as refusal:
        return os.getpid(), str(refusal)
    return os.getpid(), "fitted"


def fit_a_clone(estimator):
    """Clone and fit, as ensembles do in workers."""
    return outcome(clone(clone(estimator)))


def fit_a_new_one(n):
    """Make an estimator in the worker and fit it."""
    return outcome(model(n))


def fit_a_pickle(content):
    """Fit what was pickled earlier."""
    return outcome(pickle.loads(content))
