"""``verbose`` and logs tell what the receipt says, in words, and nothing else."""

import logging
import re

import numpy as np
import pytest
from examples_of_estimators import BINARY, MODELS, N, X, logistic, target_of

from skdp.model_selection import DPRandomizedSearchCV
from skdp.reporting import words_of
from skdp.solvers import GD

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
    assert lines[0] == f"[{type(model).__name__}] {N} rows, budget epsilon 50 at delta 1e-05"
    assert lines[-1].endswith(f"published a model after {asked} queries, 100 % of epsilon 50")
    told = re.findall(r"\] ([\w ]+): ([\w ,]+?) (\d+)( of \d+)?, (\d+) % of epsilon 50", out)
    assert len(told) == len(lines) - 2
    kinds = [words_of(event)[:2] for event in model.privacy_ledger_]
    assert set(kinds) == {(purpose, query) for purpose, query, *_ in told}
    if verbose == 2:
        assert len(told) == asked
    else:
        assert len(told) <= 10 + len(kinds)
    spent = [int(percent) for *_, percent in told]
    assert spent == sorted(spent)


def test_queries_that_are_planned_are_counted_down(capsys):
    logistic(verbose=2, precondition=None).fit(X, BINARY)
    out = capsys.readouterr().out
    told = re.findall(r"coefficients: gradient (\d+) of 20,", out)
    assert told == [str(k + 1) for k in range(20)]


def test_streams_say_which_rows_a_part_has(capsys):
    model = logistic(verbose=1)
    model.partial_fit(X[:100], BINARY[:100]).partial_fit(X[100:], BINARY[100:])
    lines = capsys.readouterr().out.splitlines()
    first = [line for line in lines if "] rows 1 to 100: " in line]
    second = [line for line in lines if f"] rows 101 to {N}: " in line]
    assert [*first, *second] == lines
    assert min(len(first), len(second)) > 2


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
def test_a_search_of_secret_trials_logs_nothing_of_its_trials(level, caplog, capsys):
    caplog.set_level(level, logger="skdp")
    model = logistic(verbose=2, precondition=None)
    DPRandomizedSearchCV(model, {"C": [0.5, 1.0]}, epsilon=50.0, n_iter=2).fit(X, BINARY)
    assert caplog.records == []
    assert capsys.readouterr() == ("", "")
    logistic().fit(X, BINARY)
    assert caplog.records


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


@pytest.mark.parametrize("verbose", [-1, "yes", None])
def test_other_values_are_refused(verbose):
    with pytest.raises(ValueError, match="'verbose' parameter"):
        logistic(verbose=verbose).fit(X, BINARY)
