"""Bugs in estimators: what they publish, keep, say, and start from."""

import io
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from estimators import test_no_leaks as no_leaks
from estimators import test_plan_of_a_fit as plans
from estimators import test_replay
from examples_of_estimators import BINARY, X, linear, logistic
from planted_bugs.bug import Bug, after, gives, patching, sets
from scikit_learn import test_warm_start as warm
from scikit_learn.test_sparse_coefficients import test_predictions_are_those_of_the_dense_model
from sklearn.base import BaseEstimator
from test_messages import test_labels_of_two_kinds_are_not_quoted_by_scores

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.estimators import Announcements, EarlierModel, Solve, TargetMean, TotalWeight
from skdp.privacy.accounting import Budget, ZeroConcentratedDP
from skdp.privacy.queries import GradientQuery
from skdp.solvers import GD
from skdp.testing import check_seed_stays_behind, record_fit, replay_fit

SEED = 0x1BADCAFE


def seeds_stay_behind():
    rng = np.random.default_rng(0)
    model = DPLogisticRegression(classes=[0, 1], data_norm=2.0, random_state=SEED)
    check_seed_stays_behind(model.fit(rng.normal(size=(200, 2)), rng.integers(0, 2, 200)), SEED)


def regressions_follow_from_answers_and_pay_their_plan():
    """The start at the mean of targets is an answer, for the share that the plan names."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(400, 3)) / 8, rng.uniform(0.2, 0.8, size=400)
    options = {"data_norm": 1.0, "target_bounds": (-1.0, 1.0), "epsilon": 0.3, "random_state": 0}
    first, second = (DPLinearRegression(**options) for _ in range(2))
    transcript = record_fit(first, rows, y)
    replay_fit(second, rows[::-1] / 2, -y, transcript)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert first.intercept_ == second.intercept_, "another start"
    (event,) = [e for e in first.privacy_ledger_ if e.query == "intercept_gradient"]
    paid = (event.sensitivity / event.noise_scale) ** 2 / first.plan_.ledger().remaining
    assert abs(paid / first.plan_.stage(TargetMean).share - 1) < 1e-6, "another share"
    assert abs(event.sensitivity * 400 / 2 - 1) < 1e-3, "another sensitivity"


def said_by(model, rows):
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        model.fit(rows, BINARY)
    return out.getvalue()


def progress_reports_tell_public_facts():
    other = np.random.default_rng(1).normal(size=X.shape)
    assert said_by(logistic(verbose=2), X) == said_by(logistic(verbose=2), other)


def nothing_is_said_unasked():
    assert not said_by(logistic(), X)


def listeners_hear_before_rows_are_read():
    """One that raises stops the fit before its query is evaluated."""
    evaluated, honest, model = [], GradientQuery.evaluate, logistic(precondition=None)

    def listen(event):
        raise RuntimeError(event.query)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Announcements, "begin", lambda self, *, callbacks: self._ledger.tell(listen))
        patch.setattr(GradientQuery, "evaluate", lambda *a: evaluated.append(1) or honest(*a))
        with pytest.raises(RuntimeError):
            model.fit(X, BINARY)
    assert not evaluated
    assert model.privacy_spent_.epsilon > 0


def sparse_rows_are_never_written_out():
    """A fit that densifies blocks would take gigabytes on text."""
    rng, written = np.random.default_rng(0), []
    rows = sp.csr_array(rng.random((60, 1500)) * (rng.random((60, 1500)) < 0.02))
    y = rng.integers(0, 3, 60)
    with pytest.MonkeyPatch.context() as patch:
        for kind in (sp.csr_array, sp.csr_matrix):
            patch.setattr(kind, "toarray", lambda self, *a: written.append(self.shape))
        with suppress(TypeError):
            DPLogisticRegression(data_norm=1.0, classes=[0, 1, 2]).fit(rows, y)
    assert not written, "written out"


# Bugs.


def spying():
    """Labels as the encoder has seen them, for stages that must not."""
    labels = []

    def encoder(honest, self, classes):
        encode = honest(self, classes)
        return lambda y: labels.append(encode(y)) or labels[-1]

    return labels, encoder


SEEN, ENCODER = spying()
TARGETS_SEEN = [0.0]
SEES = {"PrivateLinearClassifier._settle": ENCODER}


def prior_of_labels(honest, problem, oracle, *, balanced):
    problem, share = honest(problem, oracle, balanced=balanced), SEEN[-1].mean()
    return replace(problem, class_weight=(share, 1 - share))


def start_of_labels(honest, self, *args, **options):
    problem = honest(self, *args, **options)
    return replace(problem, initial=np.full(problem.shape, float(SEEN[-1].mean()) if SEEN else 0.0))


def any_features(honest, cls, model, before):
    if not model.warm_start or "coef_" not in before:
        return None
    return EarlierModel(model._given_bounds(False), before["coef_"].T, before["intercept_"])


def mean_of_targets(honest, problem, oracle, share):
    problem = honest(problem, oracle, share)
    return replace(problem, initial=problem.initial + TARGETS_SEEN[-1])


def remembers_targets(honest, self, rows, y, *rest):
    TARGETS_SEEN.append(float(np.mean(y)))
    return honest(self, rows, y, *rest)


def mean_for_more(honest, problem, oracle, share):
    return honest(problem, oracle, 2 * share)


def half_of_the_mean(honest, self):
    apart, longest = honest(self)
    return (apart / 2, longest / 2)


def handed_out_again(honest, self, rows, plan, *rest, origin=None, **options):
    if origin is None:
        return honest(self, rows, plan, *rest, origin=origin, **options)
    self.coef_, self.intercept_ = origin.coef.T, origin.intercept
    return self._publish_receipt()


def remembers(honest, self, rows, *rest):
    self._rows_seen = np.array(rows)
    return honest(self, rows, *rest)


def as_long_as_rows(honest, self, sparse):
    return replace(honest(self, sparse), data_norm=float(np.abs(self._rows_seen).max()))


def steps_by_labels(honest, self, rows, y, *rest):
    self.solver = GD(steps=5 + int(np.sum(y)) % 7)
    return honest(self, rows, y, *rest)


def publishes_the_scale(honest, self, rows, *rest):
    self.scale_ = np.std(rows, axis=0)
    return honest(self, rows, *rest)


def tells_of_rows(honest, self, what, **options):
    norm = np.linalg.norm(getattr(self._model, "_rows_seen", 0.0))
    honest(self, f"{what}, norm {norm}", **options)


def keeps_the_mean(honest, self, rows, *rest, **options):
    self._centre = rows.X.mean(axis=0)
    honest(self, rows, *rest, **options)


def in_another_shape(honest, self):
    self.coef_ = self.coef_.toarray()
    return self


def with_stages(change, told=True):
    """A fit with each stage replaced, or left out where the change is None."""

    def bug(honest, self, rows, plan, *rest, **options):
        stages = tuple(stage for stage in map(change, plan.stages) if stage is not None)
        honest(self, rows, replace(plan, stages=stages), *rest, **options)
        self.plan_ = plan if told else self.plan_

    return bug


def by_another_solver(stage):
    return replace(stage, solver=GD(steps=3)) if isinstance(stage, Solve) else stage


def for_twice_its_share(honest, self, fit, oracle):
    fraction = Budget.fraction
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Budget, "fraction", lambda budget, share: fraction(budget, 2 * share))
        honest(self, fit, oracle)


BALANCED = DPLogisticRegression(classes=[0, 1], class_weight="balanced", data_norm=9.0)
FOLLOWS = partial(
    test_replay.test_replay_on_garbage_publishes_the_same,
    BALANCED,
    test_replay.many_labels,
)
FOLLOWED = partial(
    patching,
    plans.test_the_solver_is_chosen_before_rows_are_asked_and_runs,
    plans.MODELS["linear"],
    500,
    5,
    0.5,
)
SHARED = partial(plans.test_stages_keep_to_their_order_and_shares, "columns and norm")
BUGS = (
    Bug("a seed in the pickle of a model", {"PrivateLinearModel.__getstate__": lambda _, self: BaseEstimator.__getstate__(self)}, seeds_stay_behind, "keeps its seed"),
    Bug("a seed in the pickle of a model under another name", {"PrivateLinearModel.__getstate__": lambda honest, self: honest(self) | {"_seed": self.random_state}}, seeds_stay_behind, "somewhere in the pickle"),
    Bug("class weights from the labels themselves", SEES | {"stages.with_class_prior": prior_of_labels}, FOLLOWS, "another content"),
    Bug("a start at the mean of the targets themselves", {"PrivateLinearModel._open": remembers_targets, "stages.with_target_mean": mean_of_targets}, regressions_follow_from_answers_and_pay_their_plan, "another content"),
    Bug("a mean of the targets for twice its share", {"stages.with_target_mean": mean_for_more}, regressions_follow_from_answers_and_pay_their_plan, "another share"),
    Bug("a mean of the targets of half its sensitivity", {"InterceptGradientQuery.extents": half_of_the_mean}, regressions_follow_from_answers_and_pay_their_plan),
    Bug("a bound on rows from the rows themselves", {"PrivateLinearModel._open": remembers, "PrivateLinearModel._given_bounds": as_long_as_rows}, FOLLOWS, "another content"),
    Bug("a number of steps from the labels themselves", {"PrivateLinearModel._open": steps_by_labels}, FOLLOWS, "another price"),
    Bug("a number of iterations from the labels themselves", SEES | {"PrivateLinearClassifier._publish": sets("n_iter_", lambda self, *args: self.n_iter_ + int(SEEN[-1].sum()))}, FOLLOWS, "n_iter_"),
    Bug("an attribute that is computed from the rows", {"PrivateLinearModel._open": publishes_the_scale, "PrivateLinearModel._forget": gives(None)}, FOLLOWS, "scale_"),
    Bug("an offset from the labels themselves", SEES | {"PrivateLinearClassifier._publish": sets("intercept_", lambda self, *args: self.intercept_ + SEEN[-1].mean())}, FOLLOWS, "intercept_"),
    Bug("a start that looks at the targets", SEES | {"PrivateLinearModel._stated": start_of_labels}, FOLLOWS),
    Bug("units forgotten in a warm start", {"EarlierModel.start": lambda _, self, problem: problem.from_user_coordinates(self.coef, self.intercept)}, partial(warm.test_the_start_is_in_the_units_of_the_new_bounds, linear)),
    Bug("a warm start that takes any features", {"EarlierModel.of": any_features}, warm.test_other_features_and_classes_are_refused_before_anything_is_spent),
    Bug("coordinates of other bounds", {"EarlierModel.coordinates": lambda _, self, bounds: self.row_map}, warm.test_coordinates_found_earlier_are_looked_at_once_more_only, nightly=True),
    Bug("a warm start that hands the old model out again", {"PrivateLinearModel._fit_part": handed_out_again}, partial(warm.test_the_first_query_is_about_the_published_model, logistic)),
    Bug("a progress report that tells of the rows", {"PrivateLinearModel._open": remembers, "Announcements._say": tells_of_rows}, progress_reports_tell_public_facts),
    Bug("a report that nobody asked for", {"Announcements.__init__": after(lambda this, *args: vars(this).update(_verbose=1, _listens=True))}, nothing_is_said_unasked),
    Bug("a listener that hears too late", {"Ledger.charge": lambda _, self, event: self._record(event)}, listeners_hear_before_rows_are_read),
    Bug("coefficients that come back in another shape", {"PrivateLinearModel.densify": in_another_shape}, partial(test_predictions_are_those_of_the_dense_model, linear, np.float64)),
    Bug("a model that keeps the mean of the rows", {"PrivateLinearModel._fit_part": keeps_the_mean}, partial(no_leaks.test_a_fitted_model_holds_no_row_no_statistic_no_noise_and_no_seed, no_leaks.MODELS["logistic"])),
    Bug("sparse rows that are written out", {"mapped.sparse_lengths": lambda _, block, row_map: np.linalg.norm(row_map.apply(block.written_out()), axis=1)}, sparse_rows_are_never_written_out, "written out"),
    Bug("errors that quote entries", {"reading._without_entries": lambda _, message, name, where: message}, partial(test_labels_of_two_kinds_are_not_quoted_by_scores, "logistic")),
    # Plans.
    Bug("a second choice of the solver, after rows were asked", {"TotalWeight.run": after(lambda this, fit, oracle: fit.model._plan(fit.n_samples, False, weighted=True))}, FOLLOWED, "after rows were asked"),
    Bug("another solver than the plan says", {"PrivateLinearModel._fit_part": with_stages(by_another_solver)}, FOLLOWED, "another solver"),
    Bug("another plan than the one beforehand", {"PrivateLinearModel._fit_part": with_stages(by_another_solver, told=False)}, FOLLOWED, "another plan"),
    Bug("another ledger than the plan says", {"estimators_base.open_rows": lambda honest, rows, terms, noise: honest(rows, replace(terms, calculus=ZeroConcentratedDP()), noise)}, FOLLOWED, "another calculus"),
    Bug("a total of weights that is planned and not asked for", {"PrivateLinearModel._fit_part": with_stages(lambda stage: None if isinstance(stage, TotalWeight) else stage)}, FOLLOWED, "total weight"),
    *(Bug(f"a stage that takes twice its share ({stage})", {f"{stage}.run": for_twice_its_share}, SHARED, said) for stage, said in (("DataNorm", "length of the rows"), ("ClassCounts", "frequencies of the classes"))),
)  # fmt: skip
