"""Bars of progress: for amounts that are public, on terminals, and nowhere else."""

import io
import re
import sys
from contextlib import redirect_stderr
from itertools import count
from threading import Thread

import numpy as np
import pytest

from skdp import DPLogisticRegression
from skdp.audit import audit
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.solvers import GD

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(200, 2))
Y = (X[:, 0] > 0).astype(int)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Gone(Terminal):
    def write(self, text):
        raise BrokenPipeError


@pytest.fixture
def shown(monkeypatch):
    """What a call writes to a terminal on standard error, if a look at the clock takes so long."""

    def call(run, *, seconds=2.0, terminal=Terminal, **options):
        clock = count(step=seconds)
        monkeypatch.setattr("skdp.reporting.progress_bar.monotonic", lambda: next(clock))
        monkeypatch.setenv("COLUMNS", "120")
        # Set here and not beforehand, since pytest sets its own before each test.
        monkeypatch.setattr(sys, "stderr", terminal())
        run(**options)
        return sys.stderr.getvalue()

    return call


def model(**options):
    given = {"data_norm": 2.0, "classes": [0, 1], "solver": GD(steps=2), "precondition": None}
    return DPLogisticRegression(**given | options)


def public_search():
    space = {"C": [0.25, 0.5, 1.0]}
    DPGridSearchCV(model(), space, epsilon=4.0, delta=1e-5, exhaustive=True).fit(X, Y)


def secret_search():
    DPRandomizedSearchCV(model(), {"C": [0.25, 0.5, 1.0]}, epsilon=4.0, delta=1e-5).fit(X, Y)


def small_audit(**options):
    audit(model(), X, Y, runs=50, n_jobs=1, **options)


def small_fit(**options):
    model(**options).fit(X, Y)


def small_stream():
    model(solver="auto").partial_fit(X, Y)


@pytest.mark.parametrize(
    ("run", "last"),
    [(public_search, "DPGridSearchCV [" + "#" * 30 + "] 3 of 3"), (small_audit, "] 8 of 8")],
)
def test_public_amounts_are_shown_on_a_terminal_and_wiped_at_the_end(run, last, shown):
    *lines, wiped, end = shown(run).split("\r")
    assert lines[-1].endswith(last)
    assert wiped.isspace()
    assert end == ""


def test_the_number_of_secret_trials_is_shown_nowhere(shown):
    assert shown(secret_search) == ""
    # Nor is it hidden for good.
    assert shown(small_fit)


def states(said):
    return [line.strip() for line in said.split("\r") if line.strip()]


def test_a_fit_says_which_pass_it_is_and_what_one_takes(shown):
    said = states(shown(small_fit, solver=GD(steps=5)))
    told = [re.search(r"coefficients, pass (\d)/5(.*)", line) for line in said]
    told = [found.groups() for found in told if found]
    assert [number for number, _ in told] == list("12345")
    assert told[0][1] == ""
    for number, rest in told[1:]:
        each, left = map(float, re.fullmatch(r", (\S+) s each, (\S+) s left", rest).groups())
        np.testing.assert_allclose(left, (6 - int(number)) * each, rtol=0.1)
    filled = [line.count("#") for line in said]
    assert filled == sorted(filled)
    assert shown(small_fit).endswith("\r")


def test_passes_that_no_solver_has_planned_are_told_by_what_is_spent(shown):
    said = states(shown(small_fit, solver="svrg"))
    left = [
        line for line in said if re.search(r"coefficients, pass \d+, \S+ s each, .* left", line)
    ]
    assert len(left) > 3
    assert not any("/" in line for line in said)


def test_a_fit_shows_the_same_of_other_rows(shown):
    first = shown(small_fit)
    rng = np.random.default_rng(5)
    other = 9 * rng.normal(size=X.shape), rng.permutation(Y)
    assert shown(lambda: model().fit(*other)) == first
    assert first


def test_blocks_of_a_stream_and_sites_show_their_passes(shown):
    assert "coefficients, pass" in shown(small_stream)
    sites = np.arange(len(Y)) % 2
    by_site = model(solver="dda", precondition=None)
    assert "coefficients, pass" in shown(lambda: by_site.fit(X, Y, sites=sites))


def test_a_short_fit_shows_nothing(shown):
    assert shown(small_fit, seconds=1e-3) == ""


@pytest.mark.parametrize("run", [small_fit, public_search])
def test_work_within_work_shows_nothing_of_its_own(run, shown):
    names = {line.partition(" [")[0] for line in states(shown(run))}
    assert names == {"DPGridSearchCV" if run is public_search else "DPLogisticRegression"}


def test_a_fit_that_speaks_or_is_listened_to_shows_no_bar(shown, capsys):
    assert shown(small_fit, verbose=1) == ""
    assert "published a model" in capsys.readouterr().out


def test_only_the_main_thread_has_a_line(shown):
    def elsewhere():
        thread = Thread(target=small_fit)
        thread.start()
        thread.join()

    assert shown(elsewhere) == ""


def test_a_terminal_that_is_gone_ends_no_fit(shown):
    assert shown(small_fit, terminal=Gone) == ""


@pytest.mark.parametrize("stream", [None, object(), Gone()], ids=["none", "no file", "closed"])
def test_a_fit_needs_no_standard_error(stream, monkeypatch):
    if stream is not None and hasattr(stream, "close"):
        stream.close()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stream)
        small_fit()


def test_a_line_stays_on_its_terminal_when_standard_error_is_sent_elsewhere(shown):
    log = io.StringIO()

    def redirected():
        solve = GD.solve

        def solving(self, *given):
            with redirect_stderr(log):
                return solve(self, *given)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(GD, "solve", solving)
            small_fit()

    assert "pass 2/2" in shown(redirected)
    assert not log.getvalue()


def test_a_fit_that_fails_leaves_the_line_to_others(shown, monkeypatch):
    def failing(self, *given):
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(GD, "solve", failing)
        with pytest.raises(ZeroDivisionError):
            shown(small_fit)
    assert "pass 2/2" in shown(small_fit)


@pytest.mark.parametrize("run", [public_search, small_audit, small_fit])
def test_nothing_is_shown_without_a_terminal(run, capsys):
    run()
    assert capsys.readouterr() == ("", "")
