"""Private scores of a fitted model on test rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import inf, nan, sqrt
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, column_or_1d, get_tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _num_samples, check_is_fitted

from ...exceptions import PrivacyLeakWarning, warn_user
from ...privacy.accounting.default_delta import delta_for
from ...privacy.adjacency import Adjacency, PrivacyUnit
from ...privacy.oracle_factory import PrivacyTerms, noise_for, open_rows
from ...privacy.queries.metric_means import mean_roc_area_term, roc_area_term
from ...privacy.rows.chunked import Chunks
from ...privacy.rows.dask_rows import is_collection
from ...privacy.rows.predicted_rows import Predictor, predicted_rows
from ...privacy.rows.privacy_units import PrivacyUnits
from ...privacy.rows.reading import columns_of, places_among, redacted, strict_checks
from ...privacy.rows.targets import checked_classes, signed_times
from ...reporting.open_budgets import charged, reservation_for, rollback
from ...reporting.receipts import SpendBound
from ...reporting.total import privacy_spent
from ...reporting.training_targets import was_fitted_to
from ...validation import (
    PAIR,
    check_hyperparameters,
    numbers_in,
    one_of,
    shown,
    sized,
    telling_sizes,
)
from .evaluation_plan import AREA_BINS, OF_COUNTS, OF_EVENTS, EvaluationPlan, metrics_for
from .evaluation_result import CalibrationCurve, ConfusionMatrix, Evaluation, RocCurve, Score
from .pointwise_models import is_pointwise
from .row_means import Asked, Facts, score_means
from .score_estimates import (
    LEAST_EVIDENCE,
    Estimate,
    OutcomeTable,
    RocArea,
    of_counts,
    roc_area,
)
from .survival import SurvivalModel, score_survival

_CONSTRAINTS: dict[str, list[Any]] = {
    "epsilon": [Interval(Real, 1e-10, 1e9, closed="both")],
    "delta": [None, Interval(Real, 0, 1, closed="neither")],
    "target_bounds": [None, PAIR],
    "residual_bound": [None, Interval(Real, 0, None, closed="neither")],
    "bins": [Interval(Integral, 2, 1000, closed="both"), "array-like"],
    "least_probability": [Interval(Real, 1e-12, 0.5, closed="both")],
    "confidence": [Interval(Real, 0.5, 0.9999, closed="both")],
    "pointwise": [None, "boolean"],
    "public_model": ["boolean"],
    "adjacency": [one_of(*(a.value for a in Adjacency))],
    "random_state": ["random_state", np.random.Generator],
}
# Most that bounds of targets and residuals may be, and the inverse of the least.
_FAR = 1e30
# Bins that a calibration curve is drawn with.
_CALIBRATION_BINS = 5
# Number of rows times mu, times the share of the smaller class: below the first there is no
# interval of the area under the ROC curve, and below the second it may be too short.
_AREA_HIDDEN, _AREA_DOUBTFUL = 10.0, 25.0
# The same of several classes, with the mu that counts of each class get; none is doubtful.
_AREAS_HIDDEN = 50.0


@strict_checks()
def evaluate(
    model: Any,
    X_test: Any,
    y_test: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    metrics: Any = None,
    classes: Any = None,
    target_bounds: Any = None,
    residual_bound: float | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    group_values: Any = None,
    privacy_unit: Any = None,
    bins: Any = 20,
    least_probability: float = 0.01,
    confidence: float = 0.95,
    public_model: bool = False,
    pointwise: bool | None = None,
    adjacency: str = "replace_one",
    random_state: Any = None,
) -> Evaluation:
    r"""Scores of a fitted model on test rows, published with noise that protects these rows.

    The score of a model on people's rows tells of them, even if the model does not. Here all scores
    of one call are together (epsilon, delta)-differentially private in the test rows, and each
    comes with an interval that covers both noise and the choice of the rows.

    Parameters
    ----------
    model : estimator
        Fitted, private or not, of scikit-learn's kind: with ``predict`` and, for what is asked of
        probabilities, ``predict_proba``. What it says of a row has to depend on that row alone; see
        ``pointwise``.
    X_test : array-like, dataframe or sparse matrix of shape (n_samples, n_features)
        Test rows, as ``model.predict`` takes them. They should be none that the model was fitted
        to, or its scores are too good.
    y_test : array-like of shape (n_samples,)
        Labels or targets; times to an event as in :meth:`skdp.DPHazardRegressor.fit`.
    epsilon : float
        Budget of all scores together.
    delta : float, optional
        Slack; by default the smaller of 1e-5 and n^-1.1 for n test rows.
    metrics : list of str, optional
        Of a classifier: ``'accuracy'``, ``'balanced_accuracy'``, ``'precision'``, ``'recall'`` and
        ``'f1'`` (of the second of two classes, and means over several), ``'confusion_matrix'``,
        ``'log_loss'``, ``'brier_score'``, ``'roc_auc'`` (of several classes the mean over each
        against the rest) and, for two classes, ``'roc_curve'``, ``'calibration_curve'``,
        ``'selection_rate'``, ``'true_positive_rate'`` and ``'false_positive_rate'``. Of a
        regression: ``'r2'``, ``'mean_squared_error'`` and ``'mean_absolute_error'``. Of counts, and
        not beside those: ``'d2'`` and ``'mean_poisson_deviance'``, as in scikit-learn, and
        ``'calibration'``, expected over observed events. Of a model with one ``quantile`` or
        several: ``'pinball_loss'``, the mean over the quantiles, and ``'coverage'``, the share of
        targets from the lowest quantile to the highest, or up to the only one. Of
        :class:`skdp.DPHazardRegressor`: ``'concordance'``, of people by at most ten groups of times
        and scores half a unit wide, and ``'integrated_brier_score'``, the mean over as many cut
        points. By default all
        that suit the model, but for the ``'roc_auc'`` of several classes. All that follow from
        labels and predicted classes are paid for together; otherwise each costs a part of the
        budget.
    classes : list, optional
        Labels that may occur. By default those of the model, which are public if it is.
    target_bounds : (float, float), optional
        For a regression, which needs it: bounds known without the rows, to which targets are
        clipped. By default those of the model, if it has some. Of counts (0, cap), with a cap on
        the events of a row, target times weight; fewer expected ones than a thousandth of the cap
        count as that.
    residual_bound : float, optional
        Bound to which residuals are clipped, by default half the width of ``target_bounds``. The
        tighter, the less noise; errors beyond it count as this large.
    sample_weight : array-like of shape (n_samples,), optional
        Of counts: exposures of the rows, whose targets are rates. They count up to 1; choose their
        unit accordingly.
    groups : array-like of shape (n_samples,), optional
        Group of each row, to compare scores between groups. A row may be of one group only, and
        all groups together cost what one does. Of curves, ``'roc_auc'`` and ``'r2'`` there are none
        by group, and of ``'log_loss'`` and ``'brier_score'`` if they are among ``metrics``.
    group_values : list, optional
        The groups that may occur, which have to be known without the rows.
    privacy_unit : array-like of shape (n_samples,), optional
        Label of the person, or whatever else is to be protected as a whole, to whom each row
        belongs. All rows of one are protected together, and each score is that of a person picked
        at random, and then of one of that person's rows. The model is asked about the rows of one
        person at a time. Intervals allow for rows of a person being alike.
    bins : int or array-like, default=20
        Number of equal bins of the probability of the second class for curves and ``'roc_auc'``, or
        their inner edges: for rare classes there should be more of them at small probabilities.
    least_probability : float, default=0.01
        Probabilities of the true label below this count as this in ``'log_loss'``.
    confidence : float, default=0.95
        Level of the intervals, each for itself.
    public_model : bool, default=False
        Your word that the model may be public, though its training was not private: for example
        because its training rows are. Without it a model that is not known to be private is warned
        of, as its scores tell of its training rows. For test rows that such a model was fitted to,
        the epsilon of the evaluation does not hold.
    pointwise : bool, optional
        True is your word that what the model says of a row does not depend on the rows it is asked
        about together with it, so that it may be asked about many rows at a time; False asks about
        one row at a time, which makes it so. By default many rows at a time go to models whose
        parts all are known to be pointwise ones of skdp and scikit-learn and hold no function; all
        other models, and rows in lists, are taken one at a time. A model that returns arrays of
        numbers, but of texts if one row is odd, is not pointwise. Neither True nor False helps
        against a model that remembers what it was asked before, learns as it predicts or draws
        random numbers (caches, dropout or batch normalisation in training mode, ``RandomState``):
        it voids the promise.
    adjacency : {'replace_one', 'zero_out'}, default='replace_one'
        When sets of test rows count as neighbours.
    random_state : int, RandomState, Generator or None, default=None
        Anything but None makes the noise reproducible, and warns: for tests only.

    Returns
    -------
    Evaluation
        With ``scores["accuracy"].value``, ``.low`` and ``.high``, curves, and the receipt. It holds
        nothing of test rows but what was paid for.

    Raises
    ------
    ValueError
        If parameters or data are malformed, or noise would hide all there is to see. Nothing has
        been spent then.
    BudgetExceededError
        If a :class:`skdp.PrivacyBudget` is open that has no room for it; likewise.

    Warns
    -----
    PrivacyLeakWarning
        If the model, or its classes, are not known to be public.
    UserWarning
        If intervals are mainly noise, or could not be had.

    Notes
    -----
    What the model raises about single rows is not passed on: these rows count as mistakes. If all
    scores are at their worst, check that ``model.predict(X_test)`` works, on rows of which errors
    may be shown.

    An evaluation counts as a fit on the same rows in ``skdp.privacy_spent([model, evaluation])``
    and under a ``PrivacyBudget``. If nobody has a row in both sets, each of the two promises holds
    by itself, and nothing has to be added up.

    Examples
    --------
    >>> import numpy as np
    >>> import skdp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(8000, 2))
    >>> y = (X[:, 0] + rng.normal(0, 0.5, size=8000) > 0).astype(int)
    >>> model = skdp.DPLogisticRegression(epsilon=1.0, classes=[0, 1], data_norm=1.5)
    >>> model = model.fit(X[:4000], y[:4000])
    >>> scores = skdp.evaluate(model, X[4000:], y[4000:], epsilon=1.0, metrics=["accuracy"])
    >>> value, low, high = scores.scores["accuracy"]
    >>> bool(low < value < high), bool(abs(value - 0.81) < 0.05)
    (True, True)
    >>> scores.privacy_spent_
    PrivacySpent(epsilon=1.0, delta=1e-05)
    """
    given = {name: value for name, value in locals().items() if name in _CONSTRAINTS}
    check_hyperparameters(_CONSTRAINTS, given, "evaluate")
    result = Evaluation()
    charge = reservation_for(result)
    with rollback(result, charge):
        units, unit = None, PrivacyUnit.ROW
        if privacy_unit is not None:
            units, unit = PrivacyUnits.of(privacy_unit), PrivacyUnit.DECLARED
            units.check(X_test, y_test, groups, sample_weight)
        timed, reach = _of_times(model), (0.0, 0.0, 0.0)
        with telling_sizes(units is None):
            y = y_test if timed is None else signed_times("evaluate", y_test)
            X, y = _checked(model, X_test, y)
        n, z = len(y) if units is None else units.n_units, float(ndtri(0.5 + confidence / 2))
        terms = PrivacyTerms(float(epsilon), delta_for(delta, n), Adjacency(adjacency))
        claim = SpendBound.of_ledger(terms.ledger(), terms.adjacency, unit)
        charge.reserve(claim, begins=False)
        groups, known_groups = _checked_groups(groups, group_values, len(y))
        regression = classes is None and _is_regression(model)
        if regression:
            labels, read_classes, scores = None, False, None
            if timed is None:
                reach = _reach(model, target_bounds, residual_bound)
        else:
            labels, read_classes = _labels(model, classes, public_model)
            scores = _scores_of(model, len(labels))
            edges = _edges(bins)
        n_classes = 0 if labels is None else len(labels)
        quantiles = _quantiles_of(model) if regression else ()
        asked_of: dict[str, Any] = {
            "grouped": groups is not None,
            "events": regression and _of_events(model),
        }
        asked_of |= {"quantiles": len(quantiles), "times": timed is not None}
        if timed is not None and groups is not None:
            raise ValueError(
                "evaluate needs groups=None for times to an event. Evaluate the rows of each group "
                "by themselves, if their numbers may be public."
            )
        if timed is not None and not (target_bounds is None and residual_bound is None):
            raise ValueError(
                "evaluate needs target_bounds=None and residual_bound=None for times to an event, "
                "of which the cut points of the model are all that counts. Leave them out."
            )
        names = metrics_for(metrics, n_classes, scores, **asked_of)
        of_events = set(names) <= set(OF_EVENTS)
        if sample_weight is not None and not of_events:
            raise ValueError(
                f"evaluate needs sample_weight=None, but for counts with {', '.join(OF_EVENTS)}: "
                "each row counts once."
            )
        if of_events and reach[0] != 0:
            raise ValueError(
                "evaluate needs target_bounds=(0, cap) for counts, got a lower end of "
                f"{reach[0]:g}."
            )
        beside = _exposures(sample_weight, len(y)) if of_events else groups
        plan = EvaluationPlan.of(names)
        if pointwise is None:
            # Entries of a list have no type in common but what the rows of a call give them.
            pointwise = hasattr(X, "shape") and is_pointwise(model)
        rows_at_a_time = None if pointwise else 1
        asked_for = scores if plan.needs_scores else None
        predictor = _predictor(model, labels, asked_for, rows_at_a_time, max(1, len(quantiles)))
        encode = _finite if labels is None else _encoder(labels, "labels", "classes")
        encode_groups = _finite if of_events else _encoder(known_groups, "groups", "group_values")
        with telling_sizes(units is None):
            rows = predicted_rows(predictor, X, y, encode, beside, encode_groups, units)
        oracle, ledger = open_rows(rows, terms, noise_for(random_state))
        _warn(plan.check(n, oracle.budget.mu))
        _check_public(model, public_model)
        if was_fitted_to(model, y_test):
            warn_user(
                "evaluate was given rows that the model was fitted to. Their scores are better "
                "than those of new rows, and both have been spent on the same rows; see "
                "skdp.privacy_spent([model, evaluation]). Keep rows apart for the test.",
                UserWarning,
            )
        charge.reserve(claim, begins=True)
    doubtful = False
    result.adjacency, result.confidence, result.n_samples = terms.adjacency, confidence, n
    result.privacy_unit_ = str(unit)
    result._read_classes = read_classes
    among = None if groups is None else known_groups
    asked = Asked(oracle, plan, oracle.budget, result, among, n, z)
    with charged(result, ledger, charge, "evaluate", " of the test rows"):
        if timed is not None:
            score_survival(asked, timed)
        else:
            if labels is not None:
                _score_counts(asked, labels)
            weighted = sample_weight is not None
            score_means(asked, Facts(*reach, quantiles, least_probability, weighted))
            if labels is not None:
                doubtful = _score_curves(asked, edges, n_classes)
    hidden = ", ".join(result.hidden)
    few = (
        f"no interval for {hidden}: too few rows stand out of the noise" * bool(hidden),
        "few rows of one class, so that the interval of roc_auc may be too short" * doubtful,
    )
    for found in filter(None, few):
        _warn(f"evaluate has {found}. Ask for fewer metrics or groups, or spend more.")
    return result


def _warn(message: str) -> None:
    if message:
        warn_user(message, UserWarning)


def _score_counts(asked: Asked, labels: np.ndarray) -> None:
    """Ask for labels and predicted classes, and publish what follows from them."""
    plan, result, groups, z = asked.plan, asked.result, asked.groups, asked.z
    if not plan.table:
        return
    n_groups = 1 if groups is None else len(groups)
    coarse = plan.coarse and groups is None
    counts, scale = asked.oracle.outcome_counts(
        "correctness" if coarse else "prediction",
        len(labels),
        n_groups=n_groups,
        spend=asked.spend(plan.table),
    )
    whole = OutcomeTable.of(counts.sum(axis=0), scale * sqrt(n_groups), asked.n)
    names = [name for name in plan.metrics if name in OF_COUNTS]
    for name in names:
        asked.publish(name, of_counts(name, whole, z))
    for k, label in enumerate(() if groups is None else groups.tolist()):
        table = OutcomeTable(counts[k], scale)
        found = {name: of_counts(name, table, z) for name in names}
        result.by_group[label] = {name: Score(*score[:3]) for name, score in found.items()}
    if "confusion_matrix" in plan.metrics:
        everything, cells = np.ones(whole.counts.shape), np.eye(whole.counts.size)
        ends = np.array(
            [whole.proportion(c.reshape(everything.shape), everything, z)[1:3] for c in cells]
        ).reshape(*everything.shape, 2)
        low, high = asked.n * ends[..., 0], asked.n * ends[..., 1]
        result.confusion_matrix = ConfusionMatrix(labels, whole.counts, low, high)


def _score_curves(asked: Asked, edges: np.ndarray, n_classes: int) -> bool:
    """Ask for scores by label, and publish what follows; True if the area is in doubt."""
    plan, result, n, z = asked.plan, asked.result, asked.n, asked.z
    if not plan.bins:
        return False
    # Of two classes the second, of several each against the rest.
    classes = [1] if n_classes == 2 else range(n_classes)
    spend = asked.spend(plan.bins / len(classes))
    tables = []
    for k in classes:
        counts, scale = asked.oracle.outcome_counts(
            "score", n_classes, edges=edges[1:-1], of_class=k, spend=spend
        )
        tables.append(OutcomeTable.of(counts[0], scale, n))
    areas, table = [roc_area(of_class) for of_class in tables], tables[0]
    first = areas[0]
    if "roc_curve" in plan.metrics:
        result.roc_curve = _roc_curve(table, first, edges, z)
    if "calibration_curve" in plan.metrics:
        result.calibration_curve = _calibration_curve(table, edges, z)
    if "roc_auc" not in plan.metrics:
        return False
    term = roc_area_term(edges, first.zeros, first.ones, first.area, first.share)
    if n_classes > 2:
        facts = zip(*((a.zeros, a.ones, a.area, a.share) for a in areas), strict=True)
        term = mean_roc_area_term(edges, *map(np.array, facts))
    value, low, high, noise = asked.means((term,), plan.last)[0]
    # What the area is given by the plan, whatever the curves get besides.
    mu = asked.budget.mu * sqrt(plan.last / (1 - AREA_BINS))
    evidence = n * mu / sqrt(len(classes)) * min(area.smaller for area in areas)
    least = _AREA_HIDDEN if n_classes == 2 else _AREAS_HIDDEN
    if evidence < least:
        low = high = nan
    middle = float(np.mean([area.area for area in areas]))
    value, low, high = np.clip(middle + np.array([value, low, high]), 0.0, 1.0).tolist()
    asked.publish("roc_auc", Estimate(value, low, high, noise))
    return least <= evidence < _AREA_DOUBTFUL


def _roc_curve(table: OutcomeTable, first: RocArea, edges: np.ndarray, z: float) -> RocCurve:
    bins = table.counts.shape[1]
    columns = []
    for rates, label in ((first.zeros, 0), (first.ones, 1)):
        whole = np.zeros(table.counts.shape)
        whole[label] = 1.0
        # A threshold at the first edge takes all rows, and one at the last none.
        ends = [
            table.proportion(whole * (np.arange(bins) >= k), whole, z)[1:3] if k else (1.0, 1.0)
            for k in range(bins)
        ]
        low, high = np.array([*ends, (0.0, 0.0)]).T[:, ::-1]
        columns += [1.0 - rates[::-1], low, high]
    fpr, fpr_low, fpr_high, tpr, tpr_low, tpr_high = columns
    return RocCurve(edges[::-1].copy(), fpr, tpr, fpr_low, fpr_high, tpr_low, tpr_high)


def _calibration_curve(table: OutcomeTable, edges: np.ndarray, z: float) -> CalibrationCurve:
    assert table.total is not None
    runs = np.array_split(np.arange(table.counts.shape[1]), _CALIBRATION_BINS)
    found, sizes, bounds = [], [], [0.0]
    for run in filter(len, runs):
        whole = np.zeros(table.counts.shape)
        whole[:, run] = 1.0
        part = whole * np.array([[0.0], [1.0]])
        # By public numbers alone: were those bins shown that look large enough, they would mostly
        # be the ones that noise has made so.
        usual, hides = table.total / _CALIBRATION_BINS, sqrt(table.noise(whole, whole))
        seen = usual > LEAST_EVIDENCE * hides
        found.append(table.proportion(part, whole, z)[:3] if seen else (nan, nan, nan))
        sizes.append(table.sum(whole))
        bounds.append(edges[run[-1] + 1])
    share, low, high = np.array(found).T
    return CalibrationCurve(np.array(bounds), share, low, high, np.array(sizes))


# Checks of what is given, before anything is asked.


def _of_times(model: Any) -> SurvivalModel | None:
    """Public facts of a model of hazards; None for others."""
    last = _last_step(model)
    return SurvivalModel.of(last) if hasattr(last, "baseline_hazard_") else None


def _quantiles_of(model: Any) -> tuple[float, ...]:
    """Quantiles that a model says it predicts, in increasing order; none if it does not."""
    given = getattr(_last_step(model), "quantile", None)
    listed = [given] if isinstance(given, Real) else given
    numbers = None if listed is None else numbers_in(listed)
    if numbers is None or numbers.ndim != 1 or not numbers.size:
        return ()
    inside = np.all((numbers > 0) & (numbers < 1)) and np.all(np.diff(numbers) > 0)
    return tuple(numbers.tolist()) if inside else ()


def _last_step(model: Any) -> Any:
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _of_events(model: Any) -> bool:
    """True if a model says that it is for targets that are not negative, as those of counts do."""
    last = _last_step(model)
    return hasattr(last, "__sklearn_tags__") and get_tags(last).target_tags.positive_only


def _exposures(given: Any, n: int) -> np.ndarray:
    """Exposures of the rows, 1 if there are none."""
    if given is None:
        return np.ones(n)
    weights = redacted(column_or_1d, given, warn=False)
    if len(weights) != n:
        raise ValueError(f"evaluate needs a weight for each of {n} rows, got {len(weights)}.")
    return weights


def _checked(model: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """Rows that can be taken out one by one, and targets; refuses what the model cannot take."""
    if not hasattr(model, "predict"):
        raise ValueError(f"evaluate needs a fitted model with predict, got {shown(model)}.")
    if hasattr(model, "__sklearn_tags__"):
        check_is_fitted(model)
    if isinstance(X, Chunks) or is_collection(X) or is_collection(y):
        raise ValueError(
            "evaluate needs test rows in memory, as arrays, dataframes or sparse matrices, got "
            f"{sized(X)}. Evaluate a random sample of them, of a size that is known without them."
        )
    if y is None or any(np.isscalar(v) or getattr(v, "ndim", 1) == 0 for v in (X, y)):
        raise ValueError("evaluate needs test rows and as many labels or targets.")
    # Quantiles are several of one target.
    columns = max(redacted(columns_of, y) or 1, 1 if _quantiles_of(model) else _n_outputs(model))
    if columns > 1:
        raise ValueError(
            f"evaluate needs one target a row, got {columns}. Evaluate one at a time, by a model "
            "that predicts it alone, each with a part of the budget."
        )
    kinds = getattr(X, "dtypes", ()) if hasattr(X, "columns") else [getattr(X, "dtype", None)]
    if any(str(kind).lower() == "object" for kind in kinds) and not (
        isinstance(X, np.ndarray) or hasattr(X, "iloc")
    ):
        raise ValueError(
            "evaluate needs test rows with Python objects in lists, numpy arrays or pandas frames, "
            f"so that the model gets copies, got {sized(X)}."
        )
    if sp.issparse(X):
        X = X.tocsr()
    y = redacted(column_or_1d, y, warn=False)
    if not len(y) or _num_samples(X) != len(y):
        raise ValueError(
            f"evaluate needs test rows and as many labels or targets, got {_num_samples(X)} and "
            f"{len(y)}."
        )
    names, width = getattr(model, "feature_names_in_", None), getattr(model, "n_features_in_", None)
    given = getattr(X, "shape", (len(y),))[1:]
    if given and width is not None and given[0] != width:
        raise ValueError(
            f"evaluate needs the {width} features of the model, got {given[0]} columns."
        )
    if names is not None and hasattr(X, "columns") and list(X.columns) != list(names):
        raise ValueError("evaluate needs the columns of the model, in their order, got others.")
    return X, y


def _checked_groups(groups: Any, values: Any, n: int) -> tuple[Any, np.ndarray]:
    """Groups of the rows, and those that there may be."""
    if groups is None and values is None:
        return None, np.zeros(1)
    if groups is None or values is None:
        raise ValueError(
            "evaluate needs groups, one for each row, together with group_values=[...], the groups "
            "that may occur: which do is not public."
        )
    groups = redacted(column_or_1d, groups, warn=False)
    if len(groups) != n:
        raise ValueError(f"evaluate needs a group for each of {n} rows, got {len(groups)}.")
    return groups, _known(values, "group_values")


def _n_outputs(model: Any) -> int:
    """Number of targets that a regressor says it predicts."""
    last = _last_step(model)
    if not (hasattr(last, "__sklearn_tags__") and is_regressor(last)):
        return 1
    coef: Any = getattr(last, "coef_", None)
    shape = np.shape(coef)
    return int(getattr(last, "n_outputs_", shape[0] if len(shape) == 2 else 1))


def _is_regression(model: Any) -> bool:
    if hasattr(model, "__sklearn_tags__"):
        return bool(is_regressor(model))
    # Models that do not say what they are.
    return not hasattr(model, "classes_")


def _known(given: Any, parameter: str) -> np.ndarray:
    """Sorted labels that a parameter lists, at least two."""
    return checked_classes("evaluate", given, parameter=parameter, least=2)


def _encoder(known: np.ndarray, what: str, parameter: str) -> Callable[[Any], np.ndarray]:
    """Function that turns labels into their places among the known ones, and refuses others."""

    def encode(given: Any) -> np.ndarray:
        code = places_among(known, given)
        if code is None:
            raise ValueError(
                f"evaluate needs {what} among the {known.size} of {parameter}; there are others. "
                f"Add them to {parameter}=[...], with the type that they have in the data, or "
                "remove the rows."
            )
        return code

    return encode


def _finite(y: np.ndarray) -> np.ndarray:
    numbers = numbers_in(y)
    if numbers is None:
        raise ValueError(f"evaluate needs numbers as targets of a regression, got {sized(y)}.")
    redacted(assert_all_finite, numbers, input_name="y", estimator_name="evaluate")
    return numbers


def _labels(model: Any, classes: Any, public_model: bool) -> tuple[np.ndarray, bool]:
    """Labels that may occur, and whether nobody knows that they are public."""
    if classes is not None:
        return _known(classes, "classes"), False
    known = getattr(model, "classes_", None)
    if known is None:
        raise ValueError(
            f"evaluate needs classes=[...] for a {type(model).__name__}, which has no classes_."
        )
    read = not public_model and _leaks(model) is not None
    return _known(np.asarray(known), "classes_ of the model"), read


def _scores_of(model: Any, n_classes: int) -> Literal["predict_proba", "decision_function"] | None:
    if hasattr(model, "predict_proba"):
        return "predict_proba"
    return "decision_function" if n_classes == 2 and hasattr(model, "decision_function") else None


def _edges(bins: Any) -> np.ndarray:
    """Edges of bins of the score, 0 and 1 included."""
    if isinstance(bins, Integral):
        return np.linspace(0.0, 1.0, int(bins) + 1)
    inner = numbers_in(bins)
    if inner is None or inner.ndim != 1 or not inner.size:
        raise ValueError(f"evaluate needs bins to be a number or inner edges, got {shown(bins)}.")
    edges = np.concatenate([[0.0], inner, [1.0]])
    if not np.all(np.diff(edges) > 0):
        raise ValueError(
            "evaluate needs inner edges of bins that increase between 0 and 1, got others."
        )
    return edges


def _reach(model: Any, bounds: Any, residual_bound: float | None) -> tuple[float, float, float]:
    """Bounds of targets, and the bound on residuals."""
    last = _last_step(model)
    given = getattr(last, "target_bounds", None) if bounds is None else bounds
    ends = None if given is None else numbers_in(given)
    if ends is None or ends.shape != (2,) or not -inf < ends[0] < ends[1] < inf:
        raise ValueError(
            "evaluate needs target_bounds=(low, high) of a regression, known without the rows, got "
            f"{shown(given)}. Pass them to evaluate; of counts they are (0, cap), a cap on the "
            "events of a row."
        )
    low, high = map(float, ends)
    half = high / 2 - low / 2
    bound = half if residual_bound is None else float(residual_bound)
    # Fourth powers of the bound, and of its share of the width, are finite and positive.
    if not (max(-low, high) <= _FAR and half >= 1 / _FAR and _FAR >= bound >= 1 / _FAR):
        raise ValueError(
            f"evaluate needs targets within {_FAR:g} of zero, and their width and residual_bound "
            f"within [{1 / _FAR:g}, {_FAR:g}], got {shown(given)} and {shown(residual_bound)}. "
            "Change the unit of the target."
        )
    return low, high, bound


def _predictor(
    model: Any, labels: np.ndarray | None, scores: Any, rows_at_a_time: int | None, outputs: int
) -> Predictor:
    """The model, and what it is asked for."""
    if labels is None:
        return Predictor(model, None, rows_at_a_time=rows_at_a_time, outputs=outputs)
    own = getattr(model, "classes_", None)
    listed = labels.tolist() if own is None else np.asarray(own).tolist()
    columns = tuple(listed.index(v) if v in listed else -1 for v in labels.tolist())
    return Predictor(model, labels, columns, scores, rows_at_a_time)


def _leaks(model: Any) -> str | None:
    """Name of a model that is not known to be private; None if it is."""
    try:
        with warnings.catch_warnings():
            # What the receipt of a model does not cover has been said when it was fitted.
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            privacy_spent(model)
    except (TypeError, ValueError):
        return type(model).__name__
    return None


def _check_public(model: Any, public_model: bool) -> None:
    name = None if public_model else _leaks(model)
    if name is not None:
        warn_user(
            f"evaluate protects the test rows. {name} is not known to be private, so that its "
            "scores, like all it predicts, tell of the rows that it was fitted to. If these are "
            "public, say public_model=True.",
            PrivacyLeakWarning,
        )
