"""``audit``: run an estimator on two data sets, and bound its epsilon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from ..bandit import DPContextualBandit
from ..model_selection.base import PrivateSearch
from ..privacy.accounting.ledger import Ledger
from ..privacy.adjacency import Adjacency
from ..privacy.queries.base import Query
from ..privacy.randomness import SystemNoise
from ..privacy.rows.base import RowStore
from ..privacy.rows.reading import strict_checks
from ..validation import check_hyperparameters, one_of, shown
from .claims import Claim, adjacency_of, calculus_for
from .likelihoods import Answer, answer_to
from .neighbours import (
    arrays,
    replayed,
    rows_in_question,
    second_of,
    winners_of,
    with_units,
)
from .programs import BanditProgram, FitProgram, Program
from .result import CONFIDENCE, AuditResult, bounded, leaking
from .samples import Sees, fresh_ratios, ratios_of_queries, samples_of_runs

# Fewer runs bound nothing.
_RUNS = Interval(Integral, 10, None, closed="left")
_CONSTRAINTS: dict[str, list[Any]] = {
    "sees": [one_of("auto", "answers", "model", "queries")],
    "row": [Interval(Integral, 0, None, closed="left")],
    "runs": [None, _RUNS],
    "calls": [None, Interval(Integral, 1, None, closed="left")],
    **CONFIDENCE,
}
_OF_QUERIES: dict[str, list[Any]] = {
    "query": [Query],
    "first": [RowStore],
    "second": [RowStore],
    "adjacency": [Adjacency],
    "runs": [_RUNS],
    **CONFIDENCE,
}
# Random numbers that an audit of queries draws by default, and runs of it.
_NUMBERS = 80_000_000
_FEWEST_ANSWERS, _MOST_ANSWERS = 200, 400_000
# Share of mu that counting may lose. Counting n runs on either side loses 2.9 / sqrt(n) at 0.95.
_LOST, _LOST_BY_ONE = 0.04, 2.9
# Seconds that fits take by default, and how many there are.
_SECONDS, _FEWEST_FITS, _MOST_FITS = 20.0, 40, 1000


@strict_checks()
def audit(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    other: tuple[Any, ...] | None = None,
    row: int = 0,
    sees: Sees = "auto",
    runs: int | None = None,
    calls: int | None = None,
    statistic: Callable[[Any], float] | None = None,
    fit_params: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> AuditResult:
    """Bound from below the epsilon that an estimator really has, and compare it with its claim.

    The estimator is run many times on each of two data sets that differ in one row, and somebody
    who knows both guesses from what is published which of them it was. How often the guess is wrong
    bounds epsilon.

    What is looked at:

    - ``sees='queries'``: one fit is recorded, and each of its queries is answered as often as there
      are runs, by the mechanisms that answered it first; the likelihood ratio of all answers is
      the statistic. Thousands of times cheaper than fitting anew, so that bounds come close to the
      claim in seconds; it does not try how a fit goes on from other answers, and does not see noise
      that is shared between the answers of a fit.
    - ``sees='answers'``: the same from whole fits, or runs of a bandit.
    - ``sees='model'``: what is published: coefficients after ``fit``, after each call of
      ``partial_fit``, what transformers have learned, or, of a bandit, all released weights and the
      actions of all other users. A direction in which to look is learned from a quarter of the
      runs, which are not counted. The bound stays far below most claims.
    - ``sees='auto'``: queries, unless there is a ``statistic`` or no likelihood is known for some
      answer; then the model. Of a private search, the published winner.

    Before that, the boundary is tried: the recorded fit is replayed over neighbours, with the
    recorded answers. If it asks other queries, or publishes or warns of anything else, the row can
    be told beside all noise, and the claim is refuted whatever the answers say: see
    :attr:`AuditResult.leaks`. Pipelines, column transformers and unions are audited as they are,
    against the total of :func:`skdp.privacy_spent`. Searches, and streams that stay open over
    several calls, are not replayed.

    Every run draws its noise from the operating system, whatever ``random_state`` says. The result
    tells of the data: audit with made-up or public rows.

    Parameters
    ----------
    estimator : estimator
        With the parameters whose claim is in question. It is copied, not fitted.
        It may be a pipeline, or composed in other ways that ``skdp.privacy_spent`` takes apart.
    X : ndarray, dataframe or CSR matrix of shape (n_samples, n_features)
        Rows. Few of them make fast runs. For a bandit the contexts of users, in their order.
    y : ndarray of shape (n_samples,)
        Targets. For a bandit what each user would return for each arm, (n_samples, n_arms).
    other : tuple of array-like, optional
        ``(X, y)`` of the second data set; where a privacy unit has another number of rows,
        ``(X, y, privacy_unit)``. By default, under replace-one, row ``row`` is replaced on both
        sides by rows that are as far apart as could be found. Under zero-out it has to be left out:
        the second data set lacks the row.
    row : int, default=0
        The row that is replaced, if ``other`` is not given, or left out; with ``privacy_unit`` all
        rows of its unit are.
    sees : {'auto', 'queries', 'answers', 'model'}, default='auto'
        See above. Searches know ``'model'`` alone, and streaming solvers under
        ``partial_fit``.
    runs : int, optional
        Runs on each of the two data sets; by default as many answers as bring the bound close to
        the claim, or as many fits as take about 20 seconds. For one run, the number of guesses; by
        default the best of several, each with its part of the failure.
    calls : int, optional
        If given, rows go to ``partial_fit`` in so many calls of about the same size.
    statistic : callable, optional
        For ``sees='model'``: a number for a fitted model, in place of what it has published.
    fit_params : Mapping, optional
        More arguments of ``fit``, such as ``sites``. With ``privacy_unit`` neighbours differ in
        all rows of a unit.
    confidence : float, default=0.95
        Probability with which the bound is below the true epsilon.
    n_jobs : int, optional
        Number of processes, as for joblib; of threads for queries, by default two.

    Returns
    -------
    AuditResult
        The bound, the claim, and the curve behind it.

    Raises
    ------
    ValueError
        If the data are no neighbours, or the options do not go together.
    TypeError
        If answers or queries are to be looked at for which no likelihood is known.

    References
    ----------
    Clopper and Pearson (1934); Hoeffding (1956); Kairouz, Oh and Viswanath (2015); Nasr et al.
    (2023) for bounds on mu; Steinke, Nasr and Jagielski (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLinearRegression
    >>> from skdp.audit import audit
    >>> X, y = np.ones((3, 1)), np.array([1.0, 0.0, 0.0])
    >>> model = DPLinearRegression(data_norm=1.0, target_bounds=(-1, 1), solver="adassp")
    >>> result = audit(model, X, y)
    >>> result.epsilon, result.sees
    (1.0, 'queries')
    """
    given = {name: value for name, value in locals().items() if name in _CONSTRAINTS}
    check_hyperparameters(_CONSTRAINTS, given, "audit")
    _check_estimator(estimator)
    if statistic is not None and sees not in ("auto", "model"):
        raise ValueError(f"audit needs sees='model' for a statistic, got {shown(sees)}.")
    adjacency = adjacency_of(estimator)
    _check_kind(estimator, sees=sees, calls=calls, adjacency=adjacency)
    params = dict(fit_params or {})
    labels = params.pop("privacy_unit", None)
    data: tuple[Any, ...] = arrays(X, y)
    if labels is not None:
        if calls is not None or isinstance(estimator, DPContextualBandit):
            raise ValueError("audit needs runs of fit with privacy_unit, without calls.")
        data = with_units(data, labels)
    other = None if other is None else second_of(other, data)
    bandit, zero_out = isinstance(estimator, DPContextualBandit), adjacency == "zero_out"
    if zero_out:
        _refuse_zero_out(other, calls, bandit=bandit)
    if row >= len(data[1]):
        raise ValueError(f"audit needs a row among {len(data[1])}, got {shown(row)}.")
    if bandit and (other is None or calls is not None):
        raise ValueError(
            f"audit needs other data and calls=None for a bandit, got calls={shown(calls)} and "
            f"{'no ' if other is None else ''}other data."
        )
    parts = _cut(len(data[1]), calls)
    rows = rows_in_question(data, other, row)
    program: Program
    if bandit:
        assert other is not None
        program = BanditProgram(estimator, (data, other), int(rows[0]))
    else:
        left_out = rows if zero_out else None
        pair = (data, data) if zero_out else (data,) if other is None else (data, other)
        program = FitProgram(estimator, pair, left_out, parts, params)
    view: str = sees
    if _searches(estimator):
        found, view = winners_of(program, rows), "winner"
    else:
        found = replayed(program, rows)
    if found.leaks:
        return leaking(found.leaks, found.claim, adjacency, confidence)
    if view == "auto":
        known = isinstance(found.answers, list) and statistic is None
        view = "queries" if known else "model"
    if view in ("answers", "queries") and not isinstance(found.answers, list):
        raise found.answers
    claim = found.claim
    if view == "queries":
        assert isinstance(found.answers, list)
        runs = runs or _affordable(found.answers, gaussian=claim.gaussian)
        samples = ratios_of_queries(found.answers, runs, n_jobs)
    else:
        # The answers of a run are found by a replay, which takes as long.
        seconds = found.seconds * (4 if view == "answers" else 2)
        runs = runs or int(np.clip(_SECONDS / seconds, _FEWEST_FITS, _MOST_FITS))
        samples = samples_of_runs(found.program, view, runs, statistic, n_jobs)
    return bounded(samples, claim, view, adjacency, confidence)


def _affordable(answers: list[Answer], *, gaussian: bool) -> int:
    """Number of fresh answers that bring a bound close to the claim, or that can be drawn soon."""
    cost = sum(answer.cost for answer in answers)
    most = min(_MOST_ANSWERS, _NUMBERS / (2 * max(cost, 1.0)))
    if gaussian:
        squares = [answer.coordinates(1) - answer.coordinates(0) for answer in answers]
        square = sum(float(np.vdot(move, move)) for move in squares)
        most = min(most, (_LOST_BY_ONE / _LOST) ** 2 / max(square, 1e-9))
    return max(_FEWEST_ANSWERS, ceil(most))


@strict_checks()
def audit_query(
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
    """Have one query answered many times on two data sets, and compare with its price.

    Parameters
    ----------
    query : Query
        The query.
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
    arguments = {name: value for name, value in locals().items() if name in _OF_QUERIES}
    check_hyperparameters(_OF_QUERIES, arguments, "audit_query")
    widths = [first.n_features, second.n_features]
    if widths[0] != widths[1]:
        raise ValueError(
            f"audit_query needs data sets with the same features, got {widths} features."
        )
    calculus = calculus_for(query, adjacency, epsilon, delta)
    ledger = Ledger(epsilon, delta, calculus=calculus)
    mechanism, claim = Claim.of_query(query, adjacency, ledger)
    given = mechanism.randomize(query.evaluate(first), SystemNoise())
    answers = [answer_to(query, mechanism, given, (first, second)).between(0, 1)]
    samples = fresh_ratios(answers, 0, runs), fresh_ratios(answers, 1, runs)
    return bounded(samples, claim, "queries", adjacency.value, confidence)


# Checks of what is given.


def _check_estimator(estimator: Any) -> None:
    """Refuse what is no private estimator of targets."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise ValueError(
            f"audit needs an estimator, got {type(estimator).__name__} without get_params."
        )


def _check_kind(estimator: Any, *, sees: str, calls: Any, adjacency: str) -> None:
    """Refuse what a transformer or a search cannot be audited with.

    A search fits in secret number, with oracles that see parts of the rows, so that nothing is
    known of it but what it publishes.
    """
    who = type(estimator).__name__
    got = f"got sees={shown(sees)}, calls={shown(calls)}"
    if _searches(estimator):
        possible = sees in ("auto", "model") and calls is None
        if not (possible and adjacency == Adjacency.REPLACE_ONE):
            raise ValueError(
                f"audit needs sees='model', calls=None and adjacency='replace_one' for "
                f"{who}, of which only the winner is published, {got} and adjacency="
                f"{shown(adjacency)}. Audit the estimator that is searched over for more."
            )
    elif calls is not None and not hasattr(estimator, "predict"):
        raise ValueError(f"audit needs calls=None for {who}, {got}.")


def _searches(estimator: Any) -> bool:
    """Tell whether an estimator is a private search, or holds one.

    Parameters
    ----------
    estimator : estimator
        Of any kind.
    """
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return any(isinstance(part, PrivateSearch) for part in parts)


def _refuse_zero_out(other: Any, calls: int | None, *, bandit: bool) -> None:
    """Refuse options of an audit that have no meaning under zero-out."""
    if other is not None or calls is not None or bandit:
        raise ValueError(
            "audit under adjacency='zero_out' leaves rows out by itself, which needs other=None "
            "and one call of fit: no row stands for nothing in a stream. Audit streams and bandits "
            "with adjacency='replace_one'."
        )


def _cut(n: int, calls: int | None) -> tuple[slice, ...] | None:
    """The rows of each call of ``partial_fit``; None for a call of ``fit``.

    Parameters
    ----------
    n : int
        Number of rows.
    calls : int or None
        Number of calls.

    Raises
    ------
    ValueError
        If there are more calls than rows.
    """
    if calls is None:
        return None
    if calls > n:
        raise ValueError(f"audit needs no more calls than the {n} rows, got {shown(calls)}.")
    edges = np.linspace(0, n, calls + 1).astype(int).tolist()
    return tuple(slice(i, j) for i, j in pairwise(edges))
