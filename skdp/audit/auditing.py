"""``audit``: run an estimator on two data sets, or on one with canaries, and bound its epsilon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, Literal

import numpy as np

from ..arguments import shown
from ..data.base import RowStore
from ..estimators.bandit_base import PrivateBandit
from ..privacy.adjacency import Adjacency
from ..privacy.ledger import Ledger
from ..privacy.queries.base import Query
from ..privacy.randomness import SystemNoise
from .canaries import audit_one_run
from .claims import Claim, calculus_for
from .noting import answer_to
from .options import (
    BOUNDS,
    METHODS,
    SEES,
    arrays,
    check_kind,
    check_options,
    check_question,
    cut,
    refuse_zero_out,
)
from .pairs import check_neighbours, farthest_pair
from .result import AuditResult, bounded
from .samples import Sees, fresh_ratios, samples_of
from .trials import BanditTrial, FitTrial, Trial

__all__ = ["audit", "audit_question"]


def audit(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    other: tuple[Any, Any] | None = None,
    row: int = 0,
    method: Literal["many_runs", "one_run"] = "many_runs",
    sees: Sees = "model",
    bound: Literal["auto", "clopper_pearson", "gaussian"] = "auto",
    runs: int | None = None,
    calls: int | None = None,
    statistic: Callable[[Any], float] | None = None,
    fit_params: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> AuditResult:
    """Bound from below the epsilon that an estimator really has, and compare it with its claim.

    With ``method='many_runs'`` the estimator is run many times on each of two data sets that differ
    in one row, and somebody who knows both guesses from what is published which of them it was. How
    often the guess is wrong bounds epsilon. With ``method='one_run'`` it is run once, on data of
    which each canary row is in one of two versions at random, and somebody guesses which (Steinke,
    Nasr and Jagielski, 2023); that is cheap and gives away much.

    What is published, and so looked at:

    - ``sees='model'``: the coefficients, after ``fit``, after each call of ``partial_fit``, or, of
      a bandit, all released weights and the actions of all other users. A direction in which to
      look is learned from a quarter of the runs, which are not counted.
    - ``sees='answers'``: all answers of the oracle, or of a bandit's session, by their likelihood
      ratio. The claim covers them, and they tell more than the model that is made of them.
    - ``sees='questions'``: one fit is recorded, and each of its questions is answered as often as
      there are runs, by the mechanisms that answered it first. Thousands of times cheaper than
      fitting anew, so that a million runs are feasible; it does not try how a fit goes on from
      answers, and does not see noise that is shared between the answers of a fit.

    Every run draws its noise from the operating system, whatever ``random_state`` says. The result
    tells of the data: audit with made-up or public rows.

    Parameters
    ----------
    estimator : estimator
        Of this package, with the parameters whose claim is in question. It is copied, not fitted.
        A search needs ``other`` and a ``statistic``; a transformer needs a ``statistic``, unless
        its answers or questions are looked at.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Rows. Few of them make fast runs. For a bandit the contexts of users, in their order.
    y : ndarray of shape (n_samples,)
        Targets. For a bandit what each user would return for each arm, (n_samples, n_arms).
    other : tuple of array-like, optional
        ``(X, y)`` of the second data set, or with the second version of canaries. By default, under
        replace-one, row ``row`` is replaced on both sides by rows that are as far apart as could be
        found; canaries are all rows, with another class or the target at the other end. Under
        zero-out it has to be left out: the second data set lacks the row, or each canary is there
        or not.
    row : int, default=0
        The row that is replaced, if ``other`` is not given, or left out.
    method : {'many_runs', 'one_run'}, default='many_runs'
        See above.
    sees : {'model', 'answers', 'questions'}, default='model'
        See above. One run knows ``'model'`` alone, and so do streaming solvers under
        ``partial_fit`` and as policies of bandits.
    bound : {'auto', 'clopper_pearson', 'gaussian'}, default='auto'
        ``'gaussian'`` bounds mu among claims of Gaussian DP, which is much tighter;
        ``'clopper_pearson'`` needs no such claim. ``'auto'`` takes the former where all that was
        released has Gaussian noise.
    runs : int, optional
        Runs on each of the two data sets; by default 1000, and 100 000 for ``'questions'``. For one
        run, the number of guesses; by default the best of several, each with its part of the
        failure.
    calls : int, optional
        If given, rows go to ``partial_fit`` in so many calls of about the same size.
    statistic : callable, optional
        For ``sees='model'``: a number for a fitted model, in place of its coefficients.
    fit_params : Mapping, optional
        More arguments of ``fit``, such as ``groups``.
    confidence : float, default=0.95
        Probability with which the bound is below the true epsilon.
    n_jobs : int, optional
        Number of processes, as for joblib.
    verbose : int, default=0
        Above 0 progress is printed, as by joblib.

    Returns
    -------
    AuditResult
        The bound, the claim, and the curve behind it.

    Raises
    ------
    ValueError
        If the data are no neighbours, or the options do not go together.
    TypeError
        If answers are to be looked at for which no likelihood is known.

    References
    ----------
    Clopper and Pearson (1934); Kairouz, Oh and Viswanath (2015); Nasr et al. (2023) for bounds on
    mu; Steinke, Nasr and Jagielski (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLinearRegression
    >>> from skdp.audit import audit
    >>> X, y = np.ones((3, 1)), np.array([1.0, 0.0, 0.0])
    >>> model = DPLinearRegression(1.0, data_norm=1.0, target_bounds=(-1, 1))
    >>> result = audit(model, X, y, sees="questions")
    >>> result.epsilon
    1.0
    """
    chosen: list[tuple[str, Any, tuple[str, ...]]] = [
        ("method", method, METHODS),
        ("sees", sees, SEES),
        ("bound", bound, BOUNDS),
    ]
    for name, value, allowed in chosen:
        if not isinstance(value, str) or value not in allowed:
            raise ValueError(f"audit needs {name} among {allowed}, got {shown(value)}.")
    one_run = method == "one_run"
    check_options(
        estimator, sees=sees, one_run=one_run, runs=runs, calls=calls, confidence=confidence
    )
    if statistic is not None and (one_run or sees != "model"):
        raise ValueError(
            f"audit needs many runs and sees='model' for a statistic, got {shown(sees)}."
        )
    check_kind(estimator, sees=sees, method=method, calls=calls, other=other, statistic=statistic)
    data = arrays(X, y)
    other = None if other is None else arrays(*other)
    bandit, zero_out = isinstance(estimator, PrivateBandit), estimator.adjacency == "zero_out"
    if zero_out:
        refuse_zero_out(other, calls, bandit=bandit)
    if isinstance(row, bool) or not isinstance(row, Integral) or not 0 <= row < len(data[1]):
        raise ValueError(f"audit needs a row among {len(data[1])}, got {shown(row)}.")
    if bandit and (other is None or one_run or calls is not None):
        raise ValueError(
            "audit needs other data, many runs and calls=None for a bandit, got "
            f"method={shown(method)}, calls={shown(calls)} and "
            f"{'no ' if other is None else ''}other data."
        )
    parts, params = cut(len(data[1]), calls), dict(fit_params or {})
    if one_run:
        trial = FitTrial(estimator, (data, data), None, None, parts, params)
        return audit_one_run(trial, other, runs, confidence)
    several: Trial
    if bandit:
        assert other is not None
        several = BanditTrial(estimator, (data, other), check_neighbours(data, other))
    elif zero_out:
        several = FitTrial(estimator, (data, data), row, np.array([row]), None, params)
    else:
        if other is None:
            data, other = farthest_pair(estimator, data, row, parts, params)
        else:
            row = check_neighbours(data, other)
        # A part of a stream counts its rows anew.
        known = row if parts is None else None
        several = FitTrial(estimator, (data, other), known, None, parts, params)
    claim = Claim.of(several.run(0)[0])
    if bound == "gaussian" and not claim.gaussian:
        raise ValueError(
            f"audit needs bound='clopper_pearson' for {type(estimator).__name__} with these "
            "parameters, which releases more than answers with Gaussian noise, got 'gaussian'."
        )
    if runs is None:
        runs = 100_000 if sees == "questions" else 1000
    chosen = claim.bound if bound == "auto" else bound
    samples = samples_of(several, sees, runs, statistic, n_jobs, verbose)
    adjacency = Adjacency(estimator.adjacency).value
    return bounded(samples, claim, sees, chosen, adjacency, confidence)


def audit_question(
    query: Query,
    first: RowStore,
    second: RowStore,
    *,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    runs: int = 100_000,
    confidence: float = 0.95,
) -> AuditResult:
    """Have one question answered many times on two data sets, and compare with its price.

    Parameters
    ----------
    query : Query
        The question.
    first, second : RowStore
        Neighbours; under zero-out the second may lack the row.
    adjacency : Adjacency, default=Adjacency.REPLACE_ONE
        Neighbouring relation under which they are neighbours.
    epsilon, delta : float
        The whole budget, all of which the answer is paid with.
    runs : int, default=100_000
        Answers for each of the two data sets.
    confidence : float, default=0.95
        As for :func:`audit`.

    Returns
    -------
    AuditResult
        Its claim is what a ledger says that it has spent.

    Raises
    ------
    TypeError
        If an argument is of the wrong type.
    ValueError
        If a number is outside its range, or the data sets differ in features.
    """
    check_question(query, (first, second), adjacency, runs, confidence)
    calculus = calculus_for(query, adjacency, epsilon, delta)
    ledger = Ledger(epsilon, delta, calculus=calculus)
    mechanism, claim = Claim.of_question(query, adjacency, ledger)
    stores = (first, second)
    given = mechanism.randomize(query.evaluate(first), SystemNoise())
    notes = [answer_to(query, mechanism, stores, given, None)]
    samples = fresh_ratios(notes, 0, runs), fresh_ratios(notes, 1, runs)
    return bounded(samples, claim, "questions", claim.bound, adjacency.value, confidence)
