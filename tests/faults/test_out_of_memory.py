"""A real limit on memory, reached in the middle: receipts hold what was charged, and fits go on."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from skdp import DPContextualBandit, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.model_selection import DPGridSearchCV
from skdp.privacy.accounting import Ledger
from skdp.solvers import GD

resource = pytest.importorskip("resource")
STATM = Path("/proc/self/statm")
pytestmark = pytest.mark.skipif(not STATM.exists(), reason="needs the size of the process")

N = 120_000
# Blocks of single precision are copied before they are used, which takes megabytes.
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 24)).astype(np.float32)
Y, R = (X[:, 0] > 0).astype(int), X[:, 1].astype(float)
_GD = {"classes": [0, 1], "data_norm": 3.0, "solver": GD(steps=3), "precondition": None}
LOGISTIC = DPLogisticRegression(**_GD)
# What is fitted, its columns, and the charge in which memory runs out.
FITS = {
    "logistic, at once": (LOGISTIC, (X, Y), 1),
    "logistic, later": (LOGISTIC, (X, Y), 3),
    "machine": (DPSVMClassifier(**_GD), (X, Y), 2),
    "linear": (
        DPLinearRegression(data_norm=3.0, target_bounds=(-1, 1), solver="adassp"),
        (X, R),
        1,
    ),
    "search": (DPGridSearchCV(LOGISTIC, {"C": [0.1, 1.0]}, exhaustive=True), (X, Y), 2),
}
HEADROOM = 1 << 20


def exhaust(hoard):
    """Forbid the process to grow, and take what it has free, but for small pieces."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    size = int(STATM.read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + HEADROOM, hard))
    for piece in (1 << 22, 1 << 18):
        try:
            while True:
                hoard.append(bytearray(piece))
        except MemoryError:
            pass


def starved(call, charges):
    """Call while memory runs out with the given charge, or has run out before the first.

    Returns its failure and what was charged.
    """
    honest, ledgers, hoard = Ledger._record, [], []

    def record(self, event):
        honest(self, event)
        ledgers.append(self)
        if len(ledgers) == charges:
            exhaust(hoard)

    Ledger._record = record
    failure, limits = None, resource.getrlimit(resource.RLIMIT_AS)
    try:
        if not charges:
            exhaust(hoard)
        call()
    except BaseException as error:
        failure = type(error).__name__
    finally:
        hoard.clear()
        resource.setrlimit(resource.RLIMIT_AS, limits)
        Ledger._record = honest
    return failure, max((ledger.spent().epsilon for ledger in ledgers), default=0.0)


def in_child(work):
    """What it returns in a process of its own, whose limit and whose end concern nobody else."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            os.write(writer, pickle.dumps(work()))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        out = file.read()
    os.waitpid(child, 0)
    assert out, "the child has died"
    return pickle.loads(out)


def report(model):
    """Its receipt, and what it has published."""
    spent = vars(model).get("privacy_spent_")
    return {
        "spent": spent.epsilon if spent else 0.0,
        "events": len(vars(model).get("privacy_ledger_", ())),
        "published": {"coef_", "_rule", "best_estimator_"} & set(vars(model)),
    }


@pytest.mark.nightly
@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fit_that_runs_out_of_memory_reports_what_it_has_spent(name):
    made, columns, charges = FITS[name]

    def work():
        model = clone(made)
        failure, charged = starved(lambda: model.fit(*columns), charges)
        before = report(model)
        small = [column[:3000] for column in columns]
        return failure, charged, before, report(model.fit(*small))

    failure, charged, before, after = in_child(work)
    # A search tells of failures that nothing could be fitted, and no more.
    assert failure == ("RuntimeError" if name == "search" else "MemoryError")
    assert 0 < charged <= before["spent"] <= made.epsilon
    assert before["events"] > 0
    assert not before["published"]
    assert after["published"]
    assert 0 < after["spent"] <= made.epsilon


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "charges"), [("stream", 1), ("bandit", 0)])
def test_a_stream_that_runs_out_of_memory_reports_what_it_has_spent(kind, charges):
    half = N // 2
    if kind == "stream":
        made, columns = LOGISTIC, (X, Y)
    else:
        columns = X, Y, R
        made = DPContextualBandit(
            [0, 1], data_norm=3.0, reward_bounds=(-1, 1), horizon=2 * N, policy="gd"
        )

    def work():
        model = clone(made).partial_fit(*(column[:half] for column in columns))
        failure, charged = starved(
            lambda: model.partial_fit(*(column[half:] for column in columns)), charges
        )
        before = report(model)
        return failure, charged, before, report(model.fit(*columns))

    failure, charged, before, after = in_child(work)
    assert failure == "MemoryError"
    assert charged <= before["spent"] <= 1.0
    assert before["spent"] > 0
    assert after["published"]
    assert after["spent"] <= 1.0
