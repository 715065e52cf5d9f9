"""Base of private searches: the order of things, from the checks to the winner."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from secrets import token_hex
from typing import Any, ClassVar, Self, final

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_regressor
from sklearn.metrics import check_scoring
from sklearn.utils import (
    assert_all_finite,
    check_array,
    check_consistent_length,
    column_or_1d,
    get_tags,
    indexable,
)
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_features, _num_samples, check_is_fitted

from ..docstrings import complete
from ..estimators.base import PrivateLinearModel
from ..estimators.hazard_regression import DPHazardRegressor
from ..estimators.opening import ACCEPTED
from ..exceptions import PrivacyLeakWarning, warn_user
from ..federated import DaskSites
from ..privacy.accounting.default_delta import delta_for
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..privacy.lock import locked
from ..privacy.oracle_factory import noise_for
from ..privacy.randomness import SecretNoise, secret_generator, secret_uniform
from ..privacy.row_scores import NoisyScoring
from ..privacy.rows.chunked import Chunks
from ..privacy.rows.dask_rows import is_collection
from ..privacy.rows.privacy_units import PrivacyUnits
from ..privacy.rows.reading import columns_of, in_units_of, redacted, strict_checks
from ..reporting.budget_warnings import warn_of_promise
from ..reporting.composition import ParallelComposition
from ..reporting.composition_verdicts import warn_of
from ..reporting.number_of_trials import NumberOfTrials
from ..reporting.open_budgets import BudgetedEstimator, reservation_for, rollback
from ..reporting.privacy_ledger import PrivacyLedger
from ..reporting.progress_bar import with_progress
from ..reporting.receipts import FOUND_BY, Receipt, SpendBound
from ..validation import check_parameters, shown
from .accounts import SearchAccount, account_for
from .candidates import (
    Candidate,
    Candidates,
    adjacency_of,
    check_steps,
    last_step,
    private_steps,
    silence,
    spaces_of,
)
from .trials import TrainingRows, Trial, idle_model, perform, public_score, row_score

# Models that are worth choosing between differ by less, as a share of the range of scores.
_BLURRED = 0.03


def _n_columns(X: Any) -> int:
    """Number of columns; 1 for texts, of which a step makes columns that nobody knows yet."""
    try:
        return int(_num_features(X))
    except TypeError:
        return 1


def _best_has(name: str) -> Callable[[Any], bool]:
    """Check that the model found, or else the one searched over, has a method."""

    def check(self: Any) -> bool:
        getattr(self.best_estimator_ if hasattr(self, "best_estimator_") else self.estimator, name)
        return True

    return check


class PrivateSearch(BudgetedEstimator, MetaEstimatorMixin, BaseEstimator, ABC):
    """A search that spends a total budget, publishes its winner alone, and acts as that.

    A subclass says which candidates there are and how many of them are tried.

    Parameters
    ----------
    estimator : estimator
        A private estimator, or a pipeline in which every step that learns from rows has ``epsilon``
        and ``delta``. Their values do not matter: the search sets them. The same goes for
        ``random_state`` of private steps and for ``verbose``.
    epsilon : float, default=1.0
        Budget of the whole search, scores included.
    delta : float, optional
        Budget of the whole search, in (0, 1). By default the smaller of 1e-5 and n^-1.1 for n rows.
    scoring : str or callable, optional
        How models are compared. On private rows a mean over rows of a bounded number:
        ``'accuracy'`` (default for classifiers), ``'neg_brier_score'``, ``'neg_log_loss'``,
        ``'neg_mean_absolute_error'``, ``'neg_mean_squared_error'`` (default for regressors), or a
        callable that takes a fitted estimator, X and y and returns a number for each row, which
        must not depend on other rows. On public rows any scorer of scikit-learn.
    score_range : tuple of (float, float), optional
        Numbers of rows are clipped to it. Needed for callables on private rows, and for errors of
        regression if the estimator has no ``target_bounds``. By default [0, 1] for accuracy,
        [log(0.01), 0] for log-likelihoods, and for errors up to those of a prediction that is off
        by half the width of ``target_bounds``.
    validation : tuple (X, y), optional
        What models are scored on: public rows, which must not need protection, without noise.
        Without them, the rows that they were trained on, with noise, for ``score_share`` of the
        budget of a trial.
    score_share : float, default=0.1
        Share of the budget of a trial that its score takes, if it is about training rows.
    step_shares : dict, optional
        Weights by which private steps of a pipeline share the budget of a fit, by their names.
        Steps that are left out have weight 1.
    n_jobs : int, optional
        How many trials at once, as in joblib.
    random_state : int, RandomState, Generator or None, default=None
        None draws all secrets from the operating system. Anything else makes the search
        reproducible, for tests, and warns that the guarantee does not hold against whoever knows
        the seed.

    Attributes
    ----------
    best_estimator_ : estimator
        The model of the best trial. Its receipts are those of the search.
    best_params_ : dict
        Its parameters, as drawn.
    best_score_ : float
        The noisy score by which it won, as it was released; on public rows the exact score of the
        trial. The best of several noisy scores tends to be too good.
    classes_ : ndarray of shape (n_classes,)
        Labels, if the model is a classifier.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had string column names.
    delta_ : float
        Slack of the guarantee: ``delta``, or what it is by default.
    privacy_unit_ : str
        What is protected: ``'row'``, or ``'privacy_unit'`` for all rows of a person.
    privacy_spent_ : PrivacySpent
        Named tuple ``(epsilon, delta)`` of what the search has spent, which is its budget.
    privacy_ledger_ : tuple of events
        The receipt.

    Warns
    -----
    PrivacyLeakWarning
        If classes are not given to a private classifier.
    SeededNoiseWarning
        If ``random_state`` is not None.
    UserWarning
        If the noise on scores hides all differences that can be expected.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "get_params", "set_params"])],
        "epsilon": [Interval(Real, 1e-3, 1e9, closed="both")],
        "delta": [None, Interval(Real, 1e-200, 1, closed="neither")],
        "scoring": [None, str, callable],
        "score_range": [None, "array-like"],
        "validation": [None, "array-like"],
        "score_share": [Interval(Real, 0, 1, closed="neither")],
        "step_shares": [None, dict],
        "n_jobs": [None, Integral],
        "random_state": ["random_state", np.random.Generator],
    }

    # Name of the parameter that says what is searched over.
    _space: ClassVar[str]

    estimator: Any
    epsilon: float
    delta: float | None
    delta_: float
    scoring: str | Callable[..., Any] | None
    score_range: tuple[float, float] | None
    validation: tuple[Any, Any] | None
    score_share: float
    step_shares: dict[str, float] | None
    n_jobs: int | None
    random_state: Any

    best_estimator_: Any
    best_params_: dict[str, Any]
    best_score_: float
    privacy_spent_: PrivacySpent
    privacy_ledger_: PrivacyLedger
    privacy_unit_: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        complete(cls)

    @final
    @locked
    def fit(self, X: Any, y: Any, sample_weight: Any = None, privacy_unit: Any = None) -> Self:
        """Search privately, and keep the best trial.

        Parameters
        ----------
        X : array-like, dataframe or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Handed on to the fit of the estimator, or of the last step of a pipeline, or, under
            metadata routing, of the steps that request it. Scores are not weighted.
        privacy_unit : array-like of shape (n_samples,), optional
            Label of the person, or whatever else is to be protected as a whole, to whom each row
            belongs. It reaches all private steps, and scores are means over people.

        Returns
        -------
        self
            With the best model.

        Raises
        ------
        ValueError
            If parameters, candidates or shapes are malformed. Nothing has been spent then, and the
            results of an earlier search are still there.
        BudgetExceededError
            If the whole search does not fit under a :class:`skdp.PrivacyBudget`. Nothing was read.
        RuntimeError
            If no trial came to an end. What was set aside is spent then. Also if another thread is
            fitting the same object, before anything is spent.
        """
        check_parameters(self)
        who = type(self).__name__
        if isinstance(self.estimator, type):
            raise ValueError(
                f"{who} needs an estimator, got the class {self.estimator.__name__}; make one of "
                "it."
            )
        charge = reservation_for(self)
        with rollback(self, charge):
            delta, units, unit = delta_for(self.delta, None), None, PrivacyUnit.ROW
            if privacy_unit is not None:
                units, unit = PrivacyUnits.of(privacy_unit), PrivacyUnit.DECLARED
            claim = SpendBound(self.epsilon, delta, None, self.adjacency, unit)
            charge.reserve(claim, begins=False)
            if units is not None:
                units.check(X, y, sample_weight)
            X, y, sample_weight = self._checked(X, y, sample_weight)
            n = len(y) if units is None else units.n_units
            delta = delta_for(self.delta, n)
            planned = self._plan(X, y, sample_weight, units, delta)
            account = planned[0]
            warn_of_promise(who, self.epsilon, delta, n)
            receipt = Receipt((account.event,), account.spent, self.adjacency, unit=unit)
            charge.reserve(receipt, begins=True)
        self.__dict__.pop("_read_classes", None)
        self._forget()
        self.delta_, self.privacy_unit_ = delta, str(unit)
        self._adjacency = receipt.adjacency
        self.privacy_spent_, self.privacy_ledger_ = receipt.spent, PrivacyLedger(receipt.events)
        try:
            best = self._best(*planned)
        finally:
            charge.settle(receipt)
        if best.model is None:
            raise RuntimeError(
                f"{who} found no candidate that could be fitted and scored. What "
                "went wrong would tell of the rows; to find out, fit the estimator by itself, with "
                f"a budget of its own. The search has spent epsilon={receipt.spent.epsilon:.6g} at "
                f"delta={receipt.spent.delta:.6g}."
            )
        self._publish(best, receipt)
        return self

    @property
    @final
    def adjacency(self) -> Adjacency:
        """The neighbouring relation of the guarantee, which is that of the private steps."""
        return adjacency_of(self.estimator)

    @final
    def _spaces(self) -> list[dict[str, Any]]:
        """Parts of the space, each with lists of values, or distributions, by name."""
        return spaces_of(type(self).__name__, self._space, getattr(self, self._space))

    @abstractmethod
    def _trials(self) -> NumberOfTrials | int:
        """Distribution of the number of trials, or that number if it is public."""

    @abstractmethod
    def _candidate(self, k: int, public_rng: np.random.RandomState) -> dict[str, Any]:
        """Parameters of trial k, drawn in secret unless all candidates are tried."""

    @final
    def _plan(
        self, X: Any, y: Any, sample_weight: Any, units: PrivacyUnits | None, delta: float
    ) -> tuple[SearchAccount, TrainingRows, Callable[..., float], list[Candidate]]:
        """All that can be settled, or refused, without spending.

        What trials may spend, the rows to train on, how models are judged, and a candidate for each
        trial.
        """
        who, unit = type(self).__name__, PrivacyUnit.ROW if units is None else PrivacyUnit.DECLARED
        classes = self._classes(y)
        n = len(y) if units is None else units.n_units
        kind = n, _n_columns(X), sp.issparse(X), sample_weight is not None
        leaks, of, stand_ins = self._stand_ins(who, classes, unit, *kind)
        warn_of(who, leaks)
        self._check_scores(stand_ins)
        for made in stand_ins:
            of.check_targets(made, y)
            of.check_fit(made)
        trials = self._trials()
        expected = [calculus for made in stand_ins for calculus in of.calculi(made, y)]
        account = account_for(expected, self.epsilon, delta, trials)
        of.check_rows(X)
        score_share = 0.0 if self._public else self.score_share
        noise = noise_for(self.random_state)
        public_rng = secret_generator(noise)
        count = trials if isinstance(trials, int) else trials.draw(secret_uniform(noise))
        params = [self._candidate(k, public_rng) for k in range(count)]
        budget = account, self.step_shares, 1 - score_share
        candidates = [of.drawn(each, y, *budget) for each in params]
        if self.random_state is not None:
            candidates = [candidate.seeded(public_rng) for candidate in candidates]
        # Scores of public rows have no noise.
        scoring = self._judge(X, y, account.score_mu(score_share or 1.0), units)
        labels = None if units is None else units.codes
        return account, TrainingRows(X, y, sample_weight, labels), scoring, candidates

    @final
    def _stand_ins(
        self, who: str, classes: np.ndarray | None, unit: PrivacyUnit, *kind: Any
    ) -> tuple[list[str], Candidates, list[Any]]:
        """Sentences on leaks, the set of candidates, and a few candidates that stand for all.

        ``kind`` holds public facts about the rows; ``privatize`` has none yet.
        """
        leaks = check_steps(who, self.estimator, unit)
        of = Candidates(who, self.estimator, self._spaces(), classes, unit, *kind)
        found = of.stand_ins()
        leaks += [leak for made in found for leak in check_steps(who, made, unit)]
        return leaks, of, found

    @final
    def _check_scores(self, stand_ins: list[Any]) -> None:
        """Refuse a scoring that candidates do not support: trials would fail and cost the same."""
        who, asked_for = type(self).__name__, f"scoring={shown(self.scoring)}"
        if self._public:
            methods = getattr(check_scoring(self.estimator, self.scoring), "_response_method", ())
            asked = (methods,) if isinstance(methods, str) else tuple(methods)
        else:
            # Others need no more than predict.
            of_shares = self.scoring in ("neg_brier_score", "neg_log_loss")
            asked = ("predict_proba",) if of_shares else ()
        if asked and not all(any(hasattr(made, name) for name in asked) for made in stand_ins):
            raise ValueError(f"{who} needs candidates with {' or '.join(asked)} for {asked_for}.")
        if not self._public and self.scoring == "accuracy" and any(map(is_regressor, stand_ins)):
            raise ValueError(
                f"{who} needs classifiers for {asked_for}, got a regressor, whose predictions "
                "equal no target. Use 'neg_mean_squared_error' or 'neg_mean_absolute_error'."
            )
        of_times = any(isinstance(last_step(made), DPHazardRegressor) for made in stand_ins)
        if of_times and not (self._public or callable(self.scoring)):
            raise ValueError(
                f"{who} needs public rows for scores of times to an event, validation=(X, y), "
                f"where they are compared by concordance, or a callable, got {asked_for}."
            )
        named = self._public and isinstance(self.scoring, str)
        if not (named and any(name.startswith("predict") for name in asked)):
            return
        X, y = self._public_rows()
        try:
            with silence():
                check_scoring(self.estimator, self.scoring)(idle_model(stand_ins[0], y), X, y)
        except Exception as failure:
            raise ValueError(
                f"{who} needs a score that can be taken of candidates on the rows of "
                f"validation=(X, y), and {asked_for} cannot, whatever they predict. Scores of "
                "scikit-learn are for classes, for two classes or for numbers."
            ) from failure

    @final
    def _best(
        self,
        account: SearchAccount,
        rows: TrainingRows,
        scoring: Callable[..., float],
        candidates: list[Candidate],
    ) -> Trial:
        """The trial with the highest score; of equal ones the first, as their order is random."""
        tasks = (delayed(perform)(c, rows, scoring, os.getpid()) for c in candidates)
        best = Trial()
        with silence():
            done = Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks)
            if isinstance(account.trials, int):
                # Nobody may see how many there are where their number is secret.
                done = with_progress(done, account.trials, type(self).__name__)
            for trial in done:
                if trial.score > best.score:
                    best = trial
        return best

    @final
    def _publish(self, best: Trial, receipt: Receipt) -> None:
        # What a trial has spent is not what it took to find it.
        found_by = token_hex(16), self.privacy_ledger_
        for step in private_steps(best.model, fitted=True).values():
            if self._reads_classes and hasattr(step, "classes"):
                step._read_classes = self._read_classes = True
            step.privacy_spent_, step.privacy_ledger_ = self.privacy_spent_, self.privacy_ledger_
            setattr(step, FOUND_BY, found_by)
            if isinstance(step, PrivateLinearModel):
                # Should it go on with a stream, these rows will have cost as much.
                step._progress.parts = ParallelComposition.after(receipt, step._progress.seen)
        self.best_estimator_ = best.model
        self.best_params_ = dict(best.params or {})
        self.best_score_ = best.score

    @final
    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, Any]:
        """Data of which rows can be taken; refuses what an estimator would, before it costs."""
        who = type(self).__name__
        if isinstance(X, Chunks | DaskSites) or is_collection(X) or is_collection(y):
            raise ValueError(f"{who} needs arrays, dataframes or sparse matrices.")
        if y is None:
            raise ValueError(f"{who} requires y to be passed, but the target y is None.")
        if any(np.isscalar(given) or getattr(given, "ndim", 1) == 0 for given in (X, y)):
            raise ValueError(f"{who} needs rows and as many targets, got a scalar.")
        last = last_step(self.estimator)
        if isinstance(last, PrivateLinearModel):
            y = last._flat(y)
        X, y = redacted(indexable, X, y)
        columns = redacted(columns_of, y) or 1
        if columns > 1:
            raise ValueError(
                f"{who} needs one target a row, in a vector, got a table of {columns} columns. "
                "Search for one column at a time, each search with a part of the budget."
            )
        y = redacted(column_or_1d, y, warn=True)
        redacted(assert_all_finite, y, input_name="y", estimator_name=who)
        if isinstance(self.estimator, PrivateLinearModel):
            checked = redacted(check_array, X, **ACCEPTED, estimator=who)
            # Names of columns go on to the estimator.
            X = X if hasattr(X, "columns") else checked
        if sample_weight is not None:
            n = _num_samples(X)
            in_units_of(1.0, sample_weight, n)
            sample_weight = np.broadcast_to(np.asarray(sample_weight, np.float64), n)
        return X, y, sample_weight

    @property
    @final
    def _reads_classes(self) -> bool:
        """True if a private step does not know its classes."""
        steps = private_steps(self.estimator).values()
        return any(step.get_params(deep=False).get("classes", 0) is None for step in steps)

    @final
    def _classes(self, y: Any) -> np.ndarray | None:
        """Labels for private steps that do not know theirs."""
        if not self._reads_classes:
            return None
        # It may warn of the number of labels, which is public only if they are.
        redacted(check_classification_targets, y)
        warn_user(
            f"{type(self).__name__} reads the set of classes off y, so a label that only one "
            "person has becomes public. Pass classes=[...] to the estimator with the labels that "
            "may occur.",
            PrivacyLeakWarning,
        )
        return redacted(np.unique, np.asarray(y))

    @final
    def _judge(
        self,
        X: Any,
        y: Any,
        mu: float,
        units: PrivacyUnits | None,
    ) -> Callable[[Any, SecretNoise], float]:
        who = type(self).__name__
        if self._public:
            scorer = check_scoring(self.estimator, self.scoring)
            return partial(public_score, scorer, *self._public_rows())
        bounds = getattr(last_step(self.estimator), "target_bounds", None)
        score = row_score(who, self.scoring, self.score_range, self.estimator, bounds)
        n, counted = (len(y), "rows") if units is None else (units.n_units, "privacy units")
        blur = score.mechanism(n, mu, self.adjacency).noise_scale / (score.high - score.low)
        if blur > _BLURRED:
            warn_user(
                f"{who} compares scores whose noise has a standard deviation of {100 * blur:.2g} % "
                "of their range, so that it will mostly choose by chance. With this budget and "
                f"{n} {counted} to score on, do without a search, or score on public rows.",
                UserWarning,
            )
        return NoisyScoring(score, X, y, mu, self.adjacency, units)

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the best model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_best_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities by the best model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_best_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of class probabilities by the best model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)

    @available_if(_best_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Confidence scores of the best model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @final
    @strict_checks()
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of the best model on rows of the caller, without noise.

        By ``scoring``, or, if that is None, by the ``score`` of the model. A callable for private
        rows is averaged.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.
        """
        check_is_fitted(self)
        best = self.best_estimator_
        if callable(self.scoring) and not self._public:
            return float(np.average(self.scoring(best, X, y), weights=sample_weight))
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(check_scoring(best, self.scoring)(best, X, y, **weights))

    @property
    def classes_(self) -> np.ndarray:
        """Labels that the best model knows."""
        _best_has("classes_")(self)
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features of the best model."""
        _best_has("n_features_in_")(self)
        return self.best_estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features of the best model."""
        _best_has("feature_names_in_")(self)
        return self.best_estimator_.feature_names_in_

    @final
    def _public_rows(self) -> tuple[Any, Any]:
        """Rows to score on, if these are public."""
        try:
            X, y = self.validation  # type: ignore[misc]
        except (TypeError, ValueError):
            raise ValueError(
                f"{type(self).__name__} needs public validation rows as a pair (X, y)."
            ) from None
        redacted(check_consistent_length, X, y)
        return X, y

    @property
    @final
    def _public(self) -> bool:
        """True if there are public rows to score on."""
        return self.validation is not None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags = inner.target_tags
        # Scores of rows compare one target with one prediction, whatever the models take.
        tags.target_tags.multi_output = False
        tags.non_deterministic = self.random_state is None
        return tags
