"""``verbose`` prints what the receipt says, to standard output, and nothing else."""

import re

import numpy as np
import pytest
from examples_of_estimators import BINARY, MODELS, N, X, logistic, target_of

from skdp.solvers import DDA, FTRL, GD

every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def test_silence_by_default(capsys):
    logistic().fit(X, BINARY).partial_fit(X, BINARY)
    assert capsys.readouterr() == ("", "")


@every_model
@pytest.mark.parametrize("verbose", [True, 1, 2])
def test_lines_are_those_of_the_receipt(make, verbose, capsys):
    model = make(verbose=verbose).fit(X, target_of(make))
    out, err = capsys.readouterr()
    lines = out.splitlines()
    asked = sum(event.count for event in model.privacy_ledger_)
    assert not err
    assert lines[0] == f"[{type(model).__name__}] {N} rows, budget epsilon=50 at delta=1e-05"
    assert lines[-1].endswith(f"published a model after {asked} queries, epsilon=50 spent")
    told = re.findall(r"query (\d+): (\w+), epsilon=([\d.]+) spent", out)
    kinds = [event.query for event in model.privacy_ledger_]
    assert set(kinds) == {kind for _, kind, _ in told}
    if verbose == 2:
        assert [int(number) for number, _, _ in told] == list(range(1, asked + 1))
    else:
        assert len(told) <= 10 + len(kinds)
    spent = [float(epsilon) for *_, epsilon in told]
    assert spent == sorted(spent)


def test_what_is_printed_depends_on_rows_through_paid_answers_alone(capsys):
    logistic(verbose=2).fit(X, BINARY)
    first = capsys.readouterr().out
    rng = np.random.default_rng(5)
    logistic(verbose=2).fit(9 * rng.normal(size=X.shape), rng.permutation(BINARY))
    assert capsys.readouterr().out == first


def test_a_fit_that_fails_says_what_it_has_spent(capsys, monkeypatch):
    monkeypatch.setattr(GD, "solve", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        logistic(verbose=1).fit(X, BINARY)
    assert "stopped after" in capsys.readouterr().out


def test_sites_and_streams_report_too(capsys):
    model = logistic(verbose=1, solver=DDA(rounds=3), precondition=None)
    model.fit(X, BINARY, groups=np.arange(N) % 2)
    assert "published a model" in capsys.readouterr().out
    blocks = logistic(verbose=1, solver="auto").partial_fit(X, BINARY)
    out = capsys.readouterr().out
    assert out.count("published a model") == len({e.part for e in blocks.privacy_ledger_})
    stream = logistic(verbose=1, solver=FTRL(), horizon=2 * N).partial_fit(X, BINARY)
    assert f"{N} rows seen, published a model" in capsys.readouterr().out
    stream.set_params(verbose=0).partial_fit(X[: N // 2], BINARY[: N // 2])
    assert not capsys.readouterr().out


@pytest.mark.parametrize("verbose", [-1, "yes", None])
def test_other_values_are_refused(verbose):
    with pytest.raises(ValueError, match="'verbose' parameter"):
        logistic(verbose=verbose).fit(X, BINARY)
